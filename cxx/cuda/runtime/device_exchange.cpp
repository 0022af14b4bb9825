#include "cxx/cuda/runtime/device_exchange.hpp"

#include <fmt/format.h>

#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/schedule/exchange_handle.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse::gpu {

DeviceExchange::DeviceExchange(const Device& device, const PanelLayout& panels, ReserveForOwned reserve_for_owned,
                               std::int64_t owned_slab_limit)
    : device_(device),
      panels_(panels),
      reserve_for_owned_(std::move(reserve_for_owned)),
      owned_slab_limit_(owned_slab_limit) {}

/// Returns the beginning that the handle of a rank must have. It is the same on all ranks that have the same panels in
/// the same orbital tiles and the same operand format.
std::string DeviceExchange::description_of_owner(int rank) const {
  const auto [holes, particles] = largest_tiles(panels_.tiles());
  return fmt::format("{} {} {} {} {}", holes, particles, device_.format().name, owners_->bytes(rank),
                     slab_owners_->bytes(rank));
}

std::string DeviceExchange::export_panels(std::span<const int> owner_of_rank, int rank) {
  owners_ = std::make_shared<const PanelOwnerMap>(panels_, device_.format(), [&](const PanelExtent& extent) {
    return owner_of_rank[static_cast<std::size_t>(panels_.owner(extent))];
  });
  slab_owners_ = std::make_shared<const PanelOwnerMap>(PanelOwnerMap::of_slabs(panels_, owner_of_rank));
  rank_ = rank;
  const CurrentDevice current(device_.number);
  ExportedMemory exported;
  if (reserve_for_owned_(device_, owners_->bytes(rank))) {
    device_.panels->load_owned(owners_->panels_of(rank));
    exported.panels = PeerMemory::export_handle(device_.panels->owned_memory());
  }
  SlabCache& slabs = device_.made_panels->slabs();
  slabs.load_owned(slab_owners_->panels_of(rank), owned_slab_limit_);
  if (const PeerRange owned = slabs.owned_memory(); owned.bytes > 0) {
    exported.slabs = PeerMemory::export_handle(owned.begin);
    exported.slab_bytes = owned.bytes;
  }
  std::string handle = write_handle(description_of_owner(rank), exported);
  if (handle.size() > longest_handle) throw Error("The handle of exported panels is too long.");
  return handle;
}

PeerRange DeviceExchange::open(const std::string& handle, std::int64_t bytes) {
  if (handle.empty()) return {};
  peers_.push_back(std::make_unique<PeerMemory>(handle));
  return {peers_.back()->data(), bytes};
}

void DeviceExchange::import_panels(std::span<const std::string> handles) {
  const CurrentDevice current(device_.number);
  std::vector<PeerRange> panels(handles.size()), slabs(handles.size());
  for (std::size_t n = 0; n < handles.size(); ++n) {
    const int rank = static_cast<int>(n);
    if (rank == rank_) continue;
    const ExportedMemory exported = read_handle(description_of_owner(rank), handles[n]);
    panels[n] = open(exported.panels, owners_->bytes(rank));
    slabs[n] = open(exported.slabs, exported.slab_bytes);
  }
  device_.peer_panels->set_peers({owners_, std::move(panels)});
  device_.made_panels->slabs().set_peers({slab_owners_, std::move(slabs)});
}

void DeviceExchange::close() {
  device_.peer_panels->set_peers({});
  device_.made_panels->slabs().set_peers({});
  peers_.clear();
}

void exchange_slabs(std::span<Device> devices, const PanelLayout& panels,
                    const std::function<std::int64_t(const Device&)>& slab_limit) {
  if (devices.size() < 2 || !panels.has_factors()) return;
  std::vector<int> numbers;
  for (const Device& device : devices) {
    const CurrentDevice current(device.number);
    for (const Device& peer : devices) {
      if (!PeerMemory::enable_access(peer.number)) return;
    }
    numbers.push_back(static_cast<int>(numbers.size()));
  }
  const auto owners = std::make_shared<const PanelOwnerMap>(PanelOwnerMap::of_slabs(panels, numbers));
  std::vector<PeerRange> owned;
  for (const int n : numbers) {
    const Device& device = devices[static_cast<std::size_t>(n)];
    const CurrentDevice current(device.number);
    SlabCache& slabs = device.made_panels->slabs();
    slabs.load_owned(owners->panels_of(n), slab_limit(device));
    owned.push_back(slabs.owned_memory());
  }
  for (std::size_t n = 0; n < devices.size(); ++n) {
    std::vector<PeerRange> of_peers = owned;
    of_peers[n] = {};
    devices[n].made_panels->slabs().set_peers({owners, std::move(of_peers)});
  }
}

}
