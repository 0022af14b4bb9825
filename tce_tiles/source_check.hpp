#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tce_tiles/tile_source.hpp"
#include "tce_tiles/witnesses.hpp"

/// The check of a whole input before it is used.
namespace trifuse {

/// Which part of a check one of several processes does; all parts together are the whole.
struct CheckShare {
  int part = 0, parts = 1;
  int threads = 0;  ///< at most; 0: as many as OpenMP allows
};

/// A check in stages, for one process or several.
///
/// Each process calls, for every stage k in order, `run(k)`; the vectors, of equal length on all processes, are summed
/// over the processes that share the check; each then calls `accept(k, sums)`. Where every process checks the whole
/// (parts = 1) each accepts its own.
class SourceCheck {
 public:
  virtual ~SourceCheck() = default;
  virtual int stages() const = 0;
  /// Throws InputError with one sentence if numbers are not what they claim to be.
  virtual std::vector<double> run(int stage) = 0;
  virtual void accept(int stage, std::span<const double> sums) = 0;
  /// What was found; after the last stage.
  virtual Measurements measurements() const = 0;
};

/// Reads everything and throws InputError if numbers are not finite or break symmetries: see `make_dump_check` and
/// `check_consistency`. `integrals` is the source of integrals, which may be `amplitudes` itself. Integrals for the
/// left are those of the right, and have been checked with it. Of a dump several processes may check a share each; all
/// of NWChem's files each of them reads. Sources must outlive the check.
std::unique_ptr<SourceCheck> make_source_check(const TileSource& amplitudes, const TileSource& integrals,
                                               const CheckShare& share = {});

/// The whole check in one process, with its witnesses, which may have failed.
CheckReport check_source(const TileSource& amplitudes, const TileSource& integrals);
/// The same; throws InputError also for a failed witness unless `trust_input`.
CheckReport verify_source(const TileSource& amplitudes, const TileSource& integrals, bool trust_input = false);

}  // namespace trifuse
