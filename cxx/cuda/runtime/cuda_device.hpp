#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/array_panel_provider.hpp"
#include "cxx/cuda/runtime/device_derivatives.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/device_quotients.hpp"
#include "cxx/cuda/runtime/factor_panel_provider.hpp"
#include "cxx/cuda/runtime/host_panel_provider.hpp"
#include "cxx/cuda/runtime/panel_cache.hpp"
#include "cxx/cuda/runtime/peer_panel_provider.hpp"
#include "cxx/cuda/runtime/upload_ring.hpp"
#include "cxx/plan/executor_report.hpp"
#include "cxx/triples/precision.hpp"

namespace trifuse::gpu {

/// The time during which a device had at least one kernel to execute. The spans of kernels of several workers overlap;
/// an overlap counts once.
class BusyTime {
 public:
  /// Starts the clock on the current device.
  BusyTime();
  /// Adds the span of a kernel. Both events must have passed.
  void add(const Event& begin, const Event& end);
  double seconds() const;

 private:
  Event origin_;
  mutable std::mutex mutex_;
  std::vector<std::pair<double, double>> spans_;
};

/// Returns the properties of a GPU. They do not change, and the driver is asked once, because it needs milliseconds.
/// Makes no CUDA context. `number`: number of the GPU, as CUDA counts, from 0.
const cudaDeviceProp& device_properties(int number);

/// One GPU, and what all its workers share.
struct Device {
  /// `device`: number of the GPU.
  explicit Device(int device) : number(device), properties(device_properties(device)) {}

  int number;  ///< number of the GPU, as CUDA counts, from 0
  const cudaDeviceProp& properties;
  std::vector<const Kernel*> kernels;             ///< candidates; for each task its best kernel is chosen
  std::int64_t budget = 0;                        ///< bytes that Trifuse may use on the device
  std::future<std::shared_ptr<UploadRing>> ring;  ///< of `made_panels` and `host_panels`
  DeviceArray<double> eps;                        ///< as in KernelParameters
  DeviceArray<double> ov_tensors[max_sets];       ///< as in KernelParameters
  DeviceQuotients quotients;
  DeviceArray<double> zeros;                       ///< used for all vvoo blocks that vanish
  std::shared_ptr<PeerPanelProvider> peer_panels;  ///< a provider of `panels`; so are the next three members
  std::shared_ptr<FactorPanelProvider> made_panels;
  std::shared_ptr<ArrayPanelProvider> array_panels;  ///< null: the host stores the panels
  std::shared_ptr<HostPanelProvider> host_panels;
  std::unique_ptr<PanelCache> panels;
  std::unique_ptr<DeviceDerivatives> derivatives;  ///< null: the run has none
  std::unique_ptr<BusyTime> busy;
  /// Starts to make `ring`. The driver needs 0.1 s for it; meanwhile operands are read. Parameters are those of
  /// UploadRing.
  void make_ring(std::int64_t slot_bytes, std::int64_t slots);
  /// Returns the format of the operands that the kernels read. All candidates read the same format.
  const OperandFormat& format() const { return kernels.front()->shape.format; }
};

/// Returns all kernels in this precision that a device can run, the best first.
std::vector<const Kernel*> kernels_for(Precision precision, const cudaDeviceProp& device);

/// Returns the kernel in this precision with the name `wanted`; if `wanted` is empty, all kernels of the best family
/// that the device can run. Kernels of one family read operands in the same format. Throws UsageError if the device
/// cannot run that kernel, or if it can run no kernel.
std::vector<const Kernel*> choose_kernels(const std::string& wanted, Precision precision, const cudaDeviceProp& device);

/// Returns the shapes of these kernels, in the same order.
std::vector<Shape> shapes_of(const std::vector<const Kernel*>& kernels);

/// Returns the scratch memory that a launch of any of these kernels needs, doubles. `targets`: number of targets of all
/// sides together, as Problem::targets() returns it.
std::int64_t scratch_doubles(const std::vector<const Kernel*>& kernels, int targets, const cudaDeviceProp& device);

/// Returns the FP64 operations per second of the matrix units, or of the ordinary units if there are none, at the
/// highest clock.
double peak_rate(int number, const cudaDeviceProp& device);

/// Adds what the device has done in a run to its report. `array_bytes`: size of the arrays from which the device packs
/// panels; its budget does not contain them. Throws DeviceError if the device has failed.
void add_numbers(const Device& device, std::int64_t array_bytes, DeviceReport& report);

}
