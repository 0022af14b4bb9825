#include "cxx/prediction/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>

#include "cxx/base/error.hpp"
#include "cxx/cuda/schedule/gpu_models.hpp"

namespace trifuse {

namespace {

constexpr double gib = 0x1p30;

/// The value of numbers that `take_sheet` sets.
constexpr double of_sheet = 0.0;

/// Sets the numbers of a data sheet, and the rates of its kernel in mixed precision as measured on an H200.
void take_sheet(const gpu::GpuModel& sheet, MachineModel& m) {
  m.computes_derivatives = sheet.wgmma;
  m.multiprocessors = sheet.multiprocessors;
  m.gpu_memory = sheet.free_memory * gib;
  m.memory_rate = sheet.memory_rate;
  m.link = sheet.link;
  const gpu::MixedKernelModel& kernel = gpu::mixed_kernel(sheet);
  m.mixed_rate_spin_orbital = kernel.rate.spin_orbital;
  m.mixed_rate_spin_adapted = kernel.rate.spin_adapted;
  m.mixed_target_spin_orbital = kernel.target.spin_orbital;
  m.mixed_target_spin_adapted = kernel.target.spin_adapted;
}

/// Returns the model of a node with eight H200 GPUs. The numbers of the GPU were measured on an H200
/// (drivers/docs/performance-gpu.md).
MachineModel h200() {
  MachineModel m;
  m.gpu = "h200";
  for (const MachineNumber& number : machine_numbers()) m.*number.value = number.on_h200;
  take_sheet(gpu::gpu_models().front(), m);
  return m;
}

/// Returns the model of another GPU, with the same fractions of the peak rates as on the H200.
MachineModel scaled(const gpu::GpuModel& sheet) {
  const gpu::GpuModel& measured = gpu::gpu_models().front();
  MachineModel m = h200();
  m.gpu = sheet.name;
  m.measured = false;
  const auto of_one = [&](double gpu::GpuModel::*peak) {
    return sheet.*peak / sheet.multiprocessors / (measured.*peak / measured.multiprocessors);
  };
  const double matrix = sheet.fp64_matrix / measured.fp64_matrix, split = sheet.mixed_peak() / measured.mixed_peak();
  take_sheet(sheet, m);
  m.rate_zeros *= matrix;
  m.rate_spin_orbital *= matrix;
  m.rate_spin_adapted *= matrix;
  m.rate_factors *= matrix;
  m.mixed_rate_spin_orbital *= split;
  m.mixed_rate_spin_adapted *= split;
  m.target_spin_orbital /= of_one(&gpu::GpuModel::fp64_vector);
  m.target_spin_adapted /= of_one(&gpu::GpuModel::fp64_vector);
  // Energies of elements are in FP32 in the spin-orbital form, and in FP64 in the spin-adapted form.
  m.mixed_target_spin_orbital /= of_one(&gpu::GpuModel::fp32_vector);
  m.mixed_target_spin_adapted /= of_one(&gpu::GpuModel::fp64_vector);
  return m;
}

/// The allowed range of a number. No machine has a number outside, and with one predictions would overflow.
struct Limits {
  double least, most;
};
Limits limits_of(const std::string& unit) {
  if (unit == "s") return {1e-12, 1e6};
  if (unit == "op/s") return {1.0, 1e24};
  if (unit == "") return {1.0, 1e6};
  return {1.0, 1e21};  // B, B/s
}

}

double MachineModel::kernel_seconds(const KernelWork& work, SpinFormulation formulation, Precision precision) const {
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  if (precision == Precision::mixed) {
    return work.executed / (adapted ? mixed_rate_spin_adapted : mixed_rate_spin_orbital) +
           work.targets * (adapted ? mixed_target_spin_adapted : mixed_target_spin_orbital) / multiprocessors;
  }
  const double filled = work.filled(), operations = work.executed;
  const double products =
      operations * ((1.0 - filled) / rate_zeros + filled / (adapted ? rate_spin_adapted : rate_spin_orbital));
  return products + work.targets * (adapted ? target_spin_adapted : target_spin_orbital) / multiprocessors;
}

MachineModel MachineModel::with_derivatives(Derivatives derivatives) const {
  MachineModel slower = *this;
  if (derivatives == Derivatives::none) return slower;
  const bool all = derivatives == Derivatives::all;
  const double on_cores = all ? 3.3 : 2.5, on_gpus = all ? 2.9 : 2.2, mixed = all ? 2.7 : 2.25;
  slower.core_rate /= on_cores;
  for (double* const rate : {&slower.rate_zeros, &slower.rate_spin_orbital, &slower.rate_spin_adapted})
    *rate /= on_gpus;
  for (double* const target : {&slower.target_spin_orbital, &slower.target_spin_adapted}) *target *= on_gpus;
  for (double* const rate : {&slower.mixed_rate_spin_orbital, &slower.mixed_rate_spin_adapted}) *rate /= mixed;
  for (double* const target : {&slower.mixed_target_spin_orbital, &slower.mixed_target_spin_adapted}) *target *= mixed;
  return slower;
}

std::span<const MachineNumber> machine_numbers() {
  using M = MachineModel;
  static constexpr const char *products_source = "measured: products alone",
                              *mixed_source = "fitted to two measured runs";
  static constexpr std::array<MachineNumber, 34> numbers = {{
      {"multiprocessors", &M::multiprocessors, "", of_sheet, "multiprocessors of a GPU", "data sheet"},
      {"rate-zeros", &M::rate_zeros, "op/s", 65.3e12, "rate of products of padding zeros",
       "measured: matrix instruction from registers"},
      {"rate-spin-orbital", &M::rate_spin_orbital, "op/s", gpu::measured_in_double.spin_orbital,
       "rate of products, spin-orbital form", "fitted to five measured runs"},
      {"rate-spin-adapted", &M::rate_spin_adapted, "op/s", gpu::measured_in_double.spin_adapted,
       "rate of products, spin-adapted form", "fitted to four measured runs"},
      {"rate-factors", &M::rate_factors, "op/s", 30e12, "rate of products of factors that make panels", "estimate"},
      {"target-spin-orbital", &M::target_spin_orbital, "s", 10.5e-6,
       "time of a multiprocessor for each computed target of a CTA tile besides its products, spin-orbital form",
       "measured: parts left out in turn; then fitted to five measured runs"},
      {"target-spin-adapted", &M::target_spin_adapted, "s", 15.5e-6, "the same, spin-adapted form",
       "fitted to four measured runs"},
      {"mixed-rate-spin-orbital", &M::mixed_rate_spin_orbital, "op/s", of_sheet,
       "rate of products in mixed precision, spin-orbital form", products_source},
      {"mixed-rate-spin-adapted", &M::mixed_rate_spin_adapted, "op/s", of_sheet, "the same, spin-adapted form",
       products_source},
      {"mixed-target-spin-orbital", &M::mixed_target_spin_orbital, "s", of_sheet,
       "time of a multiprocessor for each target in mixed precision besides its products, spin-orbital form",
       mixed_source},
      {"mixed-target-spin-adapted", &M::mixed_target_spin_adapted, "s", of_sheet, "the same, spin-adapted form",
       mixed_source},
      {"gpu-memory", &M::gpu_memory, "B", of_sheet, "free on a GPU", "measured"},
      {"memory-rate", &M::memory_rate, "B/s", of_sheet, "memory of a GPU, in which panels are packed", "data sheet"},
      {"launch", &M::launch, "s", 60e-6, "time of a launch besides its kernel", "estimate"},
      {"prepare-task", &M::prepare_task, "s", 20e-6, "time of a host thread for each task",
       "measured: a plan with tiles of 4"},
      {"gpus-per-node", &M::gpus_per_node, "", 8, "", "usual node"},
      {"cores-per-node", &M::cores_per_node, "", 112, "", "usual node"},
      {"core-rate", &M::core_rate, "op/s", 30e9, "rate of one core", "estimate"},
      {"node-memory", &M::node_memory, "B", 2048 * gib, "", "usual node"},
      {"link", &M::link, "B/s", of_sheet, "host to GPU, each GPU", "measured"},
      {"fill", &M::fill, "B/s", 9e9, "panels that a process makes from tiles",
       "fitted to ten measured runs with made-up tiles"},
      {"fill-cores", &M::fill_cores, "", 16, "cores that a process needs for the rate fill",
       "measured with this number of cores"},
      {"fill-node", &M::fill_node, "B/s", 17e9, "panels that all processes of a node make from tiles, at most",
       "measured: two, four and eight ranks"},
      {"shared-pages", &M::shared_pages, "B/s", 5.1e9, "new shared memory, each file", "measured: one file, and eight"},
      {"fetch", &M::fetch, "B/s", 3e9, "shared operands from ranks of the same node, each rank",
       "measured: two, four ranks"},
      {"owned-panels", &M::owned_panels, "B/s", 24e9, "panels sent to the GPUs of a node to be kept for their peers",
       "measured: two, four GPUs"},
      {"peer", &M::peer, "B/s", 375e9, "panels from a GPU of the same node", "measured: NVLink, four GPUs"},
      {"check", &M::check, "B/s", 27e9, "amplitudes and integrals checked by a node, from memory",
       "measured: one, two and four ranks, 64 threads"},
      {"read", &M::read, "B/s", 2e9, "amplitudes and integrals read from files, a node", "assumed"},
      {"startup", &M::startup, "s", 0.2, "self-test and first touch of a GPU", "fitted to ten measured runs"},
      {"plan-task", &M::plan_task, "s", 3e-6, "planning, each task on every rank", "measured: one core"},
      {"network", &M::network, "B/s", 200e9, "network of a node", "assumed: half of 8 x 400 Gbit/s by data sheet"},
      {"counter-latency", &M::counter_latency, "s", 5e-6, "time until a claim is answered",
       "assumed: remote atomic of MPI"},
      {"counter-service", &M::counter_service, "s", 1e-6, "time that the counter needs for each claim",
       "assumed: remote atomic of MPI"},
  }};
  return numbers;
}

std::vector<std::string> gpu_models() {
  std::vector<std::string> names;
  for (const gpu::GpuModel& model : gpu::gpu_models()) names.emplace_back(model.name);
  return names;
}

MachineModel machine_model(const std::string& gpu) {
  const std::span<const gpu::GpuModel> models = gpu::gpu_models();
  for (const gpu::GpuModel& model : models) {
    if (gpu == model.name) return &model == models.data() ? h200() : scaled(model);
  }
  throw UsageError(
      fmt::format("There is no model of a GPU \"{}\"; the known models are {}.", gpu, fmt::join(gpu_models(), ", ")));
}

void assume(MachineModel& machine, const std::string& assignment) {
  const auto equals = assignment.find('=');
  const std::string name = assignment.substr(0, equals);
  for (const MachineNumber& number : machine_numbers()) {
    if (name != number.name) continue;
    const std::string text = equals == std::string::npos ? "" : assignment.substr(equals + 1);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const auto [least, most] = limits_of(number.unit);
    if (text.empty() || *end != '\0' || !(value >= least && value <= most)) {
      throw UsageError(
          fmt::format("--assume {} needs a number from {:g} to {:g} after the equals sign, for example {}={:g}.",
                      assignment, least, most, name, machine.*number.value));
    }
    machine.*number.value = value;
    return;
  }
  std::string names;
  for (const MachineNumber& number : machine_numbers()) names += (names.empty() ? "" : ", ") + std::string(number.name);
  throw UsageError(
      fmt::format("--assume {} does not name a number of the model; the names are {}.", assignment, names));
}

}
