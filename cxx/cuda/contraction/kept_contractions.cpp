#include "cxx/cuda/contraction/kept_contractions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse::contraction {

namespace {

using trifuse::gpu::CurrentDevice;

/// A planned contraction for one stream.
struct Kept {
  Kept(const Contraction& form, int device_number, void* of_stream)
      : contraction(form), device(device_number), stream(of_stream), plan(form, device_number) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  bool is_for(const Contraction& form, int device_number, void* of_stream) const {
    return stream == of_stream && device == device_number && contraction == form;
  }
  void start(double alpha, const double* a, const double* b, double beta, double* c) {
    const std::lock_guard lock(mutex);
    plan.start(alpha, a, b, beta, c, stream);
  }

  Contraction contraction;  ///< in the canonical form
  int device;
  void* stream;
  std::mutex mutex;
  GpuContraction plan;
};

/// The plans, the last used one first.
class Plans {
 public:
  std::shared_ptr<Kept> find(const Contraction& form, int device, void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const std::shared_ptr<Kept>& plan) {
      return plan->is_for(form, device, stream);
    });
    if (found == plans_.end()) return nullptr;
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }
  void add(const std::shared_ptr<Kept>& plan) {
    constexpr std::size_t most = 16;
    std::shared_ptr<Kept> dropped;  // without the lock, because this may wait
    const std::lock_guard lock(mutex_);
    plans_.push_front(plan);
    if (plans_.size() <= most) return;
    dropped = std::move(plans_.back());
    plans_.pop_back();
  }
  void drop() {
    std::list<std::shared_ptr<Kept>> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(plans_);
  }

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<Kept>> plans_;
};

Plans& plans() {
  static Plans* const all = new Plans;  // stays until the driver has ended, which frees all memory
  return *all;
}

}

void start_contraction(const Contraction& contraction, int device, double alpha, const double* a, const double* b,
                       double beta, double* c, void* stream) {
  const int devices = visible_device_count();
  if (devices == 0) throw UsageError(why_no_devices());
  if (device < 0 || device >= devices) {
    throw UsageError(fmt::format("There is no GPU {}; CUDA sees {}, counted from 0.", device, devices));
  }
  const Contraction form = canonical_form(contraction);
  std::shared_ptr<Kept> plan = plans().find(form, device, stream);
  const CurrentDevice current(device);
  if (plan == nullptr) {
    plan = std::make_shared<Kept>(form, device, stream);
    plans().add(plan);
  }
  plan->start(alpha, a, b, beta, c);
}

void drop_kept_contractions() {
  plans().drop();
}

}
