#include "cxx/cuda/cuda_executor.hpp"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cuda/boxes.hpp"
#include "cxx/cuda/devices.hpp"
#include "cxx/cuda/launch.hpp"
#include "cxx/cuda/panel_cache.hpp"
#include "cxx/plan/plan.hpp"
#include "tce_tiles/synthetic_source.hpp"

namespace trifuse {

namespace gpu {
namespace {

constexpr int workers_per_device = 3;
constexpr std::int64_t mib = std::int64_t{1} << 20;
/// Left to the driver and to what other programs may want in the meantime.
constexpr std::int64_t reserve_bytes = 512 * mib;
/// Programs, items and sums of a launch, for each worker.
constexpr std::int64_t launch_bytes = 192 * mib;
constexpr std::int64_t least_slot_bytes = 32 * mib;
constexpr std::size_t most_items = 400000;
/// Larger tiles would make more items of one task than a launch has room for.
constexpr std::int64_t largest_hole_tile = 32, largest_particle_tile = 64;
/// Share of the panel memory that one launch may ask for, so that the next one's panels have room beside it.
constexpr double launch_share = 0.45;
/// Operations of a batch: a launch should take tens of milliseconds, and there should be some for everybody.
constexpr double largest_batch = 2e12, smallest_batch = 2e10;
constexpr double batches_per_worker = 8.0;

/// A range in the profiler's timeline.
class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

const Kernel& choose_kernel(const std::string& wanted, const cudaDeviceProp& device) {
  const int capability = 100 * device.major + 10 * device.minor;
  const auto shared = static_cast<int>(device.sharedMemPerBlockOptin);
  std::string names;
  for (const Kernel& kernel : kernels()) {
    const bool usable = runs_on(kernel, capability, shared);
    if (usable && (wanted.empty() || wanted == kernel.name)) return kernel;
    if (usable) names += (names.empty() ? "" : ", ") + std::string(kernel.name);
  }
  if (names.empty()) {
    throw UsageError(fmt::format("{} (compute capability {}.{}) is too old: Trifuse needs 7.5 or newer.", device.name,
                                 device.major, device.minor));
  }
  throw UsageError(fmt::format("There is no kernel \"{}\" for {}; it can run: {}.", wanted, device.name, names));
}

/// FP64 operations per second that the matrix units, or else the ordinary ones, reach at the highest clock.
double peak_rate(int number, const cudaDeviceProp& device) {
  int kilohertz = 0;
  TRIFUSE_CUDA(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, number));
  const int capability = 10 * device.major + device.minor;
  const double per_clock = capability == 90 ? 256.0 : capability == 80 ? 128.0 : capability == 100 ? 128.0 : 4.0;
  return per_clock * device.multiProcessorCount * 1e3 * kilohertz;
}

/// How long a device had a kernel to run. Kernels of several workers wait for each other, so the time is that of the
/// union of their spans.
class BusyTime {
 public:
  BusyTime() {
    TRIFUSE_CUDA(cudaEventRecord(origin_, nullptr));
    TRIFUSE_CUDA(cudaEventSynchronize(origin_));
  }
  /// Both events have passed.
  void add(const Event& begin, const Event& end) {
    const std::lock_guard lock(mutex_);
    spans_.emplace_back(seconds_between(origin_, begin), seconds_between(origin_, end));
  }
  double seconds() const {
    const std::lock_guard lock(mutex_);
    auto sorted = spans_;
    std::sort(sorted.begin(), sorted.end());
    double total = 0.0, end = 0.0;
    for (const auto& [from, to] : sorted) {
      total += std::max(0.0, to - std::max(from, end));
      end = std::max(end, to);
    }
    return total;
  }

 private:
  Event origin_;
  mutable std::mutex mutex_;
  std::vector<std::pair<double, double>> spans_;
};

/// One GPU: what all its workers share.
struct Device {
  int number;
  cudaDeviceProp properties;
  const Kernel* kernel;
  std::int64_t budget;
  DeviceArray<double> eps, omega2;
  DeviceArray<double> lone[2];
  DeviceArray<double> zeros;  ///< stands for pair blocks that vanish
  std::unique_ptr<PanelCache> panels;
  std::unique_ptr<BusyTime> busy;
};

template <typename T>
void upload(DeviceArray<T>& to, std::span<const T> from) {
  to.reserve(std::max<std::size_t>(from.size(), 1));
  if (from.empty()) return;
  TRIFUSE_CUDA(cudaMemcpy(to.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice));
}

}  // namespace
}  // namespace gpu

