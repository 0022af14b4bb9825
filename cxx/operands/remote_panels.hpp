#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/buffer_pool.hpp"

namespace trifuse {

/// Doubles of zeros behind panels: energies read runs in full vectors, beyond the end of the last run too.
inline constexpr std::int64_t vector_margin = 8;

class RemotePanels;

/// Keeps a panel where it is for as long as it lives. Empty where there is no panel.
class PanelHold {
 public:
  PanelHold() = default;
  /// Of a panel that stays where it is anyway.
  explicit PanelHold(const double* data) : data_(data) {}
  PanelHold(PanelHold&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), keeper_(std::exchange(other.keeper_, nullptr)), at_(other.at_) {}
  PanelHold& operator=(PanelHold&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(keeper_, other.keeper_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~PanelHold();

  const double* data() const { return data_; }

 private:
  friend class RemotePanels;
  PanelHold(const double* data, RemotePanels* keeper, std::int64_t at) : data_(data), keeper_(keeper), at_(at) {}

  const double* data_ = nullptr;
  RemotePanels* keeper_ = nullptr;
  std::int64_t at_ = 0;
};

/// What moved between the memories of several processes.
struct PanelTraffic {
  std::int64_t wanted = 0;         ///< panels of others that were asked for
  std::int64_t hits = 0;           ///< of these, those that were here already or on their way
  std::int64_t fetched = 0;        ///< panels
  std::int64_t fetched_bytes = 0;  ///< all of them from the memories of other processes
  std::int64_t most_bytes = 0;     ///< that panels of others took here at once
};

/// The panels of other processes, as far as there is room for them. A panel is fetched when it is first asked for and
/// stays until its room is needed; those used longest ago go first. Those in use never go: where they alone take more
/// than the budget, they do so until they are let go, so nobody waits for room. For any thread.
class RemotePanels {
 public:
  /// Copies the doubles from a place on; called by one thread at a time.
  using Fetch = std::function<void(std::int64_t at, std::span<double> values)>;

  RemotePanels(Fetch fetch, std::int64_t budget_bytes);
  ~RemotePanels();
  RemotePanels(const RemotePanels&) = delete;
  RemotePanels& operator=(const RemotePanels&) = delete;

  /// The panel of so many doubles at a place; the vectors that begin in it may be read to their end. Throws what
  /// `Fetch` threw.
  PanelHold hold(std::int64_t at, std::int64_t doubles);
  /// Says that a panel will be wanted soon: it is fetched by a thread of its own, if there is room for it.
  void ask(std::int64_t at, std::int64_t doubles);

  PanelTraffic traffic() const;

 private:
  friend class PanelHold;
  struct Entry {
    Buffer data;  ///< perhaps longer than the panel
    int users = 0;
    bool here = false;                           ///< or still on its way
    bool ahead = false;                          ///< fetched, and not yet wanted
    std::list<std::int64_t>::iterator unused{};  ///< where there are no users and it is here
    std::int64_t bytes() const { return BufferPool::bytes_of(data); }
  };
  using Entries = std::unordered_map<std::int64_t, Entry>;

  void release(std::int64_t at);
  /// With the lock held, which is let go meanwhile.
  void fetch(Entry& entry, std::int64_t at, std::int64_t doubles, std::unique_lock<std::mutex>& lock);
  bool make_room(std::int64_t bytes);
  void drop(Entries::iterator entry);
  Buffer memory_for(std::int64_t doubles);
  /// Of what was dropped, as much as the budget allows beside so many new bytes.
  void keep_spare(std::int64_t bytes);
  void leave_unused(std::int64_t at, Entry& entry);
  void read_ahead();

  const Fetch fetch_;
  const std::int64_t budget_;
  std::mutex fetching_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable arrived_, asked_;
  Entries entries_;
  std::list<std::int64_t> unused_;  ///< those used longest ago first
  BufferPool spare_;                ///< of panels that were dropped, for those that come
  std::int64_t used_bytes_ = 0, ahead_bytes_ = 0;
  PanelTraffic traffic_;
  std::deque<std::pair<std::int64_t, std::int64_t>> queue_;  ///< of `ask`: place and doubles
  bool ending_ = false;
  std::thread reader_;
};

}  // namespace trifuse
