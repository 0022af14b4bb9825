#pragma once

#include <array>
#include <cstdint>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse::gpu {

/// The quotients of a problem and its tables of denominators in the memory of a GPU.
class DeviceQuotients {
 public:
  /// Returns the size of the tables of a problem, bytes.
  static std::int64_t table_bytes(const Problem& problem);
  /// Copies quotients and tables to the current device. `space`: the tiles of the tasks. Throws DeviceError and
  /// DeviceMemoryError.
  void upload(const Problem& problem, const TileSpace& space);
  /// Sets the parameters of a kernel for the problem.
  void set(KernelParameters& parameters) const;

 private:
  DeviceArray<double> omega2_;
  DeviceArray<Quotient> quotients_;
  DeviceArray<double> numbers_;  ///< of `tables_`
  DeviceTables tables_{};
  int count_ = 0;
  std::array<int, max_left_sides> sets_end_{};
};

}
