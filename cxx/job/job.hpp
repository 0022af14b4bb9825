#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cxx/base/clock.hpp"
#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/distributed_calculation.hpp"
#include "cxx/calculation/option_table.hpp"
#include "cxx/report/report.hpp"
#include "tce_tiles/checks/witnesses.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

/// A job: one calculation of one process or of several ranks, from open amplitudes to energies and a report. Each door
/// (the program, the C library, the routine of NWChem) runs its jobs with run_job().
namespace trifuse {

/// The result of the last check of amplitudes. Thread-safe: several jobs may have the same amplitudes.
class KnownCheck {
 public:
  /// Returns the last result; nullopt: there is none.
  std::optional<CheckReport> last() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }
  /// Returns the last result if the check took the integrals of the side with this number.
  std::optional<CheckReport> with(std::uint64_t integrals) const {
    const std::lock_guard lock(mutex_);
    return integrals_ == integrals ? report_ : std::nullopt;
  }
  void set(std::optional<CheckReport> report, std::uint64_t integrals) {
    const std::lock_guard lock(mutex_);
    report_ = std::move(report);
    integrals_ = integrals;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<CheckReport> report_;
  std::uint64_t integrals_ = 0;
};

/// The amplitudes of one side of a job.
struct JobSide {
  const TileSource* source = nullptr;  ///< null: there is no left side
  /// True if the numbers are arrays in the memory of this process. Then tasks may read them while they are checked.
  bool in_memory = false;
  /// A function that throws InputError if numbers are missing; may be empty.
  std::function<void()> expect_complete = {};
  /// The result of an earlier check, which the job does not repeat if all ranks have one with the integrals of this
  /// job. The job sets it. Null: there was no check.
  KnownCheck* known = nullptr;
  std::uint64_t number = 0;  ///< another one for other amplitudes, and for the same ones after a change
};

struct JobOptions {
  CalculationOptions calculation;
  /// The job may use so many GPUs of each host, and so many ranks of a host may use a GPU; nullopt: all.
  std::optional<int> gpus_of_host;
  /// Memory that a rank may use on its GPU, bytes; nullopt: `calculation.memory`.
  std::optional<std::int64_t> gpu_memory;
  Door door = Door::program;      ///< it has its own names of options, for sentences
  double begin = wall_seconds();  ///< time at which the opening of the input began
};

/// A job whose calculation is planned.
struct PlannedJob {
  const Calculation& calculation;
  const DistributedCalculation* ranks;  ///< null for a single process
  const TileSource& right;
  const TileSource* left;  ///< may be null
  const CheckReport& right_check;
  const CheckReport* left_check;  ///< null without left amplitudes
};

/// A job with energies.
struct FinishedJob : PlannedJob {
  const CalculationResult& result;
  RunTimes times;
};

/// Follows a job. All functions except progress() and warn() are called on the thread of the job, or on the thread of a
/// check beside the tasks.
class JobWatch {
 public:
  virtual ~JobWatch() = default;
  /// Returns a flag, or null. Soon after the flag becomes true, the job ends with Interrupted.
  virtual const std::atomic<bool>* stop() const { return nullptr; }
  /// Called on each rank when the input is checked and the calculation is planned. If it throws on a rank, the job
  /// fails.
  virtual void planned(const PlannedJob& job) { static_cast<void>(job); }
  virtual void progress(const RunProgress& now) { static_cast<void>(now); }
  /// Gets a warning, which the result contains, too. Called on rank 0, and on the rank whose GPU has failed.
  virtual void warn(const std::string& sentence) { static_cast<void>(sentence); }
  /// Called on each rank when the energies are known, before the memory of the run is returned. If it throws, run_job()
  /// throws the same on this rank.
  virtual void finished(const FinishedJob& job) { static_cast<void>(job); }
};

/// Checks the input, plans and runs. Ranks share the check of a file that is the same for all of them, and of a source
/// of all ranks; else each rank checks its whole input. The check is made beside the tasks if one process computes from
/// memory on GPUs without a journal. CUDA starts while the input is checked. Collective if `ranks` is not null.
///
/// Throws InputError if a check fails or ranks have different input; if it fails on one rank, it throws on all.
CalculationResult run_job(const JobSide& right, const JobSide& left, const JobOptions& options, Communicator* ranks,
                          JobWatch& watch);

/// Describes the input, its checks and the plan for the user.
std::string describe_job(const PlannedJob& job);
/// Returns the report of a job as JSON, see drivers/docs/report.schema.json.
nlohmann::ordered_json json_report(const FinishedJob& job);

}
