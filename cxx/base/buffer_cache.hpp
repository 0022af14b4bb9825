#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/buffer_pool.hpp"
#include "cxx/base/least_recently_used.hpp"

namespace trifuse {

/// Buffers of doubles by number, within a budget of memory. A buffer is filled when it is first needed: one thread
/// fills it and other threads that need it wait, or all of them fill it together in parts. Any thread may call any
/// function.
///
///     BufferCache rows(budget_bytes);
///     const BufferCache::Use row = rows.get(n, length, [&](std::span<double> values) { read_row(n, values); });
///     add_up(row.data(), length);  // the row stays in its place as long as `row` lives
///
/// If a call of the caller's function throws, every thread that needs the buffer throws this exception, and the buffer
/// is absent again: the next thread that needs it tries anew.
///
/// If the budget is used up, the least recently used buffer is evicted. Buffers in use are never evicted. If they alone
/// exceed the budget, the cache is larger than the budget until they are released, so no thread waits for memory. New
/// buffers take the memory of evicted ones.
class BufferCache {
 public:
  /// Writes all doubles of a buffer. Several threads may call it at the same time, for different buffers.
  using Fill = std::function<void(std::span<double> values)>;
  /// Writes one part of a buffer. `values`: the whole buffer. Several threads may call it at the same time, for
  /// different parts.
  using FillPart = std::function<void(std::size_t part, std::span<double> values)>;

  /// Keeps a buffer in its place as long as this object lives. Its data are null if it has no buffer.
  class Use {
   public:
    Use() = default;
    /// For numbers that always stay in their place.
    explicit Use(const double* data) : data_(data) {}
    Use(Use&& other) noexcept { *this = std::move(other); }
    Use& operator=(Use&& other) noexcept {
      std::swap(data_, other.data_);
      std::swap(cache_, other.cache_);
      std::swap(number_, other.number_);
      return *this;
    }
    ~Use() {
      if (cache_ != nullptr) cache_->release(number_);
    }
    /// May be longer than the caller asked for.
    const double* data() const { return data_; }

   private:
    friend class BufferCache;
    Use(const double* data, BufferCache* cache, std::int64_t number) : data_(data), cache_(cache), number_(number) {}

    const double* data_ = nullptr;
    BufferCache* cache_ = nullptr;
    std::int64_t number_ = 0;
  };

  /// What a cache has done so far.
  struct Traffic {
    std::int64_t wanted = 0;        ///< calls of get()
    std::int64_t hits = 0;          ///< of these, buffers that were in the cache or on their way
    std::int64_t filled = 0;        ///< buffers filled
    std::int64_t filled_bytes = 0;  ///< their size
    std::int64_t max_bytes = 0;     ///< largest size of the cache
  };

  /// `budget_bytes`: limit for the size of the cache, see above. `least`: number of buffers that the cache keeps even
  /// if they exceed the budget.
  explicit BufferCache(std::int64_t budget_bytes, std::size_t least = 0) : budget_(budget_bytes), least_(least) {}
  BufferCache(const BufferCache&) = delete;
  BufferCache& operator=(const BufferCache&) = delete;

  /// Returns buffer `number`, which has `doubles` doubles in every call. Calls `fill` if the buffer is not in the
  /// cache, or waits if another thread is filling it. Passes on exceptions of `fill`. Throws std::bad_alloc.
  Use get(std::int64_t number, std::int64_t doubles, const Fill& fill);
  /// The same for a buffer that threads fill together. Each thread that needs the buffer fills parts that no thread has
  /// begun, and returns when all parts are there. If several parts fail, all threads throw the exception of the lowest.
  /// `parts`: number of parts, at least 1, numbered from 0.
  Use get_together(std::int64_t number, std::int64_t doubles, std::size_t parts, const FillPart& fill);
  /// Fills a buffer that will be needed soon, if it is not in the cache and if there is room for it. Arguments and
  /// exceptions as for get().
  void fill_ahead(std::int64_t number, std::int64_t doubles, const Fill& fill);
  /// True if a buffer is in the cache or is being filled.
  bool contains(std::int64_t number) const;
  /// From now on, keeps at least this many buffers, or `least` if that is more.
  void keep_at_least(std::size_t buffers);

  Traffic traffic() const;

 private:
  class Joint;
  struct Entry {
    std::shared_ptr<Joint> joint;
    std::int64_t bytes = 0;  ///< size of its memory
    bool filled = false;
    bool ahead = false;  ///< true: filled ahead, and not yet needed
  };

  // The caller of these functions holds `mutex_`.
  /// Adds an absent buffer of at least `doubles` doubles. The caller has made room.
  Entry& add(std::int64_t number, std::int64_t doubles, std::size_t parts);
  /// Removes a buffer, which must be present.
  Entry remove(std::int64_t number);
  /// Pins a buffer and returns its numbers. Fills it if that has not been done; releases `lock` meanwhile. Removes the
  /// buffer and all pins if that fails.
  const double* pin_filled(std::int64_t number, const Entry& entry, std::int64_t doubles, const FillPart& fill,
                           std::unique_lock<std::mutex>& lock);
  /// Removes one pin. A buffer without pins becomes the most recently used one. Returns true if it has none.
  bool unpin(std::int64_t number);
  /// Evicts unused buffers until `bytes` more in `buffers` more buffers fit into the budget, or the cache has no more
  /// than `least_` buffers. Returns false if they do not fit.
  bool make_room(std::int64_t bytes, std::size_t buffers);
  /// Shrinks the pool of free memory so that `bytes` more fit into the budget.
  void shrink_pool(std::int64_t bytes);

  /// Ends one use of a buffer. The caller does not hold `mutex_`.
  void release(std::int64_t number);

  const std::int64_t budget_;
  mutable std::mutex mutex_;  ///< guards all members below
  std::size_t least_;
  /// Entries by their numbers. One pin for each Use, and one for each thread that fills the buffer or waits for it.
  LeastRecentlyUsed<std::int64_t, Entry> entries_;
  BufferPool pool_;  ///< memory of evicted buffers
  std::int64_t used_bytes_ = 0, ahead_bytes_ = 0;
  Traffic traffic_;
};

}
