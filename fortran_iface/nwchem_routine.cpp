#include "fortran_iface/nwchem_routine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/base/operation_amount.hpp"
#include "cxx/job/job.hpp"
#include "cxx/parallel/caller_thread.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/report/precision_report.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/nwchem_options.hpp"
#include "tce_tiles/nwchem_files/nwchem_caller.hpp"

namespace {

using namespace trifuse;

/// The processes of NWChem. All communication runs on the thread that called the library.
class NwchemCommunicator final : public Communicator {
 public:
  NwchemCommunicator(const trifuse_nwchem_job& job, CallerThread& caller) : job_(job), caller_(caller) {}
  int rank() const override { return static_cast<int>(job_.rank); }
  int size() const override { return static_cast<int>(job_.ranks); }
  std::int64_t fetch_add(int counter, std::int64_t amount) override {
    return caller_.call([&] { return job_.fetch_add(job_.context, counter, amount); });
  }
  void allreduce_sum(std::span<double> values) override {
    caller_.call([&] { job_.sum(job_.context, static_cast<std::int64_t>(values.size()), values.data()); });
  }

 private:
  const trifuse_nwchem_job& job_;
  CallerThread& caller_;
};

/// Throws UsageError if a pointer is null or a rank is impossible.
void check(const trifuse_nwchem_job* job, const double* bracket_energy, const double* paren_energy) {
  const auto pointers = {job == nullptr, bracket_energy == nullptr, paren_energy == nullptr};
  const auto null = [](bool is) { return is; };
  if (std::any_of(pointers.begin(), pointers.end(), null) || job->spin == nullptr || job->irrep == nullptr ||
      job->size == nullptr || job->orbital_energies == nullptr || job->read == nullptr || job->fetch_add == nullptr ||
      job->sum == nullptr || job->print == nullptr || (job->spatial_integrals != 0 && job->spatial_tile == nullptr)) {
    throw UsageError("The description of NWChem's calculation has a null pointer.");
  }
  constexpr std::int64_t max_ranks = 10'000'000;
  if (job->ranks < 1 || job->ranks > max_ranks || job->rank < 0 || job->rank >= job->ranks) {
    throw UsageError(fmt::format("There is no rank {} of {}.", job->rank, job->ranks));
  }
}

std::unique_ptr<TileSource> make_source(const trifuse_nwchem_job& job, CallerThread& caller) {
  NwchemTiles tiles;
  tiles.noa = job.noa;
  tiles.nob = job.nob;
  tiles.nva = job.nva;
  tiles.nvb = job.nvb;
  // This check comes first: before any array is read, and before the sum overflows.
  std::int64_t all = 0;
  for (const std::int64_t count : {job.noa, job.nob, job.nva, job.nvb}) {
    if (count < 0 || count > max_spin_orbitals) {
      throw InputError(fmt::format("NWChem's table says that a class has {} tiles; this is impossible.", count));
    }
    all += count;
  }
  const auto list = [&](const std::int64_t* numbers) { return std::span(numbers, static_cast<std::size_t>(all)); };
  tiles.spin = list(job.spin);
  tiles.irrep = list(job.irrep);
  tiles.size = list(job.size);
  tiles.restricted = job.restricted != 0;
  if (job.spatial_integrals != 0) {
    tiles.storage = V2Storage::spatial;
    tiles.spatial_tile = list(job.spatial_tile);
  }
  const std::int64_t orbitals = nwchem_tile_space(tiles).orbitals();
  const auto read = [&job, &caller](NwchemTensor tensor, std::int64_t offset, std::span<double> values) {
    const std::int64_t vector = tensor == NwchemTensor::t1 ? job.t1 : tensor == NwchemTensor::t2 ? job.t2 : job.v2;
    const auto count = static_cast<std::int64_t>(values.size());
    const std::int64_t code = caller.call([&] { return job.read(job.context, vector, offset, count, values.data()); });
    if (code != 0) {
      throw InputError(fmt::format("NWChem could not deliver {} doubles from {} on of its array {}: code {}.", count,
                                   offset, vector, code));
    }
  };
  return make_nwchem_caller_source(tiles, {job.t1_doubles, job.t2_doubles, job.v2_doubles},
                                   {job.orbital_energies, static_cast<std::size_t>(orbitals)}, read);
}

/// Throws UsageError if mixed precision would be emulated on cores although the user did not ask for cores.
void check_precision(const CalculationOptions& options, const trifuse_nwchem_job& job) {
  if (options.precision != Precision::mixed || nwchem::asks_for_cores(options) || job.gpus_per_node > 0) return;
  throw UsageError(
      "Mixed precision is for GPUs, but NWChem's input gives the ranks none; write cuda 1 in the input, or leave out "
      "set trifuse:precision. With set trifuse:device cpu it is emulated, slower than double precision.");
}

/// Converts settings to a string, null to an empty string. Throws UsageError if they are too long.
std::string checked_settings(const char* settings) {
  constexpr std::size_t longest = 1 << 16;
  const std::size_t length = settings != nullptr ? strnlen(settings, longest + 1) : 0;
  if (length > longest) throw UsageError(fmt::format("The settings have more than {} characters.", longest));
  return settings != nullptr ? std::string(settings, length) : std::string();
}

/// Returns the options of the job.
JobOptions job_options(const CalculationOptions& options, const trifuse_nwchem_job& job) {
  JobOptions chosen;
  chosen.calculation = options;
  chosen.gpu_memory = std::exchange(chosen.calculation.memory, std::nullopt);
  const std::int64_t gpus = nwchem::asks_for_cores(options) ? 0 : job.gpus_per_node;
  chosen.gpus_of_host = static_cast<int>(std::clamp<std::int64_t>(gpus, 0, job.ranks));
  chosen.door = Door::nwchem_routine;
  return chosen;
}

/// Prints the report of a job on rank 0.
class Report final : public JobWatch {
 public:
  Report(const trifuse_nwchem_job& job, CallerThread& caller) : job_(job), caller_(caller) {}

