#pragma once

#include <cstdint>
#include <vector>

namespace trifuse {

/// The panels that a GPU holds, when those used longest ago make room for others: the rule of the device's cache,
/// without its data.
class PanelMemory {
 public:
  explicit PanelMemory(double capacity) : capacity_(capacity) {}

  /// Makes a panel of so many bytes the one used last. Returns whether it was there.
  bool use(std::uint32_t panel, double bytes);
  double held() const { return held_; }       ///< bytes
  double most_held() const { return most_; }  ///< bytes
  std::int64_t dropped() const { return dropped_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Entry {
    std::uint32_t panel;
    std::uint32_t newer, older;
    float bytes;
  };
  std::size_t home(std::uint32_t panel) const;
  std::size_t find(std::uint32_t panel) const;  ///< its place in the table, or the free one where it would go
  void grow();
  void unlink(std::uint32_t entry);
  void put_first(std::uint32_t entry);
  void drop_oldest();

  double capacity_, held_ = 0.0, most_ = 0.0;
  std::int64_t dropped_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> table_;  ///< numbers of entries, linear probing
  std::size_t count_ = 0;
  std::uint32_t newest_ = none, oldest_ = none;
};

}  // namespace trifuse
