#include "cxx/cuda/runtime/device_exchange.hpp"

#include <fmt/format.h>

#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/check.hpp"
#include "tce_tiles/tile_sizes.hpp"

namespace trifuse::gpu {

DeviceExchange::DeviceExchange(const Device& device, const PanelLayout& panels, ReserveForOwned reserve_for_owned)
    : device_(device), panels_(panels), reserve_for_owned_(std::move(reserve_for_owned)) {}

/// The required beginning of a rank's handle. It is the same on all ranks that have the same panels in the same orbital
/// tiles and the same operand format.
std::string DeviceExchange::description_of_owner(int rank) const {
  const auto [holes, particles] = largest_tiles(panels_.tiles());
  return fmt::format("{} {} {} {} ", holes, particles, device_.format().name, owners_->bytes(rank));
}

std::string DeviceExchange::export_panels(std::span<const int> owner_of_rank, int rank) {
  owners_ = std::make_shared<const PanelOwnerMap>(panels_, device_.format(), [&](const PanelExtent& extent) {
    return owner_of_rank[static_cast<std::size_t>(panels_.owner(extent))];
  });
  rank_ = rank;
  if (!reserve_for_owned_(device_, owners_->bytes(rank))) return {};
  TRIFUSE_CUDA(cudaSetDevice(device_.number));
  device_.panels->load_owned(owners_->panels_of(rank));
  const std::string name = PeerMemory::export_handle(device_.panels->owned_memory());
  if (name.empty()) return name;
  std::string handle = description_of_owner(rank) + name;
  if (handle.size() > longest_handle) throw Error("The handle of exported panels is too long.");
  return handle;
}

void DeviceExchange::import_panels(std::span<const std::string> handles) {
  TRIFUSE_CUDA(cudaSetDevice(device_.number));
  std::vector<const std::byte*> memory;
  for (std::size_t rank = 0; rank < handles.size(); ++rank) {
    memory.push_back(nullptr);
    if (static_cast<int>(rank) == rank_) continue;
    const std::string expected = description_of_owner(static_cast<int>(rank));
    if (!handles[rank].starts_with(expected)) continue;
    peers_.push_back(std::make_unique<PeerMemory>(handles[rank].substr(expected.size())));
    memory.back() = peers_.back()->data();
  }
  device_.peer_panels->set_peers({owners_, std::move(memory)});
}

void DeviceExchange::close() {
  device_.peer_panels->set_peers({});
  peers_.clear();
}

}  // namespace trifuse::gpu
