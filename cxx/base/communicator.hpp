#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/shared_array.hpp"

namespace trifuse {

/// The processes that compute one energy together. What joins them (MPI, Global Arrays, threads in a test) is the
/// business of the program that started them: the library sees this only.
///
/// `sum` is collective: every rank calls it the same number of times with arrays of the same lengths. `fetch_add` is
/// not. All may be called by any thread of a rank, but only by one at a time.
class Communicator {
 public:
  /// The counters there are, each 0 at the beginning.
  static constexpr int counters = 1;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< from 0
  virtual int size() const = 0;
  /// Adds to a counter that all ranks share, and returns what it was before. The counter has 64 bits, but amounts are
  /// 0 to 2^31 - 1: those of ARMCI, below Global Arrays, have 32.
  virtual std::int64_t fetch_add(int counter, std::int64_t amount) = 0;
  /// Adds up each element over all ranks, in place; exact where at most one of them is not zero.
  virtual void allreduce_sum(std::span<double> values) = 0;

  /// Whether `make_array` can make arrays.
  virtual bool has_arrays() const { return false; }
  /// An array of these pieces: collective. Where it fails it throws on all ranks. It must not outlive the team, and all
  /// ranks let their arrays go in the same order; to do so is not collective, so a rank may fail alone.
  virtual std::unique_ptr<SharedArray> make_array(std::span<const SharedSegment> segments);
};

/// The numbers of all ranks, one rank after another: collective. `mine` has the same length on all of them.
std::vector<double> allgather(Communicator& communicator, std::span<const double> mine);
/// The texts of all ranks, cut at `longest` characters: collective.
std::vector<std::string> allgather(Communicator& communicator, const std::string& mine, std::size_t longest);

/// A point that all ranks pass or none: collective. `failure` is what this rank failed with, or null. Where any rank
/// failed every rank throws: a failed one its own exception, the others the sentence of the first that did, as the same
/// kind of error (see error.hpp).
void propagate_failure(Communicator& communicator, const std::exception_ptr& failure);

/// Throws InputError on all ranks unless these numbers, which say what is computed, are the same on all of them, but
/// for rounding on other processors: collective.
void expect_same(Communicator& communicator, std::span<const double> mine);

/// Runs `body` and agrees on it. `communicator` may be null: then the body runs, and that is all.
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

}  // namespace trifuse
