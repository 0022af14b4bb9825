#include "tce_tiles/sources/synthetic_factors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_tiles.hpp"
#include "tce_tiles/factors/factor_arrays.hpp"
#include "tce_tiles/sources/synthetic_numbers.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

/// The indices of an element. An array with fewer than four axes gets axes of length 1 in front.
using Index = std::array<std::int64_t, 4>;
/// Computes `count` consecutive elements along the last axis, from element `begin` on. Thread-safe.
using Row = std::function<void(const Index& begin, std::int64_t count, double* out)>;

/// An array whose elements are computed when they are read.
class ComputedArray final : public DenseArray {
 public:
  ComputedArray(ArrayLabel label, std::vector<std::int64_t> shape, bool is_integer, Row row)
      : DenseArray(std::move(label)), shape_(std::move(shape)), is_integer_(is_integer), row_(std::move(row)) {}

  std::span<const std::int64_t> shape() const override { return shape_; }
  bool is_integer() const override { return is_integer_; }
  Access access() const override { return Access::boxes; }
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    Index first{}, extent{1, 1, 1, 1};
    std::copy(offset.begin(), offset.end(), first.end() - std::ssize(offset));
    std::copy(count.begin(), count.end(), extent.end() - std::ssize(count));
    if (out.empty()) return;
    double* to = out.data();
    for (std::int64_t w = 0; w < extent[0]; ++w) {
      for (std::int64_t x = 0; x < extent[1]; ++x) {
        for (std::int64_t y = 0; y < extent[2]; ++y, to += extent[3]) {
          row_({first[0] + w, first[1] + x, first[2] + y, first[3]}, extent[3], to);
        }
      }
    }
  }

 private:
  const std::vector<std::int64_t> shape_;
  const bool is_integer_;
  const Row row_;
};

/// The arrays of a made-up molecule with factors: factors_vv are packed, other factors are not.
class SyntheticArrays final : public DenseArrays {
 public:
  explicit SyntheticArrays(const SyntheticMolecule& molecule)
      : numbers_(molecule), auxiliary_(molecule.auxiliary), irreps_(molecule.irreps), path_(numbers_.info().path) {
    for (int t = 0; t < space().size(); ++t) {
      irrep_.insert(irrep_.end(), static_cast<std::size_t>(space()[t].size), space()[t].irrep);
    }
    for (const OrbitalClass c : orbital_classes) {
      if (!restricted() || spin_of(c) == Spin::alpha) add_orbitals(c);
    }
    add_fock(Spin::alpha);
    if (!restricted()) add_fock(Spin::beta);
    for (const ArraySpec& spec : amplitude_arrays(restricted())) {
      spec.kind == ArrayKind::t1 ? add_t1(spec) : add_t2(spec);
    }
    for (const FactorSpec& spec : factor_arrays(restricted())) add_factors(spec);
  }

  SourceInfo info() const { return numbers_.info(); }
  const std::string& path() const override { return path_; }
  ArrayWords words() const override { return {"array", "pass", "set of arrays", "array"}; }
  bool has(const std::string& name) const override { return arrays_.contains(name); }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override { return arrays_.at(name); }

 private:
  const TileSpace& space() const { return numbers_.tiles(); }
  bool restricted() const { return space().restricted(); }
  std::int64_t size(OrbitalClass c) const { return space().orbitals(c); }
  /// Returns the position of the first orbital of a class in the sorted order.
  std::int64_t begin(OrbitalClass c) const { return size(c) == 0 ? 0 : space()[space().first(c)].offset; }
  int irrep(std::int64_t orbital) const { return irrep_[static_cast<std::size_t>(orbital)]; }

  void add(const std::string& name, std::vector<std::int64_t> shape, Row row, bool is_integer = false) {
    arrays_.emplace(name, std::make_shared<ComputedArray>(label(name), std::move(shape), is_integer, std::move(row)));
  }

  void add_orbitals(OrbitalClass c) {
    const std::int64_t first = begin(c), n = size(c);
    add(class_dataset("eps", c, restricted()), {n}, [this, first](const Index& at, std::int64_t count, double* out) {
      std::copy_n(numbers_.orbital_energies().begin() + first + at[3], count, out);
    });
    if (irreps_ == 1) return;
    const Row row = [this, first](const Index& at, std::int64_t count, double* out) {
      std::copy_n(irrep_.begin() + first + at[3], count, out);
    };
    add(class_dataset("irrep", c, restricted()), {n}, row, true);
  }

