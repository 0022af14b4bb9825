#include "cxx/cuda/runtime/cuda_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/cuda_worker.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_exchange.hpp"
#include "cxx/cuda/runtime/device_sums.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/self_test.hpp"
#include "cxx/cuda/schedule/backward_program.hpp"
#include "cxx/cuda/schedule/batch_size.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"
#include "cxx/cuda/schedule/device_leases.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_order.hpp"
#include "cxx/triples/precision.hpp"

namespace trifuse {

namespace gpu {
namespace {

static_assert(tile_granule == hole_group_size, "plans for GPUs cut orbital tiles at multiples of a hole group");

}
}

namespace {

using namespace gpu;

/// Returns the leases of this process.
DeviceLeases& device_leases() {
  static DeviceLeases leases;
  return leases;
}

/// Returns the number of bytes that a run may use on the current device `number` if the user sets no limit.
/// `beside_others`: true to count the memory of other runs of this process as free.
std::int64_t available_bytes(int number, bool beside_others) {
  const auto ask = [] { return device_budget(device_memory_now().free, 0); };
  return beside_others ? device_leases().free_bytes(number, ask) : ask();
}

class CudaExecutorOfDevices final : public PanelExecutor {
 public:
  CudaExecutorOfDevices(const Problem& problem, const TileSpace& tiles, const CudaOptions& options)
      : problem_(problem), coarse_(tiles) {
    precision_ = options.precision;
    const DeviceLeases::Planning planning(device_leases());
    if (options.devices.empty()) throw UsageError("No GPU was named.");
    problem_.require_operands_of_quotients();
    for (const int number : options.devices) {
      const CurrentDevice current(number);
      Device& device = devices_.emplace_back(number);
      device.kernels = choose_kernels(options.kernel, options.precision, device.properties);
      if (has_derivatives()) keep_kernel_with_seeds(device);
      for (const Kernel* kernel : device.kernels)
        set_dynamic_shared_limit(*kernel, problem_.formulation, energy_kind(problem_));
      device.budget = available_bytes(number, options.waits_for_memory) - DeviceQuotients::table_bytes(problem_);
      if (options.memory_per_device > 0) device.budget = std::min(device.budget, options.memory_per_device);
      least_budget_ = std::min(least_budget_, device.budget);
    }
    std::vector<Shape> shapes;
    for (const Device& device : devices_) {
      const std::vector<Shape> of_device = shapes_of(device.kernels);
      shapes.insert(shapes.end(), of_device.begin(), of_device.end());
    }
    TileSpace with_room_for_sums = tiles_with_room_for_sums(problem_, coarse_, shapes, least_budget_);
    if (has_derivatives()) with_room_for_sums = plan_derivatives(with_room_for_sums);
    sum_bytes_ = sum_bytes(problem_, with_room_for_sums, shapes);
    for (const Device& device : devices_) max_worker_bytes_ = std::max(max_worker_bytes_, worker_bytes(device));
    workers_per_device_ = has_derivatives() ? derivative_workers : worker_count(least_budget_, max_worker_bytes_);
    const OperandFormat& format = devices_.front().format();
    const auto that_fit = [&](const TileSpace& of, const OperandFormat& in) {
      return tiles_that_fit(problem_, of, in, least_budget_, workers_per_device_, max_worker_bytes_);
    };
    // The panels of a run in mixed precision also serve its sample in double precision.
    use_tiles(that_fit(that_fit(with_room_for_sums, format_of<Fp64>()), format));
    // On the device, zeros fill up fragments. So the panels of ragged tiles are larger than on the host. Few of the
    // numbers are vvoo blocks.
    constexpr double fill = 1.3;
    const double numbers = static_cast<double>(PanelLayout::whole_doubles(problem_, fine_)),
                 all = fill * numbers * bytes_per_number(problem_, format);
    const std::int64_t beside_workers = least_budget_ - workers_per_device_ * max_worker_bytes_;
    caches_panels_ = devices_.size() == 1 && all < static_cast<double>(beside_workers);
    if (caches_panels_ && options.waits_for_memory) plan_arrays(static_cast<double>(beside_workers) - all);
    if (options.waits_for_memory) lease_ = device_leases().lease(memory_demands(), options.stop);
    make_rings();
  }

