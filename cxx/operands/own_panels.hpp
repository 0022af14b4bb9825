#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/operands/panel_layout.hpp"

namespace trifuse {

/// The sections of a layout that this process owns, and where they lie in its memory.
class OwnPanels {
 public:
  /// `layout` outlives this.
  OwnPanels(const PanelLayout& layout, int rank);

  /// Numbers of the sections.
  std::span<const std::size_t> sections() const { return sections_; }
  /// Says where a section lies: room for its doubles and `vector_margin`.
  void set_memory(std::size_t section, double* memory) { memory_[section] = memory; }

  bool contains(const PanelExtent& extent) const { return extent.begin >= begin_ && extent.begin < end_; }
  /// Of a panel of this process.
  double* data(const PanelExtent& extent) const;
  std::int64_t bytes() const { return (end_ - begin_) * static_cast<std::int64_t>(sizeof(double)); }
  /// Sets all sections to zero, the margins too, on as many threads as OpenMP allows.
  void set_to_zero() const;

 private:
  const PanelLayout& layout_;
  std::vector<std::size_t> sections_;
  std::vector<double*> memory_;  ///< by section of the layout; null for those of others
  std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace trifuse
