#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// One dense array that a caller holds, with a name and a shape of the dump format (tce_tiles/docs/dump-format.md). An
/// array `ovvv` that is not antisymmetrised may also be packed, with the shape [o,v,v(v+1)/2]: element
/// [i,a,b(b+1)/2+c] with b >= c is (ia|bc).
struct CallerArray {
  enum class Type { float64, int32, int64 };
  /// Writes to `box`, in C order, the box that begins at element `offset` and has `count[k]` elements along axis k.
  /// Throws InputError.
  using Reader = std::function<void(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                                    std::span<double> box)>;
  /// Copies `to.size()` bytes from address `from` on a GPU to the host. Throws DeviceError.
  using DeviceCopy = std::function<void(const void* from, std::span<std::byte> to)>;

  std::string name;
  const void* data = nullptr;         ///< element [0,0,...], not copied; null: `reader` delivers the elements
  Type type = Type::float64;          ///< type of the elements of `data`
  std::vector<std::int64_t> shape;    ///< number of elements along each axis
  std::vector<std::int64_t> strides;  ///< distance of neighbours along each axis, in elements; empty: C order
  Reader reader = nullptr;            ///< only one thread at a time calls the readers of one source
  int device = -1;                    ///< number of the GPU that holds `data`, as CUDA counts; -1: the host holds it
  DeviceCopy copy = nullptr;          ///< for an array of a GPU; such an array fills its memory without gaps
};

/// Makes a source of dense arrays in memory. `info`: the facts that a dump has as attributes; `path` names the caller
/// in messages. The source reads the arrays in place, so the numbers must stay valid and unchanged until the source is
/// destroyed. It copies as a whole only t1, the Fock matrix, the orbital energies, the irreps, and arrays of a GPU. It
/// copies the latter when they are first read on the host. The source has the blocks and the checks of a dump, gives
/// the same bits, and is thread-safe.
///
/// Throws UsageError if the description of an array contradicts itself, and InputError if an array is missing, has an
/// unknown name or a wrong shape, or if orbital energies, irreps, t1 or the Fock matrix are wrong.
std::unique_ptr<TileSource> open_arrays(SourceInfo info, std::vector<CallerArray> arrays);

}

#pragma GCC visibility pop
