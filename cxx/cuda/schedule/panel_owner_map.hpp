#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse::gpu {

/// PanelOwners of packed panels on GPUs that can read each other's memory: one of them sends a panel to its owner,
/// once, and keeps it there to the end; the others get it from there instead of from the host. Who has the same panels
/// in the same tiles finds the same owners, and so need not ask.
class PanelOwnerMap {
 public:
  /// `owner_of`: the number of the GPU where the forms of a panel of the host are at owner, -1 for none.
  PanelOwnerMap(const PanelLayout& panels, const std::function<int(const PanelExtent&)>& owner_of);

  struct Location {
    int owner;
    std::int64_t offset;  ///< bytes from where the first panel of this owner begins
  };
  std::optional<Location> find(const PanelName& name) const;
  /// The panels of a owner, in the order in which they lie there, one right after another.
  const std::vector<PanelName>& panels_of(int owner) const;
  /// What they take.
  std::int64_t bytes(int owner) const;

 private:
  struct OwnedPanels {
    std::vector<PanelName> names;
    std::int64_t bytes = 0;
  };
  std::map<PanelName, Location> locations_;
  std::map<int, OwnedPanels> owned_;
};

}  // namespace trifuse::gpu