  void planned(const PlannedJob& job) override {
    const Calculation& calculation = job.calculation;
    print(fmt::format("Trifuse {}: {} tasks of {}, {} form, {}", trifuse_version(), calculation.plan().tasks.size(),
                      format_operations(calculation.plan().total_operations), to_string(calculation.plan().formulation),
                      job.right.info().format));
    for (const std::string& line : rank_table(*job.ranks)) print(line);
    print_precision(calculation);
    for (const std::string& warning : job.right_check.warnings) print_warning(warning);
  }

  void finished(const FinishedJob& job) override {
    const CalculationResult& result = job.result;
    for (const std::string& warning : result.warnings) print_warning(warning);
    const double seconds = std::max(result.seconds_tasks, 1e-9);
    print(fmt::format("Input checked in {:.1f} s, operands read in {:.1f} s; {} tasks in {:.1f} s, {}, {}/s",
                      job.times.checking, result.seconds_loading, result.tasks, result.seconds_tasks,
                      format_operations(result.operations), format_operations(result.operations / seconds)));
    for (const TriplesEnergy& energy : result.energies) {
      std::string line = fmt::format("{}, omega2 = {:g}", energy.method, energy.omega2);
      for (std::size_t n = 0; n < Energies::count; ++n) {
        line += fmt::format("{} {} = {:.15f}", n == 0 ? ":" : ",", Energies::names[n], energy.total.values()[n]);
      }
      print(line);
      if (!result.sample) continue;
      print(fmt::format("Error bar {:.1e}; {:.15f} without the correction; {} of {} tasks in double precision",
                        energy.error_bar.values().back(), energy.uncorrected.values().back(), result.tasks_in_double,
                        result.tasks));
    }
  }

 private:
  /// Prints the precision and advice about it before the tasks.
  void print_precision(const Calculation& calculation) const {
    if (calculation.options().precision == Precision::mixed) {
      const bool emulated = calculation.options().executor == ExecutorKind::cpu && calculation.devices().empty();
      print(fmt::format("Mixed precision, then a sample in double precision{}",
                        emulated ? "; ranks without a GPU emulate it, slower than double precision" : ""));
      return;
    }
    const std::string advice = precision_advice(calculation);
    if (!advice.empty()) print(in_words_of(Door::nwchem_routine, advice));
  }

  void print_warning(const std::string& warning) const { print("WARNING: " + warning); }
  void print(const std::string& line) const {
    if (job_.rank != 0) return;
    const std::string shown = printable(line);
    caller_.call([&] { job_.print(job_.context, static_cast<std::int64_t>(shown.size()), shown.data()); });
  }

  const trifuse_nwchem_job& job_;
  CallerThread& caller_;
};

}

void trifuse_nwchem_expect_defaults(trifuse_status* status, const char* settings) {
  c_interface::guarded(
      status, [&] { nwchem::expect_only_defaults(checked_settings(settings)); }, Door::nwchem_routine);
}

void trifuse_nwchem_triples(trifuse_status* status, const trifuse_nwchem_job* job, const char* settings,
                            double* bracket_energy, double* paren_energy) {
  const auto compute = [&] {
    check(job, bracket_energy, paren_energy);
    CallerThread caller;
    caller.serve([&] {
      NwchemCommunicator communicator(*job, caller);
      std::unique_ptr<TileSource> source;
      JobOptions options;
      run_collectively(&communicator, [&] {
        const CalculationOptions settings_of_input =
            nwchem::read_options(Door::nwchem_routine, checked_settings(settings));
        check_precision(settings_of_input, *job);
        source = make_source(*job, caller);
        options = job_options(settings_of_input, *job);
      });
      Report report(*job, caller);
      const CalculationResult result = run_job({.source = source.get()}, {}, options, &communicator, report);
      *bracket_energy = result.energies.front().total.e_bracket_t;
      *paren_energy = result.energies.front().total.e_paren_t;
    });
  };
  c_interface::guarded(status, compute, Door::nwchem_routine);
}
