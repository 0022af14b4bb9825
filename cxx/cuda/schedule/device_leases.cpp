#include "cxx/cuda/schedule/device_leases.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse::gpu {

DeviceLeases::Lease::Lease(Lease&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), demands_(std::move(other.demands_)) {}

DeviceLeases::Lease& DeviceLeases::Lease::operator=(Lease&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(demands_, other.demands_);
  return *this;
}

DeviceLeases::Lease::~Lease() {
  if (owner_ != nullptr) owner_->give_back(demands_);
}

DeviceLeases::Planning::Planning(DeviceLeases& owner) : owner_(owner) {
  const std::lock_guard lock(owner_.mutex_);
  ++owner_.planning_;
}

DeviceLeases::Planning::~Planning() {
  const std::lock_guard lock(owner_.mutex_);
  --owner_.planning_;
}

std::int64_t DeviceLeases::free_bytes(int device, const std::function<std::int64_t()>& ask) {
  const std::lock_guard lock(mutex_);
  Memory& memory = memory_[device];
  if (memory.runs == 0) memory.free = ask();
  return memory.free;
}

bool DeviceLeases::fits(const std::vector<Demand>& demands) const {
  return std::all_of(demands.begin(), demands.end(), [&](const Demand& demand) {
    const Memory& memory = memory_.at(demand.device);
    return memory.runs == 0 || memory.leased + demand.bytes <= memory.free;
  });
}

DeviceLeases::Lease DeviceLeases::lease(std::vector<Demand> demands, const std::atomic<bool>* stop) {
  constexpr auto patience = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  const auto place = waiting_.insert(waiting_.end(), &demands);
  while (waiting_.front() != &demands || !fits(demands)) {
    changed_.wait_for(lock, patience);
    if (stop == nullptr || !*stop) continue;
    waiting_.erase(place);
    changed_.notify_all();
    throw Interrupted(
        "The run was stopped while it waited for the memory of a GPU, which other runs of this process use.");
  }
  waiting_.erase(place);
  for (const Demand& demand : demands) {
    Memory& memory = memory_.at(demand.device);
    memory.leased += demand.bytes;
    ++memory.runs;
  }
  changed_.notify_all();
  return {*this, std::move(demands)};
}

bool DeviceLeases::keep(const Demand& demand) {
  const std::lock_guard lock(mutex_);
  Memory& memory = memory_[demand.device];
  if (memory.runs > 1 || planning_ > 0) return false;
  memory.free -= demand.bytes;
  return true;
}

void DeviceLeases::give_back(const std::vector<Demand>& demands) {
  {
    const std::lock_guard lock(mutex_);
    for (const Demand& demand : demands) {
      Memory& memory = memory_.at(demand.device);
      memory.leased -= demand.bytes;
      --memory.runs;
    }
  }
  changed_.notify_all();
}

}
