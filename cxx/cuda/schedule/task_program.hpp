#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/phases.hpp"
#include "cxx/cuda/schedule/work.hpp"
#include "cxx/operands/panels.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

/// Turns the contraction list of a task into what a kernel is told.
namespace trifuse::gpu {

/// Names a panel on the device: that of the host and the order of its two indices of one kind.
struct PanelName {
  PanelKind kind;
  Side side;                 ///< of left and right panels
  std::uint8_t set;          ///< of pairs: which disconnected factors
  bool swapped;              ///< the later position comes first in `tiles`
  std::array<int, 4> tiles;  ///< as the host names it; left and right use three
  auto operator<=>(const PanelName&) const = default;
};

/// A task with names instead of pointers.
struct TaskProgram {
  TaskData data;
  struct NamedPhase {
    PanelName a, b;
    std::int32_t steps = 0;
  };
  std::vector<NamedPhase> phases;  ///< [phases_of_target, targets], left targets first
  struct NamedPair {
    bool used = false;
    PanelName name{};
  };
  std::vector<NamedPair> pairs;        ///< [terms of the form, sets]
  double operations_of_element = 0.0;  ///< of one element of each target, all products
};

/// Sets of disconnected factors: t1 with integrals and, with Fock in the singles, f with t2.
int sets_of(const Problem& problem);

/// `step`: inner indices of one instruction.
void write_program(const Problem& problem, const TileSpace& space, const Task& task, int step,
                   ContractionList& contractions, TaskProgram& program);

/// Shape and strides of a panel. `stride`: doubles between rows of the host's panel (pairs: not used).
Packing packing_of(const TileSpace& space, SpinFormulation formulation, const PanelName& name, std::int64_t stride);
/// Of the packed panel, on the device.
std::int64_t packed_bytes(const TileSpace& space, SpinFormulation formulation, const PanelName& name);

}  // namespace trifuse::gpu