  const TileSpace& panel_tiles() const override { return fine_; }
  bool caches_panels() const override { return caches_panels_; }
  bool reads_sources() const override { return array_bytes_.has_value(); }
  void take_panels(std::shared_ptr<const PanelStore> panels) override {
    panels_ = std::move(panels);
    // Panels that were read for tasks in another precision may have other tiles.
    if (!(panels_->tiles() == fine_)) {
      use_tiles(panels_->tiles());
      make_rings();
    }
    if (demand_.largest_task > limit_)
      throw UsageError("The panels of one task do not fit into the memory of the GPU; allow more --memory.");
    on_new_threads(devices_.size(), [this](std::size_t n) { set_up(devices_[n]); });
    const auto slab_limit = [this](const Device& device) { return owned_slab_limit(bytes_of_slabs(device), demand_); };
    if (devices_.size() > 1) {
      // GPUs with room for all slabs get them from the host beside their first tasks. To exchange slabs, GPUs wait.
      const bool all_fit = slab_bytes(least_budget_, workers_per_device_, max_worker_bytes_, demand_) >= demand_.slabs;
      if (!all_fit) exchange_slabs(devices_, panels_->layout(), slab_limit);
      return;
    }
    const auto reserve_for_owned = [this](const Device& device, std::int64_t bytes) {
      return reserve_for_owned_panels(device, bytes);
    };
    exchange_ = std::make_unique<DeviceExchange>(devices_.front(), panels_->layout(), reserve_for_owned,
                                                 slab_limit(devices_.front()));
  }
  PanelExchange* exchange() override { return exchange_.get(); }
  std::string name() const override { return precision_ == Precision::mixed ? "mixed-cuda" : "cuda"; }
  int workers() const override { return static_cast<int>(workers_per_device_ * std::ssize(devices_)); }
  std::unique_ptr<Worker> make_worker() const override;
  std::vector<std::vector<std::size_t>> batches(const Plan& plan, const std::vector<bool>& finished) const override;
  bool keeps_sums() const override { return has_derivatives(); }
  void move_sums_to(TaskSums& sums) const override {
    for (const Device& device : devices_) {
      if (device.derivatives == nullptr) continue;
      try {
        const CurrentDevice current(device.number);
        device.derivatives->move_to(sums);
      } catch (const DeviceError& error) {
        throw_lost_derivatives(error);
      }
    }
  }
  std::shared_ptr<CompleteSums> keep_first_array(TaskSums& sums) const override;
  int particle_group() const override {
    const OperandFormat& format = devices_.front().format();
    return gpu::particle_group(least_cache_, owned_, panel_demand(problem_, coarse_, format));
  }
  std::shared_ptr<const DeviceReport> device_report() const override;

