#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {
class Retiling;  // not a part of the interface
}

#pragma GCC visibility push(default)

namespace trifuse {

/// Returns the blocks of V2 that triples need: {p p|h h}, {h p|h h} and {p p|h p}; with `exchange` also the blocks of
/// `exchange_v2_blocks`. Keys are those of `v2_key`.
BlockIndex triples_v2_blocks(const TileSpace& space, bool exchange = false);
/// Returns the blocks {h p|h p} that a source with `has_exchange_integrals` delivers.
BlockIndex exchange_v2_blocks(const TileSpace& space);

/// Keeps all blocks of T1 and T2 in memory and, if asked, the blocks of the Fock matrix and of `triples_v2_blocks`.
///
/// A caller sets the blocks one by one. A block that was never set cannot be read. Several threads may set and read
/// different blocks at the same time.
class MemorySource final : public TileSource {
 public:
  /// The tensors that the source holds besides T1 and T2.
  struct Contents {
    bool integrals = true;
    bool fock = false;
    bool exchange = false;  ///< the blocks of `exchange_v2_blocks`
  };

  /// `energies`: eps[orbitals] in sorted order, hartree, one for each orbital of `space`. Throws UsageError if their
  /// number differs from the number of orbitals.
  MemorySource(TileSpace space, std::vector<double> energies, SourceInfo info, Contents contents);

  /// Each `set_` function copies `block` into the source. Layout and tiles are those of the `read_` function of the
  /// same name. Throws UsageError if the block does not exist or has a different size.
  void set_fock(int g6, int g5, std::span<const double> block);
  void set_t1(int p, int h, std::span<const double> block);
  void set_t2(int p1, int p2, int h3, int h4, std::span<const double> block);
  void set_v2(int g3, int g4, int g1, int g2, std::span<const double> block);
  /// Throws UsageError if a block was never set. The sentence names the first such block.
  void check_complete() const;

  /// Returns the stored block itself, in the layout of the `read_` function of the same name. It stays valid as long as
  /// the source. Throws InputError if it was never set, and UsageError if it does not exist.
  std::span<const double> fock(int g6, int g5) const;
  std::span<const double> t1(int p, int h) const;
  std::span<const double> t2(int p1, int p2, int h3, int h4) const;
  std::span<const double> v2(int g3, int g4, int g1, int g2) const;

  /// Returns the blocks that the source holds; no blocks for a tensor that it does not hold.
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
  friend class Retiling;

  struct Tensor {
    std::string name;
    BlockIndex index;
    Buffer data;
    std::vector<char> is_set;  ///< [block]; bytes, not bits, so that two threads can set neighbouring elements

    Tensor(std::string its_name, BlockIndex its_index);
    const Block& find(std::int64_t key) const;
    std::span<const double> get(std::int64_t key) const;
    void set(std::int64_t key, std::span<const double> block);
    void copy(std::int64_t key, std::span<double> block) const;
    /// Returns the memory of a block for writing. Marks the block as set.
    std::span<double> writable(const Block& block);
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

/// Copies `source` into memory with the tiles of `cut`. `cut` must have the same orbitals as `source`. `contents` says
/// whether to copy the integrals and the Fock matrix. Reads every block of `source` once.
std::unique_ptr<TileSource> retile(const TileSource& source, const TileSpace& cut, MemorySource::Contents contents);

}

#pragma GCC visibility pop