namespace {

using namespace gpu;

class CudaExecutorOfDevices final : public CudaExecutor {
 public:
  CudaExecutorOfDevices(const Problem& problem, const TileSpace& tiles, const CudaOptions& options)
      : problem_(problem), coarse_(tiles) {
    if (options.devices.empty()) throw UsageError("No GPU was named.");
    std::int64_t least_panels = std::numeric_limits<std::int64_t>::max();
    for (const int number : options.devices) {
      Device& device = devices_.emplace_back();
      device.number = number;
      TRIFUSE_CUDA(cudaSetDevice(number));
      TRIFUSE_CUDA(cudaGetDeviceProperties(&device.properties, number));
      device.kernel = &choose_kernel(options.kernel, device.properties);
      prepare(*device.kernel, problem_.form, problem_.two_sided());
      std::size_t free = 0, total = 0;
      TRIFUSE_CUDA(cudaMemGetInfo(&free, &total));
      const auto available = static_cast<std::int64_t>(free) - reserve_bytes;
      device.budget = options.memory_per_device > 0 ? std::min(options.memory_per_device, available) : available;
      least_panels = std::min(least_panels, device.budget - workers_per_device * worker_bytes(device));
    }
    // Tiles are cut until the panels of a task take no more than the share of a launch.
    fine_ = coarse_.refined(largest_hole_tile, largest_particle_tile);
    for (auto [holes, particles] = largest_tiles(fine_);;) {
      const std::int64_t slots = PanelCache::slots * slot_bytes();
      limit_ = static_cast<std::int64_t>(launch_share * static_cast<double>(least_panels - slots));
      const std::int64_t needed = largest_task_bytes();
      if (needed <= limit_) break;
      if (holes <= hole_block && particles <= hole_block) {
        throw UsageError(
            fmt::format("A task needs {} MiB on the GPU even with the smallest tiles, and {} MiB are left for it; "
                        "allow more --memory.",
                        needed / mib + 1, std::max<std::int64_t>(limit_, 0) / mib));
      }
      if (holes > particles || particles <= hole_block) {
        holes = std::max<std::int64_t>(hole_block, holes / 2 / hole_block * hole_block);
      } else {
        particles = std::max<std::int64_t>(hole_block, particles / 2 / hole_block * hole_block);
      }
      fine_ = coarse_.refined(holes, particles);
    }
    cut_ = !(fine_ == coarse_);
    panels_ = std::make_unique<PanelStore>(problem_, fine_);
    for (Device& device : devices_) set_up(device);
  }

  std::string name() const override { return "cuda"; }
  int workers() const override { return workers_per_device * static_cast<int>(devices_.size()); }
  std::unique_ptr<Worker> make_worker() const override;
  std::vector<std::vector<std::size_t>> batches(const Plan& plan, const std::vector<bool>& finished) const override;
  CudaReport report() const override;

 private:
  friend class CudaWorker;

  std::int64_t scratch_doubles(const Device& device) const {
    return std::int64_t{device.properties.multiProcessorCount} * problem_.targets() *
           device.kernel->memory(problem_.form).kept;
  }
  std::int64_t worker_bytes(const Device& device) const {
    return scratch_doubles(device) * static_cast<std::int64_t>(sizeof(double)) + launch_bytes;
  }
  /// Of each pinned buffer.
  std::int64_t slot_bytes() const {
    return std::max(gpu::least_slot_bytes, PanelCache::least_slot_bytes(fine_, problem_.form));
  }
  /// An upper bound of what the panels of a task take.
  std::int64_t largest_task_bytes() const {
    const std::int64_t inner = largest_inner();
    const auto [largest_hole, largest_particle] = largest_tiles(fine_);
    const std::int64_t holes = blocks(largest_hole, hole_block) * hole_block;
    const std::int64_t particles = blocks(largest_particle, pair) * pair;
    const std::int64_t kinds = problem_.form == Form::spin_adapted ? 18 : 9, sides = problem_.sides();
    const std::int64_t doubles = kinds * (sides * inner * particles * holes * (particles + holes) +
                                          sets_of(problem_) * particles * particles * holes * holes);
    return doubles * static_cast<std::int64_t>(sizeof(double));
  }

