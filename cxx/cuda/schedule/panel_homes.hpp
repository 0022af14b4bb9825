#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panels.hpp"

namespace trifuse::gpu {

/// Homes of packed panels on GPUs that can read each other's memory: one of them sends a panel to its home, once, and
/// keeps it there to the end; the others get it from there instead of from the host. Who has the same panels in the
/// same tiles finds the same homes, and so need not ask.
class PanelHomes {
 public:
  /// `home_of`: the number of the GPU where the forms of a panel of the host are at home, -1 for none.
  PanelHomes(const PanelStore& panels, SpinFormulation formulation,
             const std::function<int(const PanelStore::Place&)>& home_of);

  struct Place {
    int home;
    std::int64_t offset;  ///< bytes from where the first panel of this home begins
  };
  std::optional<Place> find(const PanelName& name) const;
  /// The panels of a home, in the order in which they lie there, one right after another.
  const std::vector<PanelName>& at(int home) const;
  /// What they take.
  std::int64_t bytes(int home) const;

 private:
  struct Home {
    std::vector<PanelName> names;
    std::int64_t bytes = 0;
  };
  std::map<PanelName, Place> places_;
  std::map<int, Home> homes_;
};

}  // namespace trifuse::gpu
