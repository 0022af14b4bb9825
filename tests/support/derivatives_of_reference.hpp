#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cxx/base/zeroed_vector.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_adjoint.hpp"
#include "cxx/plan/complete_sums.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/reference_derivatives.hpp"

/// Compares the derivatives of executors with the reference evaluation.
namespace trifuse::testing {

/// Derivatives by the numbers of a tensor, by their orbitals.
using ByOrbitals = std::map<std::array<std::int64_t, 4>, double>;

/// Calls `visit(tiles, values)` with the derivatives by all blocks of a use, in the tiles of the layout.
template <typename Visit>
void for_each_block(const PanelLayout& layout, const PanelBlocks::Use& use, const CompleteSums& sums, Visit visit) {
  const PanelBlocks blocks(layout);
  for (const auto& tiles : blocks.list(use, layout.tiles())) {
    read_block(blocks, use, blocks.shape_of(layout.tiles(), tiles), sums,
               [&](std::span<const double> values) { visit(tiles, values); });
  }
}

/// Returns the derivatives by the blocks of the source, the tensor and the spaces of a use.
inline ByOrbitals by_blocks(const PanelLayout& layout, const PanelBlocks::Use& like, const Problem& problem,
                            const CompleteSums& sums) {
  ByOrbitals found;
  const TileSpace& space = layout.tiles();
  for (const PanelBlocks::Use& use : PanelBlocks(layout).uses(problem)) {
    if (use.source != like.source || use.tensor != like.tensor || use.spaces != like.spaces) continue;
    for_each_block(layout, use, sums, [&](const PanelBlocks::BlockTiles& tiles, std::span<const double> block) {
      const auto offset = [&](std::size_t d) { return space[tiles[d]].offset; };
      const auto size = [&](std::size_t d) { return space[tiles[d]].size; };
      std::size_t n = 0;
      for (std::int64_t w = 0; w < size(0); ++w)
        for (std::int64_t x = 0; x < size(1); ++x)
          for (std::int64_t y = 0; y < size(2); ++y)
            for (std::int64_t z = 0; z < size(3); ++z)
              found[{offset(0) + w, offset(1) + x, offset(2) + y, offset(3) + z}] += unit_of_operands * block[n++];
    });
  }
  return found;
}

/// Compares sums of derivatives with the reference evaluation, element by element.
class AgainstTheReference {
 public:
  /// `problem`, `layout`: must outlive this object. `layout`, `sums`: see DerivativeSums. `operands`: the first sums,
  /// if they are not in `sums`.
  AgainstTheReference(const Problem& problem, const Plan& plan, const PanelLayout& layout,
                      std::vector<ZeroedVector<std::int64_t>> sums,
                      std::shared_ptr<const CompleteSums> operands = nullptr)
      : problem_(problem),
        layout_(layout),
        sums_(std::move(sums)),
        operands_(operands != nullptr ? std::move(operands)
                                      : std::make_shared<HostSums>(sums_[DerivativeSums::operands])),
        reference_(problem, plan.tiles) {
    for (const Task& task : plan.tasks) reference_.add(task);
  }

  /// `omega2_unit`: to which subtasks round the derivative by omega2, in units of those by orbital energies.
  void expect_equal(double omega2_unit = 1.0) const {
    for_each_tensor([&](const PanelBlocks::Use& use) { expect_equal(use); });
    expect_near(numbers_of(DerivativeSums::energies), reference_.of_energies(), unit_of_energies);
    const double of_omega2[] = {reference_.of_omega2()};
    expect_near(numbers_of(DerivativeSums::omega2), of_omega2, omega2_unit * unit_of_energies);
    const ReferenceTensors& left = reference_.of(problem_.two_sided() ? Side::left : Side::right);
    for (const OvTensor tensor : {OvTensor::t1, OvTensor::f_ov}) expect_equal(tensor, left.ov(tensor));
  }
  /// Compares only what left and right panels contain. The problem must not have t2 in its disconnected triples.
  void expect_equal_panels() const {
    for_each_tensor([&](const PanelBlocks::Use& use) {
      if (!is_vvoo(use)) expect_equal(use);
    });
  }

