#pragma once

#include <cstdint>
#include <vector>

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
  double most_held() const { return most_; }         ///< largest value of held() so far, bytes
  std::int64_t dropped() const { return dropped_; }  ///< number of evictions so far

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Entry {
    std::uint32_t panel;
    std::uint32_t newer, older;
    float bytes;
  };
  std::size_t home(std::uint32_t panel) const;
  std::size_t find(std::uint32_t panel) const;  ///< index in the table; the free index for it if it is absent
  void grow();
  void unlink(std::uint32_t entry);
  void put_first(std::uint32_t entry);
  void drop_oldest();

  double capacity_, held_ = 0.0, most_ = 0.0;
  std::int64_t dropped_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> table_;  ///< hash table with linear probing: indices in entries_
  std::size_t count_ = 0;
  std::uint32_t newest_ = none, oldest_ = none;
};

}  // namespace trifuse
