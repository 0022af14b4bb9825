#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/recorded_packing.hpp"
#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/launch_program.hpp"
#include "cxx/cuda/runtime/self_test.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/nwchem/device_operands.hpp"
#include "cxx/nwchem/recorded_executor.hpp"

namespace trifuse {

namespace gpu {
namespace {

std::int32_t narrow(std::int64_t n) {
  return static_cast<std::int32_t>(n);
}

/// The panels and the t1 blocks that are packed for a task. All panels lie in one array, one after another.
struct PackingList {
  std::vector<PackingJob> jobs;
  std::vector<std::int64_t> places;  ///< [job] offset of its panel in the array, bytes
  std::vector<PackingSegment> segments;
  std::vector<OvTensorJob> ov_tensors;
  std::int64_t bytes = 0;  ///< size of all panels

  /// Adds a panel. `extent`: extents of the positions of the Packing. `contracted`: number of contracted indices.
  /// `format`: format of the packed panel.
  PackingJob& add(PanelKind kind, const std::array<std::int64_t, 4>& extent, std::int64_t contracted,
                  const OperandFormat& format) {
    PackingJob job{};
    job.shape.kind = kind;
    for (std::size_t q = 0; q < 4; ++q) job.shape.extent[q] = narrow(extent[q]);
    job.shape.contracted = narrow(contracted);
    job.shape.outer = kind == PanelKind::left ? 1 : 2;
    job.shape.outer_count = job.shape.extent[job.shape.outer];
    job.first_segment = narrow(std::ssize(segments));
    places.push_back(bytes);
    bytes += packed_bytes(job.shape, format);
    return jobs.emplace_back(job);
  }
  /// Returns the number that the next panel gets.
  std::size_t next() const { return jobs.size(); }
};

class RecordedCudaExecutor final : public RecordedExecutor {
 public:
  RecordedCudaExecutor(int device, std::optional<std::int64_t> memory)
      : device_((TRIFUSE_CUDA(cudaSetDevice(device)), device)),
        properties_(device_properties(device)),
        kernels_(choose_kernels({}, Precision::fp64, properties_)),
        selector_(shapes_of(kernels_)),
        buffers_(scratch_doubles(kernels_, 1, properties_)),
        budget_(memory),
        operands_(buffers_.stream, budget_) {
    for (const Kernel* kernel : kernels_) set_dynamic_shared_limit(*kernel, formulation, EnergyKind::one_side);
  }

  // Copies of operands may still be on the way if a task was not executed.
  ~RecordedCudaExecutor() override { static_cast<void>(cudaStreamSynchronize(buffers_.stream)); }
  RecordedCudaExecutor(const RecordedCudaExecutor&) = delete;
  RecordedCudaExecutor& operator=(const RecordedCudaExecutor&) = delete;

  OperandStore& operands() override { return operands_; }
  void release() override;
  Energies execute(const RecordedTask& task, double weight, const std::array<const double*, 6>& eps) override;

 private:
  static constexpr SpinFormulation formulation = SpinFormulation::spin_orbital;

  /// Throws DeviceMemoryError if a task is too large for the kernels. A task of NWChem never is; a task of another
  /// program may be.
  static void check_fits(const RecordedTask& task);
  void list_products(const RecordedTask& task);
  void list_singles(const RecordedTask& task, const TaskData& data);
  /// Returns the format of the operands that the kernels read.
  const OperandFormat& format() const { return kernels_.front()->shape.format; }
  KernelParameters pack(const RecordedTask& task, const TaskData& data, const std::array<const double*, 6>& eps);

