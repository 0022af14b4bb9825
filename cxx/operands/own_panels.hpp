#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/operands/panel_layout.hpp"

namespace trifuse {

/// The sections of a panel layout that this process owns, and their memory.
class OwnPanels {
 public:
  /// `layout` must outlive this. `rank`: number of this process.
  OwnPanels(const PanelLayout& layout, int rank);

  /// Returns the numbers of the owned sections in `layout.sections()`.
  std::span<const std::size_t> sections() const { return sections_; }
  /// Sets the memory of an owned section. `memory` must have room for the doubles of the section and `vector_margin`
  /// more.
  void set_memory(std::size_t section, double* memory) { memory_[section] = memory; }

  /// Returns true if this process owns the panel.
  bool contains(const PanelExtent& extent) const { return extent.begin >= begin_ && extent.begin < end_; }
  /// Returns the address of a panel that this process owns. Requires `set_memory` of its section.
  double* data(const PanelExtent& extent) const;
  /// Returns the size of all owned sections, in bytes.
  std::int64_t bytes() const { return (end_ - begin_) * static_cast<std::int64_t>(sizeof(double)); }
  /// Sets all owned sections and their margins to zero, on as many threads as OpenMP allows.
  void set_to_zero() const;

 private:
  const PanelLayout& layout_;
  std::vector<std::size_t> sections_;
  std::vector<double*> memory_;       ///< memory_[section]; null if another rank owns the section
  std::int64_t begin_ = 0, end_ = 0;  ///< the owned part of the linear layout, in doubles
};

}
