#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

/// Turns the contraction list of a task into the program of a kernel.
namespace trifuse::gpu {

/// Names a packed panel on the device: the panel of the host, the order of its two indices of one kind, and the format
/// of its elements. A device may store the same panel in several formats.
struct PanelName {
  PanelKey key{};          ///< the host panel from which the packed panel is made
  bool swapped = false;    ///< true if the two indices of one kind have reversed positions
  OperandFormat format{};  ///< vvoo_format for vvoo blocks

  PanelName() = default;
  /// `operand_format`: format of left and right panels; not used for vvoo blocks.
  PanelName(const PanelKey& panel, bool is_swapped, const OperandFormat& operand_format)
      : key(panel), swapped(is_swapped), format(panel.kind == PanelKind::vvoo ? vvoo_format : operand_format) {}
  auto operator<=>(const PanelName&) const = default;

  /// Hash for tables. The names of a panel in several formats have the same hash.
  struct Hash {
    std::size_t operator()(const PanelName& name) const;
  };
};

/// The program of a task, with names of panels instead of pointers.
struct TaskProgram {
  TaskData data;  ///< without CTA tiles
  struct NamedProduct {
    PanelName a, b;            ///< left and right panel
    std::int32_t k_steps = 0;  ///< as in KernelProduct; 0: no panels
  };
  std::vector<NamedProduct> products;  ///< [side, target, particle, hole]; left sides come first
  struct NamedVvoo {
    bool used = false;  ///< false: the block vanishes
    PanelName name{};
  };
  std::vector<NamedVvoo> vvoo;         ///< [set, vvoo block]
  double operations_of_element = 0.0;  ///< floating-point operations of all products for one element of each target
};

/// Returns what kernels compute for a problem. The spin-adapted kernel for any quotients goes through the targets once
/// for all sets, so it is the faster one for two sets, also if all denominators are shifts.
inline EnergyKind energy_kind(const Problem& problem) {
  if (problem.derivatives != Derivatives::none)
    return problem.two_sided() ? EnergyKind::seeds_of_two_sides : EnergyKind::seeds;
  const bool adapted = problem.formulation == SpinFormulation::spin_adapted;
  const bool several_sets = adapted && problem.two_sided() && problem.sets_end(0) > 1;
  if (problem.second_left) return EnergyKind::quotients_of_three_sides;
  if (!problem.has_shifts_only() || several_sets) return EnergyKind::quotients;
  return problem.two_sided() ? EnergyKind::two_sides : EnergyKind::one_side;
}

/// Writes the program of `task` into `program`. `format`: the format of the operands. `contractions`: memory that is
/// reused from call to call; afterwards it contains the task's contraction list.
void write_program(const Problem& problem, const TileSpace& space, const Task& task, const OperandFormat& format,
                   ContractionList& contractions, TaskProgram& program);

/// Returns the shape and strides of a whole panel in the host's memory. `stride`: doubles from one row of the host's
/// panel to the next; not used for vvoo blocks.
Packing packing_of(const TileSpace& space, SpinFormulation formulation, const PanelName& name, std::int64_t stride);
/// Returns `packing` for a source whose rows of contracted indices are `row_stride` doubles apart. `packing`: packing
/// for a source whose rows are one double apart.
inline Packing with_row_stride(Packing packing, std::int64_t row_stride) {
  for (std::int64_t& stride : packing.stride) stride *= row_stride;
  return packing;
}
/// Returns the packing of a vvoo block for a source whose rows, of `length` particles p' each, are `row_stride` doubles
/// apart. `packing`: packing for a source without gaps.
inline Packing with_longer_rows(Packing packing, std::int64_t length, std::int64_t row_stride) {
  // The stride of p' is 1. With rows of length 1 there is only one p'.
  for (std::int64_t& stride : packing.stride) {
    if (stride % length == 0) stride = stride / length * row_stride;
  }
  return packing;
}
/// Returns the size of the packed panel on the device, bytes.
std::int64_t packed_bytes(const TileSpace& space, SpinFormulation formulation, const PanelName& name);

}
