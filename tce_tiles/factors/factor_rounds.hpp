#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/communicator.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// The collective reading of factors, or of sums over them, in rounds. Each rank has a part of the auxiliary functions,
/// or some sums, so that all ranks together read each of these items once. In a round every rank reads a few of its
/// items into its segment of a shared array. Then each rank copies what it needs from the segments of all ranks.
class FactorRounds {
 public:
  /// Chooses the number of items of a round. Collective. `communicator`: its ranks have shared arrays; must outlive
  /// this object. `parts`: the items of each rank. `doubles`: numbers that a segment has for one item, at least 1.
  /// `buffer_bytes`: limit for the segment of this rank; one item may exceed it. The smallest limit of all ranks
  /// counts. All ranks pass the same `parts` and `doubles`.
  FactorRounds(Communicator& communicator, std::vector<AuxiliaryRange> parts, std::int64_t doubles,
               std::int64_t buffer_bytes);
  /// The same, with an equal part of `auxiliary` functions for each rank.
  FactorRounds(Communicator& communicator, std::int64_t auxiliary, std::int64_t doubles, std::int64_t buffer_bytes);

  /// A segment of the shared array, filled by its owner in this round.
  class Segment {
   public:
    Segment(SharedArray& array, std::size_t number, int rank, AuxiliaryRange functions, bool own)
        : array_(array), number_(number), rank_(rank), functions_(functions), own_(own) {}
    /// The rank that owns the segment, and the functions or other items that the segment contains.
    int rank() const { return rank_; }
    const AuxiliaryRange& functions() const { return functions_; }
    /// Returns doubles [first, first + count) of the segment. The result points into `buffer` unless this rank owns the
    /// segment.
    const double* read(std::int64_t first, std::int64_t count, Buffer& buffer) const;

   private:
    SharedArray& array_;
    std::size_t number_;
    int rank_;
    AuxiliaryRange functions_;
    bool own_;
  };
  /// Reads functions into a segment, which has `doubles` doubles for each function.
  using Read = std::function<void(const AuxiliaryRange& functions, double* segment)>;
  /// Copies numbers from a segment to the memory of this rank.
  using Copy = std::function<void(const Segment& segment)>;
  /// Calls `read` once and `copy` for each segment, in every round. Collective. If a call throws on one rank, all ranks
  /// throw.
  void run(const Read& read, const Copy& copy);

  /// Returns the number of functions that this rank reads in run().
  std::int64_t own_functions() const;

 private:
  /// Returns the functions that a rank reads in a round.
  AuxiliaryRange of_round(int rank, std::int64_t round) const;
  void copy_all(std::int64_t round, const Copy& copy);

  Communicator& communicator_;
  const std::vector<AuxiliaryRange> parts_;
  const std::int64_t doubles_;
  std::int64_t step_ = 1;                     ///< functions that a rank reads in a round, at most
  std::vector<std::size_t> segment_of_rank_;  ///< a rank that has no functions has no segment
  std::unique_ptr<SharedArray> array_;
};

}
