#include "cxx/cuda/cuda_launch.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"

namespace trifuse::gpu {

namespace {

constexpr std::size_t most_items = 400000;

/// A range in the profiler's timeline.
class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

/// Gives panels back however this ends.
struct Lease {
  PanelCache& cache;
  std::span<const PanelName> names;
  ~Lease() { cache.release(names); }
};

/// Several arrays in one buffer.
struct Layout {
  std::size_t bytes = 0;
  template <typename T>
  std::size_t add(std::size_t count) {
    const std::size_t offset = bytes;
    bytes += (count * sizeof(T) + 255) / 256 * 256;
    return offset;
  }
};

}  // namespace

LaunchBuffers::LaunchBuffers(std::int64_t scratch_doubles)
    : scratch(static_cast<std::size_t>(scratch_doubles)), next_item(1) {
  TRIFUSE_CUDA(cudaMemsetAsync(next_item.data(), 0, sizeof(std::uint32_t), stream));
}

PendingLaunch::PendingLaunch(const Device& device, const Kernel& kernel, const Problem& problem, std::int64_t orbitals)
    : device_(device), kernel_(kernel), problem_(problem), orbitals_(orbitals) {}

std::optional<double> PendingLaunch::add(const TaskProgram& program, SpinCase spin_case, std::span<TaskEnergy> energies,
                                         BoxCover& cover, std::int64_t most_bytes) {
  std::int64_t bytes = 0;
  new_names_.clear();
  const auto want = [&](const PanelName& name) {
    if (numbers_.contains(name) || std::find(new_names_.begin(), new_names_.end(), name) != new_names_.end()) return;
    new_names_.push_back(name);
    bytes += device_.panels->bytes_of(name);
  };
  for (const auto& phase : program.phases) {
    if (phase.steps == 0) continue;
    want(phase.a);
    want(phase.b);
  }
  for (const auto& factors : program.pairs) {
    if (factors.used) want(factors.name);
  }
  if (!empty() && (panel_bytes_ + bytes > most_bytes || items_.size() > most_items)) return std::nullopt;

  panel_bytes_ += bytes;
  for (const PanelName& name : new_names_) {
    numbers_.emplace(name, names_.size());
    names_.push_back(name);
  }
  TaskData data = program.data;
  data.first_item = std::ssize(items_);
  const double share =
      append_items(static_cast<std::uint32_t>(pieces_.size()), data, problem_.form, kernel_.shape, cover, items_);
  data.items = std::ssize(items_) - data.first_item;
  tasks_.push_back(data);
  const auto number = [&](const PanelName& name) { return static_cast<std::int64_t>(numbers_.at(name)); };
  for (const auto& phase : program.phases) {
    const bool used = phase.steps != 0;
    phases_.push_back({used ? number(phase.a) : 0, used ? number(phase.b) : 0, phase.steps});
  }
  for (const auto& factors : program.pairs) pairs_.push_back(factors.used ? number(factors.name) : -1);
  pieces_.push_back({spin_case, energies});
  double operations = share * program.operations_of_element;
  for (const std::int32_t extent : data.extent) operations *= extent;
  return operations;
}

/// Sends programs and items to the device.
Work PendingLaunch::upload(LaunchBuffers& buffers, std::span<const double* const> panels) const {
  Layout layout;
  const std::size_t tasks_at = layout.add<TaskData>(tasks_.size());
  const std::size_t phases_at = layout.add<Phase>(phases_.size());
  const std::size_t pairs_at = layout.add<const double*>(pairs_.size());
  const std::size_t items_at = layout.add<Item>(items_.size());
  buffers.host_program.reserve(layout.bytes);
  buffers.device_program.reserve(layout.bytes);
  const auto panel = [&](std::int64_t n) { return panels[static_cast<std::size_t>(n)]; };
  const auto host = [&](std::size_t offset) { return buffers.host_program.data() + offset; };
  std::copy(tasks_.begin(), tasks_.end(), reinterpret_cast<TaskData*>(host(tasks_at)));
  auto* phases = reinterpret_cast<Phase*>(host(phases_at));
  for (const auto& [a, b, steps] : phases_) {
    *phases++ = steps == 0 ? Phase{} : Phase{panel(a), panel(b), steps, 0};
  }
  auto* pairs = reinterpret_cast<const double**>(host(pairs_at));
  for (const std::int64_t n : pairs_) *pairs++ = n < 0 ? device_.zeros.data() : panel(n);
  std::copy(items_.begin(), items_.end(), reinterpret_cast<Item*>(host(items_at)));
  TRIFUSE_CUDA(cudaMemcpyAsync(buffers.device_program.data(), buffers.host_program.data(), layout.bytes,
                               cudaMemcpyHostToDevice, buffers.stream));

  const bool adapted = problem_.form == Form::spin_adapted;
  const auto device = [&](std::size_t offset) { return buffers.device_program.data() + offset; };
  Work work{};
  work.tasks = reinterpret_cast<const TaskData*>(device(tasks_at));
  work.phases = reinterpret_cast<const Phase*>(device(phases_at));
  work.pairs = reinterpret_cast<const double* const*>(device(pairs_at));
  work.items = reinterpret_cast<const Item*>(device(items_at));
  work.eps = device_.eps.data();
  work.omega2 = device_.omega2.data();
  work.lone[0] = device_.lone[0].data();
  work.lone[1] = device_.lone[1].data();
  work.scratch = buffers.scratch.data();
  work.next_item = buffers.next_item.data();
  work.items_count = static_cast<std::uint32_t>(items_.size());
  work.orbitals = static_cast<std::int32_t>(orbitals_);
  work.omega2_count = static_cast<std::int32_t>(problem_.omega2.size());
  work.sets = sets_of(problem_);
  work.sides = problem_.sides();
  work.targets = adapted ? 6 : 1;
  work.terms = adapted ? spin_adapted_pairs : spin_orbital_pairs;
  work.phase_sign = adapted ? 0u : 0x80000000u;
  return work;
}

std::int64_t PendingLaunch::run(LaunchBuffers& buffers) {
  if (empty()) return 0;
  const std::size_t omega2_count = problem_.omega2.size();
  const auto sums =
      static_cast<std::size_t>(problem_.form == Form::spin_adapted ? spin_adapted_sums : spin_orbital_sums);
  const std::size_t sums_count = pieces_.size() * omega2_count * sums;
  std::vector<const double*> panels;
  {
    const Range range("panels");
    if (!device_.panels->acquire(names_, panels, buffers.stream)) {
      throw Error("The panels of one task do not fit into the memory planned for them on the GPU.");
    }
  }
  {
    const Lease lease{*device_.panels, names_};
    const Range range("launch");
    const cudaStream_t stream = buffers.stream;
    Work work = upload(buffers, panels);
    buffers.item_sums.reserve(items_.size() * omega2_count * static_cast<std::size_t>(kernel_.shape.warps) * sums);
    buffers.task_sums.reserve(sums_count);
    buffers.host_sums.reserve(sums_count);
    work.sums = buffers.item_sums.data();
    const auto grid = static_cast<int>(
        std::min(std::ssize(items_), static_cast<std::ptrdiff_t>(device_.properties.multiProcessorCount)));
    TRIFUSE_CUDA(cudaEventRecord(buffers.kernel_begin, stream));
    if (grid > 0) launch(kernel_, problem_.form, problem_.two_sided(), grid, work, stream);
    TRIFUSE_CUDA(cudaEventRecord(buffers.kernel_end, stream));
    launch_task_sums(work, problem_.form, kernel_.shape.warps, static_cast<int>(pieces_.size()),
                     buffers.task_sums.data(), stream);
    TRIFUSE_CUDA(cudaMemcpyAsync(buffers.host_sums.data(), buffers.task_sums.data(), sums_count * sizeof(double),
                                 cudaMemcpyDeviceToHost, stream));
    TRIFUSE_CUDA(cudaEventRecord(buffers.done, stream));
    const double begin = wall_seconds();
    {
      const Range waiting("wait");
      TRIFUSE_CUDA(cudaEventSynchronize(buffers.done));
    }
    buffers.seconds_waiting += wall_seconds() - begin;
    device_.busy->add(buffers.kernel_begin, buffers.kernel_end);
  }
  for (std::size_t n = 0; n < pieces_.size(); ++n) {
    for (std::size_t w = 0; w < omega2_count; ++w) {
      add_energy(pieces_[n].spin_case, buffers.host_sums.data() + (n * omega2_count + w) * sums,
                 pieces_[n].energies[w]);
    }
  }
  const std::int64_t items = std::ssize(items_);
  clear();
  return items;
}

void PendingLaunch::add_energy(SpinCase spin_case, const double* sum, TaskEnergy& energy) const {
  if (problem_.form == Form::spin_adapted) {
    energy.same_bracket += sum[2];
    energy.same_paren += sum[3];
    energy.mixed_bracket += sum[0] - sum[2];
    energy.mixed_paren += sum[1] - sum[3];
  } else if (spin_case == SpinCase::aaa || spin_case == SpinCase::bbb) {
    energy.same_bracket += sum[0];
    energy.same_paren += sum[1];
  } else {
    energy.mixed_bracket += sum[0];
    energy.mixed_paren += sum[1];
  }
}

void PendingLaunch::clear() {
  pieces_.clear();
  tasks_.clear();
  phases_.clear();
  pairs_.clear();
  items_.clear();
  names_.clear();
  numbers_.clear();
  panel_bytes_ = 0;
}

}  // namespace trifuse::gpu
