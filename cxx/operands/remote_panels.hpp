#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/buffer_pool.hpp"
#include "cxx/base/least_recently_used.hpp"

namespace trifuse {

/// Number of zeros behind a panel, in doubles. The energy kernel reads full vectors, also beyond the end of the last
/// panel.
inline constexpr std::int64_t vector_margin = 8;

class RemotePanels;

/// Keeps a panel in its place as long as this object lives. Its data are null if there is no panel.
class PanelGuard {
 public:
  PanelGuard() = default;
  /// For a panel that always stays in its place.
  explicit PanelGuard(const double* data) : data_(data) {}
  PanelGuard(PanelGuard&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), cache_(std::exchange(other.cache_, nullptr)), at_(other.at_) {}
  PanelGuard& operator=(PanelGuard&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(cache_, other.cache_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~PanelGuard();

  const double* data() const { return data_; }

 private:
  friend class RemotePanels;
  PanelGuard(const double* data, RemotePanels* cache, std::int64_t at) : data_(data), cache_(cache), at_(at) {}

  const double* data_ = nullptr;
  RemotePanels* cache_ = nullptr;
  std::int64_t at_ = 0;
};

/// Traffic of panels between ranks, as one rank sees it.
struct PanelTraffic {
  std::int64_t wanted = 0;         ///< acquired panels of other ranks
  std::int64_t hits = 0;           ///< of these, panels that were in the cache or on their way
  std::int64_t fetched = 0;        ///< panels fetched from other ranks
  std::int64_t fetched_bytes = 0;  ///< their size
  std::int64_t max_bytes = 0;      ///< largest size of the cache
};

/// A cache of the panels of other ranks. A panel is fetched when it is announced or first acquired. If the cache is
/// full, the least recently used panel is evicted. Panels in use are never evicted. If the panels in use alone exceed
/// the budget, the cache is larger than the budget until they are released, so no thread waits for memory. Any thread
/// may call any function.
class RemotePanels {
 public:
  /// Copies doubles of the linear layout, number `at`, `at` + 1, ..., to `values`. One thread at a time calls it.
  using Fetch = std::function<void(std::int64_t at, std::span<double> values)>;

  /// `fetch`: reads panels of other ranks. `budget_bytes`: limit for the size of the cache, see above.
  RemotePanels(Fetch fetch, std::int64_t budget_bytes);
  ~RemotePanels();
  RemotePanels(const RemotePanels&) = delete;
  RemotePanels& operator=(const RemotePanels&) = delete;

  /// Acquires a panel. Fetches it if it is not in the cache, or waits if another thread is fetching it. `vector_margin`
  /// zeros follow the panel. Passes on exceptions of the fetch.
  ///
  /// `at`: begin of the panel in the linear layout, in doubles. `doubles`: its length.
  PanelGuard acquire(std::int64_t at, std::int64_t doubles);
  /// Announces that a panel will be acquired soon. A background thread fetches the panel if there is room for it.
  /// Arguments as for `acquire`.
  void prefetch(std::int64_t at, std::int64_t doubles);

  PanelTraffic traffic() const;

 private:
  friend class PanelGuard;
  struct Entry {
    Buffer data;         ///< may be longer than the panel
    bool here = false;   ///< true: fetched; false: on its way
    bool ahead = false;  ///< true: fetched ahead and not yet acquired
    std::int64_t bytes() const { return BufferPool::bytes_of(data); }
  };

  /// Ends one use of a panel.
  void release(std::int64_t at);
  /// Adds an entry, pins it, fetches its panel and returns it. Requires that `lock` is held; releases it during the
  /// fetch. Removes the entry if the fetch fails.
  Entry& fetch(std::int64_t at, std::int64_t doubles, std::unique_lock<std::mutex>& lock);
  /// Evicts unused panels until `bytes` more fit into the budget; their buffers go to the pool. Returns false if they
  /// do not fit.
  bool make_room(std::int64_t bytes);
  /// Returns a buffer of at least `doubles` doubles, from the pool if the pool has one.
  Buffer memory_for(std::int64_t doubles);
  /// Shrinks the pool of free buffers so that `bytes` more fit into the budget.
  void shrink_pool(std::int64_t bytes);
  /// Removes a pin. A panel without pins becomes the most recently used one. Returns true if it has none.
  bool unpin(std::int64_t at);
  /// Fetches announced panels; the body of the background thread.
  void read_ahead();

  const Fetch fetch_;
  const std::int64_t budget_;
  std::mutex fetching_;       ///< held during a call of `fetch_`
  mutable std::mutex mutex_;  ///< guards all members below
  std::condition_variable arrived_, requested_;
  /// Entries by the begin of their panels in the linear layout. One pin for each PanelGuard, and one during the fetch.
  LeastRecentlyUsed<std::int64_t, Entry> entries_;
  BufferPool pool_;  ///< buffers of evicted panels
  std::int64_t used_bytes_ = 0, ahead_bytes_ = 0;
  PanelTraffic traffic_;
  std::deque<std::pair<std::int64_t, std::int64_t>> queue_;  ///< announced panels: begin and length, in doubles
  bool ending_ = false;
  std::thread reader_;
};

}  // namespace trifuse
