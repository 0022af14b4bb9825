#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "cxx/operands/cached_panels.hpp"

namespace trifuse {

/// A cache of the panels of other ranks. A panel is fetched when it is announced or first acquired. See CachedPanels
/// for its memory. Any thread may call any function.
class RemotePanels {
 public:
  /// Copies doubles of the linear layout, number `at`, `at` + 1, ..., to `values`. One thread at a time calls it.
  using Fetch = std::function<void(std::int64_t at, std::span<double> values)>;

  /// `fetch` reads panels of other ranks. `budget_bytes`: limit for the size of the cache, see CachedPanels.
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
  /// Parameters are those of `acquire`.
  void prefetch(std::int64_t at, std::int64_t doubles);

  PanelTraffic traffic() const { return cache_.traffic(); }

 private:
  /// Fetches a panel and removes its announcement.
  void fetch(std::int64_t at, std::span<double> values);
  /// Fetches announced panels. It is the body of the background thread.
  void read_ahead();

  const Fetch fetch_;
  std::mutex fetching_;  ///< held during a call of `fetch_`
  CachedPanels cache_;   ///< panels by their begin in the linear layout
  std::mutex mutex_;     ///< guards the queue and `ending_`
  std::condition_variable requested_;
  std::deque<std::pair<std::int64_t, std::int64_t>> queue_;  ///< announced panels: begin and length, in doubles
  bool ending_ = false;
  std::thread reader_;
};

}
