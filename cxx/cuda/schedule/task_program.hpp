#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/product_order.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/triples/problem.hpp"
#include "cxx/triples/recipe.hpp"

/// Turns the recipe of a task into what a kernel is told.
namespace trifuse::gpu {

/// Names a panel on the device: that of the host and the order of its two indices of one kind.
struct PanelName {
  PanelKind kind;
  Side side;                 ///< of left and right panels
  std::uint8_t set;          ///< of vvoo: which disconnected factors
  bool swapped;              ///< the later position comes first in `tiles`
  std::array<int, 4> tiles;  ///< as the host names it; left and right use three
  auto operator<=>(const PanelName&) const = default;
  /// The panel of the host that it is made of.
  PanelKey on_host() const;
};

/// A task with names instead of pointers.
struct TaskProgram {
  TaskData data;
  struct NamedProduct {
    PanelName a, b;
    std::int32_t k_steps = 0;
  };
  std::vector<NamedProduct> products;  ///< [products_per_target, targets], left targets first
  struct NamedVvoo {
    bool used = false;
    PanelName name{};
  };
  std::vector<NamedVvoo> vvoo;         ///< [terms of the form, sets]
  double operations_of_element = 0.0;  ///< of one element of each target, all products
};

/// Sets of disconnected factors: t1 with integrals and, with Fock in the singles, f with t2.
int disconnected_sets(const Problem& problem);

/// `k_step`: inner indices of one instruction.
void write_program(const Problem& problem, const TileSpace& space, const Task& task, int k_step, Recipe& recipe,
                   TaskProgram& program);

/// Shape and strides of a panel. `stride`: doubles between rows of the host's panel (vvoo: not used).
Packing packing_of(const TileSpace& space, Form form, const PanelName& name, std::int64_t stride);
/// Of the packed panel, on the device.
std::int64_t packed_bytes(const TileSpace& space, Form form, const PanelName& name);

}  // namespace trifuse::gpu
