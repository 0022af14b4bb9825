#include "cxx/operands/cached_panels.hpp"

#include <algorithm>

namespace trifuse {

PanelGuard::~PanelGuard() {
  if (cache_ != nullptr) cache_->release(number_);
}

PanelGuard CachedPanels::acquire(std::int64_t number, std::int64_t doubles, const Fill& fill) {
  std::unique_lock lock(mutex_);
  ++traffic_.wanted;
  Entry* found = entries_.find(number);
  while (found != nullptr && !found->here) {
    // The thread that fills the panel may fail. Then this thread tries.
    arrived_.wait(lock);
    found = entries_.find(number);
  }
  if (found != nullptr) {
    ++traffic_.hits;
    entries_.pin(number);
    if (std::exchange(found->ahead, false)) ahead_bytes_ -= found->bytes();
    return {found->data.data(), this, number};
  }
  make_room((doubles + vector_margin) * static_cast<std::int64_t>(sizeof(double)));
  return {add(number, doubles, fill, lock).data.data(), this, number};
}

void CachedPanels::fill_ahead(std::int64_t number, std::int64_t doubles, const Fill& fill) {
  std::unique_lock lock(mutex_);
  const std::int64_t bytes = (doubles + vector_margin) * static_cast<std::int64_t>(sizeof(double));
  // At most half of the budget is for panels that were filled ahead and not yet acquired, so that they do not evict
  // each other.
  if (entries_.contains(number) || ahead_bytes_ + bytes > budget_ / 2 || !make_room(bytes)) return;
  Entry& entry = add(number, doubles, fill, lock);
  entry.ahead = true;
  ahead_bytes_ += entry.bytes();
  unpin(number);
}

bool CachedPanels::contains(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(number);
}

PanelTraffic CachedPanels::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

CachedPanels::Entry& CachedPanels::add(std::int64_t number, std::int64_t doubles, const Fill& fill,
                                       std::unique_lock<std::mutex>& lock) {
  entries_.add(number);
  entries_.pin(number);
  try {
    Entry& added = *entries_.find(number);
    added.data = memory_for(doubles + vector_margin);
    used_bytes_ += added.bytes();
    traffic_.max_bytes = std::max(traffic_.max_bytes, used_bytes_);
    double* const data = added.data.data();
    lock.unlock();
    std::fill_n(data + doubles, vector_margin, 0.0);
    fill({data, static_cast<std::size_t>(doubles)});
    lock.lock();
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    used_bytes_ -= entries_.remove(number).bytes();
    arrived_.notify_all();
    throw;
  }
  Entry& entry = *entries_.find(number);
  entry.here = true;
  ++traffic_.fetched;
  traffic_.fetched_bytes += doubles * static_cast<std::int64_t>(sizeof(double));
  arrived_.notify_all();
  return entry;
}

void CachedPanels::release(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  if (!unpin(number)) return;
  make_room(0);
  shrink_pool(0);
}

bool CachedPanels::unpin(std::int64_t number) {
  if (!entries_.unpin(number)) return false;
  entries_.use(number);
  return true;
}

bool CachedPanels::make_room(std::int64_t bytes) {
  while (used_bytes_ + bytes > budget_) {
    const std::int64_t* const oldest = entries_.oldest();
    if (oldest == nullptr) return false;
    Entry entry = entries_.remove(*oldest);
    used_bytes_ -= entry.bytes();
    if (entry.ahead) ahead_bytes_ -= entry.bytes();
    pool_.give(std::move(entry.data));
  }
  return true;
}

Buffer CachedPanels::memory_for(std::int64_t doubles) {
  Buffer found = pool_.take(static_cast<std::size_t>(doubles));
  if (found.size() > 0) return found;
  shrink_pool(doubles * static_cast<std::int64_t>(sizeof(double)));
  return Buffer(static_cast<std::size_t>(doubles));
}

void CachedPanels::shrink_pool(std::int64_t bytes) {
  pool_.shrink(std::max<std::int64_t>(0, budget_ - used_bytes_ - bytes));
}

}
