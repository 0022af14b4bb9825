#pragma once

#include <array>
#include <vector>

#include "fortran_iface/trifuse.h"
#include "tce_tiles/tiles/wrapped_source.hpp"

namespace trifuse::c_interface {

/// Returns the facts in a description besides tiles and orbital energies. Throws UsageError if a value is not allowed.
SourceInfo source_info(const trifuse_description& description);
/// Returns the tiles of a description. Throws UsageError if they are null, too many or not allowed.
TileSpace tile_space(const trifuse_description& description);
/// Returns the orbital energies of a description, hartree. `space`: its tiles. Throws UsageError if they are null or
/// not finite.
std::vector<double> energies_of_orbitals(const trifuse_description& description, const TileSpace& space);

/// A source whose blocks the calling program delivers.
class CallerSource final : public UniformSource {
 public:
  /// Copies `description`. `reader` must not be null; it gets `context`. Throws UsageError if the description is not
  /// allowed.
  CallerSource(const trifuse_description& description, trifuse_block_reader reader, void* context);

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return space_; }
  std::span<const double> orbital_energies() const override { return energies_; }
  bool has_integrals() const override { return has_integrals_; }
  bool has_fock() const override { return has_fock_; }
  bool has_exchange_integrals() const override { return has_exchange_integrals_; }

 private:
  /// Calls the reader. Throws InputError if it fails.
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override;

  SourceInfo info_;
  TileSpace space_;
  std::vector<double> energies_;
  bool has_integrals_, has_fock_, has_exchange_integrals_;
  trifuse_block_reader reader_;
  void* context_;
};

}
