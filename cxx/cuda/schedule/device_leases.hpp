#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <vector>

namespace trifuse::gpu {

/// The memory of GPUs, divided among the runs of one process that compute at the same time. Each run plans as if no
/// other run computed, so its energies do not depend on these runs. A run starts when the memory that it needs is free.
/// Memory that a run keeps beyond its end, see keep(), is not free for later ones. Any thread may call the functions.
class DeviceLeases {
 public:
  /// Memory that a run needs on a GPU.
  struct Demand {
    int device;          ///< number of the GPU
    std::int64_t bytes;  ///< the most that the run allocates
  };

  /// A lease of memory. The destructor returns the memory. Movable.
  class Lease {
   public:
    Lease() = default;
    Lease(DeviceLeases& owner, std::vector<Demand> demands) : owner_(&owner), demands_(std::move(demands)) {}
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    bool is_held() const { return owner_ != nullptr; }

   private:
    DeviceLeases* owner_ = nullptr;
    std::vector<Demand> demands_;
  };

  /// The planning of a run: from before its first call of free_bytes() until it has its lease.
  class Planning {
   public:
    explicit Planning(DeviceLeases& owner);
    ~Planning();
    Planning(const Planning&) = delete;
    Planning& operator=(const Planning&) = delete;

   private:
    DeviceLeases& owner_;
  };

  /// Returns the bytes of a GPU that are free if no other run of this process uses it. `ask` returns the bytes that the
  /// GPU reports as free now; it is called if no run uses the GPU.
  std::int64_t free_bytes(int device, const std::function<std::int64_t()>& ask);

  /// Leases memory on all GPUs of a run. Waits until it is free, or until no other run uses these GPUs. Runs get memory
  /// in the order in which they ask. free_bytes() must have been called for each GPU. Throws Interrupted soon after
  /// `*stop` becomes true; `stop` may be null.
  Lease lease(std::vector<Demand> demands, const std::atomic<bool>* stop);

  /// Says that the only run of a GPU keeps this memory, a part of its lease, beyond its end, so that runs that ask for
  /// free_bytes() meanwhile do not count on it. Returns false, and then changes nothing, if another run uses the GPU,
  /// or if any run plans: it may have planned with this memory.
  bool keep(const Demand& demand);

 private:
  struct Memory {
    std::int64_t free = 0;    ///< bytes that are free while no run uses the GPU, without memory that is kept
    std::int64_t leased = 0;  ///< bytes of the leases of all runs
    int runs = 0;             ///< number of runs that have a lease
  };

  bool fits(const std::vector<Demand>& demands) const;
  void give_back(const std::vector<Demand>& demands);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Memory> memory_;    ///< key: number of the GPU
  std::list<const void*> waiting_;  ///< runs that wait for memory, in the order in which they asked
  int planning_ = 0;                ///< number of runs that plan
};

}
