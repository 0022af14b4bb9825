#include "cxx/operands/remote_panels.hpp"

#include <algorithm>

namespace trifuse {

namespace {

/// Announcements beyond this number are ignored. Otherwise the last panels of the queue would evict the first ones.
constexpr std::size_t longest_queue = 512;

}

RemotePanels::RemotePanels(Fetch fetch, std::int64_t budget_bytes)
    : fetch_(std::move(fetch)), cache_(budget_bytes), reader_([this] { read_ahead(); }) {}

RemotePanels::~RemotePanels() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  requested_.notify_all();
  reader_.join();
}

PanelGuard RemotePanels::acquire(std::int64_t at, std::int64_t doubles) {
  return cache_.acquire(at, doubles, [this, at](std::span<double> values) { fetch(at, values); });
}

void RemotePanels::prefetch(std::int64_t at, std::int64_t doubles) {
  if (cache_.contains(at)) return;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= longest_queue) return;
    if (std::any_of(queue_.begin(), queue_.end(), [&](const auto& request) { return request.first == at; })) return;
    queue_.emplace_back(at, doubles);
  }
  requested_.notify_one();
}

void RemotePanels::fetch(std::int64_t at, std::span<double> values) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(queue_, [&](const auto& request) { return request.first == at; });
  }
  const std::lock_guard turn(fetching_);
  fetch_(at, values);
}

void RemotePanels::read_ahead() {
  std::unique_lock lock(mutex_);
  while (true) {
    requested_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    const auto [at, doubles] = queue_.front();
    queue_.pop_front();
    lock.unlock();
    try {
      cache_.fill_ahead(at, doubles, [this, at = at](std::span<double> values) { fetch(at, values); });
    } catch (...) {  // a thread that acquires the panel will get the exception
    }
    lock.lock();
  }
}

}
