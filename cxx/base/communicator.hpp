#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/shared_array.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The ranks (processes) that compute one energy, and their communication. The rest of the library knows only this
/// interface. Its implementations use MPI with Global Arrays or windows (the program, ranks of a calling program),
/// NWChem, and in tests threads.
///
/// A collective function must be called by all ranks in the same order. Any thread of a rank may call a function, but
/// only one thread at a time.
class Communicator {
 public:
  /// Number of shared counters. Each counter begins at 0.
  static constexpr int counters = 1;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< number of this rank, 0 .. size() - 1
  virtual int size() const = 0;  ///< number of ranks
  /// Adds `amount` to the shared counter number `counter` and returns the counter's previous value. Not collective.
  /// Counters have 64 bits. `amount` must be 0 .. 2^31 - 1, because ARMCI, on which Global Arrays stands, adds 32-bit
  /// numbers.
  virtual std::int64_t fetch_add(int counter, std::int64_t amount) = 0;
  /// Replaces each element by its sum over all ranks. The sum is exact if the element is zero on all ranks but one.
  /// Collective; `values` has the same length on all ranks.
  virtual void allreduce_sum(std::span<double> values) = 0;

  /// Returns true if `make_array` is supported.
  virtual bool has_arrays() const { return false; }
  /// Creates an array of these segments. Collective; `segments` is the same on all ranks. If it fails on a rank, it
  /// throws on all ranks. The array must not outlive the communicator. All ranks destroy their arrays in the same
  /// order. Destruction is not collective, so that a rank that fails alone can destroy its array.
  virtual std::unique_ptr<SharedArray> make_array(std::span<const SharedSegment> segments);
};

/// Returns the numbers of all ranks as [rank, n]. Collective; `mine` has the same length on all ranks.
std::vector<double> allgather(Communicator& communicator, std::span<const double> mine);
/// Returns the texts of all ranks in the order of ranks, each cut after `longest` bytes. Collective.
std::vector<std::string> allgather(Communicator& communicator, const std::string& mine, std::size_t longest);

/// Throws on every rank if any rank has failed. Collective. `failure`: the exception of this rank, or null. A rank that
/// has failed throws its own exception. Any other rank throws an error with the sentence and the kind (see error.hpp)
/// of the lowest rank that has failed.
void propagate_failure(Communicator& communicator, const std::exception_ptr& failure);

/// Throws InputError on all ranks if ranks have different numbers that describe the calculation. Different processors
/// round differently, so differences up to 1e-9 are allowed (absolute for numbers up to 1, else relative). Collective;
/// `mine` has the same length on all ranks.
void expect_same(Communicator& communicator, std::span<const double> mine);

/// Runs `body()` on every rank and then throws on every rank if it has thrown on any (see `propagate_failure`).
/// Collective. If `communicator` is null, it only runs `body()`.
template <typename Body>
void run_collectively(Communicator* communicator, Body body) {
  if (communicator == nullptr) return static_cast<void>(body());
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  propagate_failure(*communicator, failure);
}

}

#pragma GCC visibility pop