  /// An upper bound of what all panels take.
  std::int64_t all_panels_bytes() const {
    std::int64_t holes = 0, particles = 0;
    for (const Tile& tile : fine_.tiles()) {
      if (problem_.form == Form::spin_adapted && tile.spin() == Spin::beta) continue;
      (tile.space() == Space::hole ? holes : particles) += blocks(tile.size, hole_block) * hole_block;
    }
    const std::int64_t sides = problem_.sides();
    // Panels of coinciding tiles are packed in both orders.
    const std::int64_t doubles = 2 * (sides * largest_inner() * particles * holes * (particles + holes) +
                                      sets_of(problem_) * particles * particles * holes * holes);
    return doubles * static_cast<std::int64_t>(sizeof(double));
  }
  std::int64_t largest_inner() const {
    std::int64_t inner = 1;
    for (const Spin spin : {Spin::alpha, Spin::beta}) {
      for (int irrep = 0; irrep < 8; ++irrep) {
        inner = std::max(inner, chunks<Fp64>(inner_extent(fine_, {spin, irrep}).total()) * Fp64::depth);
      }
    }
    return inner;
  }

  void set_up(Device& device) {
    TRIFUSE_CUDA(cudaSetDevice(device.number));
    device.busy = std::make_unique<BusyTime>();
    const std::span<const double> energies = panels_->orbital_energies();
    upload(device.eps, energies);
    upload(device.omega2, std::span<const double>(problem_.omega2));
    const auto n = static_cast<std::size_t>(fine_.orbitals());
    std::vector<double> hole_fastest(n * n);
    for (int set = 0; set < sets_of(problem_); ++set) {
      const std::vector<double>& lone = panels_->disconnected()[static_cast<std::size_t>(set)].lone;
      for (std::size_t h = 0; h < n; ++h) {
        for (std::size_t p = 0; p < n; ++p) hole_fastest[h + n * p] = lone[h * n + p];
      }
      upload(device.lone[set], std::span<const double>(hole_fastest));
    }
    const auto [holes, particles] = largest_tiles(fine_);
    const std::int64_t padded = blocks(holes, hole_block) * hole_block;
    device.zeros.reserve(std::max<std::size_t>(1, static_cast<std::size_t>(padded * padded * particles * particles)));
    TRIFUSE_CUDA(cudaMemset(device.zeros.data(), 0, device.zeros.size() * sizeof(double)));
    const std::int64_t slot = slot_bytes();
    const std::int64_t left = device.budget - workers_per_device * worker_bytes(device) - PanelCache::slots * slot;
    device.panels =
        std::make_unique<PanelCache>(*panels_, problem_.form, std::min(left, all_panels_bytes() + 64 * mib), slot);
  }

  Problem problem_;
  TileSpace coarse_, fine_;
  bool cut_ = false;        ///< whether a task is more than one piece
  std::int64_t limit_ = 0;  ///< bytes of panels for one launch
  std::unique_ptr<PanelStore> panels_;
  std::vector<Device> devices_;
  mutable std::atomic<std::size_t> workers_made_{0};
  mutable std::mutex report_mutex_;
  mutable CudaReport report_;
};

class CudaWorker final : public Executor::Worker {
 public:
  CudaWorker(const CudaExecutorOfDevices& executor, const Device& device)
      : executor_(executor),
        device_((TRIFUSE_CUDA(cudaSetDevice(device.number)), device)),
        cover_(device.kernel->shape),
        scratch_(static_cast<std::size_t>(executor.scratch_doubles(device))),
        next_item_(1) {
    TRIFUSE_CUDA(cudaMemsetAsync(next_item_.data(), 0, sizeof(std::uint32_t), stream_));
  }

  void execute(std::span<const Task> tasks, std::span<TaskEnergy> energies) override {
    TRIFUSE_CUDA(cudaSetDevice(device_.number));
    std::fill(energies.begin(), energies.end(), TaskEnergy{});
    const double begin = wall_seconds();
    const double waited_before = waited_;
    const std::size_t per_task = executor_.problem_.omega2.size();
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const auto energies_of_task = energies.subspan(t * per_task, per_task);
      if (!executor_.cut_) {
        add_piece(tasks[t], energies_of_task);
        continue;
      }
      for (const Task& piece : refine_task(executor_.coarse_, executor_.fine_, executor_.problem_.form, tasks[t])) {
        add_piece(piece, energies_of_task);
      }
    }
    run_launch();
    const std::lock_guard lock(executor_.report_mutex_);
    CudaReport& report = executor_.report_;
    report.seconds_waiting += waited_ - waited_before;
    report.seconds_preparing += wall_seconds() - begin - (waited_ - waited_before);
    report.launches += launches_;
    report.items += items_done_;
    launches_ = items_done_ = 0;
  }

