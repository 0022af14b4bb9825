#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/operands/operand_traffic.hpp"
#include "cxx/operands/panels.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// The operands of a calculation in arrays that the ranks of a team share, so that none of them has all: a rank has a
/// part of each array, filled from its own sources, and fetches what others have when its tasks need it. Executors of
/// different kinds, and GPUs with more or less memory, cut panels differently; for each cut that a rank asks for there
/// is an array. Lives longer than the executors that read it.
class TeamOperands {
 public:
  /// Collective; throws on all ranks where one fails. `tiles`: how this rank's panels are to be cut, null where it
  /// takes what others ask for. `bytes`: what this rank may use for its pieces and for panels of others, which take
  /// at most `bytes_of_others`. `share`: its pieces.
  TeamOperands(Communicator& communicator, const Problem& problem, const TileSpace& plan_tiles, const TileSpace* tiles,
               const OperandShare& share, std::int64_t bytes,
               std::int64_t bytes_of_others = std::numeric_limits<std::int64_t>::max());

  /// The panels of this rank; null where no rank asked for any.
  const std::shared_ptr<const PanelStore>& panels() const { return mine_; }
  /// Of all ranks so far: collective. `bytes_from_neighbours`: what this rank's GPU had from others.
  std::vector<OperandTraffic> traffic(Communicator& communicator, std::int64_t bytes_from_neighbours = 0) const;

 private:
  std::int64_t own_bytes() const;

  std::vector<std::shared_ptr<PanelStore>> stores_;
  std::shared_ptr<const PanelStore> mine_;
};

}  // namespace trifuse
