#pragma once

#include <array>
#include <vector>

#include "fortran_iface/trifuse.h"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::c_interface {

/// What a description says besides tiles and energies. Throws UsageError for values that are none of trifuse.h's.
SourceInfo source_info(const trifuse_description& description);
TileSpace tile_space(const trifuse_description& description);
std::vector<double> orbital_energies(const trifuse_description& description, const TileSpace& space);

/// Blocks that the calling program delivers when they are asked for.
class CallerSource final : public TileSource {
 public:
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
  void read(trifuse_tensor tensor, std::array<std::int64_t, 4> tiles, std::span<double> block) const;

  SourceInfo info_;
  TileSpace space_;
  std::vector<double> energies_;
  bool has_integrals_, has_fock_, has_exchange_integrals_;
  trifuse_block_reader reader_;
  void* context_;
};

}  // namespace trifuse::c_interface
