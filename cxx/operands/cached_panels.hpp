#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/buffer_pool.hpp"
#include "cxx/base/least_recently_used.hpp"

namespace trifuse {

/// Number of zeros behind a panel, in doubles. The energy kernel reads full vectors, also beyond the end of the last
/// panel.
inline constexpr std::int64_t vector_margin = 8;

class CachedPanels;

/// Keeps a panel in its place as long as this object lives. Its data are null if there is no panel.
class PanelGuard {
 public:
  PanelGuard() = default;
  /// For a panel that always stays in its place.
  explicit PanelGuard(const double* data) : data_(data) {}
  PanelGuard(PanelGuard&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        cache_(std::exchange(other.cache_, nullptr)),
        number_(other.number_) {}
  PanelGuard& operator=(PanelGuard&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(cache_, other.cache_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~PanelGuard();

  const double* data() const { return data_; }

 private:
  friend class CachedPanels;
  PanelGuard(const double* data, CachedPanels* cache, std::int64_t number)
      : data_(data), cache_(cache), number_(number) {}

  const double* data_ = nullptr;
  CachedPanels* cache_ = nullptr;
  std::int64_t number_ = 0;
};

/// What a cache of panels has done: panels of other ranks, or panels that were made from factors.
struct PanelTraffic {
  std::int64_t wanted = 0;         ///< acquired panels
  std::int64_t hits = 0;           ///< of these, panels that were in the cache or on their way
  std::int64_t fetched = 0;        ///< panels fetched from other ranks, or made
  std::int64_t fetched_bytes = 0;  ///< their size
  std::int64_t max_bytes = 0;      ///< largest size of the cache
};

/// A cache of panels that this process does not store. A panel is filled when it is first acquired, or ahead of that.
/// If the cache is full, the least recently used panel is evicted. Panels in use are never evicted. If the panels in
/// use alone exceed the budget, the cache is larger than the budget until they are released, so no thread waits for
/// memory. Any thread may call any function. Each panel has a number, which tells it from the other panels of the
/// cache.
class CachedPanels {
 public:
  /// Writes all doubles of a panel. Several threads may call it at the same time, for different panels.
  using Fill = std::function<void(std::span<double> values)>;

  /// `budget_bytes`: limit for the size of the cache, see above.
  explicit CachedPanels(std::int64_t budget_bytes) : budget_(budget_bytes) {}
  CachedPanels(const CachedPanels&) = delete;
  CachedPanels& operator=(const CachedPanels&) = delete;

  /// Acquires a panel of `doubles` doubles. Fills it if it is not in the cache, or waits if another thread is filling
  /// it. `vector_margin` zeros follow the panel. Passes on exceptions of `fill`.
  PanelGuard acquire(std::int64_t number, std::int64_t doubles, const Fill& fill);
  /// Fills a panel that will be acquired soon, if it is not in the cache and if there is room for it. Arguments and
  /// exceptions as for `acquire`.
  void fill_ahead(std::int64_t number, std::int64_t doubles, const Fill& fill);
  /// True if a panel is in the cache or is being filled.
  bool contains(std::int64_t number) const;

  PanelTraffic traffic() const;

 private:
  friend class PanelGuard;
  struct Entry {
    Buffer data;         ///< may be longer than the panel
    bool here = false;   ///< true: filled; false: on its way
    bool ahead = false;  ///< true: filled ahead and not yet acquired
    std::int64_t bytes() const { return BufferPool::bytes_of(data); }
  };

  /// Ends one use of a panel.
  void release(std::int64_t number);
  /// Adds an entry, pins it, fills it and returns it. Requires that `lock` is held; releases it during the call of
  /// `fill`. Removes the entry if that fails.
  Entry& add(std::int64_t number, std::int64_t doubles, const Fill& fill, std::unique_lock<std::mutex>& lock);
  /// Evicts unused panels until `bytes` more fit into the budget; their buffers go to the pool. Returns false if they
  /// do not fit.
  bool make_room(std::int64_t bytes);
  /// Returns a buffer of at least `doubles` doubles, from the pool if the pool has one.
  Buffer memory_for(std::int64_t doubles);
  /// Shrinks the pool of free buffers so that `bytes` more fit into the budget.
  void shrink_pool(std::int64_t bytes);
  /// Removes a pin. A panel without pins becomes the most recently used one. Returns true if it has none.
  bool unpin(std::int64_t number);

  const std::int64_t budget_;
  mutable std::mutex mutex_;  ///< guards all members below
  std::condition_variable arrived_;
  /// Entries by their numbers. One pin for each PanelGuard, and one while the panel is filled.
  LeastRecentlyUsed<std::int64_t, Entry> entries_;
  BufferPool pool_;  ///< buffers of evicted panels
  std::int64_t used_bytes_ = 0, ahead_bytes_ = 0;
  PanelTraffic traffic_;
};

}
