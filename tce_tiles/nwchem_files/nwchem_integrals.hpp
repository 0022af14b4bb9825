#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tce_tiles/nwchem_files/nwchem_layout.hpp"
#include "tce_tiles/nwchem_files/nwchem_vector.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse {

/// Delivers blocks <g3 g4||g1 g2> of antisymmetrised integrals over spin orbitals from NWChem's V2 vector, in either
/// storage. Reading is thread-safe if the vector is. In the spatial storage every thread keeps a scratch buffer of one
/// block.
class NwchemIntegrals {
 public:
  /// `space` must outlive this object. The number of doubles in `vector` must be that of the storage.
  NwchemIntegrals(const TileSpace& space, V2Storage storage, std::unique_ptr<const NwchemVector> vector);

  V2Storage storage() const { return storage_; }
  /// Reads v2[g3,g4,g1,g2] = <g3 g4||g1 g2>, in hartree. The block must exist, and `block` must have its size. Throws
  /// InputError if a value is not finite or cannot be read.
  void read(int g3, int g4, int g1, int g2, std::span<double> block) const;

 private:
  /// One index of an integral.
  struct Axis {
    int tile;             ///< its spatial tile
    std::int64_t stride;  ///< its stride in the block that is computed, in elements
  };
  /// Writes sign * (bra0 bra1|ket0 ket1) to `block`, or adds it if `add` is set. `loaded` is the offset of the stored
  /// block that is in the scratch buffer of this thread, or -1. With equal tiles, both terms of an integral come from
  /// the same stored block, which is then read only once.
  void write_integral(Axis bra0, Axis bra1, Axis ket0, Axis ket1, double sign, bool add, std::span<double> block,
                      std::int64_t& loaded) const;

  const TileSpace& space_;
  V2Storage storage_;
  std::unique_ptr<const NwchemVector> vector_;
  QuadOffsets spin_orbital_;
  SpatialTiles tiles_;
  SpatialOffsets spatial_;
};

}
