#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/operands/operand_traffic.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Returns the tiles of the plan, divided as finely as those of any rank; nullopt if no rank has tiles. Collective.
/// With panels of these tiles all ranks have one layout, in which they can add up numbers. `mine`: tiles of this rank,
/// a refinement of the tiles of the plan; null: it has none.
std::optional<TileSpace> finest_tiles(Communicator& communicator, const TileSpace& plan_tiles, const TileSpace* mine);

/// The operands of a calculation, distributed over the memories of all ranks. Each rank owns a part of each array,
/// fills the part from its own tile sources, and fetches the panels of other ranks when its tasks need them. Executors
/// of different kinds, and GPUs with different amounts of memory, need panels with different tiles. There is one array
/// for each tiling that a rank needs. This object must outlive the executors that read its panels.
class DistributedOperands {
 public:
  /// Limit for panels of other ranks that a rank uses only once, because GPUs store them, bytes. It is large enough to
  /// prefetch, and no larger, because allocating memory takes longer than fetching a panel.
  static constexpr std::int64_t passed_bytes = std::int64_t{4} << 30;

  /// Makes and fills the arrays. Collective. Throws Error if `tiles` do not refine the tiles of the plan. Passes on
  /// exceptions of the tile sources. If one rank throws, all ranks throw.
  ///
  /// `problem`: the operands. `plan_tiles`: the tiles of the plan. `tiles`: the tiles of this rank's panels; null if
  /// the rank accepts the tiling of another rank. `share`: the part of each array that this rank owns. `bytes`: memory
  /// of this rank for its part, for panels of other ranks and for panels that it makes from factors.
  /// `bytes_of_others`: limit for panels of other ranks and made panels together, bytes. `made_bytes`: limit for made
  /// panels, bytes.
  DistributedOperands(Communicator& communicator, const Problem& problem, const TileSpace& plan_tiles,
                      const TileSpace* tiles, const OperandShare& share, std::int64_t bytes,
                      std::int64_t bytes_of_others = std::numeric_limits<std::int64_t>::max(),
                      std::int64_t made_bytes = std::numeric_limits<std::int64_t>::max());

  /// Returns the panels of this rank; null if no rank has passed `tiles`.
  const std::shared_ptr<const PanelStore>& panels() const { return mine_; }
  /// Returns traffic[rank], the traffic of all ranks so far. Collective. `bytes_from_peers`: bytes that this
  /// rank's GPU has read from other GPUs.
  std::vector<OperandTraffic> traffic(Communicator& communicator, std::int64_t bytes_from_peers = 0) const;

 private:
  /// Returns the size of the parts of all arrays that this rank owns, in bytes.
  std::int64_t own_bytes() const;

  std::vector<std::shared_ptr<PanelStore>> stores_;
  std::shared_ptr<const PanelStore> mine_;
};

}
