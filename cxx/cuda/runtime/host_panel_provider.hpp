#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/panel_provider.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse::gpu {

/// Sends the panels of the host's store. They go through a ring of pinned buffers and are packed on the device.
class HostPanelProvider final : public PanelProvider {
 public:
  /// Belongs to the current device. `host`: must stay valid. `slot_bytes`: size of each pinned buffer,
  /// PanelDemand::slot.
  HostPanelProvider(const PanelStore& host, std::int64_t slot_bytes);

  bool provides(const PanelName& name) const override;
  /// True if panels may come from another process.
  bool prefetches() const override { return host_.has_others(); }
  void prefetch(const PanelName& name) const override;
  std::int64_t produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) override;

 private:
  /// A pinned buffer, and a device buffer for the same part of a panel before it is packed.
  struct Slot {
    PinnedArray<double> host;
    DeviceArray<double> device;
    Event free{cudaEventDisableTiming};  ///< passes when the part has been packed
  };

  const PanelStore& host_;
  std::vector<Slot> ring_;
  std::size_t next_slot_ = 0;
};

}  // namespace trifuse::gpu
