#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cxx/operands/panel_layout.hpp"
#include "cxx/plan/task_results.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

/// The arrays to which the tasks of a run with derivatives add. They are derivatives of E(T) by the numbers that the
/// executors read.
namespace trifuse {

/// Units of the sums: of derivatives by orbital energies and omega2, and of all others, hartree per unit of the
/// operand. The range of the latter is 32, which is 100 times what molecules have.
inline constexpr double unit_of_energies = 0x1p-54, unit_of_operands = 0x1p-58;

/// Throws InputError if a sum by operands is above a quarter of its range, or one by omega2 above half of it: then it
/// or another one may have left the range, and would be wrong without a sign of it. Doubles have the units of
/// the sums, too.
void expect_in_range(std::span<const double> by_operands);
void expect_in_range(std::span<const std::int64_t> by_operands);
void expect_in_range(std::int64_t by_omega2);

/// Numbers of the arrays in ResultShape::sums.
struct DerivativeSums {
  static constexpr std::size_t operands = 0;  ///< left and right panels and vvoo blocks, see layout_of_derivatives()
  static constexpr std::size_t energies = 1;  ///< orbital energies, [orbitals]
  static constexpr std::size_t omega2 = 2;    ///< omega2, one number
  /// The ov tensor of a set, multiplied by the weight of the set: [hole, particle] over all orbitals, as
  /// PanelStore::ov_tensor() returns it.
  static constexpr std::size_t ov_tensor(std::size_t set) { return 3 + set; }
};

/// Returns the layout of the sums by operands. `problem`: with derivatives. `tiles`: of the panels. Derivatives by
/// amplitudes alone need no sums by the integrals of panels; those by factors do.
inline PanelLayout layout_of_derivatives(const Problem& problem, const TileSpace& tiles) {
  return problem.derivatives == Derivatives::all ? PanelLayout::of_whole_panels(problem, tiles)
                                                 : PanelLayout::of_amplitudes(problem, tiles);
}

/// Returns the arrays for the panels of layout_of_derivatives(), in the order of DerivativeSums.
inline std::vector<SummedArray> derivative_sums(const PanelLayout& layout) {
  const auto orbitals = static_cast<std::size_t>(layout.tiles().orbitals());
  const TileSizes largest = largest_tiles(layout.tiles());
  // The name identifies the layout in stored sums: the tiles of all panels of a plan follow from the largest ones.
  const std::string operands = std::string(layout.has_whole_rows() ? "operands" : "amplitudes") + " in tiles of " +
                               std::to_string(largest.holes) + " and " + std::to_string(largest.particles);
  std::vector<SummedArray> arrays = {{operands, static_cast<std::size_t>(layout.doubles()), unit_of_operands},
                                     {"orbital energies", orbitals, unit_of_energies},
                                     {"omega2", 1, unit_of_energies}};
  for (std::size_t set = 0; set < layout.sets(); ++set)
    arrays.push_back({"ov tensor " + std::to_string(set), orbitals * orbitals, unit_of_operands});
  return arrays;
}

/// Returns the memory of the arrays, which each process has, bytes; 0: `problem` has no derivatives. `tiles`: of the
/// panels.
inline std::int64_t derivative_sum_bytes(const Problem& problem, const TileSpace& tiles) {
  if (problem.derivatives == Derivatives::none) return 0;
  const std::int64_t orbitals = tiles.orbitals();
  const std::int64_t operands = problem.derivatives == Derivatives::all
                                    ? PanelLayout::whole_doubles(problem, tiles)
                                    : PanelLayout::amplitude_doubles(problem, tiles);
  return (operands + orbitals + 1 + problem.disconnected_sets() * orbitals * orbitals) *
         static_cast<std::int64_t>(sizeof(std::int64_t));
}

}
