#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/peer_memory.hpp"
#include "cxx/cuda/schedule/panel_owner_map.hpp"
#include "cxx/operands/panel_executor.hpp"

namespace trifuse::gpu {

/// Reserves memory of a device for owned panels. Returns false if there is not enough. `bytes`: size of all owned
/// panels.
using ReserveForOwned = std::function<bool(const Device&, std::int64_t bytes)>;

/// The exchange of panels and of slabs of factors between the GPUs of several ranks, one GPU for each rank. GPUs of the
/// same process do not exchange panels, because their workers would have to wait for each other. A copy from the host
/// is cheaper. They exchange slabs, see exchange_slabs().
class DeviceExchange final : public PanelExchange {
 public:
  /// `device`, its panel cache with its providers and `panels` must stay valid as long as this object.
  /// `owned_slab_limit`: most bytes of slabs that the device owns.
  DeviceExchange(const Device& device, const PanelLayout& panels, ReserveForOwned reserve_for_owned,
                 std::int64_t owned_slab_limit);

  std::string export_panels(std::span<const int> owner_of_rank, int rank) override;
  void import_panels(std::span<const std::string> handles) override;
  void close() override;
  std::int64_t bytes_imported() const override {
    return device_.panels->produced_by(*device_.peer_panels).bytes + device_.made_panels->bytes_from_peers();
  }

 private:
  std::string description_of_owner(int rank) const;
  /// Opens the memory that a peer exports. Returns a range without memory if `handle` is empty or cannot be opened.
  PeerRange open(const std::string& handle, std::int64_t bytes);

  const Device& device_;
  const PanelLayout& panels_;
  ReserveForOwned reserve_for_owned_;
  std::int64_t owned_slab_limit_;
  int rank_ = 0;
  std::shared_ptr<const PanelOwnerMap> owners_, slab_owners_;
  std::vector<std::unique_ptr<PeerMemory>> peers_;
};

/// The exchange of slabs of factors between the GPUs of this process: each GPU loads the slabs that it owns, and copies
/// others from their owners. Does nothing if a GPU cannot read the memory of another one. Must be called once, before
/// workers use the devices. `slab_limit`: returns the most bytes of slabs that a device owns.
void exchange_slabs(std::span<Device> devices, const PanelLayout& panels,
                    const std::function<std::int64_t(const Device&)>& slab_limit);

}
