#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tce_tiles/tiles/tile_source.hpp"

/// Dense arrays of the orbitals of one spin or class, made from the blocks of a source.
namespace trifuse {

/// t1[i,a] of a spin, shape [o,v]. Throws what the source throws.
std::vector<double> dense_t1(const TileSource& source, Spin spin);
/// f[p,q] of a spin, shape [o+v,o+v], occupied orbitals first, hartree. `source` must have the Fock matrix. Throws what
/// the source throws.
std::vector<double> dense_fock(const TileSource& source, Spin spin);

/// Writes sign * block to `to`. `extent[k]`: extent of axis k of the block, which is in C order. `stride[k]`: distance
/// in `to` of neighbours along that axis, in elements.
void scatter_block(const double* block, const std::array<std::int64_t, 4>& extent, double sign,
                   const std::array<std::int64_t, 4>& stride, double* to);

}
