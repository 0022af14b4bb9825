#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tce_tiles/tiles/wrapped_source.hpp"

namespace trifuse {

/// Wraps a source and refuses numbers that change. It keeps a hash of each block at the first read. A later read of the
/// block throws InputError if the numbers differ. The check and the run both read the source, so this ensures that they
/// use the same numbers. The hashes take about 50 bytes per block.
class WatchedSource final : public WrappedSource {
 public:
  explicit WatchedSource(std::unique_ptr<const TileSource> source);

  std::optional<SourceDigest> digest() const override;
  /// Forgets all hashes, so that the next read of a block counts as the first. Call this if a check has refused numbers
  /// and the numbers have been corrected. No other thread may read at the same time.
  void reset_hashes();

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override;

  /// A part of the hashes, with a lock of its own. Threads that read different blocks rarely wait for each other.
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::uint64_t> hashes;  ///< key: hash of tensor and tiles
  };

  /// Stores the hash of a block at its first read. At later reads, compares the block with the stored hash.
  void watch(TensorKind tensor, std::array<int, 4> tiles, std::span<const double> block) const;

  const std::unique_ptr<const TileSource> owned_;
  mutable std::array<Shard, 64> shards_;
  mutable std::atomic<std::uint64_t> high_, low_;  ///< digest: the sum of all hashes
};

}
