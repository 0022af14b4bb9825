#include "cxx/contraction/gpu_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trifuse::contraction {

namespace {

/// Returns the position of the contracted index that is contiguous in a tensor, if there is one.
std::optional<std::size_t> contiguous_contracted(const Contraction& contraction, Tensor tensor) {
  for (std::size_t n = 0; n < contraction.indices.size(); ++n) {
    const Index& index = contraction.indices[n];
    if (index.index_class == IndexClass::contracted && index.stride[tensor] == 1) return n;
  }
  return std::nullopt;
}

/// Returns the copy of a tensor in which the index `fastest` is contiguous and the order of the others is the same.
/// Sets the strides of `packed` to those of the copy.
GpuPacking pack(const Contraction& contraction, Tensor tensor, std::size_t fastest, Contraction& packed) {
  std::vector<std::size_t> order;
  for (std::size_t n = 0; n < contraction.indices.size(); ++n) {
    if (n != fastest && in_tensor(contraction.indices[n], tensor)) order.push_back(n);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return contraction.indices[x].stride[tensor] < contraction.indices[y].stride[tensor];
  });
  order.insert(order.begin(), fastest);
  GpuPacking packing{tensor, {}, 0, 0, 1};
  for (const std::size_t n : order) {
    const Index& index = contraction.indices[n];
    if (index.stride[tensor] == 1) packing.from_axis = packing.axes.size();
    packing.axes.push_back({index.extent, index.stride[tensor], packing.size});
    packed.indices[n].stride[tensor] = packing.size;
    packing.size *= index.extent;
  }
  return packing;
}

double seconds_of(const GpuPacking& packing, const GpuModel& gpu) {
  // Of the rate of a copy whose order does not change.
  constexpr double efficiency = 0.7, launch = 4e-6;
  return launch + 2.0 * sizeof(double) * static_cast<double>(packing.size) / (efficiency * gpu.memory_rate);
}

/// A program whose plan is not made yet.
struct Unplanned {
  std::optional<GpuPacking> packing;
  Contraction contraction;  ///< what the plan computes, in the canonical form
  double seconds;           ///< of the packing

  GpuProgram with(GpuPlan plan) const {
    const double all = seconds + plan.seconds;
    return {packing, std::move(plan), all, false};
  }
};

/// Names of programs begin with this.
std::string beginning_of_name(const std::optional<GpuPacking>& packing) {
  return packing ? fmt::format("packed {}, ", "ABC"[packing->tensor]) : "";
}

/// Returns the contraction as it is, and with each operand that may be packed.
std::vector<Unplanned> packings_of(const Contraction& contraction, const GpuModel& gpu) {
  std::vector<Unplanned> all = {{std::nullopt, contraction, 0.0}};
  const auto of_a = contiguous_contracted(contraction, A), of_b = contiguous_contracted(contraction, B);
  if (!of_a || !of_b || *of_a == *of_b) return all;
  for (const auto& [tensor, fastest] : {std::pair{A, *of_b}, std::pair{B, *of_a}}) {
    // Tensors with negative steps are rare. If values share elements, the copy is larger than the tensor.
    const bool simple =
        elements(contraction, tensor) <= static_cast<double>(most_reach) &&
        std::all_of(contraction.indices.begin(), contraction.indices.end(),
                    [&, t = tensor](const Index& index) { return !in_tensor(index, t) || index.stride[t] > 0; });
    if (!simple) continue;
    Contraction packed = contraction;
    GpuPacking packing = pack(contraction, tensor, fastest, packed);
    const double seconds = seconds_of(packing, gpu);
    all.push_back({std::move(packing), canonical_form(packed), seconds});
  }
  return all;
}

}

GpuProgram program_for_gpu(const Contraction& contraction, const GpuModel& gpu, bool packs) {
  if (!packs) return Unplanned{std::nullopt, contraction, 0.0}.with(plan_for_gpu(contraction, gpu));
  return candidate_programs(contraction, gpu, 1).front();
}

std::vector<GpuProgram> candidate_programs(const Contraction& contraction, const GpuModel& gpu, std::size_t most) {
  std::vector<GpuProgram> programs;
  for (const Unplanned& unplanned : packings_of(contraction, gpu)) {
    for (GpuPlan& plan : candidates_for_gpu(unplanned.contraction, gpu, most))
      programs.push_back(unplanned.with(std::move(plan)));
  }
  std::stable_sort(programs.begin(), programs.end(),
                   [](const GpuProgram& x, const GpuProgram& y) { return x.seconds < y.seconds; });
  if (programs.size() > most) programs.erase(programs.begin() + static_cast<std::ptrdiff_t>(most), programs.end());
  return programs;
}

std::string name_of(const GpuProgram& program) {
  return beginning_of_name(program.packing) + program.plan.name;
}

std::optional<GpuProgram> program_of_name(const Contraction& contraction, const GpuModel& gpu, std::string_view name) {
  for (const Unplanned& unplanned : packings_of(contraction, gpu)) {
    const std::string beginning = beginning_of_name(unplanned.packing);
    if (!name.starts_with(beginning)) continue;
    if (std::optional<GpuPlan> plan = plan_of_name(unplanned.contraction, gpu, name.substr(beginning.size())))
      return unplanned.with(std::move(*plan));
  }
  return std::nullopt;
}

std::string text_of(const GpuProgram& program) {
  const char* const tuned = program.tuned ? "tuned: " : "";
  const std::string plan = text_of(program.plan);
  if (!program.packing) return tuned + plan;
  return fmt::format("{}{} is packed, {}, {:.1f} us in all", tuned, "ABC"[program.packing->tensor], plan,
                     program.seconds * 1e6);
}

}
