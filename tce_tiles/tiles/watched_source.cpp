#include "tce_tiles/tiles/watched_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

WatchedSource::WatchedSource(std::unique_ptr<const TileSource> source)
    : WrappedSource(*source), owned_(std::move(source)) {
  reset_hashes();
}

void WatchedSource::reset_hashes() {
  for (Shard& shard : shards_) shard.hashes.clear();
  const std::span<const double> energies = orbital_energies();
  const XXH128_hash_t hash = XXH3_128bits(energies.data(), energies.size_bytes());
  high_ = hash.high64;
  low_ = hash.low64;
}

std::optional<SourceDigest> WatchedSource::digest() const {
  return SourceDigest{high_.load(), low_.load()};
}

void WatchedSource::watch(TensorKind tensor, std::array<int, 4> tiles, std::span<const double> block) const {
  const struct {
    int tensor;
    std::array<int, 4> tiles;
  } name{static_cast<int>(tensor), tiles};
  const std::uint64_t key = XXH3_64bits(&name, sizeof name);
  // The seed makes the hash depend on tensor and tiles: blocks with equal numbers add different hashes to the sum.
  const XXH128_hash_t hash = XXH3_128bits_withSeed(block.data(), block.size_bytes(), key);
  Shard& shard = shards_[key % shards_.size()];
  const std::lock_guard lock(shard.mutex);
  const auto [known, added] = shard.hashes.try_emplace(key, hash.low64);
  if (added) {
    high_ += hash.high64;
    low_ += hash.low64;
    return;
  }
  if (known->second == hash.low64) return;
  constexpr std::array<const char*, 4> names = {"F1", "T1", "T2", "V2"};
  const bool matrix = tensor == TensorKind::fock || tensor == TensorKind::t1;
  for (int& tile : tiles) ++tile;
  throw InputError(
      fmt::format("{}: the numbers of {} block ({}), tiles counted from 1, changed after they were checked; amplitudes "
                  "and integrals must stay unchanged until the calculation has ended: run it again.",
                  info().path, names[static_cast<std::size_t>(tensor)],
                  fmt::join(tiles.begin(), tiles.begin() + (matrix ? 2 : 4), " ")));
}

void WatchedSource::read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const {
  source().read_block(tensor, tiles, block);
  watch(tensor, tiles, block);
}

}
