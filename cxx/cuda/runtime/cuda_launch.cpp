#include "cxx/cuda/runtime/cuda_launch.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"

namespace trifuse::gpu {

namespace {

/// A named range in the profiler's timeline.
class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

/// Releases acquired panels at the end of its scope, also after an exception.
struct Lease {
  PanelCache& cache;
  std::span<const PanelName> names;
  ~Lease() { cache.release(names); }
};

}

PendingLaunch::PendingLaunch(const Device& device, const Kernel& kernel, const Problem& problem, std::int64_t orbitals,
                             std::unique_ptr<BackwardLaunch> backward)
    : device_(device), kernel_(kernel), problem_(problem), orbitals_(orbitals), backward_(std::move(backward)) {}

std::optional<double> PendingLaunch::add(const TaskProgram& program, SpinCase spin_case, std::span<TaskEnergy> energies,
                                         CtaTiling& tiling, std::int64_t max_bytes, const BackwardProgram* backward) {
  std::int64_t bytes = 0;
  new_names_.clear();
  const auto want = [&](const PanelName& name) {
    if (numbers_.contains(name) || std::find(new_names_.begin(), new_names_.end(), name) != new_names_.end()) return;
    new_names_.push_back(name);
    bytes += device_.panels->bytes_of(name);
  };
  for (const auto& product : program.products) {
    if (product.k_steps == 0) continue;
    want(product.a);
    want(product.b);
  }
  for (const auto& factors : program.vvoo) {
    if (factors.used) want(factors.name);
  }
  if (backward != nullptr) {  // in mixed precision the backward kernel reads panels of its own
    for (const BackwardProgram::Entry& entry : backward->products) want(entry.panel);
  }
  // Each CTA tile has sums for each omega2.
  const bool full = program_.cta_tiles.size() * problem_.quotients.size() > max_cta_tiles;
  const bool has_room = backward_ == nullptr || backward_->has_room(program.data, *backward);
  if (!empty() && (panel_bytes_ + bytes > max_bytes || full || !has_room)) return std::nullopt;

  panel_bytes_ += bytes;
  for (const PanelName& name : new_names_) {
    device_.panels->prefetch(name);
    numbers_.emplace(name, names_.size());
    names_.push_back(name);
  }
  TaskData data = program.data;
  std::vector<CtaTile>& cta_tiles = program_.cta_tiles;
  data.first_cta_tile = std::ssize(cta_tiles);
  const double share = append_cta_tiles(static_cast<std::uint32_t>(results_.size()), data, problem_.formulation,
                                        kernel_.shape, tiling, cta_tiles);
  data.cta_tiles = std::ssize(cta_tiles) - data.first_cta_tile;
  program_.tasks.push_back(data);
  const auto number = [&](const PanelName& name) { return static_cast<std::int64_t>(numbers_.at(name)); };
  for (const auto& product : program.products) {
    const bool used = product.k_steps != 0;
    products_.push_back({used ? number(product.a) : 0, used ? number(product.b) : 0, product.k_steps});
  }
  for (const auto& factors : program.vvoo) vvoo_.push_back(factors.used ? number(factors.name) : -1);
  results_.push_back({spin_case, energies});
  if (backward_ != nullptr) backward_->add(program.data, *backward);
  double operations = share * program.operations_of_element;
  for (const std::int32_t extent : data.extent) operations *= extent;
  if (backward_ != nullptr) operations += backward->operations;
  return operations;
}

void PendingLaunch::resolve(std::span<const std::byte* const> panels) {
  const auto panel = [&](std::int64_t n) { return panels[static_cast<std::size_t>(n)]; };
  for (const auto& [a, b, k_steps] : products_) {
    program_.products.push_back(k_steps == 0 ? KernelProduct{} : KernelProduct{panel(a), panel(b), k_steps, 0});
  }
  for (const std::int64_t n : vvoo_) {
    program_.vvoo.push_back(n < 0 ? device_.zeros.data() : reinterpret_cast<const double*>(panel(n)));
  }
}

KernelParameters PendingLaunch::parameters() const {
  KernelParameters result = base_parameters(problem_.formulation, problem_.sides(), problem_.disconnected_sets());
  result.eps = device_.eps.data();
  for (int set = 0; set < max_sets; ++set) result.ov_tensors[set] = device_.ov_tensors[set].data();
  device_.quotients.set(result);
  result.orbitals = static_cast<std::int32_t>(orbitals_);
  return result;
}

std::int64_t PendingLaunch::run(LaunchBuffers& buffers) {
  if (empty()) return 0;
  std::vector<const std::byte*> panels;
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
    if (backward_ != nullptr) backward_->resolve([&](const PanelName& name) { return panels[numbers_.at(name)]; });
    energies = run_program(program_, kernel_, problem_.formulation, energy_kind(problem_),
                           device_.properties.multiProcessorCount, parameters(), buffers, backward_.get());
    device_.busy->add(buffers.kernel_begin, buffers.kernel_end);
  }
  const std::size_t omega2_count = problem_.quotients.size(), sums = energies.size() / (results_.size() * omega2_count);
  for (std::size_t n = 0; n < results_.size(); ++n) {
    for (std::size_t w = 0; w < omega2_count; ++w) {
      add_energy_sums(problem_.formulation, results_[n].spin_case,
                      energies.subspan((n * omega2_count + w) * sums, sums), results_[n].energies[w]);
    }
  }
  const std::int64_t cta_tiles = std::ssize(program_.cta_tiles);
  clear();
  return cta_tiles;
}

void PendingLaunch::clear() {
  results_.clear();
  program_.clear();
  products_.clear();
  vvoo_.clear();
  names_.clear();
  numbers_.clear();
  panel_bytes_ = 0;
  if (backward_ != nullptr) backward_->clear();
}

}
