#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// How to write a dump.
struct WriteOptions {
  /// `automatic` compresses the arrays if the orbitals have more than one irrep, which makes many elements zero.
  enum class Layout { automatic, contiguous, compressed };

  bool overwrite = false;  ///< true: replaces an existing file
  Layout layout = Layout::automatic;
  /// True: write the integrals that the factors of the source give, instead of the factors. If the source has no
  /// factors, `write_dump` always writes its integrals.
  bool multiply_factors = false;
  /// Called from time to time with the fraction that is done, 0 to 1. An exception from it ends the conversion.
  std::function<void(double)> progress = {};
  /// Approximate number of elements in a box. Blocks are collected in boxes, so that the file is written in long
  /// contiguous pieces.
  std::int64_t box_doubles = std::int64_t{1} << 24;
  /// Must throw UsageError for a file that must not be replaced even if `overwrite` is set. May be empty.
  std::function<void(const std::string& path)> refuse = {};
};

/// Throws as `write_dump` does if no dump can be written to `path`. Call it before long work.
void expect_writable_dump(const std::string& path, const WriteOptions& options = {});

/// Writes a source as a Trifuse dump, block by block. Only T1 and the Fock matrix are in memory as a whole.
///
/// The orbitals keep the sorted order of the source. The same-spin integrals of an unrestricted source become `asym_`
/// arrays, because a source delivers them antisymmetrised. A source with factors gives a dump of version 2. Until the
/// file is complete, it has a temporary name in the same directory; a failure removes it. Throws UsageError if the file
/// exists and must not be overwritten, SystemError if it cannot be written, and InputError if the tiles do not fit the
/// reference.
void write_dump(const TileSource& source, const std::string& path, const WriteOptions& options = {});

}

#pragma GCC visibility pop
