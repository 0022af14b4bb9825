#pragma once

#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/triples/precision.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse::gpu {

/// The self-tests that GPUs of this process have passed.
class PassedSelfTests {
 public:
  /// `options`: the tested precision and the kernel that the user named.
  bool contains(int device, SpinFormulation formulation, const CudaOptions& options) const {
    const std::lock_guard lock(mutex_);
    return passed_.contains({device, formulation, options.precision, options.kernel});
  }
  void add(int device, SpinFormulation formulation, const CudaOptions& options) {
    const std::lock_guard lock(mutex_);
    passed_.emplace(device, formulation, options.precision, options.kernel);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::tuple<int, SpinFormulation, Precision, std::string>> passed_;
};

}  // namespace trifuse::gpu
