#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

struct WriteOptions {
  /// `automatic` compresses where symmetry makes many elements zero.
  enum class Layout { automatic, contiguous, compressed };

  bool overwrite = false;
  Layout layout = Layout::automatic;
  /// Called now and then with the fraction done; an exception thrown there ends the conversion.
  std::function<void(double)> progress = {};
  /// Blocks are collected to boxes of about so many numbers, so that the file is written in long runs.
  std::int64_t box_doubles = std::int64_t{1} << 24;
  /// Throws UsageError for a file that must stay although `overwrite` allows to replace it; may be empty.
  std::function<void(const std::string& path)> refuse = {};
};

/// Throws as `write_dump` does if a dump cannot be written there: to be called before long work.
void expect_writable_dump(const std::string& path, const WriteOptions& options = {});

/// Writes any source as a Trifuse dump, block by block; no array is in memory as a whole except T1 and the Fock matrix.
///
/// The orbitals keep the sorted order of the source. The same-spin integrals of an unrestricted source become `asym_`
/// arrays, because the source knows them antisymmetrised only. The file appears under its name when it is complete;
/// until then it has a temporary name in the same directory, and a failure removes it. UsageError when the file exists
/// and may not be overwritten, SystemError when it cannot be written.
void write_dump(const TileSource& source, const std::string& path, const WriteOptions& options = {});

}  // namespace trifuse
