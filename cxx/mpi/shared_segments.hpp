#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/base/shared_array.hpp"
#include "cxx/parallel/caller_thread.hpp"

namespace trifuse {

/// An array of a library for one-sided communication. Each rank has a part of it. Only the thread that may call MPI
/// calls its functions.
class PartitionedArray {
 public:
  virtual ~PartitionedArray() = default;
  /// Creates the array. Returns the part of this rank, which is not initialised, or null if memory is short.
  /// Collective. `sizes`: sizes[rank], the doubles of each part, at least 1.
  virtual double* create(std::span<const std::int64_t> sizes) = 0;
  /// Copies doubles number `first`, `first` + 1, ... of the part of a rank to `values`, at most 2^24 of them.
  virtual void get(int rank, std::int64_t first, std::span<double> values) = 0;
  /// Returns the part of a rank, or null if this process cannot read it directly.
  virtual const double* direct(int) { return nullptr; }
  /// Makes what this rank has written to its part readable for other ranks. Collective. All ranks then wait for each
  /// other and call `receive`, which makes what others have written readable for this rank.
  virtual void publish() = 0;
  virtual void receive() = 0;
  /// Frees the array, if it was created. Collective.
  virtual void free() = 0;
};

/// A library that makes such arrays.
class ArrayLibrary {
 public:
  virtual ~ArrayLibrary() = default;
  virtual const char* name() const = 0;  ///< for messages
  virtual const char* cure() const = 0;  ///< what a user can do if the library does not work with the MPI library
  /// Returns an array for the ranks of this communicator, which is not created yet. Collective.
  virtual std::unique_ptr<PartitionedArray> make(MPI_Comm ranks) = 0;
  /// Ends the library. Collective. Call it when all arrays are freed, on the thread that may call MPI.
  virtual void end() {}
};

/// Makes shared arrays from arrays of a library. The segments of one host are distributed over several of them, because
/// an MPI library stores the parts of one host in one file of shared memory for each array, and the system allocates
/// the pages of one file one after another. An array that does not fit into memory, or that returns wrong numbers, is
/// refused before it is used: otherwise a job could end without a message, or its energies could be wrong.
class SharedArrays {
 public:
  /// `caller`: only the thread that serves it calls the library. It must outlive this object.
  SharedArrays(std::unique_ptr<ArrayLibrary> library, CallerThread& caller)
      : library_(std::move(library)), caller_(caller) {}

  /// Implements `Communicator::make_array` for `communicator`. Collective. `ranks`: the same ranks; its errors are
  /// returned. Throws SystemError on all ranks if memory is short, or if a rank does not read what another rank wrote.
  std::unique_ptr<SharedArray> make(Communicator& communicator, MPI_Comm ranks,
                                    std::span<const SharedSegment> segments);
  /// Frees all arrays that were destroyed, and ends the library. Collective. Call it while no thread serves.
  void end();

 private:
  class Array;
  void free_unused();

  std::unique_ptr<ArrayLibrary> library_;
  CallerThread& caller_;
  std::vector<std::unique_ptr<PartitionedArray>> unused_;  ///< all ranks free them together, in `make` or `end`
};

}
