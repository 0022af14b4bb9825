#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/blocks.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// The blocks of V2 that triples need: {p p|h h}, {h p|h h} and {p p|h p}, with the keys of `v2_blocks`; with
/// `exchange` also those of `exchange_v2_blocks`.
BlockIndex triples_v2_blocks(const TileSpace& space, bool exchange = false);
/// The blocks {h p|h p} that a source with `has_exchange_integrals` delivers.
BlockIndex exchange_v2_blocks(const TileSpace& space);

/// Blocks in memory: those of T1, T2 and, where asked for, of the Fock matrix and of the V2 classes that triples need.
///
/// A caller fills it block by block; a block that was never set cannot be read. Distinct blocks may be set and read
/// from several threads at a time.
class MemorySource final : public TileSource {
 public:
  struct Contents {
    bool integrals = true;
    bool fock = false;
    bool exchange = false;  ///< integrals {h p|h p}, too
  };

  /// `energies` in sorted order, one for each orbital of `space`.
  MemorySource(TileSpace space, std::vector<double> energies, SourceInfo info, Contents contents);
  static MemorySource copy_of(const TileSource& source);

  /// Each copies a block in the layout of the `read_` function of the same name; UsageError when the block does not
  /// exist or its size is another.
  void set_fock(int g6, int g5, std::span<const double> block);
  void set_t1(int p, int h, std::span<const double> block);
  void set_t2(int p1, int p2, int h3, int h4, std::span<const double> block);
  void set_v2(int g3, int g4, int g1, int g2, std::span<const double> block);
  /// UsageError that names a block which is still missing.
  void check_complete() const;

  /// The stored block itself, for callers that need no copy. InputError when it was never set, UsageError when it does
  /// not exist.
  std::span<const double> fock(int g6, int g5) const;
  std::span<const double> t1(int p, int h) const;
  std::span<const double> t2(int p1, int p2, int h3, int h4) const;
  std::span<const double> v2(int g3, int g4, int g1, int g2) const;

  const BlockIndex& fock_index() const { return fock_.index; }
  const BlockIndex& t1_index() const { return t1_.index; }
  const BlockIndex& t2_index() const { return t2_.index; }
  const BlockIndex& v2_index() const { return v2_.index; }

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return space_; }
  std::span<const double> orbital_energies() const override { return energies_; }
  bool has_integrals() const override { return contents_.integrals; }
  bool has_fock() const override { return contents_.fock; }
  bool has_exchange_integrals() const override { return contents_.integrals && contents_.exchange; }
  bool concurrent_reads() const override { return true; }
  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  friend std::unique_ptr<TileSource> retile(const TileSource&, const TileSpace&, Contents);

  struct Tensor {
    std::string name;
    BlockIndex index;
    Buffer data;
    std::vector<char> is_set;  ///< by block; no bits, so that threads can set neighbours

    Tensor(std::string its_name, BlockIndex its_index);
    const Block& find(std::int64_t key) const;
    std::span<const double> get(std::int64_t key) const;
    void set(std::int64_t key, std::span<const double> block);
    void copy(std::int64_t key, std::span<double> block) const;
    std::span<double> writable(const Block& block);  ///< its place, marked as set
  };

  TileSpace space_;
  std::vector<double> energies_;
  SourceInfo info_;
  Contents contents_;
  Tensor fock_;
  Tensor t1_;
  Tensor t2_;
  Tensor v2_;
};

/// The same orbitals and numbers in other tiles, in memory; of integrals and Fock matrix only what `contents` asks for.
/// `cut` has the orbitals of `source`. Every block of `source` is read once.
std::unique_ptr<TileSource> retile(const TileSource& source, const TileSpace& cut, MemorySource::Contents contents);

/// All of it in tiles of other sizes.
std::unique_ptr<TileSource> retile(const TileSource& source, std::int64_t hole_tile, std::int64_t particle_tile);

}  // namespace trifuse
