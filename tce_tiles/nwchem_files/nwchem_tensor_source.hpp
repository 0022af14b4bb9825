#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tce_tiles/nwchem_files/nwchem_integrals.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"
#include "tce_tiles/nwchem_files/nwchem_vector.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// NWChem's tensors. Their numbers of doubles must fit the tiles. F1 and V2 may be null.
struct NwchemVectors {
  std::unique_ptr<const NwchemVector> f1, t1, t2, v2;
  V2Storage storage = V2Storage::spin_orbital;
};

/// Delivers the blocks of an NWChem calculation from vectors of doubles, in files or in a running NWChem. Reads a block
/// when a caller asks for it. Throws InputError if a number is not finite.
class NwchemTensorSource final : public TileSource {
 public:
  /// `orbital_energies`: eps[orbitals] in sorted order, hartree.
  NwchemTensorSource(SourceInfo info, TileSpace space, std::vector<double> orbital_energies, NwchemVectors vectors);

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return space_; }
  std::span<const double> orbital_energies() const override { return energies_; }
  bool has_integrals() const override { return v2_.has_value(); }
  bool has_fock() const override { return f1_ != nullptr; }
  bool has_exchange_integrals() const override { return has_integrals(); }
  bool has_all_integrals() const override { return has_integrals(); }
  bool stores_spin_cases_of_v2() const override { return v2_ && v2_->storage() == V2Storage::spin_orbital; }

  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  bool in_range(int t) const { return t >= 0 && t < space_.size(); }
  bool hole(int t) const { return in_range(t) && t < space_.hole_tiles(); }
  bool particle(int t) const { return in_range(t) && t >= space_.hole_tiles(); }
  /// Throws if the block does not exist or `size` is not its size.
  void check(bool exists, const char* tensor, std::initializer_list<int> tiles, std::size_t size) const;

  SourceInfo info_;
  TileSpace space_;
  std::vector<double> energies_;
  std::unique_ptr<const NwchemVector> f1_, t1_, t2_;
  PairOffsets f1_offsets_, t1_offsets_;
  QuadOffsets t2_offsets_;
  std::optional<NwchemIntegrals> v2_;
};

}
