#include "cxx/calculation/derivatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/made_derivatives.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_adjoint.hpp"
#include "tce_tiles/dense/dense_adjoint.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {

namespace {

/// Returns the input of a source that require_derivatives() has accepted.
const DenseInput& input_of(const TileSource& source) {
  return *dense_input_of(source);
}

/// Multiplies derivatives by factors, [naux,p,q], by the array of an input, which may be packed.
InnerProduct times_factors(const DerivativeArray& derivative, const DenseArray& array, int threads) {
  const std::vector<std::int64_t>& shape = derivative.shape;
  if (derivative.values.empty()) return {};
  const auto plane = static_cast<std::size_t>(shape[1] * shape[2]);
  std::vector<InnerProduct> products(static_cast<std::size_t>(shape[0]));
  share_among_threads<std::vector<double>>(products.size(), threads, [&](std::size_t n, std::vector<double>& values) {
    std::vector<std::int64_t> offset(array.shape().size(), 0), count(array.shape().begin(), array.shape().end());
    const bool packed = count.size() < shape.size();
    offset[0] = static_cast<std::int64_t>(n);
    count[0] = 1;
    values.resize(packed ? static_cast<std::size_t>(count[1]) : plane);
    array.read(offset, count, values);
    const std::span<const double> of_plane = std::span(derivative.values).subspan(n * plane, plane);
    if (!packed) {
      products[n] = InnerProduct::of(of_plane, values);
      return;
    }
    for (std::int64_t p = 0, at = 0; p < shape[1]; ++p) {
      for (std::int64_t q = 0; q < shape[2]; ++q, ++at) {
        const double product =
            of_plane[static_cast<std::size_t>(at)] * values[static_cast<std::size_t>(pair_number(p, q))];
        products[n] += {product, std::abs(product)};
      }
    }
  });
  InnerProduct sum;
  for (const InnerProduct& product : products) sum += product;
  return sum;
}

std::vector<double> fock_ov(const DenseInput& input, Spin spin) {
  const auto fock = open_fock(*input.arrays, input.header, spin);
  const std::int64_t holes = input.header.size(hole_class(spin)), particles = input.header.size(particle_class(spin));
  std::vector<double> values(static_cast<std::size_t>(holes * particles));
  fock->read(std::array{std::int64_t{0}, holes}, std::array{holes, particles}, values);
  return values;
}

std::vector<double> all_of(const DenseArray& array) {
  std::vector<double> values(static_cast<std::size_t>(array.size()));
  array.read_all(values);
  return values;
}

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
        "derivatives are returned. An array may lack its symmetry, which the check of the input would find; otherwise "
        "please report this as a bug of Trifuse.{}",
        what, product.sum, expected, mixed_ ? " The precision double may give right derivatives." : ""));
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

DerivativeProducts multiply_by_operands(const Problem& problem, const PanelLayout& layout,
                                        const MadeDerivatives& derivatives, int threads) {
  DerivativeProducts products;
  const OpenMpThreads of_reading(threads);
  const bool factors = problem.right->factors() != nullptr;
  const PanelBlocks blocks(layout);
  for (const PanelBlocks::Use& use : blocks.uses(problem)) {
    // Blocks of integrals would be made from factors, whose derivatives are multiplied instead.
    if (factors && use.tensor == TensorKind::v2) continue;
    InnerProduct product = times_blocks(blocks, use, derivatives.sums());
    product.sum *= unit_of_operands;
    product.magnitude *= unit_of_operands;
    const bool vvoo = use.maps.front().kind == PanelKind::vvoo;
    (use.tensor == TensorKind::t2 ? products.t2 : vvoo ? products.ovov : products.integrals) += product;
  }
  for (const auto& [name, derivative] : derivatives.made()) {
    if (derivative.values.empty()) continue;  // the array may be absent
    const bool left = name.starts_with(of_left_side);
    const DenseInput& input = input_of(left ? *problem.left : *problem.right);
    const std::string array = left ? name.substr(std::char_traits<char>::length(of_left_side)) : name;
    if (array == "omega2") {
      products.energies += InnerProduct::of(derivative.values, std::array{problem.quotients.front().omega2});
    } else if (array.starts_with("fock_ov")) {
      products.fock_ov +=
          InnerProduct::of(derivative.values, fock_ov(input, array.ends_with("_b") ? Spin::beta : Spin::alpha));
    } else if (array.starts_with("factors")) {
      (array.starts_with("factors_ov") ? products.factors_ov : products.integrals) +=
          times_factors(derivative, *input.arrays->array(array), threads);
    } else {
      const InnerProduct product = InnerProduct::of(derivative.values, all_of(*input.arrays->array(array)));
      (array.starts_with("eps") ? products.energies : products.t1) += product;
    }
    if (array.starts_with("eps"))
      products.shift += InnerProduct::of(derivative.values, std::vector<double>(derivative.values.size(), 1.0));
  }
  return products;
}

double check_derivatives(const Problem& problem, const PanelLayout& layout, const DerivativeProducts& products,
                         const Energies& energy, Precision precision) {
  ExpectedSums sums(precision);
  const auto [connected, whole] = energy.values();
  const double singles = whole - connected, doubles = connected + whole;
  InnerProduct ov = products.t1;
  ov += products.fock_ov;
  const bool factors = problem.right->factors() != nullptr, all = problem.derivatives == Derivatives::all;
  if (factors && all) {
    sums.expect("factors_vv and factors_oo", products.integrals, doubles);
    // An integral of ovvv or ovoo has one of these factors; an integral of ovov, in disconnected triples, has two.
    sums.expect("factors_ov", products.factors_ov - products.t1 - products.t1, doubles);
  } else if (all) {
    sums.expect("ovvv and ovoo", products.integrals, doubles);
  }
  sums.expect("t2", products.t2 - products.fock_ov, doubles);
  sums.expect("t1 and f_ov", ov, singles);
  if (!factors) sums.expect("ovov", products.ovov - products.t1, 0.0);
  // The derivative by a large omega2 is small, and its error is multiplied by omega2. All subtasks may round alike.
  const double rounding = 0.5 * unit_of_energies * subtasks_of(layout) * std::abs(problem.quotients.front().omega2);
  sums.expect("the orbital energies", products.energies, -whole, rounding);
  sums.expect("a shift of all orbital energies", products.shift, 0.0);
  return sums.largest_error();
}

CheckedDerivatives make_derivatives(const Problem& problem, const PanelLayout& layout,
                                    std::shared_ptr<const CompleteSums> operands,
                                    const std::vector<ZeroedVector<std::int64_t>>& sums, const Energies& energy,
                                    Precision precision, int threads) {
  auto derivatives = std::make_shared<MadeDerivatives>(problem, layout, std::move(operands), sums, threads);
  const DerivativeProducts products = multiply_by_operands(problem, layout, *derivatives, threads);
  const double error = check_derivatives(problem, layout, products, energy, precision);
  if (problem.right->factors() != nullptr) derivatives->free_sums();
  return {std::move(derivatives), error};
}

}
