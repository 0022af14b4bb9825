#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/moments/rotated_inputs.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"
#include "tests/support/held_arrays.hpp"

namespace trifuse::testing {

/// The numbers of a dump with factors, and its integrals, multiplied out one by one.
class Factored {
 public:
  explicit Factored(RawDump dump) : dump_(std::move(dump)), restricted_(dump_.datasets.contains("t2")) {
    for (const Spin spin : {Spin::alpha, Spin::beta}) {
      const std::string letters = restricted_ ? "" : spin == Spin::alpha ? "_a" : "_b";
      const auto &oo = take("factors_oo" + letters), &ov = take("factors_ov" + letters),
                 &vv = take("factors_vv" + letters);
      Orbitals& of = spins_.at(static_cast<std::size_t>(spin == Spin::beta));
      of.occupied = ov.shape[1];
      of.all = ov.shape[1] + ov.shape[2];
      for (std::int64_t x = 0; x < ov.shape[0]; ++x) {
        for (std::int64_t p = 0; p < of.all; ++p) {
          for (std::int64_t q = 0; q < of.all; ++q) {
            const std::int64_t i = std::min(p, q), a = std::max(p, q) - of.occupied;
            const std::int64_t b = i - of.occupied;
            of.factors.push_back(a < 0                 ? element(oo, x, p, q)
                                 : i < of.occupied     ? element(ov, x, i, a)
                                 : vv.shape.size() > 2 ? element(vv, x, a, b)
                                                       : element(vv, x, a * (a + 1) / 2 + b, 0));
          }
        }
      }
    }
    for (const FactorSpec& spec : factor_arrays(restricted_)) dump_.datasets.erase(spec.name);
  }

  /// Returns (pq|rs), of orbitals that are numbered from the first occupied one.
  double integral(Spin s, std::int64_t p, std::int64_t q, Spin t, std::int64_t r, std::int64_t u) const {
    double sum = 0.0;
    const std::int64_t auxiliary = std::ssize(of(s).factors) / (of(s).all * of(s).all);
    for (std::int64_t x = 0; x < auxiliary; ++x) sum += of(s).factor(x, p, q) * of(t).factor(x, r, u);
    return sum;
  }
  std::int64_t number(OrbitalClass c, std::int64_t n) const {
    return n + (space_of(c) == Space::particle ? of(spin_of(c)).occupied : 0);
  }

