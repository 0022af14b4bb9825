#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Another source whose numbers must stay what they were: a hash of each block is kept when it is read for the first
/// time, and InputError is thrown when it is read again and has other numbers. So what was checked is what is used,
/// although both are read on their own. Costs some 50 bytes for each block.
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
  /// Whatever is read next is what must stay: for numbers that were refused and then corrected.
  void reset_hashes();

  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  enum class Tensor { fock, t1, t2, v2 };
  /// Threads that read other blocks seldom wait for each other.
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::uint64_t> hashes;  ///< by tensor and tiles
  };

  void watch(Tensor tensor, std::array<int, 4> tiles, std::span<const double> block) const;

  std::unique_ptr<const TileSource> source_;
  mutable std::array<Shard, 64> shards_;
  mutable std::atomic<std::uint64_t> high_, low_;
};

}  // namespace trifuse
