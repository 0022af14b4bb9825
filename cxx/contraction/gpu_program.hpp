#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cxx/contraction/gpu_plan.hpp"

namespace trifuse::contraction {

/// A copy of an operand without gaps, whose contiguous index is another one than that of the operand.
struct GpuPacking {
  struct Axis {
    std::int64_t extent, from, to;  ///< values; elements from one value to the next in the operand and in the copy
  };
  Tensor tensor;                   ///< A or B
  std::vector<Axis> axes;          ///< all indices of the operand
  std::size_t from_axis, to_axis;  ///< the contiguous ones of the operand and of the copy; they differ
  std::int64_t size;               ///< elements of the copy
};

/// What a GPU does for a contraction: it packs an operand, if that pays, and executes a plan.
struct GpuProgram {
  std::optional<GpuPacking> packing;
  GpuPlan plan;          ///< with a packing: for the copy instead of the operand
  double seconds = 0.0;  ///< predicted
  bool tuned = false;    ///< chosen because it was measured to be faster than the first choice of the model
};

/// Returns the program with the least predicted time. An operand may be packed if different contracted indices are
/// contiguous in A and in B. For `contraction` see plan_for_gpu(). `packs`: false for the best program without a copy.
GpuProgram program_for_gpu(const Contraction& contraction, const GpuModel& gpu, bool packs = true);

/// Returns the programs from which a GPU may choose, by their predicted time; the first one is that of
/// program_for_gpu(). `most`: their largest number.
std::vector<GpuProgram> candidate_programs(const Contraction& contraction, const GpuModel& gpu, std::size_t most);

/// Returns the name of a program. Another candidate of the contraction has another name.
std::string name_of(const GpuProgram& program);

/// Returns the candidate with this name, if there is one.
std::optional<GpuProgram> program_of_name(const Contraction& contraction, const GpuModel& gpu, std::string_view name);

/// Describes a program in one line.
std::string text_of(const GpuProgram& program);

}
