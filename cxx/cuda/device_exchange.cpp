#include "cxx/cuda/device_exchange.hpp"

#include <fmt/format.h>

#include <future>
#include <utility>

#include "cxx/cuda/check.hpp"
#include "cxx/plan/plan.hpp"

namespace trifuse::gpu {

DeviceExchange::DeviceExchange(const Device& device, const PanelStore& panels, Form form, MayKeep may_keep)
    : device_(device), panels_(panels), form_(form), may_keep_(std::move(may_keep)) {}

/// Those who have the same panels in the same tiles find the same.
std::string DeviceExchange::description_of_home(int rank) const {
  const auto [holes, particles] = largest_tiles(panels_.tiles());
  return fmt::format("{} {} {} ", holes, particles, homes_->bytes(rank));
}

std::string DeviceExchange::offer(std::span<const int> home_of_rank, int rank) {
  homes_ = std::make_shared<const PanelHomes>(panels_, form_, [&](const PanelStore::Place& place) {
    return home_of_rank[static_cast<std::size_t>(panels_.owner(place))];
  });
  rank_ = rank;
  if (!may_keep_(device_, homes_->bytes(rank))) return {};
  TRIFUSE_CUDA(cudaSetDevice(device_.number));
  device_.panels->keep(homes_->at(rank));
  const std::string name = NeighbourMemory::name_of(device_.panels->kept_memory());
  return name.empty() ? name : description_of_home(rank) + name;
}

void DeviceExchange::take(std::span<const std::string> offers) {
  TRIFUSE_CUDA(cudaSetDevice(device_.number));
  std::vector<const char*> memory;
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    memory.push_back(nullptr);
    if (static_cast<int>(rank) == rank_) continue;
    const std::string expected = description_of_home(static_cast<int>(rank));
    if (!offers[rank].starts_with(expected)) continue;
    neighbours_.push_back(std::make_unique<NeighbourMemory>(offers[rank].substr(expected.size())));
    memory.back() = neighbours_.back()->data();
  }
  device_.panels->set_neighbours(homes_, std::move(memory));
}

void DeviceExchange::let_go() {
  device_.panels->set_neighbours(nullptr, {});
  neighbours_.clear();
}

void exchange_among(const std::vector<Device>& devices, const PanelStore& panels, Form form, const MayKeep& may_keep) {
  const std::int64_t share = panels.line_doubles() / std::ssize(devices) + 1;
  const auto homes = std::make_shared<const PanelHomes>(
      panels, form, [&](const PanelStore::Place& place) { return static_cast<int>(place.begin / share); });
  std::vector<const char*> memory(devices.size(), nullptr);
  std::vector<std::future<void>> keeping;
  for (std::size_t n = 0; n < devices.size(); ++n) {
    const int home = static_cast<int>(n);
    if (!may_keep(devices[n], homes->bytes(home))) continue;
    keeping.push_back(std::async(std::launch::async, [&, n, home] {
      TRIFUSE_CUDA(cudaSetDevice(devices[n].number));
      devices[n].panels->keep(homes->at(home));
      memory[n] = devices[n].panels->kept_memory();
    }));
  }
  for (std::future<void>& each : keeping) each.get();
  for (const Device& device : devices) {
    TRIFUSE_CUDA(cudaSetDevice(device.number));
    std::vector<const char*> seen = memory;
    for (std::size_t n = 0; n < devices.size(); ++n) {
      if (seen[n] != nullptr && !can_read(device.number, devices[n].number)) seen[n] = nullptr;
    }
    device.panels->set_neighbours(homes, std::move(seen));
  }
}

}  // namespace trifuse::gpu
