#pragma once

#include <functional>
#include <memory>
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

/// The exchange of panels between the GPUs of several ranks, one GPU for each rank. GPUs of the same process do not
/// exchange panels, because their workers would have to wait for each other. A copy from the host is cheaper.
class DeviceExchange final : public PanelExchange {
 public:
  /// `device`, its panel cache with its providers and `panels` must stay valid as long as this object.
  DeviceExchange(const Device& device, const PanelLayout& panels, ReserveForOwned reserve_for_owned);

  std::string export_panels(std::span<const int> owner_of_rank, int rank) override;
  void import_panels(std::span<const std::string> handles) override;
  void close() override;
  std::int64_t bytes_imported() const override { return device_.panels->produced_by(*device_.peer_panels).bytes; }

 private:
  std::string description_of_owner(int rank) const;

  const Device& device_;
  const PanelLayout& panels_;
  ReserveForOwned reserve_for_owned_;
  int rank_ = 0;
  std::shared_ptr<const PanelOwnerMap> owners_;
  std::vector<std::unique_ptr<PeerMemory>> peers_;
};

}  // namespace trifuse::gpu
