#pragma once

#include <array>
#include <vector>

#include "fortran_iface/trifuse.h"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse::c_interface {

/// The facts of a description, besides tiles and orbital energies. Throws UsageError if a value is not allowed.
SourceInfo source_info(const trifuse_description& description);
/// The tiles of a description. Throws UsageError if they are null, too many or not allowed.
TileSpace tile_space(const trifuse_description& description);
/// The orbital energies of a description, hartree. `space`: its tiles. Throws UsageError if they are null or not
/// finite.
std::vector<double> orbital_energies(const trifuse_description& description, const TileSpace& space);

/// A source whose blocks the calling program delivers.
class CallerSource final : public TileSource {
 public:
  /// `description`: copied. `reader`: not null. `context`: passed to `reader`. Throws UsageError if the description is
  /// not allowed.
  CallerSource(const trifuse_description& description, trifuse_block_reader reader, void* context);

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return space_; }
  std::span<const double> orbital_energies() const override { return energies_; }
  bool has_integrals() const override { return has_integrals_; }
  bool has_fock() const override { return has_fock_; }
  bool has_exchange_integrals() const override { return has_exchange_integrals_; }
  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  /// Calls the reader. Throws InputError if it fails.
  void read(trifuse_tensor tensor, std::array<std::int64_t, 4> tiles, std::span<double> block) const;

  SourceInfo info_;
  TileSpace space_;
  std::vector<double> energies_;
  bool has_integrals_, has_fock_, has_exchange_integrals_;
  trifuse_block_reader reader_;
  void* context_;
};

}
