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

/// Asked before a device keeps so many bytes of panels for good.
using ReserveForOwned = std::function<bool(const Device&, std::int64_t bytes)>;

/// One GPU among those of several ranks, each of which has one. (GPUs of one process exchange nothing: its workers hold
/// each other up more than copies from the host do.)
class DeviceExchange final : public PanelExchange {
 public:
  /// `device`, with its panel cache, and `panels` outlive it.
  DeviceExchange(const Device& device, const PanelLayout& panels, ReserveForOwned reserve_for_owned);

  std::string export_panels(std::span<const int> owner_of_rank, int rank) override;
  void import_panels(std::span<const std::string> handles) override;
  void close() override;
  std::int64_t bytes_imported() const override { return device_.panels->bytes_from_peers(); }

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
