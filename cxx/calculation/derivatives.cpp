#include "cxx/calculation/derivatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/calculation/factor_derivatives.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_adjoint.hpp"
#include "tce_tiles/dense/dense_adjoint.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {

namespace {

const char* const of_left_side = "left/";

/// Returns the input of a source that require_derivatives() has accepted.
const DenseInput& input_of(const TileSource& source) {
  return *dense_input_of(source);
}

std::string name_of_fock(Spin spin, bool restricted) {
  return restricted ? "fock_ov" : spin == Spin::alpha ? "fock_ov_a" : "fock_ov_b";
}

/// Makes the derivatives of one problem.
class Maker {
 public:
  Maker(const Problem& problem, const PanelLayout& layout, std::vector<ZeroedVector<std::int64_t>>& sums, int threads)
      : problem_(problem), layout_(layout), sums_(sums), threads_(threads), restricted_(layout.tiles().restricted()) {}

  std::map<std::string, DerivativeArray> make() {
    using Kinds = std::vector<ArrayKind>;
    const bool all = problem_.derivatives == Derivatives::all;
    const Kinds kinds = factors_ ? Kinds{ArrayKind::t2}
                        : all    ? Kinds{ArrayKind::t2, ArrayKind::ovov, ArrayKind::ovvv, ArrayKind::ovoo}
                                 : Kinds{ArrayKind::t2, ArrayKind::ovov};
    DenseAdjoint right = arrays_of(*problem_.right, kinds);
    std::optional<DenseAdjoint> left;
    if (problem_.left != nullptr) left.emplace(arrays_of(*problem_.left, {ArrayKind::t2}));
    if (factors_ && all) made_ = derivatives_by_factors(problem_, layout_, sums_[DerivativeSums::operands], threads_);
    sums_[DerivativeSums::operands] = {};  // returns its memory, which the arrays need
    take(right, "");
    if (left) take(*left, of_left_side);
    add_ov_tensors();
    add_energies();
    return std::move(made_);
  }

 private:
  DenseAdjoint arrays_of(const TileSource& source, const std::vector<ArrayKind>& kinds) const {
    DenseAdjoint arrays(input_of(source), layout_.tiles(), kinds);
    for (const PanelBlocks::Use& use : PanelBlocks(layout_).uses(problem_)) {
      if (use.source != &source || (factors_ && use.tensor == TensorKind::v2)) continue;
      add_to_blocks(layout_, use, sums_[DerivativeSums::operands], threads_,
                    [&](const PanelBlocks::BlockTiles& tiles, std::span<const std::int64_t> block) {
                      arrays.add(use.tensor, tiles, block);
                    });
    }
    return arrays;
  }
  void take(DenseAdjoint& arrays, const std::string& prefix) {
    for (auto& [name, array] : arrays.take(unit_of_operands, threads_)) made_[prefix + name] = std::move(array);
  }

  /// Adds an array [hole, particle] over all orbitals, multiplied by `factor`, to the arrays [i,a] of the spins.
  template <typename Name>
  void add_ov(const ZeroedVector<std::int64_t>& sums, double factor, Name name) {
    const TileSpace& space = layout_.tiles();
    const auto orbitals = static_cast<std::size_t>(space.orbitals());
    for (const Spin spin : {Spin::alpha, Spin::beta})
      add_array(name(spin), {space.orbitals(hole_class(spin)), space.orbitals(particle_class(spin))});
    for (int h = 0; h < space.hole_tiles(); ++h) {
      for (int p = space.hole_tiles(); p < space.size(); ++p) {
        if (space[h].spin() != space[p].spin()) continue;
        DerivativeArray& array = made_.at(name(space[h].spin()));
        for (std::int64_t i = 0; i < space[h].size; ++i) {
          for (std::int64_t a = 0; a < space[p].size; ++a) {
            const auto from = static_cast<std::size_t>(space[h].offset + i) * orbitals +
                              static_cast<std::size_t>(space[p].offset + a);
            const std::int64_t to = (space.offset_in_class(h) + i) * array.shape[1] + space.offset_in_class(p) + a;
            array.values[static_cast<std::size_t>(to)] += factor * static_cast<double>(sums[from]);
          }
        }
      }
    }
  }