 private:
  bool has_derivatives() const { return problem_.derivatives != Derivatives::none; }
  /// Leaves the best kernel that has seeds. A second kernel would need seeds of its own in memory.
  void keep_kernel_with_seeds(Device& device) const {
    const Kernel* const best = device.kernels.front();
    if (best->function(problem_.formulation, energy_kind(problem_)) == nullptr) {
      throw UsageError(fmt::format(
          "GPU {} ({}) cannot compute derivatives: they need compute capability 9.0 and its kernels; choose the device "
          "cpu{}.",
          device.number, device.properties.name, precision_ == Precision::mixed ? " and the precision double" : ""));
    }
    device.kernels = {best};
  }
  /// Divides the memory of each device for derivatives: their sums, and the seeds of each worker. Returns `tiles`, cut
  /// until the seeds of a task fit.
  TileSpace plan_derivatives(const TileSpace& tiles) {
    DerivativeMemory memory = derivative_memory(problem_, tiles, precision_, least_budget_);
    seed_bytes_ = memory.seeds;
    derivative_bytes_ = memory.sums;
    for (Device& device : devices_) device.budget -= memory.sums;
    least_budget_ -= memory.sums;
    return std::move(memory.tiles);
  }
  /// Decides whether the only device packs its panels from arrays. It does so if the arrays and all panels fit into
  /// `free` bytes.
  void plan_arrays(double free) {
    array_bytes_ = ArrayPanelProvider::device_bytes(problem_, devices_.front().number);
    if (array_bytes_ && static_cast<double>(*array_bytes_) > free) array_bytes_.reset();
    devices_.front().budget -= array_bytes_.value_or(0);
  }
  std::int64_t scratch_doubles(const Device& device) const {
    return gpu::scratch_doubles(device.kernels, problem_.targets(), device.properties);
  }
  std::int64_t worker_bytes(const Device& device) const {
    return gpu::worker_bytes(scratch_doubles(device), sum_bytes_) + seed_bytes_;
  }
  std::int64_t panel_bytes(const Device& device) const {
    return gpu::panel_bytes(device.budget, workers_per_device_, worker_bytes(device), demand_);
  }
  std::int64_t bytes_of_slabs(const Device& device) const {
    return slab_bytes(device.budget, workers_per_device_, worker_bytes(device), demand_);
  }
  /// Returns the memory that this executor allocates on each device.
  std::vector<DeviceLeases::Demand> memory_demands() const {
    std::vector<DeviceLeases::Demand> demands;
    const std::int64_t beside_budget =
        array_bytes_.value_or(0) + derivative_bytes_ + DeviceQuotients::table_bytes(problem_);
    for (const Device& device : devices_) {
      const std::int64_t panels = panel_bytes(device);
      demands.push_back({device.number, device.budget - panels + cache_bytes(panels, demand_) + beside_budget});
    }
    return demands;
  }

  /// Sets the tiles of subtasks, and divides the memory for the panels of these tiles.
  void use_tiles(const TileSpace& tiles) {
    fine_ = tiles;
    demand_ = panel_demand(problem_, fine_, devices_.front().format());
    const std::int64_t least_panels = gpu::panel_bytes(least_budget_, workers_per_device_, max_worker_bytes_, demand_);
    limit_ = launch_limit(least_panels);
    least_cache_ = cache_bytes(least_panels, demand_);
    refined_ = !(fine_ == coarse_);
  }

  /// Reserves memory for owned panels, which are never evicted. Returns false if the panels of two launches do not fit
  /// beside them.
  bool reserve_for_owned_panels(const Device& device, std::int64_t owned) {
    const auto limit = launch_limit_beside_owned(device.panels->capacity(), owned, demand_);
    if (limit) {
      limit_ = std::min(limit_, *limit);
      owned_ = owned;
    }
    return limit.has_value();
  }

  void make_rings() {
    for (Device& device : devices_) device.make_ring(demand_.slot, panel_slots(device.budget, demand_));
  }

  void set_up(Device& device) {
    const CurrentDevice current(device.number);
    device.busy = std::make_unique<BusyTime>();
    const std::span<const double> energies = panels_->orbital_energies();
    upload(device.eps, energies);
    device.quotients.upload(problem_, fine_);
    if (has_derivatives()) {
      if (largest_seed_bytes(problem_.targets(), precision_, fine_) > seed_bytes_)
        throw UsageError("The derivatives of one task do not fit into the memory of the GPU; allow more --memory.");
      set_backward_limits(precision_);
      device.derivatives = std::make_unique<DeviceDerivatives>(panels_->layout_of_sums());
    }
    const auto n = static_cast<std::size_t>(fine_.orbitals());
    std::vector<double> hole_fastest(n * n);
    for (int set = 0; set < problem_.disconnected_sets(); ++set) {
      const std::span<const double> tensor = panels_->ov_tensor(static_cast<std::size_t>(set));
      for (std::size_t h = 0; h < n; ++h) {
        for (std::size_t p = 0; p < n; ++p) hole_fastest[h + n * p] = tensor[h * n + p];
      }
      upload(device.ov_tensors[set], std::span<const double>(hole_fastest));
    }
    const auto [holes, particles] = largest_tiles(fine_);
    const std::int64_t padded = ceil_div(holes, hole_group_size) * hole_group_size;
    device.zeros.reserve(std::max<std::size_t>(1, static_cast<std::size_t>(padded * padded * particles * particles)));
    fill_with_zeros(device.zeros);
    const std::shared_ptr<UploadRing> ring = device.ring.get();
    device.peer_panels = std::make_shared<PeerPanelProvider>();
    device.made_panels =
        std::make_shared<FactorPanelProvider>(*panels_, ring, bytes_of_slabs(device), demand_.made_rows);
    device.host_panels = std::make_shared<HostPanelProvider>(*panels_, ring);
    // Copies from peers come first, because they are the fastest. Panels of a problem with factors are made on the
    // device, which is faster than to make them on the host and to send them.
    PanelCache::Providers providers = {device.peer_panels, device.made_panels, device.host_panels};
    if (!panels_->has_panels()) {
      device.array_panels = std::make_shared<ArrayPanelProvider>(problem_, panels_->layout(), device.number);
      providers = {device.array_panels};
    }
    device.panels = std::make_unique<PanelCache>(panels_->tiles(), problem_.formulation,
                                                 cache_bytes(panel_bytes(device), demand_), std::move(providers));
  }