  double operations() const override { return operations_; }

 private:
  /// A task, or a part of one, of the launch in the making.
  struct Piece {
    SpinCase spin_case;
    std::span<TaskEnergy> energies;
  };

  /// Puts a piece into the launch in the making; starts the launch first where the piece has no room in it.
  void add_piece(const Task& task, std::span<TaskEnergy> energies) {
    const Problem& problem = executor_.problem_;
    write_program(problem, executor_.fine_, task, device_.kernel->step, recipe_, program_);
    std::int64_t bytes = 0;
    new_names_.clear();
    const auto want = [&](const PanelName& name) {
      if (name_numbers_.contains(name) || std::find(new_names_.begin(), new_names_.end(), name) != new_names_.end()) {
        return;
      }
      new_names_.push_back(name);
      bytes += device_.panels->bytes_of(name);
    };
    for (const auto& phase : program_.phases) {
      if (phase.steps == 0) continue;
      want(phase.a);
      want(phase.b);
    }
    for (const auto& pair : program_.pairs) {
      if (pair.used) want(pair.name);
    }
    if (!pieces_.empty() && (launch_panel_bytes_ + bytes > executor_.limit_ || items_.size() > most_items)) {
      run_launch();
      add_piece(task, energies);
      return;
    }
    launch_panel_bytes_ += bytes;
    for (const PanelName& name : new_names_) {
      name_numbers_.emplace(name, names_.size());
      names_.push_back(name);
    }
    TaskData data = program_.data;
    data.first_item = static_cast<std::int64_t>(items_.size());
    const double share = append_items(static_cast<std::uint32_t>(pieces_.size()), data, problem.form,
                                      device_.kernel->shape, cover_, items_);
    data.items = static_cast<std::int64_t>(items_.size()) - data.first_item;
    double elements = share;
    for (const std::int32_t extent : data.extent) elements *= extent;
    operations_ += elements * program_.operations_of_element;
    task_data_.push_back(data);
    const auto number = [&](const PanelName& name) { return static_cast<std::int64_t>(name_numbers_.at(name)); };
    for (const auto& phase : program_.phases) {
      numbered_phases_.push_back(
          {phase.steps == 0 ? 0 : number(phase.a), phase.steps == 0 ? 0 : number(phase.b), phase.steps});
    }
    for (const auto& pair : program_.pairs) numbered_pairs_.push_back(pair.used ? number(pair.name) : -1);
    pieces_.push_back({task.spin_case, energies});
  }