  void add_ov_tensors() {
    for (int set = 0; set < problem_.sets_end(0); ++set) {
      const DisconnectedSet& of = problem_.disconnected_set(set).set;
      const auto name = [&](Spin spin) {
        if (of.ov == OvTensor::f_ov) return name_of_fock(spin, restricted_);
        return (problem_.left != nullptr ? of_left_side : "") + array_spec(ArrayKind::t1, restricted_, spin, spin).name;
      };
      // dE/dX = weight dE/d(weight X)
      add_ov(sums_[DerivativeSums::ov_tensor(static_cast<std::size_t>(set))], unit_of_operands * of.weight, name);
    }
  }

  void add_energies() {
    const TileSpace& space = layout_.tiles();
    const auto name = [&](OrbitalClass c) { return class_dataset("eps", c, restricted_); };
    for (const OrbitalClass c : orbital_classes) add_array(name(c), {space.orbitals(c)});
    for (int t = 0; t < space.size(); ++t) {
      DerivativeArray& array = made_.at(name(space[t].orbital_class));
      for (std::int64_t p = 0; p < space[t].size; ++p) {
        array.values[static_cast<std::size_t>(space.offset_in_class(t) + p)] +=
            unit_of_energies *
            static_cast<double>(sums_[DerivativeSums::energies][static_cast<std::size_t>(space[t].offset + p)]);
      }
    }
    made_["omega2"] = {{}, {unit_of_energies * static_cast<double>(sums_[DerivativeSums::omega2].front())}};
  }

  /// Makes an array of zeros, unless it is there. The spins of a restricted reference have the same arrays.
  void add_array(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::size_t size = 1;
    for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
    made_.try_emplace(name, DerivativeArray{shape, ZeroedVector<double>(size)});
  }

  const Problem& problem_;
  const PanelLayout& layout_;
  std::vector<ZeroedVector<std::int64_t>>& sums_;
  const int threads_;
  const bool restricted_;
  const bool factors_ = problem_.right->factors() != nullptr;
  std::map<std::string, DerivativeArray> made_;
};

/// Sums of derivative times operand, and of their absolute values.
struct InnerProduct {
  double sum = 0.0, magnitude = 0.0;
  InnerProduct& operator+=(const InnerProduct& other) {
    sum += other.sum;
    magnitude += other.magnitude;
    return *this;
  }
  friend InnerProduct operator-(const InnerProduct& x, const InnerProduct& y) {
    return {x.sum - y.sum, x.magnitude + y.magnitude};
  }
};

InnerProduct times_operand(std::span<const double> derivative, std::span<const double> operand) {
  InnerProduct product;
  for (std::size_t n = 0; n < derivative.size(); ++n) {
    product.sum += derivative[n] * operand[n];
    product.magnitude += std::abs(derivative[n] * operand[n]);
  }
  return product;
}

/// Multiplies a derivative by the array of an input, in boxes of one value of the first index. Factors may be packed.
InnerProduct times_operand(const NamedDerivative& derivative, const DenseArray& array, int threads) {
  const std::vector<std::int64_t>& shape = derivative.shape;
  if (derivative.values.empty()) return {};
  const std::size_t box = derivative.values.size() / static_cast<std::size_t>(shape[0]);
  std::vector<InnerProduct> products(static_cast<std::size_t>(shape[0]));
  share_among_threads<std::vector<double>>(products.size(), threads, [&](std::size_t n, std::vector<double>& values) {
    std::vector<std::int64_t> offset(array.shape().size(), 0), count(array.shape().begin(), array.shape().end());
    const bool packed = count.size() < shape.size();
    offset[0] = static_cast<std::int64_t>(n);
    count[0] = 1;
    values.resize(packed ? static_cast<std::size_t>(count[1]) : box);
    array.read(offset, count, values);
    const std::span<const double> of_box = std::span(derivative.values).subspan(n * box, box);
    if (!packed) {
      products[n] = times_operand(of_box, values);
      return;
    }
    for (std::int64_t p = 0, at = 0; p < shape[1]; ++p) {
      for (std::int64_t q = 0; q < shape[2]; ++q, ++at) {
        const double product =
            of_box[static_cast<std::size_t>(at)] * values[static_cast<std::size_t>(pair_number(p, q))];
        products[n] += {product, std::abs(product)};
      }
    }
  });
  InnerProduct sum;
  for (const InnerProduct& product : products) sum += product;
  return sum;
}

/// Adds up products of derivatives and operands by kinds of arrays.
class InnerProducts {
 public:
  InnerProducts(const Problem& problem, std::span<const NamedDerivative> derivatives, int threads)
      : problem_(problem), threads_(threads) {
    for (const NamedDerivative& derivative : derivatives) add(derivative);
  }
  /// `name`: the beginning of the names of arrays, for both sides.
  InnerProduct of(const std::string& name) const {
    const auto found = products_.find(name);
    return found == products_.end() ? InnerProduct{} : found->second;
  }