  /// Returns the dump with whole arrays of integrals. `semicanonical`: orbitals of vvvv_diag_semicanonical; null: the
  /// dump has none.
  RawDump whole(const moments::OrbitalVectors* semicanonical = nullptr) const {
    RawDump whole = dump_;
    for (const auto& specs : {integral_arrays(restricted_), exchange_arrays(restricted_), moment_arrays(restricted_)}) {
      for (const ArraySpec& spec : specs) {
        if (spec.kind == ArrayKind::vvvv_diag) add_diagonals(whole, spec);
        if (spec.kind == ArrayKind::vvvv_diag_semicanonical && semicanonical != nullptr)
          in_orbitals(*semicanonical).add_diagonals(whole, spec);
        if (spec.kind == ArrayKind::kvvv) add_kvvv(whole, spec);
        if (spec.kind == ArrayKind::ladder || spec.axes.size() != 4 || spec.kind == ArrayKind::kvvv) continue;
        add(whole, spec, [&](std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t u) {
          return integral(spec.first, number(spec.axes[0], p), number(spec.axes[1], q), spec.second,
                          number(spec.axes[2], r), number(spec.axes[3], u));
        });
      }
    }
    return whole;
  }
  /// Returns the same molecule in other orbitals.
  Factored in_orbitals(const moments::OrbitalVectors& vectors) const {
    Factored other = *this;
    other.dump_ = amplitudes_in_orbitals(dump_, vectors);
    for (Orbitals& of_spin : other.spins_) {
      const std::vector<double> u =
          both(vectors, &of_spin == other.spins_.data() || restricted_ ? Spin::alpha : Spin::beta);
      RawDump::Dataset factors{{std::ssize(of_spin.factors) / (of_spin.all * of_spin.all), of_spin.all, of_spin.all},
                               of_spin.factors};
      for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) rotate(factors, axis, u);
      of_spin.factors = factors.values;
    }
    return other;
  }
  /// Returns amplitudes, the Fock matrix and orbital energies of a dump of this molecule in other orbitals.
  RawDump amplitudes_in_orbitals(RawDump dump, const moments::OrbitalVectors& vectors) const {
    for (const Spin spin : {Spin::alpha, Spin::beta}) {
      if (restricted_ && spin == Spin::beta) break;
      const auto fock = dump.datasets.find(fock_dataset(spin, restricted_));
      if (fock == dump.datasets.end()) continue;
      for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) rotate(fock->second, axis, both(vectors, spin));
    }
    for (const ArraySpec& spec : amplitude_arrays(restricted_)) {
      RawDump::Dataset& data = dump.datasets.at(spec.name);
      for (std::size_t axis = 0; axis < spec.axes.size(); ++axis) {
        const OrbitalClass c = spec.axes[axis];
        const auto& of_space = space_of(c) == Space::hole ? vectors.holes : vectors.particles;
        rotate(data, axis, of_space[restricted_ ? Spin::alpha : spin_of(c)]);
      }
    }
    return dump;
  }
  /// Makes the orbital energies of a dump the diagonal of the Fock matrices of this molecule.
  void set_energies(RawDump& dump) const {
    for (const OrbitalClass c : orbital_classes) {
      if (restricted_ && spin_of(c) == Spin::beta) continue;
      std::vector<double>& energies = dump.datasets.at(class_dataset("eps", c, restricted_)).values;
      const RawDump::Dataset& fock = take(fock_dataset(spin_of(c), restricted_));
      for (std::size_t n = 0; n < energies.size(); ++n) {
        const auto p = static_cast<std::size_t>(number(c, static_cast<std::int64_t>(n)));
        energies[n] = fock.values[p * static_cast<std::size_t>(fock.shape[1] + 1)];
      }
    }
  }
  /// Returns orbitals that are far from those of the dump.
  moments::OrbitalVectors mixed_orbitals() const {
    moments::OrbitalVectors vectors;
    for (const OrbitalClass c : orbital_classes) {
      const auto n = static_cast<std::size_t>(count(c));
      std::vector<double> u(n * n, 0.0);
      for (std::size_t p = 0; p < n; ++p) u[p * (n + 1)] = 1.0;
      for (std::size_t p = 0; p + 1 < n; ++p) {
        for (std::size_t q = 0; q < n; ++q) {
          const double angle = 0.3 + 0.2 * static_cast<double>(p), x = u[p * n + q], y = u[(p + 1) * n + q];
          u[p * n + q] = std::cos(angle) * x + std::sin(angle) * y;
          u[(p + 1) * n + q] = std::cos(angle) * y - std::sin(angle) * x;
        }
      }
      (space_of(c) == Space::hole ? vectors.holes : vectors.particles)[spin_of(c)] = u;
    }
    return vectors;
  }
  /// Adds kvvv of the amplitudes of a dump to it.
  void add_kvvv(RawDump& dump) const {
    for (const ArraySpec& spec : moment_arrays(restricted_)) {
      if (spec.kind == ArrayKind::kvvv) add_kvvv(dump, spec);
    }
  }

 private:
  struct Orbitals {
    std::int64_t occupied = 0, all = 0;
    std::vector<double> factors;  ///< [Q,p,q]

    double factor(std::int64_t x, std::int64_t p, std::int64_t q) const {
      return factors[static_cast<std::size_t>((x * all + p) * all + q)];
    }
  };

  /// Returns the vectors of holes and particles of a spin as one matrix.
  std::vector<double> both(const moments::OrbitalVectors& vectors, Spin spin) const {
    const auto n = static_cast<std::size_t>(of(spin).all), o = static_cast<std::size_t>(of(spin).occupied), v = n - o;
    std::vector<double> u(n * n, 0.0);
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = 0; q < n; ++q) {
        if (p < o && q < o) u[p * n + q] = vectors.holes[spin][p * o + q];
        if (p >= o && q >= o) u[p * n + q] = vectors.particles[spin][(p - o) * v + q - o];
      }
    }
    return u;
  }
  static void rotate(RawDump::Dataset& data, std::size_t axis, const std::vector<double>& u) {
    const auto n = static_cast<std::size_t>(data.shape[axis]);
    std::size_t inner = 1;
    for (std::size_t each = axis + 1; each < data.shape.size(); ++each)
      inner *= static_cast<std::size_t>(data.shape[each]);
    const std::vector<double> old = std::exchange(data.values, std::vector<double>(data.values.size(), 0.0));
    for (std::size_t at = 0; at < old.size(); ++at) {
      const std::size_t q = at / inner % n;
      for (std::size_t p = 0; p < n; ++p) data.values[at + (p - q) * inner] += u[p * n + q] * old[at];
    }
  }

  const RawDump::Dataset& take(const std::string& name) const { return dump_.datasets.at(name); }
  static double element(const RawDump::Dataset& data, std::int64_t x, std::int64_t p, std::int64_t q) {
    const std::int64_t row = data.shape.size() > 2 ? data.shape[2] : 1;
    return data.values[static_cast<std::size_t>((x * data.shape[1] + p) * row + q)];
  }
  const Orbitals& of(Spin spin) const { return spins_.at(static_cast<std::size_t>(spin == Spin::beta)); }
  std::int64_t count(OrbitalClass c) const {
    const Orbitals& orbitals = of(spin_of(c));
    return space_of(c) == Space::hole ? orbitals.occupied : orbitals.all - orbitals.occupied;
  }

  template <typename Element>
  void add(RawDump& dump, const ArraySpec& spec, const Element& element) const {
    RawDump::Dataset& data = dump.datasets[spec.name];
    for (const OrbitalClass c : spec.axes) data.shape.push_back(count(c));
    for (std::int64_t p = 0; p < data.shape[0]; ++p) {
      for (std::int64_t q = 0; q < data.shape[1]; ++q) {
        for (std::int64_t r = 0; r < data.shape[2]; ++r) {
          for (std::int64_t u = 0; u < data.shape[3]; ++u) data.values.push_back(element(p, q, r, u));
        }
      }
    }
  }

  void add_kvvv(RawDump& dump, const ArraySpec& spec) const {
    const auto t1 = dump.datasets.at(array_spec(ArrayKind::t1, restricted_, spec.first, spec.first).name);
    add(dump, spec, [&](std::int64_t k, std::int64_t c, std::int64_t b, std::int64_t d) {
      double sum = 0.0;
      for (std::int64_t e = 0; e < t1.shape[1]; ++e) {
        const auto particle = [&](std::int64_t n) { return number(spec.axes[1], n); };
        const auto of_second = [&](std::int64_t n) { return number(spec.axes[2], n); };
        sum += t1.values[static_cast<std::size_t>(k * t1.shape[1] + e)] *
               integral(spec.first, particle(c), particle(e), spec.second, of_second(b), of_second(d));
      }
      return sum;
    });
  }

  void add_diagonals(RawDump& dump, const ArraySpec& spec) const {
    RawDump::Dataset& data = dump.datasets[spec.name];
    data.shape = {spec.matrices, count(spec.axes[0]), count(spec.axes[1])};
    for (std::int64_t n = 0; n < spec.matrices; ++n) {
      for (std::int64_t x = 0; x < data.shape[1]; ++x) {
        for (std::int64_t y = 0; y < data.shape[2]; ++y) {
          const std::int64_t a = number(spec.axes[0], x), b = number(spec.axes[1], y);
          data.values.push_back(n == 0 ? integral(spec.first, a, a, spec.second, b, b)
                                       : integral(spec.first, a, b, spec.first, a, b));
        }
      }
    }
  }

  RawDump dump_;
  bool restricted_;
  std::array<Orbitals, 2> spins_;
};

