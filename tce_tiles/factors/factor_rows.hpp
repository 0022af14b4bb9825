#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/communicator.hpp"
#include "tce_tiles/factors/factor_bands.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// The factors of one pair of spaces, in memory. Each pair of orbitals p and q has a row: its factors for all auxiliary
/// functions Q. Symmetric factors have rows only for p >= q.
class FactorRows {
 public:
  /// Reads the factors. Throws InputError if the elements are not valid, and SystemError if the memory does not
  /// suffice. `stop`: see FactorSource::acquire_factors().
  FactorRows(const FactorBands& bands, const std::atomic<bool>* stop);
  /// Reads an equal part of the auxiliary functions, and gets the other parts from the ranks that have read them.
  /// Collective. Throws as the other constructor; if one rank throws, all ranks throw. `communicator` must have shared
  /// arrays, and its ranks the same factors. `buffer_bytes`: limit for factors that wait for other ranks; a single
  /// function may exceed it.
  FactorRows(const FactorBands& bands, Communicator& communicator, std::int64_t buffer_bytes,
             const std::atomic<bool>* stop);

  /// Returns the rows of orbital p with the orbitals q, q + 1, ..., q + count - 1: an array [count,naux]. The result
  /// points into `buffer` unless the rows stand side by side in memory.
  const double* rows(std::int64_t p, std::int64_t q, std::int64_t count, Buffer& buffer) const;
  /// Copies the rows of all pairs of orbitals p and q to `out` [p,q,naux].
  void copy(const ClassOrbitals& p, const ClassOrbitals& q, std::span<double> out) const;

 private:
  explicit FactorRows(const FactorBands& bands);
  void allocate(const ArrayLabel& label);
  /// Reads auxiliary functions into `out`, where row n begins at out[n * stride].
  void read(const FactorBands& bands, const AuxiliaryRange& functions, const std::atomic<bool>* stop, double* out,
            std::int64_t stride) const;
  /// Returns the row of a pair of orbitals, [naux].
  const double* row(std::int64_t p, std::int64_t q) const { return rows_.data() + number_of(p, q) * auxiliary_; }
  std::int64_t number_of(std::int64_t p, std::int64_t q) const;

  const bool symmetric_;
  const std::int64_t auxiliary_, p_count_, q_count_;
  std::int64_t count_;  ///< number of rows
  Buffer rows_;
};

/// The factors of one pair of spaces, which can be read in bands or taken into memory. Thread-safe.
class Factors {
 public:
  explicit Factors(FactorBands bands) : bands_(std::move(bands)) {}

  const FactorBands& bands() const { return bands_; }
  /// Returns the factors in memory. Reads them if they are not there. Throws as FactorRows does. `stop`: as of
  /// FactorSource::acquire_factors().
  std::shared_ptr<const FactorRows> rows(const std::atomic<bool>* stop) const;
  /// Reads the factors into memory unless all ranks have them there. Each rank reads a part. Collective. Parameters and
  /// exceptions are those of FactorRows.
  void read_together(Communicator& communicator, const std::atomic<bool>* stop) const;
  /// Frees the memory as soon as no thread uses it. A later call of rows() reads the factors again.
  void forget() const;

 private:
  const FactorBands bands_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const FactorRows> rows_;
};

}
