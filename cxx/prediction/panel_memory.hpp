#pragma once

#include <cstdint>

#include "cxx/base/least_recently_used.hpp"

namespace trifuse {

/// The set of panels on a GPU with limited memory. Like the panel cache of the device, it evicts the least recently
/// used panels. It holds no data.
class PanelMemory {
 public:
  /// `capacity`: memory for panels, bytes.
  explicit PanelMemory(double capacity) : capacity_(capacity) {}

  /// Marks a panel as the most recently used one. If it is absent, adds it and evicts other panels until it fits.
  /// Returns true if it was present. `panel`: number of the panel. `bytes`: its size.
  bool use(std::uint32_t panel, double bytes);
  double held() const { return held_; }              ///< bytes at present
  double max_held() const { return max_held_; }      ///< largest value of held() so far, bytes
  std::int64_t dropped() const { return dropped_; }  ///< number of evictions so far

 private:
  double capacity_, held_ = 0.0, max_held_ = 0.0;
  std::int64_t dropped_ = 0;
  LeastRecentlyUsed<std::uint32_t, float> panels_;  ///< sizes by number, bytes
};

}