/// A dump with factors, as a source of blocks of all classes.
class AllBlocks final : public WrappedSource {
 public:
  AllBlocks(const TileSource& dump, const Factored& integrals) : WrappedSource(dump), integrals_(integrals) {}
  bool has_exchange_integrals() const override { return true; }
  bool has_all_integrals() const override { return true; }

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override {
    if (tensor != TensorKind::v2) return source().read_block(tensor, tiles, block);
    const auto tile = [&](std::size_t n) -> const Tile& { return source().tiles()[tiles[n]]; };
    const auto orbital = [&](std::size_t n, std::int64_t x) {
      return integrals_.number(tile(n).orbital_class, source().tiles().offset_in_class(tiles[n]) + x);
    };
    const auto spin = [&](std::size_t n) { return tile(n).spin(); };
    std::size_t at = 0;
    for (std::int64_t p = 0; p < tile(0).size; ++p) {
      for (std::int64_t q = 0; q < tile(1).size; ++q) {
        for (std::int64_t r = 0; r < tile(2).size; ++r) {
          for (std::int64_t s = 0; s < tile(3).size; ++s) {
            double& number = block[at++] = 0.0;
            if (spin(0) == spin(2))
              number +=
                  integrals_.integral(spin(0), orbital(0, p), orbital(2, r), spin(1), orbital(1, q), orbital(3, s));
            if (spin(0) == spin(3))
              number -=
                  integrals_.integral(spin(0), orbital(0, p), orbital(3, s), spin(1), orbital(1, q), orbital(2, r));
          }
        }
      }
    }
  }

  const Factored& integrals_;
};

}