 private:
  void add(const NamedDerivative& derivative) {
    const std::string& name = derivative.name;
    const bool left = name.starts_with(of_left_side);
    const DenseInput& input = input_of(left ? *problem_.left : *problem_.right);
    const std::string array = left ? name.substr(std::char_traits<char>::length(of_left_side)) : name;
    std::string kind = array.substr(array.starts_with("asym_") ? 5 : 0);
    // All other names end with spins.
    const std::size_t length = std::size("factors_ov") - 1;
    kind = kind.starts_with("fock_ov")   ? "fock_ov"
           : kind.starts_with("factors") ? kind.substr(0, length)
                                         : kind.substr(0, kind.find('_'));
    if (kind == "omega2") {
      products_["eps"] += times_operand(derivative.values, std::array{problem_.quotients.front().omega2});
    } else if (kind == "fock_ov") {
      products_[kind] +=
          times_operand(derivative.values, fock_ov(input, array.ends_with("_b") ? Spin::beta : Spin::alpha));
    } else {
      products_[kind] += times_operand(derivative, *input.arrays->array(array), threads_);
    }
  }
  static std::vector<double> fock_ov(const DenseInput& input, Spin spin) {
    const auto fock = open_fock(*input.arrays, input.header, spin);
    const std::int64_t holes = input.header.size(hole_class(spin)), particles = input.header.size(particle_class(spin));
    std::vector<double> values(static_cast<std::size_t>(holes * particles));
    fock->read(std::array{std::int64_t{0}, holes}, std::array{holes, particles}, values);
    return values;
  }

  const Problem& problem_;
  const int threads_;
  std::map<std::string, InnerProduct> products_;
};

/// Returns the number of subtasks of the tiles of a layout, or a little more. Each of them rounds its derivative by
/// omega2.
double subtasks_of(const PanelLayout& layout) {
  const TileSpace& space = layout.tiles();
  const double spins = layout.formulation() == SpinFormulation::spin_adapted ? 2.0 : 1.0;
  const auto triples = [](double tiles) { return tiles * (tiles + 1.0) * (tiles + 2.0) / 6.0; };
  return triples(space.hole_tiles() / spins) * triples((space.size() - space.hole_tiles()) / spins);
}

/// Compares sums of products with the values that the energies give.
class ExpectedSums {
 public:
  explicit ExpectedSums(Precision precision) : mixed_(precision == Precision::mixed) {}

  /// Throws Error unless a sum has this value. `rounding`: error of the sum, if it can be larger than that of
  /// molecules.
  void expect(const char* what, const InnerProduct& product, double expected, double rounding = 0.0) {
    // Roundings of derivatives are 1e-16, and those of energies are relative to the sizes of their terms. In mixed
    // precision errors of seeds, of products and of energies are a few 1e-7 of each term at most.
    const double relative = mixed_ ? 1e-6 : 1e-10;
    constexpr double absolute = 1e-11;
    const double size = product.magnitude + std::abs(expected), error = std::abs(product.sum - expected);
    const double beyond = error - absolute - rounding;
    if (size > 0.0) largest_ = std::max(largest_, beyond / size);
    if (beyond <= relative * size) return;
    throw Error(fmt::format(
        "The derivatives contradict the energies: the sum over {} is {:.12g} instead of {:.12g} hartree, so no "
        "derivatives are returned. If the arrays are not those of a molecule, some derivatives are too large (above "
        "{:.0f}), or an array lacks its symmetry, which the check of the input would find; otherwise please report "
        "this "
        "as a bug of Trifuse.{}",
        what, product.sum, expected, 0x1p63 * unit_of_operands,
        mixed_ ? " The precision double may give right derivatives." : ""));
  }
  /// Returns the largest error of all sums, relative to their magnitudes.
  double largest_error() const { return largest_; }