  /// Runs the launch in the making and adds its energies to those of its tasks.
  void run_launch() {
    if (pieces_.empty()) return;
    const Problem& problem = executor_.problem_;
    const bool adapted = problem.form == Form::spin_adapted;
    const int sums = adapted ? spin_adapted_sums : spin_orbital_sums;
    const std::size_t omega2_count = problem.omega2.size();
    std::vector<const double*> pointers;
    {
      const Range range("panels");
      if (!device_.panels->acquire(names_, pointers, stream_)) {
        throw Error("The panels of one task do not fit into the memory planned for them on the GPU.");
      }
    }
    /// Gives the panels back however this ends.
    struct Lease {
      PanelCache& cache;
      std::span<const PanelName> names;
      ~Lease() { cache.release(names); }
    };
    {
      const Lease lease{*device_.panels, names_};
      const Range range("launch");
      Layout layout;
      const std::size_t tasks_at = layout.add<TaskData>(task_data_.size());
      const std::size_t phases_at = layout.add<Phase>(numbered_phases_.size());
      const std::size_t pairs_at = layout.add<const double*>(numbered_pairs_.size());
      const std::size_t items_at = layout.add<Item>(items_.size());
      host_program_.reserve(layout.bytes);
      device_program_.reserve(layout.bytes);
      const auto host = [&](std::size_t offset) { return host_program_.data() + offset; };
      std::copy(task_data_.begin(), task_data_.end(), reinterpret_cast<TaskData*>(host(tasks_at)));
      auto* phases = reinterpret_cast<Phase*>(host(phases_at));
      for (const auto& [a, b, steps] : numbered_phases_) {
        *phases++ = {pointers[static_cast<std::size_t>(a)], pointers[static_cast<std::size_t>(b)], steps, 0};
      }
      auto* pairs = reinterpret_cast<const double**>(host(pairs_at));
      for (const std::int64_t n : numbered_pairs_) {
        *pairs++ = n < 0 ? device_.zeros.data() : pointers[static_cast<std::size_t>(n)];
      }
      std::copy(items_.begin(), items_.end(), reinterpret_cast<Item*>(host(items_at)));
      TRIFUSE_CUDA(
          cudaMemcpyAsync(device_program_.data(), host_program_.data(), layout.bytes, cudaMemcpyHostToDevice, stream_));

      const Shape& shape = device_.kernel->shape;
      const std::size_t task_sums = pieces_.size() * omega2_count * static_cast<std::size_t>(sums);
      item_sums_.reserve(items_.size() * omega2_count * static_cast<std::size_t>(shape.warps * sums));
      task_sums_.reserve(task_sums);
      host_sums_.reserve(task_sums);
      const auto device = [&](std::size_t offset) { return device_program_.data() + offset; };
      Work work{};
      work.tasks = reinterpret_cast<const TaskData*>(device(tasks_at));
      work.phases = reinterpret_cast<const Phase*>(device(phases_at));
      work.pairs = reinterpret_cast<const double* const*>(device(pairs_at));
      work.items = reinterpret_cast<const Item*>(device(items_at));
      work.eps = device_.eps.data();
      work.omega2 = device_.omega2.data();
      work.lone[0] = device_.lone[0].data();
      work.lone[1] = device_.lone[1].data();
      work.sums = item_sums_.data();
      work.scratch = scratch_.data();
      work.next_item = next_item_.data();
      work.items_count = static_cast<std::uint32_t>(items_.size());
      work.orbitals = static_cast<std::int32_t>(executor_.fine_.orbitals());
      work.omega2_count = static_cast<std::int32_t>(omega2_count);
      work.sets = sets_of(problem);
      work.sides = problem.sides();
      work.targets = adapted ? 6 : 1;
      work.terms = adapted ? spin_adapted_pairs : spin_orbital_pairs;
      work.phase_sign = adapted ? 0u : 0x80000000u;

      const auto grid = static_cast<int>(
          std::min(std::ssize(items_), static_cast<std::ptrdiff_t>(device_.properties.multiProcessorCount)));
      TRIFUSE_CUDA(cudaEventRecord(kernel_begin_, stream_));
      if (grid > 0) launch(*device_.kernel, problem.form, problem.two_sided(), grid, work, stream_);
      TRIFUSE_CUDA(cudaEventRecord(kernel_end_, stream_));
      launch_task_sums(work, problem.form, shape.warps, static_cast<int>(pieces_.size()), task_sums_.data(), stream_);
      TRIFUSE_CUDA(cudaMemcpyAsync(host_sums_.data(), task_sums_.data(), task_sums * sizeof(double),
                                   cudaMemcpyDeviceToHost, stream_));
      TRIFUSE_CUDA(cudaEventRecord(done_, stream_));
      const double begin = wall_seconds();
      {
        const Range waiting("wait");
        TRIFUSE_CUDA(cudaEventSynchronize(done_));
      }
      waited_ += wall_seconds() - begin;
      device_.busy->add(kernel_begin_, kernel_end_);
    }
    for (std::size_t n = 0; n < pieces_.size(); ++n) {
      for (std::size_t w = 0; w < omega2_count; ++w) {
        const double* sum = host_sums_.data() + (n * omega2_count + w) * static_cast<std::size_t>(sums);
        add_energy(pieces_[n].spin_case, sum, pieces_[n].energies[w]);
      }
    }
    ++launches_;
    items_done_ += static_cast<std::int64_t>(items_.size());
    pieces_.clear();
    task_data_.clear();
    numbered_phases_.clear();
    numbered_pairs_.clear();
    items_.clear();
    names_.clear();
    name_numbers_.clear();
    launch_panel_bytes_ = 0;
  }

