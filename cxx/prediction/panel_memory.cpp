#include "cxx/prediction/panel_memory.hpp"

#include <algorithm>

namespace trifuse {

std::size_t PanelMemory::home(std::uint32_t panel) const {
  return (panel * std::size_t{0x9e3779b97f4a7c15} >> 24) & (table_.size() - 1);
}

std::size_t PanelMemory::find(std::uint32_t panel) const {
  std::size_t at = home(panel);
  while (table_[at] != none && entries_[table_[at]].panel != panel) at = (at + 1) & (table_.size() - 1);
  return at;
}

void PanelMemory::grow() {
  std::vector<std::uint32_t> before(std::max<std::size_t>(64, 2 * table_.size()), none);
  before.swap(table_);
  for (const std::uint32_t entry : before) {
    if (entry != none) table_[find(entries_[entry].panel)] = entry;
  }
}

void PanelMemory::unlink(std::uint32_t entry) {
  const Entry& e = entries_[entry];
  (e.newer == none ? newest_ : entries_[e.newer].older) = e.older;
  (e.older == none ? oldest_ : entries_[e.older].newer) = e.newer;
}

void PanelMemory::put_first(std::uint32_t entry) {
  entries_[entry].newer = none;
  entries_[entry].older = newest_;
  (newest_ == none ? oldest_ : entries_[newest_].newer) = entry;
  newest_ = entry;
}

void PanelMemory::drop_oldest() {
  const std::uint32_t entry = oldest_;
  std::size_t gap = find(entries_[entry].panel);
  unlink(entry);
  held_ -= static_cast<double>(entries_[entry].bytes);
  free_.push_back(entry);
  --count_;
  ++dropped_;
  // Close the gap: move later entries of the probe sequence forward.
  const std::size_t mask = table_.size() - 1;
  for (std::size_t next = (gap + 1) & mask; table_[next] != none; next = (next + 1) & mask) {
    const std::size_t wanted = home(entries_[table_[next]].panel);
    if (((next - wanted) & mask) < ((next - gap) & mask)) continue;
    table_[gap] = table_[next];
    gap = next;
  }
  table_[gap] = none;
}

bool PanelMemory::use(std::uint32_t panel, double bytes) {
  if (2 * (count_ + 1) > table_.size()) grow();
  const std::size_t at = find(panel);
  if (table_[at] != none) {
    const std::uint32_t entry = table_[at];
    if (entry != newest_) {
      unlink(entry);
      put_first(entry);
    }
    return true;
  }
  while (oldest_ != none && held_ + bytes > capacity_) drop_oldest();
  std::uint32_t entry = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    entry = free_.back();
    free_.pop_back();
  }
  entries_[entry] = {panel, none, none, static_cast<float>(bytes)};
  table_[find(panel)] = entry;
  put_first(entry);
  ++count_;
  held_ += static_cast<double>(entries_[entry].bytes);
  most_ = std::max(most_, held_);
  return false;
}

}  // namespace trifuse
