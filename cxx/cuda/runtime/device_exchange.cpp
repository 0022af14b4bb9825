#include "cxx/cuda/runtime/device_exchange.hpp"

#include <fmt/format.h>

#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/check.hpp"
#include "tce_tiles/tile_sizes.hpp"

namespace trifuse::gpu {

DeviceExchange::DeviceExchange(const Device& device, const PanelStore& panels, SpinFormulation formulation,
                               MayKeep may_keep)
    : device_(device), panels_(panels), formulation_(formulation), may_keep_(std::move(may_keep)) {}

/// Those who have the same panels in the same tiles find the same.
std::string DeviceExchange::description_of_home(int rank) const {
  const auto [holes, particles] = largest_tiles(panels_.tiles());
  return fmt::format("{} {} {} ", holes, particles, homes_->bytes(rank));
}

std::string DeviceExchange::offer(std::span<const int> home_of_rank, int rank) {
  homes_ = std::make_shared<const PanelHomes>(panels_, formulation_, [&](const PanelStore::Place& place) {
    return home_of_rank[static_cast<std::size_t>(panels_.owner(place))];
  });
  rank_ = rank;
  if (!may_keep_(device_, homes_->bytes(rank))) return {};
  TRIFUSE_CUDA(cudaSetDevice(device_.number));
  device_.panels->keep(homes_->at(rank));
  const std::string name = NeighbourMemory::name_of(device_.panels->kept_memory());
  if (name.empty()) return name;
  std::string offer = description_of_home(rank) + name;
  if (offer.size() > longest_offer) throw Error("An offer of panels is too long to be passed round.");
  return offer;
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

}  // namespace trifuse::gpu
