#include "cxx/cuda/runtime/cuda_launch.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

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

}  // namespace

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
  if (!empty() && (panel_bytes_ + bytes > most_bytes || program_.items.size() > most_items)) return std::nullopt;

  panel_bytes_ += bytes;
  for (const PanelName& name : new_names_) {
    device_.panels->ask(name);
    numbers_.emplace(name, names_.size());
    names_.push_back(name);
  }
  TaskData data = program.data;
  std::vector<Item>& items = program_.items;
  data.first_item = std::ssize(items);
  const double share =
      append_items(static_cast<std::uint32_t>(pieces_.size()), data, problem_.formulation, kernel_.shape, cover, items);
  data.items = std::ssize(items) - data.first_item;
  program_.tasks.push_back(data);
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

void PendingLaunch::resolve(std::span<const double* const> panels) {
  const auto panel = [&](std::int64_t n) { return panels[static_cast<std::size_t>(n)]; };
  for (const auto& [a, b, steps] : phases_) {
    program_.phases.push_back(steps == 0 ? Phase{} : Phase{panel(a), panel(b), steps, 0});
  }
  for (const std::int64_t n : pairs_) program_.pairs.push_back(n < 0 ? device_.zeros.data() : panel(n));
}

Work PendingLaunch::work() const {
  Work work = work_of(problem_.formulation, problem_.sides(), sets_of(problem_));
  work.eps = device_.eps.data();
  work.omega2 = device_.omega2.data();
  work.lone[0] = device_.lone[0].data();
  work.lone[1] = device_.lone[1].data();
  work.orbitals = static_cast<std::int32_t>(orbitals_);
  work.omega2_count = static_cast<std::int32_t>(problem_.omega2.size());
  return work;
}

std::int64_t PendingLaunch::run(LaunchBuffers& buffers) {
  if (empty()) return 0;
  std::vector<const double*> panels;
  {
    const Range range("panels");
    if (!device_.panels->acquire(names_, panels, buffers.stream)) {
      throw Error("The panels of one task do not fit into the memory planned for them on the GPU.");
    }
  }
  std::span<const double> energies;
  {
    const Lease lease{*device_.panels, names_};
    const Range range("launch");
    resolve(panels);
    energies = run_program(program_, kernel_, problem_.formulation, problem_.two_sided(),
                           device_.properties.multiProcessorCount, work(), buffers);
    device_.busy->add(buffers.kernel_begin, buffers.kernel_end);
  }
  const std::size_t omega2_count = problem_.omega2.size(), sums = energies.size() / (pieces_.size() * omega2_count);
  for (std::size_t n = 0; n < pieces_.size(); ++n) {
    for (std::size_t w = 0; w < omega2_count; ++w) {
      add_energy(pieces_[n].spin_case, energies.data() + (n * omega2_count + w) * sums, pieces_[n].energies[w]);
    }
  }
  const std::int64_t items = std::ssize(program_.items);
  clear();
  return items;
}

void PendingLaunch::add_energy(SpinCase spin_case, const double* sum, TaskEnergy& energy) const {
  if (problem_.formulation == SpinFormulation::spin_adapted) {
    energy.e_bracket_t_same += sum[2];
    energy.e_paren_t_same += sum[3];
    energy.e_bracket_t_mixed += sum[0] - sum[2];
    energy.e_paren_t_mixed += sum[1] - sum[3];
  } else if (spin_case == SpinCase::aaa || spin_case == SpinCase::bbb) {
    energy.e_bracket_t_same += sum[0];
    energy.e_paren_t_same += sum[1];
  } else {
    energy.e_bracket_t_mixed += sum[0];
    energy.e_paren_t_mixed += sum[1];
  }
}

void PendingLaunch::clear() {
  pieces_.clear();
  program_.clear();
  phases_.clear();
  pairs_.clear();
  names_.clear();
  numbers_.clear();
  panel_bytes_ = 0;
}

}  // namespace trifuse::gpu
