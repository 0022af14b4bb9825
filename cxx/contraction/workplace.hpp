#pragma once

#include <cstdint>
#include <memory>

#include "cxx/contraction/description.hpp"

namespace trifuse::contraction {

/// Where the terms of a formula are computed: CPU cores, or a GPU that keeps copies of arrays of the host. Arrays have
/// the names of their memory on the host. While a workplace computes with an array, nobody else may change it.
class Workplace {
 public:
  virtual ~Workplace() = default;

  /// Computes C += factor sum A B. `a`, `b`, `c`: the elements at offset 0. Throws SystemError, DeviceError and
  /// std::bad_alloc.
  virtual void add(const Contraction& contraction, double factor, const double* a, const double* b, double* c) = 0;
  /// Sets the elements of an array to 0.
  virtual void set_to_zero(double* first, std::int64_t size) = 0;
  /// Writes an array to the memory of the host, which add() may not have done. The workplace forgets it.
  virtual void finish(double* first, std::int64_t size) = 0;
  /// The memory of an array is freed or changed. `first`: as in set_to_zero().
  virtual void forget(const double* first) = 0;
  /// Returns true if the memory of the host has the elements at any time.
  virtual bool is_host() const = 0;
};

/// `threads`: at least 1.
std::shared_ptr<Workplace> cores_as_workplace(int threads);

}
