#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse::gpu {

/// Returns the name of a slab of factors. All slabs have the same format and the same order of indices.
inline PanelName slab_name(const PanelKey& key) {
  return {key, false, {}};
}

/// The owners of packed panels, or of slabs of factors, among the GPUs of a host that can read each other's memory. The
/// owner of a panel takes it into its memory once and keeps it there to the end. The other GPUs copy it from the owner
/// instead of from the host. All GPUs that have the same panels in the same orbital tiles compute the same map, without
/// communication.
class PanelOwnerMap {
 public:
  /// `panels`: the panels of the host. `format`: the format of the operands. `owner_of` returns the number of the GPU
  /// that owns all packed panels of a host panel with this extent; -1 if no GPU owns them.
  PanelOwnerMap(const PanelLayout& panels, const OperandFormat& format,
                const std::function<int(const PanelExtent&)>& owner_of);
  /// Returns the map of the slabs of factors, whose shape is slab_shape(); empty if there are none. `owners`: numbers
  /// of the GPUs that exchange slabs, in any order. It may have repetitions, and -1 for no GPU. SlabDealer gives each
  /// GPU about the same amount, wherever the slabs are on the host.
  static PanelOwnerMap of_slabs(const PanelLayout& panels, std::span<const int> owners);

  struct Location {
    int owner;            ///< number of the GPU
    std::int64_t offset;  ///< bytes from the owner's first panel
    std::int64_t bytes;   ///< size of the panel, bytes
  };
  /// Returns the location of a panel; nullopt if no GPU owns it.
  std::optional<Location> find(const PanelName& name) const;
  /// Returns the panels of an owner, in the order of their offsets, which have no gaps. The list is empty if it owns
  /// none.
  const std::vector<PanelName>& panels_of(int owner) const;
  /// Returns the size of all panels of an owner, bytes.
  std::int64_t bytes(int owner) const;

 private:
  PanelOwnerMap() = default;
  /// Adds a panel of an owner behind the panels that it owns already.
  void add(const PanelName& name, int owner, std::int64_t bytes);

  struct OwnedPanels {
    std::vector<PanelName> names;
    std::int64_t bytes = 0;
  };
  std::map<PanelName, Location> locations_;
  std::map<int, OwnedPanels> owned_;
};

/// Memory of a peer that this GPU can read.
struct PeerRange {
  const std::byte* begin = nullptr;  ///< address of the owner's first panel; null if this GPU cannot read it
  std::int64_t bytes = 0;            ///< length; the owner may have exported only its first panels
};

/// Where a GPU reads the packed panels or slabs that its peers own.
class PeerPanels {
 public:
  /// Makes an object without peers.
  PeerPanels() = default;
  /// `memory_of_owner` [owner]: the memory of each GPU; a range without memory for this GPU and for peers that it
  /// cannot read.
  PeerPanels(std::shared_ptr<const PanelOwnerMap> owners, std::vector<PeerRange> memory_of_owner);
  /// Returns the address of a panel; null if no peer owns it in memory that this GPU can read.
  const std::byte* find(const PanelName& name) const;
  /// Notes that this GPU cannot read any more the memory of the peer that owns this panel.
  void lose_owner(const PanelName& name);

 private:
  std::shared_ptr<const PanelOwnerMap> owners_;
  std::vector<PeerRange> memory_of_owner_;
};

}