  void add_energy(SpinCase spin_case, const double* sum, TaskEnergy& energy) const {
    if (executor_.problem_.form == Form::spin_adapted) {
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
  struct NumberedPhase {
    std::int64_t a, b;
    std::int32_t steps;
  };

  const CudaExecutorOfDevices& executor_;
  const Device& device_;
  BoxCover cover_;
  Recipe recipe_;
  TaskProgram program_;
  double operations_ = 0.0;

  // The launch in the making.
  std::vector<Piece> pieces_;
  std::vector<TaskData> task_data_;
  std::vector<NumberedPhase> numbered_phases_;
  std::vector<std::int64_t> numbered_pairs_;
  std::vector<Item> items_;
  std::vector<PanelName> names_, new_names_;
  std::map<PanelName, std::size_t> name_numbers_;
  std::int64_t launch_panel_bytes_ = 0;

  Stream stream_;
  Event kernel_begin_, kernel_end_;
  Event done_{cudaEventDisableTiming | cudaEventBlockingSync};
  DeviceArray<double> scratch_, item_sums_, task_sums_;
  DeviceArray<std::uint32_t> next_item_;
  DeviceArray<char> device_program_;
  PinnedArray<char> host_program_;
  PinnedArray<double> host_sums_;

  double waited_ = 0.0;
  std::int64_t launches_ = 0, items_done_ = 0;
};

std::unique_ptr<Executor::Worker> CudaExecutorOfDevices::make_worker() const {
  return std::make_unique<CudaWorker>(*this, devices_[workers_made_++ % devices_.size()]);
}

std::vector<std::vector<std::size_t>> CudaExecutorOfDevices::batches(const Plan& plan,
                                                                     const std::vector<bool>& finished) const {
  // In the order of the plan, in which tasks that follow each other share panels.
  double left = 0.0;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) left += finished[t] ? 0.0 : plan.operations[t];
  const double enough =
      std::clamp(left / (batches_per_worker * static_cast<double>(workers())), smallest_batch, largest_batch);
  std::vector<std::vector<std::size_t>> all;
  double operations = 0.0;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
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

CudaReport CudaExecutorOfDevices::report() const {
  const std::lock_guard lock(report_mutex_);
  CudaReport report = report_;
  for (const Device& device : devices_) {
    TRIFUSE_CUDA(cudaSetDevice(device.number));
    const PanelCache::Statistics panels = device.panels->statistics();
    report.devices.push_back({device.properties.name, peak_rate(device.number, device.properties)});
    report.kernel = device.kernel->name;
    report.panels_wanted += panels.wanted;
    report.panels_sent += panels.sent;
    report.panels_evicted += panels.evicted;
    report.bytes_sent += panels.bytes_sent;
    report.bytes_resident = std::max(report.bytes_resident, panels.most_bytes);
    report.memory_budget = report.memory_budget == 0 ? device.budget : std::min(report.memory_budget, device.budget);
    report.seconds_copies += panels.seconds_copies;
    report.seconds_kernels += device.busy->seconds();
  }
  return report;
}

/// Compares a small molecule's energies with those of the CPU, task by task.
void check_devices(const Problem& like, const CudaOptions& options) {
  const auto source = make_synthetic_source({Reference::rhf, 5, 5, 9, 9, 1, 5, 7, 1});
  Problem problem;
  problem.right = source.get();
  problem.form = like.form;
  const Plan plan = make_plan(source->tiles(), problem.form);
  std::vector<TaskEnergy> expected(plan.tasks.size()), found(plan.tasks.size());
  make_cpu_executor(problem, plan.tiles)->make_worker()->execute(plan.tasks, expected);
  for (const int number : options.devices) {
    CudaOptions one = options;
    one.devices = {number};
    one.memory_per_device = 0;
    CudaExecutorOfDevices(problem, plan.tiles, one).make_worker()->execute(plan.tasks, found);
    for (std::size_t t = 0; t < found.size(); ++t) {
      const double difference = std::max(std::abs(found[t].same_paren - expected[t].same_paren),
                                         std::abs(found[t].mixed_paren - expected[t].mixed_paren));
      const double scale = std::abs(expected[t].same_paren) + std::abs(expected[t].mixed_paren);
      if (difference <= 1e-10 * scale) continue;
      throw SystemError(fmt::format(
          "GPU {} gives wrong numbers: a task of the self-test has the energy {:.15g}, and {:.15g} on the CPU. Do not "
          "use this GPU (or this driver); --device cpu works without it.",
          number, found[t].same_paren + found[t].mixed_paren, expected[t].same_paren + expected[t].mixed_paren));
    }
  }
}

}  // namespace

std::unique_ptr<CudaExecutor> make_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                 const CudaOptions& options) {
  const auto devices = static_cast<int>(visible_devices().size());
  if (devices == 0) throw UsageError(why_no_devices());
  for (const int number : options.devices) {
    if (number < 0 || number >= devices) {
      throw UsageError(fmt::format("There is no GPU {}; CUDA sees {}, counted from 0.", number, devices));
    }
  }
  check_devices(problem, options);
  return std::make_unique<CudaExecutorOfDevices>(problem, tiles, options);
}

}  // namespace trifuse