 private:
  /// Returns the derivatives by orbital energies or by omega2.
  std::vector<double> numbers_of(std::size_t array) const {
    std::vector<double> numbers;
    for (const std::int64_t number : sums_[array]) numbers.push_back(unit_of_energies * static_cast<double>(number));
    return numbers;
  }
  /// Compares numbers relative to the largest of them. `unit`: of the sums, to which each subtask rounds.
  static void expect_near(std::span<const double> found, std::span<const double> expected, double unit) {
    ASSERT_EQ(found.size(), expected.size());
    double size = 0.0, difference = 0.0;
    for (std::size_t n = 0; n < found.size(); ++n) {
      size = std::max(size, std::abs(expected[n]));
      difference = std::max(difference, std::abs(found[n] - expected[n]));
    }
    EXPECT_LE(difference, 1e-11 * size + 50.0 * unit) << size;
  }
  /// Calls `visit` once for each source, tensor and kind of orbitals.
  template <typename Visit>
  void for_each_tensor(Visit visit) const {
    std::set<std::tuple<const TileSource*, TensorKind, std::array<Space, 4>>> seen;
    for (const PanelBlocks::Use& use : PanelBlocks(layout_).uses(problem_)) {
      if (seen.emplace(use.source, use.tensor, use.spaces).second) visit(use);
    }
    EXPECT_GE(seen.size(), layout_.has_whole_rows() ? 4u : 2u);
  }
  static bool is_vvoo(const PanelBlocks::Use& use) {
    return use.tensor == TensorKind::v2 && use.spaces[0] == Space::particle && use.spaces[3] == Space::hole;
  }
  bool adapted() const { return problem_.formulation == SpinFormulation::spin_adapted; }

  void expect_equal(OvTensor tensor, const std::vector<double>& expected) const {
    const auto n = static_cast<std::size_t>(layout_.tiles().orbitals());
    std::vector<double> found;
    for (std::size_t set = 0; set < layout_.sets(); ++set) {
      const DisconnectedSet& of = problem_.disconnected_set(static_cast<int>(set)).set;
      if (of.ov != tensor) continue;
      found.resize(n * n);
      for (std::size_t h = 0; h < n; ++h)
        for (std::size_t p = 0; p < n; ++p)
          found[p * n + h] +=
              of.weight * unit_of_operands * static_cast<double>(sums_[DerivativeSums::ov_tensor(set)][h * n + p]);
    }
    expect_near(found, expected, unit_of_operands);
  }

  void expect_equal(const PanelBlocks::Use& use) const {
    const bool t2 = use.tensor == TensorKind::t2, holes_first = use.spaces[0] == Space::hole, vvoo = is_vvoo(use);
    using R = ReferenceTensors;
    Dense4 R::*const tensor = t2 ? &R::t2 : holes_first ? &R::ovoo : vvoo ? &R::vvoo : &R::vvov;
    const bool of_left = problem_.two_sided() && use.source == problem_.left;
    const auto raw = [&](std::int64_t w, std::int64_t x, std::int64_t y, std::int64_t z) {
      double sum = (reference_.of(of_left ? Side::left : Side::right).*tensor)(w, x, y, z);
      // Both sides have the integrals of the right source.
      if (!t2 && problem_.two_sided()) sum += (reference_.of(Side::left).*tensor)(w, x, y, z);
      return sum;
    };
    // A number also stands for its antisymmetric images, which are stored if two tiles are equal. In the spin-adapted
    // formulation, it is equal to one with exchanged electrons, or with the other order of a charge distribution.
    const bool bra = !adapted() && !holes_first, ket = !adapted() && (t2 || vvoo || holes_first);
    const auto with_images = [&](const std::array<std::int64_t, 4>& e, auto value) {
      const auto [w, x, y, z] = e;
      return value(w, x, y, z) - (bra ? value(x, w, y, z) : 0.0) - (ket ? value(w, x, z, y) : 0.0) +
             (bra && ket ? value(x, w, z, y) : 0.0);
    };
    const auto equal = [&](const std::array<std::int64_t, 4>& e) -> std::array<std::int64_t, 4> {
      const auto [w, x, y, z] = e;
      const TileSpace& space = layout_.tiles();
      const std::int64_t holes = space.orbitals(OrbitalClass::hole_alpha),
                         particles = space.orbitals(OrbitalClass::particle_alpha);
      const auto shift = [&](std::int64_t orbital) { return orbital < 2 * holes ? holes : particles; };
      const auto beta = [&](std::int64_t orbital) { return orbital + shift(orbital); };
      const auto alpha = [&](std::int64_t orbital) { return orbital - shift(orbital); };
      if (t2 || vvoo) return {alpha(x), beta(w), alpha(z), beta(y)};
      if (holes_first) return {y, x, w, z};
      return {w, z, y, x};
    };
    const ByOrbitals found = by_blocks(layout_, use, problem_, *operands_);
    EXPECT_FALSE(found.empty());
    const auto stored = [&](std::int64_t w, std::int64_t x, std::int64_t y, std::int64_t z) {
      const auto at = found.find({w, x, y, z});
      return at == found.end() ? 0.0 : at->second;
    };
    std::vector<double> sums, all_wanted;
    for (const auto& [e, value] : found) {
      double sum = with_images(e, stored), wanted = with_images(e, raw);
      if (adapted()) {
        sum += found.at(equal(e));
        wanted += with_images(equal(e), raw);
      }
      sums.push_back(sum);
      all_wanted.push_back(wanted);
    }
    expect_near(sums, all_wanted, unit_of_operands);
  }

  const Problem& problem_;
  const PanelLayout& layout_;
  const std::vector<ZeroedVector<std::int64_t>> sums_;
  const std::shared_ptr<const CompleteSums> operands_;
  ReferenceDerivatives reference_;
};

}
