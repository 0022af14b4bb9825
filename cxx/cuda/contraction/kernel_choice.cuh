#pragma once

#include <type_traits>
#include <utility>

#include "cxx/cuda/contraction/gpu_kernels.hpp"

/// From a plan to the instance of a kernel template.
namespace trifuse::contraction::gpu {

/// Pipelined kernels of large and of small shapes are compiled in a source each, at the same time.
constexpr bool is_large(const KernelShape& shape) {
  return shape.columns > 72;
}
constexpr bool is_small(const KernelShape& shape) {
  return !is_large(shape);
}

template <auto value>
using Constant = std::integral_constant<decltype(value), value>;

/// Calls action(shape) with the number of each shape as a constant.
template <typename Action>
void for_each_shape(const Action& action) {
  [&]<std::size_t... shape>(std::index_sequence<shape...>) {
    (action(Constant<shape>{}), ...);
  }
  (std::make_index_sequence<kernel_shapes.size()>{});
}

/// Returns make(shape, arrangement of rows, arrangement of columns) for the plan, with constants as arguments; null if
/// the kernel is not of this kind or `accepts` not its shape.
template <KernelKind kind, bool (*accepts)(const KernelShape&), typename Make>
const void* choose_shape(const GpuPlan& plan, const Make& make) {
  const auto with_arrangements = [&](auto shape) {
    using enum Arrangement;
    const bool rows = plan.rows.arrangement == k_fastest, columns = plan.columns.arrangement == k_fastest;
    if (rows) {
      return columns ? make(shape, Constant<k_fastest>{}, Constant<k_fastest>{})
                     : make(shape, Constant<k_fastest>{}, Constant<line_fastest>{});
    }
    return columns ? make(shape, Constant<line_fastest>{}, Constant<k_fastest>{})
                   : make(shape, Constant<line_fastest>{}, Constant<line_fastest>{});
  };
  const void* found = nullptr;
  const auto try_shape = [&](auto shape) {
    if constexpr (kernel_shapes[shape()].kind == kind && accepts(kernel_shapes[shape()])) {
      if (plan.shape == shape()) found = with_arrangements(shape);
    }
  };
  for_each_shape(try_shape);
  return found;
}

}
