#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Wraps a source and refuses numbers that change. It keeps a hash of each block at the first read. A later read of the
/// block throws InputError if the numbers differ. The check and the run both read the source, so this ensures that they
/// use the same numbers. The hashes take about 50 bytes per block.
class WatchedSource final : public TileSource {
 public:
  explicit WatchedSource(std::unique_ptr<const TileSource> source);

  const SourceInfo& info() const override { return source_->info(); }
  const TileSpace& tiles() const override { return source_->tiles(); }
  std::span<const double> orbital_energies() const override { return source_->orbital_energies(); }
  bool has_integrals() const override { return source_->has_integrals(); }
  bool has_fock() const override { return source_->has_fock(); }
  bool has_exchange_integrals() const override { return source_->has_exchange_integrals(); }
  bool concurrent_reads() const override { return source_->concurrent_reads(); }
  bool opposite_spin_blocks_suffice() const override { return source_->opposite_spin_blocks_suffice(); }
  bool stores_spin_cases_of_v2() const override { return source_->stores_spin_cases_of_v2(); }
  std::optional<SourceDigest> digest() const override;
  /// Forgets all hashes, so that the next read of a block counts as the first. Call this if a check has refused numbers
  /// and the numbers have been corrected. No other thread may read at the same time.
  void reset_hashes();

  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  enum class Tensor { fock, t1, t2, v2 };
  /// A part of the hashes, with a lock of its own. So threads that read different blocks rarely wait for each other.
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::uint64_t> hashes;  ///< key: hash of tensor and tiles
  };

  /// Stores the hash of a block at its first read. At later reads, compares the block with the stored hash.
  void watch(Tensor tensor, std::array<int, 4> tiles, std::span<const double> block) const;

  std::unique_ptr<const TileSource> source_;
  mutable std::array<Shard, 64> shards_;
  mutable std::atomic<std::uint64_t> high_, low_;  ///< digest: the sum of all hashes
};

}
