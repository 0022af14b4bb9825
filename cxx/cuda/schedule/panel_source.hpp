#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/task_program.hpp"

/// Chooses where a packed panel comes from. PanelProvider, in the room of the CUDA runtime, produces the panels on the
/// device.
namespace trifuse::gpu {

/// A source of packed panels. Workers may call its functions concurrently.
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  /// Returns true if this source can produce the panel. The answer changes only while no worker acquires panels.
  virtual bool provides(const PanelName& name) const = 0;
  /// Returns true if prefetch() can make the production of a panel faster.
  virtual bool prefetches() const { return false; }
  /// Announces that a panel which this source provides will be produced soon. Returns at once.
  virtual void prefetch(const PanelName& name) const { static_cast<void>(name); }
};

/// What one source has produced so far.
struct ProducedPanels {
  std::int64_t panels = 0;  ///< number of panels for tasks, without owned panels
  std::int64_t bytes = 0;   ///< bytes that came to the device, also for owned panels
};

/// The sources of a panel cache in the order of preference, and the number of panels that each has produced.
///
/// choose() and prefetches() may be called concurrently. A lock of the caller guards the other functions.
class PanelSourceList {
 public:
  /// `sources`: in the order of preference; they must stay valid.
  explicit PanelSourceList(std::vector<const PanelSource*> sources);

  /// Returns the index of the first source that provides the panel. Throws Error if none does.
  std::size_t choose(const PanelName& name) const;
  /// Returns true if prefetch() can make the production of a panel faster for any source.
  bool prefetches() const;
  /// Counts a panel. `index`: the index of its source. `bytes`: the bytes that came to the device. `owned`: true if
  /// this device owns the panel, so that it was not produced for a task.
  void count(std::size_t index, std::int64_t bytes, bool owned);
  /// Returns what a source has produced; zeros for a source that is not in the list.
  ProducedPanels produced_by(const PanelSource& source) const;

 private:
  std::vector<const PanelSource*> sources_;
  std::vector<ProducedPanels> produced_;  ///< [source]
};

}