 private:
  bool mixed_;
  double largest_ = 0.0;
};

}

void require_derivatives(const CalculationOptions& options, const Problem& problem, bool rotates, bool on_gpus) {
  if (options.derivatives == Derivatives::none) return;
  const auto refuse = [](const std::string& why) { throw UsageError("Derivatives are not computed " + why); };
  if (options.precision == Precision::mixed && !on_gpus)
    refuse("in mixed precision on CPU cores; choose the precision double, or GPUs of compute capability 9.0.");
  if (problem.quotients.size() != 1 || problem.quotients.front() != Quotient(problem.quotients.front().omega2) ||
      problem.left_integrals != nullptr || problem.second_left || problem.disconnected != nullptr) {
    refuse(
        "for methods with moments of CCSD, for several methods or for several values of omega2; ask for one value of "
        "omega2 with the method t or reg-t.");
  }
  if (rotates) refuse("for orbitals that are rotated; give arrays in canonical or semicanonical orbitals.");
  for (const TileSource* source : {problem.right, problem.left}) {
    if (source == nullptr) continue;
    if (dense_input_of(*source) == nullptr) refuse("for NWChem's files and for blocks; give arrays or a Trifuse dump.");
  }
}

std::vector<NamedDerivative> make_derivatives(const Problem& problem, const PanelLayout& layout,
                                              std::vector<ZeroedVector<std::int64_t>> sums, int threads) {
  std::vector<NamedDerivative> derivatives;
  for (auto& [name, array] : Maker(problem, layout, sums, threads).make())
    derivatives.push_back({name, std::move(array.shape), std::move(array.values)});
  return derivatives;
}

double check_derivatives(const Problem& problem, const PanelLayout& layout,
                         std::span<const NamedDerivative> derivatives, const Energies& energy, Precision precision,
                         int threads) {
  ExpectedSums sums(precision);
  const InnerProducts products(problem, derivatives, threads);
  const auto [connected, whole] = energy.values();
  const double singles = whole - connected, doubles = connected + whole;
  InnerProduct ov = products.of("t1");
  ov += products.of("fock_ov");
  const bool factors = problem.right->factors() != nullptr, all = problem.derivatives == Derivatives::all;
  if (factors && all) {
    InnerProduct integrals = products.of("factors_vv");
    integrals += products.of("factors_oo");
    sums.expect("factors_vv and factors_oo", integrals, doubles);
    // An integral of ovvv or ovoo has one of these factors; an integral of ovov, in disconnected triples, has two.
    sums.expect("factors_ov", products.of("factors_ov") - products.of("t1") - products.of("t1"), doubles);
  } else if (all) {
    InnerProduct integrals = products.of("ovvv");
    integrals += products.of("ovoo");
    sums.expect("ovvv and ovoo", integrals, doubles);
  }
  sums.expect("t2", products.of("t2") - products.of("fock_ov"), doubles);
  sums.expect("t1 and f_ov", ov, singles);
  if (!factors) sums.expect("ovov", products.of("ovov") - products.of("t1"), 0.0);
  // The derivative by a large omega2 is small, and its error is multiplied by omega2. All subtasks may round alike.
  const double rounding = 0.5 * unit_of_energies * subtasks_of(layout) * std::abs(problem.quotients.front().omega2);
  sums.expect("the orbital energies", products.of("eps"), -whole, rounding);
  InnerProduct shift;
  for (const NamedDerivative& derivative : derivatives) {
    if (!derivative.name.starts_with("eps")) continue;
    shift += times_operand(derivative.values, std::vector<double>(derivative.values.size(), 1.0));
  }
  sums.expect("a shift of all orbital energies", shift, 0.0);
  return sums.largest_error();
}

}
