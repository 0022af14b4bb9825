#include "cxx/base/buffer_cache.hpp"

#include <algorithm>
#include <condition_variable>

#include "cxx/base/first_failure.hpp"

namespace trifuse {

namespace {

std::int64_t bytes_of(std::int64_t doubles) {
  return doubles * static_cast<std::int64_t>(sizeof(double));
}

}

/// A buffer that threads fill together.
class BufferCache::Joint {
 public:
  Joint(Buffer memory, std::size_t parts) : memory_(std::move(memory)), parts_(parts) {}

  double* data() { return memory_.data(); }
  Buffer take_memory() { return std::move(memory_); }

  /// Calls `fill(part)` for parts that no thread has begun, and returns when all parts are filled. After a failure no
  /// thread begins another part.
  template <typename FillOne>
  void complete(const FillOne& fill) {
    std::unique_lock lock(mutex_);
    while (begun_ < parts_ && !failure_.any()) {
      const std::size_t part = begun_++;
      lock.unlock();
      try {
        fill(part);
      } catch (...) {
        failure_.record(part);
      }
      lock.lock();
      if (++finished_ == begun_) all_finished_.notify_all();
    }
    all_finished_.wait(lock, [&] { return finished_ == begun_; });
    failure_.rethrow();
  }

 private:
  Buffer memory_;
  const std::size_t parts_;
  std::mutex mutex_;
  std::condition_variable all_finished_;
  std::size_t begun_ = 0, finished_ = 0;
  FirstFailure failure_;
};

BufferCache::Use BufferCache::get(std::int64_t number, std::int64_t doubles, const Fill& fill) {
  return get_together(number, doubles, 1, [&fill](std::size_t, std::span<double> values) { fill(values); });
}

BufferCache::Use BufferCache::get_together(std::int64_t number, std::int64_t doubles, std::size_t parts,
                                           const FillPart& fill) {
  std::unique_lock lock(mutex_);
  ++traffic_.wanted;
  Entry* entry = entries_.find(number);
  if (entry == nullptr) {
    make_room(bytes_of(doubles), 1);
    entry = &add(number, doubles, parts);
  } else {
    ++traffic_.hits;
    if (std::exchange(entry->ahead, false)) ahead_bytes_ -= entry->bytes;
  }
  return {pin_filled(number, *entry, doubles, fill, lock), this, number};
}

void BufferCache::fill_ahead(std::int64_t number, std::int64_t doubles, const Fill& fill) {
  std::unique_lock lock(mutex_);
  const std::int64_t bytes = bytes_of(doubles);
  // At most half of the budget is for buffers that were filled ahead and not yet needed, so that they do not evict each
  // other.
  if (entries_.contains(number) || ahead_bytes_ + bytes > budget_ / 2 || !make_room(bytes, 1)) return;
  Entry& entry = add(number, doubles, 1);
  entry.ahead = true;
  ahead_bytes_ += entry.bytes;
  pin_filled(
      number, entry, doubles, [&fill](std::size_t, std::span<double> values) { fill(values); }, lock);
  unpin(number);
}

bool BufferCache::contains(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(number);
}

void BufferCache::keep_at_least(std::size_t buffers) {
  const std::lock_guard lock(mutex_);
  least_ = std::max(least_, buffers);
}

BufferCache::Traffic BufferCache::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

BufferCache::Entry& BufferCache::add(std::int64_t number, std::int64_t doubles, std::size_t parts) {
  Buffer memory = pool_.take(static_cast<std::size_t>(doubles));
  if (memory.size() == 0) {
    shrink_pool(bytes_of(doubles));
    memory = Buffer(static_cast<std::size_t>(doubles));
  }
  const std::int64_t bytes = BufferPool::bytes_of(memory);
  Entry& entry = entries_.add(number, {std::make_shared<Joint>(std::move(memory), parts), bytes});
  used_bytes_ += bytes;
  traffic_.max_bytes = std::max(traffic_.max_bytes, used_bytes_);
  return entry;
}

BufferCache::Entry BufferCache::remove(std::int64_t number) {
  Entry entry = entries_.remove(number);
  used_bytes_ -= entry.bytes;
  if (entry.ahead) ahead_bytes_ -= entry.bytes;
  return entry;
}

const double* BufferCache::pin_filled(std::int64_t number, const Entry& entry, std::int64_t doubles,
                                      const FillPart& fill, std::unique_lock<std::mutex>& lock) {
  entries_.pin(number);
  if (entry.filled) return entry.joint->data();
  const std::shared_ptr<Joint> joint = entry.joint;
  lock.unlock();
  try {
    joint->complete([&](std::size_t part) { fill(part, {joint->data(), static_cast<std::size_t>(doubles)}); });
  } catch (...) {
    lock.lock();
    // Another thread may have removed the buffer already, and a third one may be filling it anew.
    const Entry* const present = entries_.find(number);
    if (present != nullptr && present->joint == joint) remove(number);
    throw;
  }
  lock.lock();
  if (!std::exchange(entries_.find(number)->filled, true)) {
    ++traffic_.filled;
    traffic_.filled_bytes += bytes_of(doubles);
  }
  return joint->data();
}

bool BufferCache::unpin(std::int64_t number) {
  if (!entries_.unpin(number)) return false;
  entries_.use(number);
  return true;
}

bool BufferCache::make_room(std::int64_t bytes, std::size_t buffers) {
  while (used_bytes_ + bytes > budget_ && entries_.size() + buffers > least_) {
    const std::int64_t* const oldest = entries_.oldest();
    if (oldest == nullptr) return false;
    pool_.give(remove(*oldest).joint->take_memory());
  }
  return true;
}

void BufferCache::shrink_pool(std::int64_t bytes) {
  pool_.shrink(std::max<std::int64_t>(0, budget_ - used_bytes_ - bytes));
}

void BufferCache::release(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  if (!unpin(number)) return;
  make_room(0, 0);
  shrink_pool(0);
}

}
