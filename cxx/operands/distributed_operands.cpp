#include "cxx/operands/distributed_operands.hpp"

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse {

namespace {

/// A tiling: the largest numbers of orbitals in a tile of holes and in a tile of particles. They determine how
/// `TileSpace::refined` divides the tiles of the plan. Zeros mean that there is no tiling.
using TileLimits = std::pair<double, double>;

TileLimits tile_limits_of(const TileSpace* tiles) {
  if (tiles == nullptr) return {0.0, 0.0};
  const auto [holes, particles] = largest_tiles(*tiles);
  return {std::max<double>(1.0, static_cast<double>(holes)), std::max<double>(1.0, static_cast<double>(particles))};
}

/// Returns the different tilings of all ranks, in the same order on all ranks. Collective.
std::vector<TileLimits> tile_limits_of_ranks(Communicator& communicator, const TileLimits& mine) {
  const double sizes[] = {mine.first, mine.second};
  const std::vector<double> all = allgather(communicator, sizes);
  std::vector<TileLimits> all_limits;
  for (std::size_t n = 0; n < all.size(); n += 2) {
    const TileLimits limits{all[n], all[n + 1]};
    if (limits != TileLimits{} && std::find(all_limits.begin(), all_limits.end(), limits) == all_limits.end())
      all_limits.push_back(limits);
  }
  return all_limits;
}

TileSpace refined(const TileSpace& plan_tiles, const TileLimits& limits) {
  return plan_tiles.refined(static_cast<std::int64_t>(limits.first), static_cast<std::int64_t>(limits.second));
}

/// Returns shares[rank], the parts of all ranks. Collective. `mine`: the part of this rank.
std::vector<OperandShare> shares_of_ranks(Communicator& communicator, const OperandShare& mine) {
  const double row[] = {mine.share, static_cast<double>(mine.segments)};
  const std::vector<double> all = allgather(communicator, row);
  std::vector<OperandShare> shares;
  for (std::size_t n = 0; n < all.size(); n += 2) shares.push_back({all[n], static_cast<int>(all[n + 1])});
  return shares;
}

/// Returns how much of `room` bytes made panels may take: the rest that panels of other ranks leave, but at least half.
/// A buffer in the cache of other ranks' panels is at most twice as long as its panel.
std::int64_t room_for_made_panels(const PanelStore& store, std::int64_t room) {
  return store.layout().has_factors() ? std::max(room / 2, room - 2 * store.bytes_of_others()) : 0;
}

}

std::optional<TileSpace> finest_tiles(Communicator& communicator, const TileSpace& plan_tiles, const TileSpace* mine) {
  const std::vector<TileLimits> all = tile_limits_of_ranks(communicator, tile_limits_of(mine));
  if (all.empty()) return std::nullopt;
  TileLimits finest = all.front();
  for (const TileLimits& limits : all)
    finest = {std::min(finest.first, limits.first), std::min(finest.second, limits.second)};
  return refined(plan_tiles, finest);
}

DistributedOperands::DistributedOperands(Communicator& communicator, const Problem& problem,
                                         const TileSpace& plan_tiles, const TileSpace* tiles, const OperandShare& share,
                                         std::int64_t bytes, std::int64_t bytes_of_others, std::int64_t made_bytes) {
  const TileLimits mine = tile_limits_of(tiles);
  const std::vector<OperandShare> shares = shares_of_ranks(communicator, share);
  const auto buffer_bytes = [&] { return std::max<std::int64_t>(0, bytes - own_bytes()); };
  std::shared_ptr<PanelStore> read_here;
  std::shared_ptr<const void> factors = acquire_factors_of_ranks(problem.right->factors(), &communicator, nullptr);
  for (const TileLimits& limits : tile_limits_of_ranks(communicator, mine)) {
    std::shared_ptr<PanelStore> store;
    run_collectively(&communicator, [&] {
      const TileSpace limited_tiles = refined(plan_tiles, limits);
      if (limits == mine && !(limited_tiles == *tiles))
        throw Error("The tiles of an executor do not refine the tiles of the plan.");
      store = std::make_shared<PanelStore>(problem, limited_tiles, communicator.rank(), shares);
    });
    std::unique_ptr<SharedArray> array = communicator.make_array(store->segments());
    stores_.push_back(store);
    run_collectively(&communicator, [&] { store->fill(problem, std::move(array), buffer_bytes()); });
    if (limits == mine || (tiles == nullptr && !read_here)) read_here = store;
  }
  // Frees the factors of holes, because the slabs are read with large buffers.
  factors.reset();
  for (const auto& store : stores_) {
    store->fill_slabs(communicator, problem, buffer_bytes());
    store->open();
  }
  run_collectively(&communicator, [&] {
    if (!read_here) return;
    const std::int64_t room = std::clamp<std::int64_t>(bytes - own_bytes(), 0, bytes_of_others);
    const std::int64_t made = std::min(made_bytes, room_for_made_panels(*read_here, room));
    read_here->limit_made_panels(made);
    read_here->fetch_others(room - made);
  });
  mine_ = read_here;
}

std::int64_t DistributedOperands::own_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& store : stores_) bytes += store->own_bytes();
  return bytes;
}

std::vector<OperandTraffic> DistributedOperands::traffic(Communicator& communicator,
                                                         std::int64_t bytes_from_peers) const {
  OperandTraffic mine;
  mine.peer_bytes = bytes_from_peers;
  mine.own_bytes = own_bytes();
  for (const auto& store : stores_) mine.read_bytes += store->bytes_read();
  if (mine_) {
    const PanelTraffic traffic = mine_->traffic();
    mine.bytes_of_others = mine_->bytes_of_others();
    mine.fetched_bytes = traffic.filled_bytes;
    mine.cache_bytes = traffic.max_bytes + mine_->made_panels().max_bytes;
    mine.panels_wanted = traffic.wanted;
    mine.panels_hit = traffic.hits;
  }
  constexpr std::int64_t OperandTraffic::*numbers[] = {&OperandTraffic::own_bytes,     &OperandTraffic::bytes_of_others,
                                                       &OperandTraffic::read_bytes,    &OperandTraffic::fetched_bytes,
                                                       &OperandTraffic::peer_bytes,    &OperandTraffic::cache_bytes,
                                                       &OperandTraffic::panels_wanted, &OperandTraffic::panels_hit};
  std::vector<double> row;
  for (const auto number : numbers) row.push_back(static_cast<double>(mine.*number));
  const std::vector<double> all = allgather(communicator, row);
  std::vector<OperandTraffic> ranks(static_cast<std::size_t>(communicator.size()));
  for (std::size_t n = 0; n < all.size(); ++n) {
    ranks[n / row.size()].*numbers[n % row.size()] = static_cast<std::int64_t>(all[n]);
  }
  return ranks;
}

}
