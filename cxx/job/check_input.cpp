#include "cxx/job/check_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/base/threads.hpp"
#include "cxx/job/same_files.hpp"
#include "cxx/parallel/ranks.hpp"
#include "cxx/parallel/same_numbers.hpp"
#include "tce_tiles/checks/source_check.hpp"

namespace trifuse {
namespace {

/// Checks all numbers and returns the result, in which witnesses may have failed.
CheckReport checked(const TileSource& amplitudes, const TileSource& integrals, const CheckSettings& settings,
                    Communicator* ranks) {
  const SourceInfo& info = amplitudes.info();
  // The files of NWChem have a digest of the blocks that a rank has read, so each rank reads all of them.
  const bool one_file = info.files.size() == 1 && info.files.front() == info.path;
  const auto files = std::span(info.files).first(one_file ? 1 : 0);
  const bool shared = ranks != nullptr && (same_files(*ranks, files) || info.of_all_ranks);
  CheckShare share;
  if (shared) share = {ranks->rank(), ranks->size()};
  // This call is collective, so a rank with a given number of threads makes it, too.
  if (ranks != nullptr) share.threads = threads_of_each(*ranks);
  if (settings.threads > 0) share.threads = settings.threads;
  share.stop = settings.stop;
  // Limits all threads of this rank, also in parts of the check that get no number of threads: ranks of a host share
  // its cores.
  std::optional<OpenMpThreads> limit;
  if (ranks != nullptr && share.threads > 0) limit.emplace(share.threads);
  // Compares the inputs first, because the parts of ranks with different inputs may have different lengths.
  if (ranks != nullptr) expect_same_numbers(*ranks, amplitudes);
  std::unique_ptr<SourceCheck> check;
  run_collectively(ranks, [&] { check = make_source_check(amplitudes, integrals, share); });
  for (int stage = 0; stage < check->stages(); ++stage) {
    std::vector<double> found;
    if (shared) check->read_together(stage, *ranks);
    run_collectively(ranks, [&] { found = check->run(stage); });
    if (shared) ranks->allreduce_sum(found);
    run_collectively(ranks, [&] { check->accept(stage, found); });
  }
  CheckReport report;
  run_collectively(ranks, [&] { report = evaluate_witnesses(check->measurements(), amplitudes, integrals); });
  return report;
}

/// Returns true if `mine` is true on all ranks.
bool all_of_ranks(Communicator* ranks, bool mine) {
  if (ranks == nullptr) return mine;
  double missing = mine ? 0.0 : 1.0;
  ranks->allreduce_sum(std::span(&missing, 1));
  return missing == 0.0;
}

/// Throws InputError if ranks have different arrays. Arrays have no digest, so the measured values are compared.
void expect_same_measurements(Communicator& ranks, const CheckReport& report) {
  std::array<double, 16> measured{report.ccsd_energy.value_or(0.0)};
  for (std::size_t n = 0; n < std::min(report.witnesses.size(), measured.size() - 1); ++n) {
    const double value = report.witnesses[n].value.value_or(0.0);
    measured[n + 1] = std::isfinite(value) ? value : -1.0;
  }
  expect_same(ranks, measured);
}

}

CheckReport check_side(const JobSide& side, const JobSide& right, const CheckSettings& settings, Communicator* ranks) {
  const TileSource& source = *side.source;
  CheckReport report;
  run_collectively(ranks, [&] {
    if (side.expect_complete) side.expect_complete();
  });
  if (!settings.check) {
    report.warnings.push_back(fmt::format(
        "{}: the numbers were not checked, as the calling program asked; wrong numbers give wrong energies.",
        source.info().path));
  } else {
    const std::optional<CheckReport> known =
        side.known != nullptr ? side.known->with(right.number) : std::optional<CheckReport>();
    report = all_of_ranks(ranks, known.has_value()) ? *known : checked(source, *right.source, settings, ranks);
    if (side.known != nullptr) side.known->set(report, right.number);
    run_collectively(ranks, [&] { enforce_witnesses(report, settings.trust_input); });
  }
  if (ranks != nullptr) {
    expect_same_numbers(*ranks, source);
    expect_same_measurements(*ranks, report);
  }
  return report;
}

}
