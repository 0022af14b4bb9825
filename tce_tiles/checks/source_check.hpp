#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "tce_tiles/checks/witnesses.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

/// The check of a whole input before a run uses it.
namespace trifuse {

class Communicator;

/// The share of one process in a check. The shares 0 to parts - 1 together are the whole check.
struct CheckShare {
  int part = 0, parts = 1;
  int threads = 0;                          ///< largest number of threads; 0: as many as OpenMP allows
  const std::atomic<bool>* stop = nullptr;  ///< the check throws Interrupted soon after it becomes true; may be null
};

/// A check in stages, for one process or several.
///
/// For every stage k, in order:
///   0. processes of a job that share the check of one file may call `read_together(k, communicator)`
///   1. each process calls `run(k)`; the result has the same length on all processes
///   2. the caller sums the results over the processes that share the check
///   3. each process calls `accept(k, sums)`
/// If each process does the whole check (parts = 1), it accepts its own result.
class SourceCheck {
 public:
  virtual ~SourceCheck() = default;
  /// Returns the number of stages.
  virtual int stages() const = 0;
  /// Exchanges data, so that each process reads only a part of the arrays that several processes need in a stage: parts
  /// of such arrays, or results of earlier stages. Collective. Without this call `run` reads these arrays in each
  /// process. Throws InputError if an array is wrong; if one process throws, all processes throw.
  virtual void read_together(int stage, Communicator& communicator) {
    static_cast<void>(stage);
    static_cast<void>(communicator);
  }
  /// Does this process's share of a stage. Throws InputError with one sentence if the input is wrong.
  virtual std::vector<double> run(int stage) = 0;
  /// Takes the sums of a stage. Throws InputError if they show that the input is wrong.
  virtual void accept(int stage, std::span<const double> sums) = 0;
  /// Returns the measured quantities; call it after the last stage.
  virtual Measurements measurements() const = 0;
};

/// Makes the check of an input. It reads all numbers and throws InputError if one is not finite or breaks a symmetry:
/// see `make_dense_check` and `check_consistency`.
///
/// `integrals` is the source of the integrals; it may be `amplitudes` itself. Left-hand amplitudes use the integrals of
/// the right-hand source. The check of the right-hand source has checked these integrals. `share`: for a dump, each
/// process reads its share only; for blocks, each process reads its share of {p p|h p} and all other blocks. Both
/// sources must outlive the check.
std::unique_ptr<SourceCheck> make_source_check(const TileSource& amplitudes, const TileSource& integrals,
                                               const CheckShare& share = {});

/// Does the whole check in one process and evaluates the witnesses, which may have failed. Throws InputError if the
/// check fails. `share`: its parts must be 1.
CheckReport check_source(const TileSource& amplitudes, const TileSource& integrals, const CheckShare& share = {});
/// Checks as `check_source` does. Also throws InputError if a witness fails, unless `trust_input` is set.
CheckReport verify_source(const TileSource& amplitudes, const TileSource& integrals, bool trust_input = false);

}

#pragma GCC visibility pop