  void add_fock(Spin spin) {
    const std::int64_t o = size(hole_class(spin)), n = o + size(particle_class(spin));
    const std::int64_t holes = begin(hole_class(spin)), particles = begin(particle_class(spin)) - o;
    const auto orbital = [o, holes, particles](std::int64_t p) { return p + (p < o ? holes : particles); };
    add(fock_dataset(spin, restricted()), {n, n}, [this, orbital](const Index& at, std::int64_t count, double* out) {
      const std::int64_t p = orbital(at[2]);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t q = orbital(at[3] + k);
        out[k] = irrep(p) == irrep(q) ? numbers_.fock(p, q) : 0.0;
      }
    });
  }

  void add_t1(const ArraySpec& spec) {
    const std::int64_t i0 = begin(spec.axes[0]), a0 = begin(spec.axes[1]);
    add(spec.name, {size(spec.axes[0]), size(spec.axes[1])},
        [this, i0, a0](const Index& at, std::int64_t count, double* out) {
          const std::int64_t i = i0 + at[2], a = a0 + at[3];
          for (std::int64_t k = 0; k < count; ++k) out[k] = irrep(i) == irrep(a + k) ? numbers_.t1(a + k, i) : 0.0;
        });
  }

  void add_t2(const ArraySpec& spec) {
    Index first{};
    std::vector<std::int64_t> shape;
    for (std::size_t k = 0; k < 4; ++k) {
      first[k] = begin(spec.axes[k]);
      shape.push_back(size(spec.axes[k]));
    }
    const bool same_spins = spec.first == spec.second;
    add(spec.name, std::move(shape), [this, first, same_spins](const Index& at, std::int64_t count, double* out) {
      const std::int64_t i = first[0] + at[0], j = first[1] + at[1], a = first[2] + at[2], b0 = first[3] + at[3];
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t b = b0 + k;
        const bool allowed = (irrep(i) ^ irrep(j)) == (irrep(a) ^ irrep(b));
        out[k] = !allowed     ? 0.0
                 : same_spins ? numbers_.amplitude(a, i, b, j) - numbers_.amplitude(a, j, b, i)
                              : numbers_.amplitude(a, i, b, j);
      }
    });
  }

  /// Adds an array of factors. The auxiliary function x has the irrep x % irreps_.
  void add_factors(const FactorSpec& spec) {
    const std::int64_t p_count = size(spec.p), q_count = size(spec.q);
    const bool packed = spec.symmetric() && space_of(spec.p) == Space::particle;
    const std::uint64_t first_key = arrays_.size() * (std::uint64_t{1} << 40);
    const auto number = [spec, q_count](std::int64_t p, std::int64_t q) {
      return spec.symmetric() ? pair_number(p, q) : p * q_count + q;
    };
    // The irreps of all pairs, by the number of the pair.
    auto irreps = std::make_shared<std::vector<std::uint8_t>>();
    for (std::int64_t p = 0; p < p_count; ++p) {
      for (std::int64_t q = 0; q < (spec.symmetric() ? p + 1 : q_count); ++q) {
        irreps->push_back(static_cast<std::uint8_t>(irrep(begin(spec.p) + p) ^ irrep(begin(spec.q) + q)));
      }
    }
    const auto element = [this, first_key, irreps](std::int64_t x, std::int64_t pair) {
      const bool allowed = x % irreps_ == (*irreps)[static_cast<std::size_t>(pair)];
      return allowed ? numbers_.factor(x, first_key + static_cast<std::uint64_t>(pair)) : 0.0;
    };
    if (packed) {
      add(spec.name, {auxiliary_, pair_count(p_count)}, [element](const Index& at, std::int64_t count, double* out) {
        for (std::int64_t k = 0; k < count; ++k) out[k] = element(at[2], at[3] + k);
      });
      return;
    }
    add(spec.name, {auxiliary_, p_count, q_count}, [element, number](const Index& at, std::int64_t count, double* out) {
      for (std::int64_t k = 0; k < count; ++k) out[k] = element(at[1], number(at[2], at[3] + k));
    });
  }

  const SyntheticNumbers numbers_;
  const std::int64_t auxiliary_;
  const int irreps_;
  const std::string path_;
  std::vector<int> irrep_;  ///< irrep_[sorted orbital]
  std::map<std::string, std::shared_ptr<const ComputedArray>> arrays_;
};

}

std::unique_ptr<TileSource> open_synthetic_factors(const SyntheticMolecule& molecule) {
  const auto arrays = std::make_shared<const SyntheticArrays>(molecule);
  auto input = std::make_shared<DenseInput>();
  input->header = read_dense_header(*arrays, arrays->info());
  input->arrays = arrays;
  use_factors(*input);
  return open_dense(std::move(input), molecule.hole_tile, molecule.particle_tile);
}

std::unique_ptr<TileSource> make_synthetic_source(const SyntheticMolecule& molecule) {
  return molecule.auxiliary > 0 ? open_synthetic_factors(molecule) : make_synthetic_blocks(molecule);
}

}
