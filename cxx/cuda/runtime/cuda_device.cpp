#include "cxx/cuda/runtime/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/memory_pool.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"

namespace trifuse::gpu {

BusyTime::BusyTime() {
  TRIFUSE_CUDA(cudaEventRecord(origin_, nullptr));
  TRIFUSE_CUDA(cudaEventSynchronize(origin_));
}

void BusyTime::add(const Event& begin, const Event& end) {
  const std::lock_guard lock(mutex_);
  spans_.emplace_back(seconds_between(origin_, begin), seconds_between(origin_, end));
}

double BusyTime::seconds() const {
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

const cudaDeviceProp& device_properties(int number) {
  static std::mutex mutex;
  static std::map<int, cudaDeviceProp> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(number);
  if (found != known.end()) return found->second;
  cudaDeviceProp properties{};
  TRIFUSE_CUDA(cudaGetDeviceProperties(&properties, number));
  return known.emplace(number, properties).first->second;
}

void Device::make_ring(std::int64_t slot_bytes, std::int64_t slots) {
  // If no thread can be started, the ring is made when it is needed.
  ring = std::async(std::launch::async | std::launch::deferred, [on = number, slot_bytes, slots] {
    const CurrentDevice current(on);
    return std::make_shared<UploadRing>(slot_bytes, slots);
  });
}

std::vector<const Kernel*> kernels_for(Precision precision, const cudaDeviceProp& device) {
  const int capability = 100 * device.major + 10 * device.minor;
  const auto shared = static_cast<int>(device.sharedMemPerBlockOptin);
  std::vector<const Kernel*> usable;
  for (const Kernel& kernel : kernels()) {
    if (kernel.precision() == precision && runs_on(kernel, capability, shared)) usable.push_back(&kernel);
  }
  return usable;
}

std::vector<const Kernel*> choose_kernels(const std::string& wanted, Precision precision,
                                          const cudaDeviceProp& device) {
  const std::vector<const Kernel*> usable = kernels_for(precision, device);
  std::vector<const Kernel*> chosen;
  std::string names;
  for (const Kernel* kernel : usable) {
    names += (names.empty() ? "" : ", ") + kernel->name;
    if (wanted.empty() ? kernel->family == usable.front()->family : kernel->name == wanted) chosen.push_back(kernel);
  }
  if (!chosen.empty()) return chosen;
  if (names.empty()) {
    throw UsageError(fmt::format("{} (compute capability {}.{}) is too old: Trifuse needs {} or newer{}.", device.name,
                                 device.major, device.minor, precision == Precision::mixed ? "8.0" : "7.5",
                                 precision == Precision::mixed ? " for mixed precision" : ""));
  }
  throw UsageError(fmt::format("There is no kernel \"{}\" for {}; it can run: {}.", wanted, device.name, names));
}

std::vector<Shape> shapes_of(const std::vector<const Kernel*>& kernels) {
  std::vector<Shape> shapes;
  for (const Kernel* kernel : kernels) shapes.push_back(kernel->shape);
  return shapes;
}

std::int64_t scratch_doubles(const std::vector<const Kernel*>& kernels, int targets, const cudaDeviceProp& device) {
  int cta_elements = 0;
  for (const Kernel* kernel : kernels) cta_elements = std::max(cta_elements, kernel->shape.cta_elements);
  return scratch_doubles(device.multiProcessorCount, targets, cta_elements);
}

double peak_rate(int number, const cudaDeviceProp& device) {
  int kilohertz = 0;
  TRIFUSE_CUDA(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, number));
  const int capability = 10 * device.major + device.minor;
  const double per_clock = capability == 90 ? 256.0 : capability == 80 ? 128.0 : capability == 100 ? 128.0 : 4.0;
  return per_clock * device.multiProcessorCount * 1e3 * kilohertz;
}

void add_numbers(const Device& device, std::int64_t array_bytes, DeviceReport& report) {
  if (device.panels == nullptr) return;  // it failed before it was set up
  const CurrentDevice current(device.number);
  const PanelCache::Statistics panels = device.panels->statistics();
  const ProducedPanels sent = device.panels->produced_by(*device.host_panels);
  const ProducedPanels made = device.panels->produced_by(*device.made_panels);
  const FactorPanelProvider::Statistics making = device.made_panels->statistics();
  const ProducedPanels from_peers = device.panels->produced_by(*device.peer_panels);
  const double seconds_kernels = device.busy->seconds();
  report.devices.push_back({device.properties.name, peak_rate(device.number, device.properties)});
  report.panels_wanted += panels.wanted;
  report.panels_sent += sent.panels;
  if (device.array_panels != nullptr) {
    report.panels_sent += device.panels->produced_by(*device.array_panels).panels;
    report.bytes_sent += device.array_panels->bytes_sent();
  }
  report.panels_evicted += panels.evicted;
  report.bytes_sent += sent.bytes + made.bytes + making.slabs.owned_bytes;
  report.panels_made += made.panels;
  report.bytes_made += making.bytes_made;
  report.slabs_sent += making.slabs.sent;
  report.slabs_owned += making.slabs.owned;
  report.slabs_from_peers += making.slabs.from_peers;
  report.seconds_making += making.seconds;
  report.panels_owned += panels.owned;
  report.panels_from_peers += from_peers.panels;
  report.bytes_from_peers += from_peers.bytes + making.slabs.peer_bytes;
  report.bytes_resident = std::max(report.bytes_resident, panels.max_bytes + making.slabs.max_bytes);
  if (const std::int64_t peak = peak_device_memory(); peak > 0) {
    report.peak_bytes = std::max(report.peak_bytes, peak + device.panels->owned_bytes() + making.slabs.owned_bytes);
  }
  const std::int64_t budget = device.budget + array_bytes;
  report.memory_budget = report.memory_budget == 0 ? budget : std::min(report.memory_budget, budget);
  report.seconds_copies += panels.seconds_copies;
  report.seconds_kernels += seconds_kernels;
}

}
