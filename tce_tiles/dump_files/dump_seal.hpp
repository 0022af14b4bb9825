#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/hdf5/block_sums.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tce_tiles/hdf5/hdf5_writer.hpp"

/// The seal of a dump: checksums of everything in the file. The program that writes the dump also writes its seal. See
/// tce_tiles/docs/dump-format.md.
namespace trifuse {

inline constexpr std::int64_t first_sealed_version = 1;  ///< the first minor version with a seal
/// The minor version of new dumps. Since version 2 a dump may have the arrays for dressed moments.
inline constexpr std::int64_t dump_minor_version = 2;

/// The checksums of an open dump, in memory. They come from the seal of the dump. For a dump without a seal, `compute`
/// and `accept` make them from the file before it is checked. Every later read is compared with them, so that a run
/// uses the numbers that were checked. Thread-safe.
class DumpSeal {
 public:
  /// Reads the seal, if the dump has one. From then on `file` verifies everything it reads. Throws InputError if the
  /// seal is damaged, or if the attributes of the root group or the shapes of the datasets differ from those that were
  /// sealed.
  static std::shared_ptr<DumpSeal> open(Hdf5File& file);

  bool sealed() const { return sealed_; }
  std::int64_t minor_version() const { return minor_version_; }

  /// Computes one part of the checksums of `datasets` of a dump without a seal. The datasets are divided into ranges of
  /// blocks. Part `part` of `parts` has every `parts`-th range, beginning with range `part`. The checksums of the other
  /// parts are 0, so that the sum over all parts is the argument of `accept`. Uses at most `threads` threads. Returns
  /// an empty vector for a sealed dump.
  std::vector<double> compute(const Hdf5File& file, std::span<const std::string> datasets, int part, int parts,
                              int threads) const;
  /// Takes the checksums of `datasets`, summed over all parts. Does nothing for a sealed dump.
  void accept(std::span<const std::string> datasets, std::span<const double> sums);

  /// Returns a hash of the attributes and shapes of a sealed dump, of all checksums that are known, and of the text
  /// `more`.
  std::array<std::uint64_t, 2> digest(const std::string& more) const;

 private:
  /// Returns the checksums of a dataset; makes an entry without known checksums if the dump has no seal.
  std::shared_ptr<BlockSums> sums_of(const Hdf5Dataset& dataset);
  /// Returns the checksums of a dataset, or null.
  std::shared_ptr<BlockSums> find(const std::string& dataset) const;
  void read_seal(const Hdf5File& file);

  std::string path_;
  bool sealed_ = false;
  std::int64_t minor_version_ = 0;
  std::string header_;  ///< attributes and shapes of a sealed dump; else empty
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<BlockSums>> sums_;  ///< by name of the dataset
};

/// Seals a dump that is complete except for the seal and still open for writing. Reads `datasets` back, which must be
/// all datasets of the root group. Uses at most `threads` threads.
void seal_dump(Hdf5Writer& file, std::span<const std::string> datasets, int threads);

}
