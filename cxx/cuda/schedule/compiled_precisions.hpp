#pragma once

#include <string>

#include "cxx/base/error.hpp"
#include "cxx/cuda/schedule/launch_shapes.hpp"

/// Finds the Precision with which device code is compiled, for the operand format with which the host plans.
namespace trifuse::gpu {

namespace detail {
template <typename Use, typename... Precisions>
bool use_matching(const OperandFormat& format, Use use, Precisions... precisions) {
  const auto matches = [&]<typename Precision>(Precision precision) {
    if (format != format_of<Precision>()) return false;
    use(precision);
    return true;
  };
  return (matches(precisions) || ...);
}
template <typename Use, typename... First, typename... Last, typename... Mixed>
bool use_compiled(const OperandFormat& format, Use use, ConfigurationList<First...>, ConfigurationList<Last...>,
                  ConfigurationList<Mixed...>) {
  // Fp64 is the precision of vvoo blocks, SplitHalfTransposed that of a backward kernel.
  return use_matching(format, use, Fp64{}, SplitHalfTransposed{}, typename First::Precision{}...,
                      typename Last::Precision{}..., typename Mixed::Precision{}...);
}
}

/// Calls `use(Precision{})` with the precision that has this format. It is the precision of a compiled kernel or of
/// vvoo blocks. Throws Error if there is none.
template <typename Use>
void with_precision_of(const OperandFormat& format, Use use) {
  if (detail::use_compiled(format, use, BulkKernels{}, CooperativeKernels{}, MixedKernels{})) return;
  throw Error("No kernel of this build reads operands in the format \"" + std::string(format.name) + "\".");
}

}
