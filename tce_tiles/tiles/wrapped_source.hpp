#pragma once

#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// A source that delivers the blocks of all tensors by one function.
class UniformSource : public TileSource {
 public:
  void read_fock(int g6, int g5, std::span<double> block) const final { read(TensorKind::fock, {g6, g5}, block); }
  void read_t1(int p, int h, std::span<double> block) const final { read(TensorKind::t1, {p, h}, block); }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const final {
    read(TensorKind::t2, {p1, p2, h3, h4}, block);
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const final {
    read(TensorKind::v2, {g3, g4, g1, g2}, block);
  }

 private:
  /// Reads a block. `tiles`: as in TileSource::read_block.
  virtual void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const = 0;
};

/// A source around another one, from which it differs in the reading of blocks. All other functions are those of the
/// other source.
class WrappedSource : public UniformSource {
 public:
  /// `source` must outlive this object.
  explicit WrappedSource(const TileSource& source) : source_(source) {}

  /// The source without this wrapper.
  const TileSource& source() const { return source_; }

  const SourceInfo& info() const override { return source_.info(); }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return source_.orbital_energies(); }
  bool has_integrals() const override { return source_.has_integrals(); }
  bool has_fock() const override { return source_.has_fock(); }
  bool has_exchange_integrals() const override { return source_.has_exchange_integrals(); }
  bool has_all_integrals() const override { return source_.has_all_integrals(); }
  bool concurrent_reads() const override { return source_.concurrent_reads(); }
  bool opposite_spin_blocks_suffice() const override { return source_.opposite_spin_blocks_suffice(); }
  bool stores_spin_cases_of_v2() const override { return source_.stores_spin_cases_of_v2(); }

 private:
  const TileSource& source_;
};

/// A source of the same integrals without factors. If `source` has factors, blocks are made when they are read.
class WithoutFactors final : public WrappedSource {
 public:
  using WrappedSource::WrappedSource;

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override {
    source().read_block(tensor, tiles, block);
  }
};

}