  int device_;
  const cudaDeviceProp& properties_;
  std::vector<const Kernel*> kernels_;
  ShapeSelector selector_;
  LaunchBuffers buffers_;
  MemoryBudget budget_;
  DeviceOperands operands_;
  LaunchProgram program_;
  PackingList list_;
  /// One of the nine products.
  struct Product {
    std::size_t left;  ///< number of the left panel; the right panel has the next number
    std::int32_t k_steps;
  };
  std::array<Product, products_per_target> products_{};
  std::vector<std::size_t> vvoo_;  ///< numbers of the panels of vvoo blocks
  int sets_ = 1;
  DeviceArray<std::byte> packed_;
  DeviceArray<double> ov_tensors_;
  ArraysInOne sent_list_;
};

void RecordedCudaExecutor::check_fits(const RecordedTask& task) {
  // A CTA tile stores numbers of particles in 16 bits and numbers of hole groups in 8 bits.
  constexpr std::int64_t max_particles = std::numeric_limits<std::uint16_t>::max(),
                         max_holes = std::numeric_limits<std::uint8_t>::max() * hole_group_size;
  for (std::size_t q = 0; q < 6; ++q) {
    if (task.extent()[q] <= (q < 3 ? max_particles : max_holes)) continue;
    throw DeviceMemoryError(fmt::format(
        "A task has a tile of {} orbitals, but a GPU takes at most {} virtual or {} occupied orbitals at once.",
        task.extent()[q], max_particles, max_holes));
  }
  std::array<int, 9> calls{};
  for (const RecordedTask::Singles& one : task.singles()) {
    if (++calls[static_cast<std::size_t>(one.term->particle * 3 + one.term->hole)] <= sets_of_one_left) continue;
    throw DeviceMemoryError(fmt::format("A task calls a kernel of the singles more than {} times.", sets_of_one_left));
  }
}

void RecordedCudaExecutor::release() {
  TRIFUSE_CUDA(cudaStreamSynchronize(buffers_.stream));
  operands_.release();
  packed_ = {};
  release_idle_memory();
  budget_.give_all_back();
}

/// Lists a left and a right panel for each product with at least one contracted index.
void RecordedCudaExecutor::list_products(const RecordedTask& task) {
  const auto extent = [&](int position) { return task.extent()[static_cast<std::size_t>(position)]; };
  for (std::size_t n = 0; n < products_.size(); ++n) {
    const ProductAxes axes = axes_of_product(static_cast<int>(n));
    const std::vector<RecordedTask::OperandPair> pairs = task.operand_pairs(axes.particle, axes.hole);
    std::int64_t contracted = 0;
    for (const RecordedTask::OperandPair& pair : pairs) contracted += pair.contracted;
    products_[n] = {list_.next(), narrow(ceil_div(contracted, format().k_step))};
    if (contracted == 0) continue;
    const auto [p, pp] = others(axes.particle);
    const auto [h, hh] = others(axes.hole);
    const auto add = [&](PanelKind kind, const std::array<std::int64_t, 4>& shape,
                         RecordedTask::Strided RecordedTask::OperandPair::*operand) {
      PackingJob& job = list_.add(kind, shape, contracted, format());
      std::int64_t begin = 0;
      for (const RecordedTask::OperandPair& pair : pairs) {
        const RecordedTask::Strided& from = pair.*operand;
        list_.segments.push_back(
            {from.data, from.contracted, {from.row[0], from.row[1], from.row[2], 0}, narrow(begin), 0});
        begin += pair.contracted;
      }
      job.segments = narrow(std::ssize(pairs));
    };
    add(PanelKind::left, {extent(axes.particle), extent(3 + h), extent(3 + hh), 1}, &RecordedTask::OperandPair::left);
    add(PanelKind::right, {extent(p), extent(pp), extent(3 + axes.hole), 1}, &RecordedTask::OperandPair::right);
  }
}

/// Lists the vvoo blocks of all terms and their blocks of t1. The block of a term without a call is zero. If a term has
/// several calls, each call goes to a set of its own.
void RecordedCudaExecutor::list_singles(const RecordedTask& task, const TaskData& data) {
  const std::vector<RecordedTask::Singles> singles = task.singles();
  std::array<std::vector<const RecordedTask::Singles*>, spin_orbital_vvoo_blocks> of_term;
  sets_ = 1;
  for (const RecordedTask::Singles& one : singles) {
    auto& calls = of_term[static_cast<std::size_t>(one.term->particle * 3 + one.term->hole)];
    calls.push_back(&one);
    sets_ = std::max(sets_, static_cast<int>(calls.size()));
  }
  const std::int32_t orbitals = data.offset[5] + data.extent[5];
  const auto extent = [&](int position) { return task.extent()[static_cast<std::size_t>(position)]; };
  for (int set = 0; set < sets_; ++set) {
    for (int n = 0; n < spin_orbital_vvoo_blocks; ++n) {
      const int particle = n / 3, hole = n % 3;
      const auto [p, pp] = others(particle);
      const auto [h, hh] = others(hole);
      vvoo_.push_back(list_.next());
      PackingJob& job =
          list_.add(PanelKind::vvoo, {extent(p), extent(pp), extent(3 + h), extent(3 + hh)}, 1, vvoo_format);
      const auto& calls = of_term[static_cast<std::size_t>(n)];
      if (calls.size() <= static_cast<std::size_t>(set)) continue;
      const RecordedTask::Singles& one = *calls[static_cast<std::size_t>(set)];
      job.segments = 1;
      list_.segments.push_back({one.vvoo, 0, {one.row[0], one.row[1], one.row[2], one.row[3]}, 0, 0});
      list_.ov_tensors.push_back({one.t1, ov_tensors_.data() + std::int64_t{set} * orbitals * orbitals,
                                  data.extent[particle], data.extent[3 + hole], data.offset[particle],
                                  data.offset[3 + hole]});
    }
  }
}

/// Starts the packing of all panels on the stream, after the transfer of the operands. Returns the parameters of the
/// kernel: orbital energies, t1 and omega2.
KernelParameters RecordedCudaExecutor::pack(const RecordedTask& task, const TaskData& data,
                                            const std::array<const double*, 6>& eps) {
  const cudaStream_t stream = buffers_.stream;
  const std::int32_t orbitals = data.offset[5] + data.extent[5];
  const auto wanted = static_cast<std::size_t>(list_.bytes);
  if (wanted > packed_.size()) budget_.take(wanted - packed_.size(), "The packed operands");
  packed_.reserve(wanted);
  for (std::size_t n = 0; n < list_.jobs.size(); ++n) list_.jobs[n].packed = packed_.data() + list_.places[n];
  for (const Product& product : products_) {
    const PackingJob* left = list_.jobs.data() + product.left;
    program_.products.push_back(
        product.k_steps == 0 ? KernelProduct{} : KernelProduct{left[0].packed, left[1].packed, product.k_steps, 0});
  }
  for (const std::size_t n : vvoo_) program_.vvoo.push_back(static_cast<const double*>(list_.jobs[n].packed));

  std::vector<double> energies;
  for (std::size_t q = 0; q < 6; ++q) energies.insert(energies.end(), eps[q], eps[q] + task.extent()[q]);
  const std::vector<double> no_omega2 = {0.0};
  const PackingJob* jobs = nullptr;
  const PackingSegment* segments = nullptr;
  const OvTensorJob* ov_tensors = nullptr;
  KernelParameters parameters = base_parameters(formulation, 1, sets_);
  sent_list_.add(list_.jobs, jobs);
  sent_list_.add(list_.segments, segments);
  sent_list_.add(list_.ov_tensors, ov_tensors);
  sent_list_.add(energies, parameters.eps);
  sent_list_.add(no_omega2, parameters.omega2);
  sent_list_.send(stream);
  parameters.omega2_count = 1;
  parameters.orbitals = orbitals;
  const std::int64_t table = std::int64_t{orbitals} * orbitals;
  for (int set = 0; set < sets_; ++set) parameters.ov_tensors[set] = ov_tensors_.data() + set * table;
  TRIFUSE_CUDA(
      cudaMemsetAsync(ov_tensors_.data(), 0, static_cast<std::size_t>(sets_ * table) * sizeof(double), stream));
  if (!list_.ov_tensors.empty())
    launch_ov_tensors(ov_tensors, static_cast<int>(list_.ov_tensors.size()), orbitals, stream);
  launch_recorded_packing(format(), jobs, static_cast<int>(list_.jobs.size()), segments, stream);
  return parameters;
}

Energies RecordedCudaExecutor::execute(const RecordedTask& task, double weight,
                                       const std::array<const double*, 6>& eps) {
  check_complete(task);
  TRIFUSE_CUDA(cudaSetDevice(device_));
  operands_.flush();
  check_fits(task);
  std::array<std::int32_t, 6> extent{};
  for (std::size_t q = 0; q < 6; ++q) extent[q] = narrow(task.extent()[q]);
  TaskData data = single_task(extent);
  data.weight = weight;
  const std::size_t best = selector_.best({extent[0], extent[1], extent[2]});
  const Kernel& kernel = *kernels_[best];
  program_.clear();
  append_cta_tiles(0, data, formulation, kernel.shape, selector_.tiling(best), program_.cta_tiles);
  data.cta_tiles = std::ssize(program_.cta_tiles);
  program_.tasks.push_back(data);
  list_ = {};
  vvoo_.clear();
  const std::int64_t orbitals = data.offset[5] + data.extent[5];
  ov_tensors_.reserve(static_cast<std::size_t>(sets_of_one_left * orbitals * orbitals));
  list_products(task);
  list_singles(task, data);
  const KernelParameters parameters = pack(task, data, eps);
  const std::span<const double> sums = run_program(program_, kernel, formulation, EnergyKind::one_side,
                                                   properties_.multiProcessorCount, parameters, buffers_);
  return checked(Energies::of_values(sums.data()));
}

/// Computes a fixed small task, with all 27 terms, with an executor.
Energies self_test(RecordedExecutor& executor) {
  RecordedTask task(executor.operands());
  const RecordedTask::Extents extent = {5, 3, 6, 4, 1, 5};
  task.begin_singles(extent);
  task.begin_doubles(extent);
  std::uint64_t state = 1;
  const auto numbers = [&](std::int64_t count) {
    std::vector<double> all(static_cast<std::size_t>(count));
    for (double& x : all) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
    }
    return all;
  };
  for (const Term& term : terms) {
    const auto call = RecordedTask::call_extents(term, extent, term.kind == TermKind::singles ? 1 : 2 + term.number);
    const auto size = RecordedTask::operand_sizes(term.kind, call);
    const std::vector<double> t = numbers(size.t), v = numbers(size.v);
    task.add(term, call, t.data(), v.data());
  }
  std::array<std::vector<double>, 6> energies;
  std::array<const double*, 6> eps{};
  for (std::size_t q = 0; q < 6; ++q) {
    energies[q] = numbers(extent[q]);
    for (double& e : energies[q]) e += q < 3 ? 2.0 : -2.0;
    eps[q] = energies[q].data();
  }
  const Energies found = executor.execute(task, 0.5, eps);
  task.clear();
  return found;
}

}
}

std::unique_ptr<RecordedExecutor> make_recorded_cuda_executor(int device, std::optional<std::int64_t> memory) {
  if (device < 0 || device >= visible_device_count()) {
    const std::string why = why_no_devices();
    throw UsageError(why.empty() ? fmt::format("There is no GPU {}.", device) : why);
  }
  auto executor = std::make_unique<gpu::RecordedCudaExecutor>(device, memory);
  const auto found = gpu::self_test(*executor).values();
  const auto expected = gpu::self_test(*make_recorded_cpu_executor()).values();
  for (std::size_t n = 0; n < expected.size(); ++n) {
    gpu::check_self_test(device, Precision::fp64, found[n], expected[n], std::abs(expected.front()));
  }
  return executor;
}

}
