#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse::gpu {

/// Which GPU of a host owns which packed panel, for GPUs that can read each other's memory. The owner sends a panel to
/// its memory once and keeps it there to the end. The other GPUs copy it from there instead of from the host. All GPUs
/// that have the same panels in the same orbital tiles compute the same map, without communication.
class PanelOwnerMap {
 public:
  /// `panels`: the panels of the host. `format`: the format of the operands. `owner_of`: returns the number of the GPU
  /// that owns all packed panels of a host panel with this extent; -1 if no GPU owns them.
  PanelOwnerMap(const PanelLayout& panels, const OperandFormat& format,
                const std::function<int(const PanelExtent&)>& owner_of);

  struct Location {
    int owner;            ///< number of the GPU
    std::int64_t offset;  ///< bytes from the owner's first panel
  };
  /// Returns nullopt if no GPU owns the panel.
  std::optional<Location> find(const PanelName& name) const;
  /// The panels of an owner, in the order of their offsets and without gaps. Empty if it owns none.
  const std::vector<PanelName>& panels_of(int owner) const;
  /// Bytes of all panels of an owner.
  std::int64_t bytes(int owner) const;

 private:
  struct OwnedPanels {
    std::vector<PanelName> names;
    std::int64_t bytes = 0;
  };
  std::map<PanelName, Location> locations_;
  std::map<int, OwnedPanels> owned_;
};

/// Where a GPU reads the packed panels that its peers own.
class PeerPanels {
 public:
  /// No peers.
  PeerPanels() = default;
  /// `memory_of_owner` [owner]: address of the owner's first panel on this GPU; null if this GPU cannot read the panel,
  /// or if it is the owner.
  PeerPanels(std::shared_ptr<const PanelOwnerMap> owners, std::vector<const std::byte*> memory_of_owner);
  /// Returns the address of a panel; null if no peer owns it in memory that this GPU can read.
  const std::byte* find(const PanelName& name) const;

 private:
  std::shared_ptr<const PanelOwnerMap> owners_;
  std::vector<const std::byte*> memory_of_owner_;
};

}  // namespace trifuse::gpu
