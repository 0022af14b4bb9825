#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "cxx/base/buffer_cache.hpp"

namespace trifuse {

/// Number of zeros behind a panel, because the energy kernel reads full vectors, also beyond the end of the last panel.
inline constexpr std::int64_t vector_margin = 8;

/// Keeps a panel in its place as long as this object lives. Its data are null if there is no panel.
using PanelGuard = BufferCache::Use;

/// What a cache of panels has done: panels of other ranks, or panels that were made from factors.
using PanelTraffic = BufferCache::Traffic;

/// A cache of panels that this process does not store: a BufferCache in which `vector_margin` zeros follow each panel.
/// A panel is filled when it is first acquired, or ahead of that. Any thread may call any function. Each panel has a
/// number, which no other panel of the cache has.
class CachedPanels {
 public:
  /// `budget_bytes`: limit for the size of the cache; panels in use may exceed it.
  explicit CachedPanels(std::int64_t budget_bytes) : panels_(budget_bytes) {}

  /// Acquires a panel of `doubles` doubles, see BufferCache::get(). `fill` does not write the zeros.
  PanelGuard acquire(std::int64_t number, std::int64_t doubles, const BufferCache::Fill& fill) {
    return panels_.get(number, doubles + vector_margin, Padded{fill});
  }
  /// Fills a panel that will be acquired soon, see BufferCache::fill_ahead().
  void fill_ahead(std::int64_t number, std::int64_t doubles, const BufferCache::Fill& fill) {
    panels_.fill_ahead(number, doubles + vector_margin, Padded{fill});
  }
  /// Returns true if a panel is in the cache or is being filled.
  bool contains(std::int64_t number) const { return panels_.contains(number); }
  /// Returns the zeros count as memory of the cache, but not as filled bytes.
  PanelTraffic traffic() const {
    PanelTraffic traffic = panels_.traffic();
    traffic.filled_bytes -= traffic.filled * vector_margin * static_cast<std::int64_t>(sizeof(double));
    return traffic;
  }

 private:
  /// Fills a panel and the zeros behind it.
  struct Padded {
    const BufferCache::Fill& fill;
    void operator()(std::span<double> values) const {
      std::ranges::fill(values.last(vector_margin), 0.0);
      fill(values.first(values.size() - vector_margin));
    }
  };

  BufferCache panels_;
};

}
