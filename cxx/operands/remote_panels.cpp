#include "cxx/operands/remote_panels.hpp"

#include <algorithm>

namespace trifuse {

namespace {

/// Announcements beyond this number are ignored. Otherwise the last panels of the queue would evict the first ones.
constexpr std::size_t longest_queue = 512;

}  // namespace

PanelGuard::~PanelGuard() {
  if (cache_ != nullptr) cache_->release(at_);
}

RemotePanels::RemotePanels(Fetch fetch, std::int64_t budget_bytes)
    : fetch_(std::move(fetch)), budget_(budget_bytes), reader_([this] { read_ahead(); }) {}

RemotePanels::~RemotePanels() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  requested_.notify_all();
  reader_.join();
}

PanelGuard RemotePanels::acquire(std::int64_t at, std::int64_t doubles) {
  std::unique_lock lock(mutex_);
  ++traffic_.wanted;
  Entry* found = entries_.find(at);
  while (found != nullptr && !found->here) {
    // The thread that fetches the panel may fail. Then this thread tries.
    arrived_.wait(lock);
    found = entries_.find(at);
  }
  if (found != nullptr) {
    ++traffic_.hits;
    entries_.pin(at);
    if (std::exchange(found->ahead, false)) ahead_bytes_ -= found->bytes();
    return {found->data.data(), this, at};
  }
  std::erase_if(queue_, [&](const auto& request) { return request.first == at; });
  make_room((doubles + vector_margin) * static_cast<std::int64_t>(sizeof(double)));
  return {fetch(at, doubles, lock).data.data(), this, at};
}

void RemotePanels::prefetch(std::int64_t at, std::int64_t doubles) {
  {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(at) || queue_.size() >= longest_queue) return;
    if (std::any_of(queue_.begin(), queue_.end(), [&](const auto& request) { return request.first == at; })) return;
    queue_.emplace_back(at, doubles);
  }
  requested_.notify_one();
}

PanelTraffic RemotePanels::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

RemotePanels::Entry& RemotePanels::fetch(std::int64_t at, std::int64_t doubles, std::unique_lock<std::mutex>& lock) {
  entries_.add(at);
  entries_.pin(at);
  try {
    Entry& added = *entries_.find(at);
    added.data = memory_for(doubles + vector_margin);
    used_bytes_ += added.bytes();
    traffic_.max_bytes = std::max(traffic_.max_bytes, used_bytes_);
    double* const data = added.data.data();
    lock.unlock();
    std::fill_n(data + doubles, vector_margin, 0.0);
    {
      const std::lock_guard turn(fetching_);
      fetch_(at, {data, static_cast<std::size_t>(doubles)});
    }
    lock.lock();
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    used_bytes_ -= entries_.remove(at).bytes();
    arrived_.notify_all();
    throw;
  }
  Entry& entry = *entries_.find(at);
  entry.here = true;
  ++traffic_.fetched;
  traffic_.fetched_bytes += doubles * static_cast<std::int64_t>(sizeof(double));
  arrived_.notify_all();
  return entry;
}

void RemotePanels::release(std::int64_t at) {
  const std::lock_guard lock(mutex_);
  if (!unpin(at)) return;
  make_room(0);
  shrink_pool(0);
}

bool RemotePanels::unpin(std::int64_t at) {
  if (!entries_.unpin(at)) return false;
  entries_.use(at);
  return true;
}

bool RemotePanels::make_room(std::int64_t bytes) {
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

Buffer RemotePanels::memory_for(std::int64_t doubles) {
  Buffer found = pool_.take(static_cast<std::size_t>(doubles));
  if (found.size() > 0) return found;
  shrink_pool(doubles * static_cast<std::int64_t>(sizeof(double)));
  return BufferPool::fresh(static_cast<std::size_t>(doubles));
}

void RemotePanels::shrink_pool(std::int64_t bytes) {
  pool_.shrink(std::max<std::int64_t>(0, budget_ - used_bytes_ - bytes));
}

void RemotePanels::read_ahead() {
  std::unique_lock lock(mutex_);
  while (true) {
    requested_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    const auto [at, doubles] = queue_.front();
    queue_.pop_front();
    const std::int64_t bytes = (doubles + vector_margin) * static_cast<std::int64_t>(sizeof(double));
    // At most half of the budget is for panels that were fetched ahead and not yet acquired, so that they do not evict
    // each other.
    if (entries_.contains(at) || ahead_bytes_ + bytes > budget_ / 2 || !make_room(bytes)) continue;
    try {
      Entry& entry = fetch(at, doubles, lock);
      entry.ahead = true;
      ahead_bytes_ += entry.bytes();
      unpin(at);
    } catch (...) {
      continue;  // a thread that acquires the panel will get the exception
    }
  }
}

}  // namespace trifuse
