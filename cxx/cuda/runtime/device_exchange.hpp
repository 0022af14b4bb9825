#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/neighbour_memory.hpp"
#include "cxx/cuda/schedule/panel_homes.hpp"
#include "cxx/operands/panel_executor.hpp"

namespace trifuse::gpu {

/// Asked before a device keeps so many bytes of panels for good.
using MayKeep = std::function<bool(const Device&, std::int64_t bytes)>;

/// One GPU among those of several ranks, each of which has one. (GPUs of one process exchange nothing: its workers hold
/// each other up more than copies from the host do.)
class DeviceExchange final : public PanelExchange {
 public:
  /// `device`, with its panel cache, and `panels` outlive it.
  DeviceExchange(const Device& device, const PanelStore& panels, SpinFormulation formulation, MayKeep may_keep);

  std::string offer(std::span<const int> home_of_rank, int rank) override;
  void take(std::span<const std::string> offers) override;
  void let_go() override;
  std::int64_t bytes_taken() const override { return device_.panels->bytes_from_neighbours(); }

 private:
  std::string description_of_home(int rank) const;

  const Device& device_;
  const PanelStore& panels_;
  SpinFormulation formulation_;
  MayKeep may_keep_;
  int rank_ = 0;
  std::shared_ptr<const PanelHomes> homes_;
  std::vector<std::unique_ptr<NeighbourMemory>> neighbours_;
};

}  // namespace trifuse::gpu
