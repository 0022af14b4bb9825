#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/gpu_tiles.hpp"

namespace trifuse::contraction {

/// The properties of a GPU on which plans depend.
struct GpuModel {
  std::string name;  ///< e.g. "NVIDIA H200"; empty: no tuned plans, see tuned_plans.hpp
  std::int32_t multiprocessors = 132;
  bool matrix_instructions = true;  ///< compute capability 9.0
  double product_rate = 57e12;      ///< operations per second of DGEMM
  double memory_rate = 2.7e12;      ///< bytes per second that kernels read and write
  double cache_rate = 5.5e12;       ///< bytes per second from the second-level cache
};

/// How an operand's tile is loaded.
struct GpuOperand {
  Tensor tensor;  ///< A or B
  Arrangement arrangement;
  bool pairs;        ///< 16 bytes can be copied at once if the address of the tensor allows it
  bool whole_pairs;  ///< each of these copies has two numbers that exist
  TileGrid grid;
  std::int32_t line_count;                ///< number of the lines that exist in a tile
  std::vector<Line> lines;                ///< [rows or columns of the shape]
  std::vector<std::uint16_t> line_order;  ///< [rows or columns of the shape]: lines in the order of memory
  std::vector<std::int32_t> k;            ///< [table]: offset of each contracted value in the operand
  std::vector<std::uint16_t> k_order;     ///< [step]: contracted values of a step in the order of memory
};

/// How a GPU computes a contraction.
struct GpuPlan {
  std::string name;       ///< another one for each candidate of a contraction
  std::size_t shape = 0;  ///< number in kernel_shapes
  GpuOperand rows, columns;
  OuterSpace batch;
  OuterSpace outer_k;    ///< contracted indices that are not in the table of offsets
  std::int32_t k = 1;    ///< contracted values in the table
  bool c_pairs = false;  ///< 16 bytes can be stored at once if the address of C allows it
  TileOrder order;
  std::int32_t waves = 0;  ///< see Segments
  std::int32_t ctas = 1;   ///< of the launch
  double seconds = 0.0;    ///< predicted

  const KernelShape& kernel() const { return kernel_shapes[shape]; }
  /// Steps of a value of `outer_k`, and of the whole sum.
  std::int32_t inner_steps() const { return (k + kernel().step - 1) / kernel().step; }
  std::int32_t steps() const { return inner_steps() * outer_k.size; }
  /// Shared memory of a CTA, bytes.
  std::int64_t shared_bytes() const;
  /// True if some tiles are computed in parts.
  bool divides_tiles() const { return order.size() > waves * ctas; }
};

/// The elements of a tensor must be less than this apart, and a sum may have at most so many terms. Then offsets, steps
/// and numbers of tiles fit into 32 bits. The margin is for loops of kernels, which add the number of CTAs or threads.
inline constexpr std::int64_t most_reach = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

/// Returns the plan with the least predicted time. `contraction`: in the canonical form, with elements in C and terms
/// in the sum. Its elements and terms are limited as slice_to_reach() with `most_reach` limits them.
GpuPlan plan_for_gpu(const Contraction& contraction, const GpuModel& gpu);

/// Returns the plans from which plan_for_gpu() chooses, by their predicted time. `most`: their largest number.
std::vector<GpuPlan> candidates_for_gpu(const Contraction& contraction, const GpuModel& gpu, std::size_t most);

/// Returns the candidate with this name, if there is one.
std::optional<GpuPlan> plan_of_name(const Contraction& contraction, const GpuModel& gpu, std::string_view name);

/// Describes a plan in one line: kernel, tiles, accesses and the predicted time.
std::string text_of(const GpuPlan& plan);

}
