#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/block_sums.hpp"
#include "tce_tiles/hdf5_file.hpp"
#include "tce_tiles/hdf5_writer.hpp"

/// The seal of a dump: checksums of all that it holds, which its maker wrote; see the format page.
namespace trifuse {

inline constexpr std::int64_t dump_minor_version = 1;  ///< the first with a seal

/// The checksums of an open dump, all in memory: those of its seal, or, where it has none, those of what was read
/// first. So whatever is read of the dump later is what was read, and checked, before. For any thread.
class DumpSeal {
 public:
  /// Reads the seal, if there is one, and throws InputError where it is damaged or the attributes of the root group or
  /// the shapes of datasets are others than it says. From then on the file verifies what is read of it.
  static std::shared_ptr<DumpSeal> open(Hdf5File& file);

  bool sealed() const { return sealed_; }
  std::int64_t minor_version() const { return minor_version_; }

  /// Of these datasets of a dump without a seal, the checksums of every `parts`-th piece, beginning with number `part`,
  /// and 0 for those of others: added up over all parts, they are for `accept`. Empty for a sealed dump.
  std::vector<double> compute(const Hdf5File& file, std::span<const std::string> datasets, int part, int parts,
                              int threads) const;
  void accept(std::span<const std::string> datasets, std::span<const double> sums);

  /// Of what the seal says of attributes and shapes, of all checksums that are known, and of `more`.
  std::array<std::uint64_t, 2> digest(const std::string& more) const;

 private:
  std::shared_ptr<BlockSums> sums_of(const Hdf5Dataset& dataset);
  std::shared_ptr<BlockSums> find(const std::string& dataset) const;
  void read_seal(const Hdf5File& file);

  std::string path_;
  bool sealed_ = false;
  std::int64_t minor_version_ = 0;
  std::string header_;  ///< of a sealed dump
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<BlockSums>> sums_;
};

/// Seals a dump that is complete but for that, and not closed yet: reads these datasets back, which must be all of the
/// root group. `threads`: at most.
void seal_dump(Hdf5Writer& file, std::span<const std::string> datasets, int threads);

}  // namespace trifuse