  DeviceLeases::Lease lease_;  ///< lease of the memory below, so it is destroyed last
  Problem problem_;
  TileSpace coarse_, fine_;
  bool refined_ = false;  ///< true if a task of `coarse_` has several subtasks in `fine_`
  bool caches_panels_ = false;
  std::optional<std::int64_t>
      array_bytes_;  ///< size of the arrays that the device packs; absent: it gets panels of the host
  Precision precision_{};
  std::int64_t workers_per_device_ = 0;
  /// The smallest budget and the largest workers of all devices.
  std::int64_t least_budget_ = std::numeric_limits<std::int64_t>::max(), max_worker_bytes_ = 0;
  std::int64_t sum_bytes_ = 0;         ///< memory of each worker, see sum_bytes()
  std::int64_t seed_bytes_ = 0;        ///< memory of each worker for seeds; 0 without derivatives
  std::int64_t derivative_bytes_ = 0;  ///< memory of each device for sums of derivatives
  PanelDemand demand_{};               ///< demand of the panels of `fine_`
  std::int64_t limit_ = 0;             ///< most bytes of panels in one launch
  std::int64_t least_cache_ = 0;       ///< bytes of the smallest panel cache
  std::int64_t owned_ = 0;             ///< bytes of the cache that are owned panels
  std::shared_ptr<const PanelStore> panels_;
  std::vector<Device> devices_;
  std::unique_ptr<DeviceExchange> exchange_;  ///< the exchange with other ranks
  mutable std::atomic<std::size_t> workers_made_{0};
  mutable WorkCounts counts_;
};

std::unique_ptr<Executor::Worker> CudaExecutorOfDevices::make_worker() const {
  const Device& device = devices_[workers_made_++ % devices_.size()];
  return make_cuda_worker({problem_, coarse_, fine_, refined_, limit_, scratch_doubles(device), seed_bytes_, counts_},
                          device);
}

std::shared_ptr<CompleteSums> CudaExecutorOfDevices::keep_first_array(TaskSums& sums) const {
  static_assert(DerivativeSums::operands == 0);
  const bool all_set_up =
      std::all_of(devices_.begin(), devices_.end(), [](const Device& device) { return device.derivatives != nullptr; });
  if (!has_derivatives() || !all_set_up) return nullptr;
  const std::int64_t integers = panels_->layout_of_sums().doubles();
  const Device& keeper = devices_.front();
  const auto bytes = integers * static_cast<std::int64_t>(sizeof(std::int64_t));
  DeviceArray<unsigned long long> received;  // allocated before any sum leaves its place
  try {
    const CurrentDevice current(keeper.number);
    if (devices_.size() > 1) received.reserve(static_cast<std::size_t>(std::min(DeviceSums::usual_part, integers)));
  } catch (const DeviceMemoryError&) {
    return nullptr;
  }
  // Ranks have no leases.
  if (lease_.is_held() && !device_leases().keep({keeper.number, bytes})) return nullptr;
  try {
    const auto take = [&](const Device& device) {
      const CurrentDevice current(device.number);
      return device.derivatives->take_operands(sums);
    };
    auto kept = std::make_shared<DeviceSums>(keeper.number, take(keeper));
    for (std::size_t n = 1; n < devices_.size(); ++n)
      kept->add(take(devices_[n]).data(), devices_[n].number, integers, received);
    return kept;
  } catch (const DeviceError& error) {
    throw_lost_derivatives(error);
  }
}

std::vector<std::vector<std::size_t>> CudaExecutorOfDevices::batches(const Plan& plan,
                                                                     const std::vector<bool>& finished) const {
  // The order within a group is that of the plan, in which successive tasks share panels, too.
  double left = 0.0;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) left += finished[t] ? 0.0 : plan.operations[t];
  const double enough = batch_operations(left, workers());
  std::vector<std::vector<std::size_t>> all;
  double operations = 0.0;
  for (const std::size_t t : grouped_order(plan.tasks, plan.tiles, particle_group())) {
    if (finished[t]) continue;
    if (all.empty() || operations >= enough) {
      all.emplace_back();
      operations = 0.0;
    }
    all.back().push_back(t);
    operations += plan.operations[t];
  }
  return all;
}

std::shared_ptr<const DeviceReport> CudaExecutorOfDevices::device_report() const {
  const std::lock_guard lock(counts_.mutex);
  auto report = std::make_shared<DeviceReport>(counts_.report);
  for (const Kernel* kernel : devices_.front().kernels) {
    const auto found = counts_.cta_tiles.find(kernel->name);
    report->kernels.push_back({kernel->name, found == counts_.cta_tiles.end() ? 0 : found->second});
  }
  for (const Device& device : devices_) {
    try {
      add_numbers(device, array_bytes_.value_or(0), *report);
    } catch (const DeviceError&) {
      // A device that has failed answers no question. The report covers the other devices.
    }
  }
  return report;
}

void load(PanelExecutor& executor, const Problem& problem) {
  const TileSpace& tiles = executor.panel_tiles();
  executor.take_panels(executor.reads_sources() ? PanelStore::of_small_arrays(problem, tiles)
                                                : std::make_shared<const PanelStore>(problem, tiles));
}

/// Returns the devices of `options` that pass the self-test. `formulation`: the form that is tested.
std::vector<int> test(SpinFormulation formulation, const CudaOptions& options) {
  const int devices = visible_device_count();
  if (devices == 0) throw UsageError(why_no_devices());
  for (const int number : options.devices) {
    if (number < 0 || number >= devices) {
      throw UsageError(fmt::format("There is no GPU {}; CUDA sees {}, counted from 0.", number, devices));
    }
  }
  return devices_that_pass(formulation, options,
                           [](const Problem& problem, const TileSpace& tiles, const CudaOptions& one) {
                             auto executor = std::make_unique<CudaExecutorOfDevices>(problem, tiles, one);
                             load(*executor, problem);
                             return executor;
                           });
}

}

std::optional<TileSpace> likely_panel_tiles(const Problem& problem, const TileSpace& tiles,
                                            const CudaOptions& options) {
  if (options.memory_per_device > 0) return std::nullopt;
  const std::vector<int>& devices = options.devices;
  if (devices.size() == 1 && ArrayPanelProvider::device_bytes(problem, devices.front())) return std::nullopt;
  std::size_t memory = std::numeric_limits<std::size_t>::max();
  for (const int number : devices) memory = std::min(memory, device_properties(number).totalGlobalMem);
  return gpu::likely_panel_tiles(problem, tiles, static_cast<std::int64_t>(memory));
}

void test_cuda_devices(SpinFormulation formulation, const CudaOptions& options) {
  static_cast<void>(test(formulation, options));
}

std::unique_ptr<PanelExecutor> prepare_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                     const CudaOptions& options) {
  CudaOptions sound = options;
  sound.devices = test(problem.formulation, options);
  return std::make_unique<CudaExecutorOfDevices>(problem, tiles, sound);
}

std::unique_ptr<PanelExecutor> make_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                  const CudaOptions& options) {
  std::unique_ptr<PanelExecutor> executor = prepare_cuda_executor(problem, tiles, options);
  load(*executor, problem);
  return executor;
}

}
