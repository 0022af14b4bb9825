#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/derivative_arrays.hpp"
#include "cxx/calculation/options.hpp"
#include "cxx/operands/operand_traffic.hpp"
#include "cxx/parallel/run_report.hpp"
#include "cxx/triples/precision.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse {
struct CalculationState;  // not a part of the interface
struct RankOptions;
}

#pragma GCC visibility push(default)

/// The interface of the library for one calculation: it takes sources of amplitudes and integrals, and returns energies
/// and a report.
namespace trifuse {

class Communicator;
class Executor;
class TileSource;
struct DeviceInfo;
struct DeviceReport;
struct MemoryPlan;
struct Plan;
struct Problem;
struct RankAssignment;

/// Returns `cuda` if the tasks have at least 1e10 operations and CUDA sees a supported GPU, else `cpu`. `right`: tiles
/// of the right amplitudes. `formulation`, `precision`: as in the options. With mixed precision it returns `cuda`, or
/// throws UsageError if CUDA sees no supported GPU.
ExecutorKind choose_executor(const TileSpace& right, std::optional<SpinFormulation> formulation,
                             Precision precision = Precision::fp64);

/// The energies of a fragment: those of one occupied space, see cxx/moments/fragments.hpp.
struct FragmentEnergy {
  Energies energy;     ///< hartree; a partition of TriplesEnergy::total if the projectors add up to 1
  Energies error_bar;  ///< mixed precision: error bar of `energy`, hartree; 0 in double precision
};

/// The energies of one omega2.
struct TriplesEnergy {
  double omega2 = 0.0;  ///< hartree
  std::string method;   ///< its name: "CCSD(T)", "Reg-CCSD(T)", "denominator-shifted CCSD(T)", ...
  Energies total;       ///< sum of the spin cases, hartree
  /// CR-CCSD[T] and CR-CCSD(T): the overlaps by which the energies have been divided; nullopt for other methods.
  std::optional<Energies> overlap;
  /// The smallest absolute denominator of all triples, hartree; infinite if there are none.
  double smallest_denominator = 0.0;
  bool has_tables = false;               ///< true: the denominators are sums of tables, not of orbital energies
  std::array<Energies, 4> spin_cases{};  ///< [spin case] aaa, aab, abb, bbb, hartree
  /// Mixed precision: the total without the correction by the sample, hartree. Double precision: `total`.
  Energies uncorrected;
  /// Mixed precision: error bar of `total`, hartree. Two bars cover the error in at least 95 % of all cases. 0 in
  /// double precision.
  Energies error_bar;
  std::vector<FragmentEnergy> fragments;  ///< [fragment] of the right input
};

/// What a run in mixed precision computed in one stratum: tasks of one spin case and of similar sizes.
struct StratumReport {
  SpinCase spin_case = SpinCase::aaa;
  double least_operations = 0.0, most_operations = 0.0;  ///< operations of its smallest and of its largest task
  std::size_t tasks = 0;
  std::size_t tasks_in_double = 0;  ///< tasks whose energies in double precision are used
  /// True if the energies in mixed precision were wrong. All tasks of the stratum then have energies in double
  /// precision.
  bool spoiled = false;
};

/// The part of a run in mixed precision that computes a sample of tasks in double precision. It begins when all tasks
/// have energies in mixed precision.
struct SampleReport {
  std::size_t tasks = 0;                              ///< number of tasks that all ranks computed now
  double operations = 0.0;                            ///< floating-point operations of their products, by all ranks
  double seconds = 0.0;                               ///< wall time of this rank, with `seconds_preparing`
  double seconds_preparing = 0.0;                     ///< time to set up the executor in double precision on this rank
  std::shared_ptr<const DeviceReport> device_report;  ///< of the GPUs of this rank; null if there were none
};

/// The energies and the report of a run. `seconds_*` are wall times of this rank.
struct CalculationResult {
  std::vector<TriplesEnergy> energies;  ///< [omega2], in the order of Problem::omega2
  std::size_t tasks = 0;                ///< number of tasks of the plan
  std::size_t tasks_from_journal = 0;   ///< number of tasks that an earlier run computed
  double operations = 0.0;              ///< floating-point operations of the products executed now, by all ranks
  double seconds_journal = 0.0;         ///< opening the journal and computing the fingerprint of the input
  double seconds_loading = 0.0;         ///< rotating orbitals, setting up the executor, reading operands
  double seconds_tasks = 0.0;           ///< executing all tasks, also those of the sample
  std::int64_t peak_bytes = 0;          ///< most memory of this process so far, see peak_memory()
  /// Report of the GPUs of this rank, for the tasks in the precision of the options. The report for the sample is in
  /// `sample`. Null without GPUs.
  std::shared_ptr<const DeviceReport> device_report;
  std::vector<OperandTraffic> traffic;  ///< [rank] if ranks share the operands; else empty
  /// Number of journal tasks computed by a kind of worker that this run does not have.
  std::size_t tasks_from_other_kind = 0;
  std::size_t tasks_in_double = 0;     ///< number of tasks whose energies in double precision are used
  std::vector<StratumReport> strata;   ///< mixed precision: the strata of the sample; else empty
  std::optional<SampleReport> sample;  ///< mixed precision: how the sample was computed
  /// Sums of derivatives of this process in memory of the host, and those that have stayed on its first GPU, bytes.
  std::int64_t sum_bytes = 0, gpu_sum_bytes = 0;
  std::shared_ptr<const DerivativeArrays> derivatives;  ///< of the only energy; null without them
  /// Mixed precision with derivatives: the largest error of the sums of derivative times array, relative to the sum of
  /// magnitudes. The energies give these sums.
  std::optional<double> derivatives_error;
  std::vector<RankWork> ranks;        ///< [rank] what each rank did
  std::vector<std::string> warnings;  ///< about orbitals, failed GPUs (of all ranks), the journal, energies

  /// Removes the reports of the GPUs of this rank, because they do not describe the GPUs of all ranks.
  void remove_device_reports();
};

/// A calculation that is set up and planned. `run` computes the energies.
class Calculation {
 public:
  /// Plans a calculation of one process. `right`: right amplitudes with integrals. `left`: left amplitudes; null: they
  /// are the right amplitudes. Both sources must outlive the calculation. Throws UsageError if the options do not fit
  /// the sources. Throws InputError if `right` lacks integrals or a needed Fock matrix, if left and right have
  /// different orbitals, or if a denominator is not negative.
  Calculation(const TileSource& right, const TileSource* left, CalculationOptions options);
  /// The same for one rank of several, which then calls join(). plan_distributed() does both.
  Calculation(const TileSource& right, const TileSource* left, CalculationOptions options, const RankOptions& of_rank);
  Calculation(Calculation&&) noexcept;
  ~Calculation();

  /// Joins the calculation that all ranks of `communicator` do together. All ranks must have the same plan. From now on
  /// `run` is collective. If the communicator has arrays, the ranks share the operands. Then the option `memory` of a
  /// CPU rank limits everything that the rank stores: its part of the operands, panels of other ranks and scratch.
  /// `communicator` must outlive the calculation. `assignment`: what this rank does. Throws UsageError if the memory is
  /// too small.
  void join(Communicator& communicator, const RankAssignment& assignment);

  /// Returns the options, with defaults filled in.
  const CalculationOptions& options() const;
  const Problem& problem() const;
  const Plan& plan() const;
  /// Describes the variant of the ROHF energy. For other references it describes a rotation of the orbitals and a term
  /// f_ov t2; the text is empty if there is neither.
  std::string reference_note() const;
  /// Returns sentences about orbitals that are not canonical Hartree-Fock orbitals. The warnings of a run contain them,
  /// too.
  const std::vector<std::string>& input_warnings() const;
  /// Returns the largest e_i + e_j + e_k - e_a - e_b - e_c of the tasks, hartree. It is below 3 omega2 for every
  /// omega2.
  double largest_denominator() const;
  /// Returns the GPUs that the run uses; empty if it uses none.
  const std::vector<DeviceInfo>& devices() const;
  /// Returns the host memory and the threads of this process.
  const MemoryPlan& memory() const;

  /// Makes an executor and reads its operands, for callers that execute tasks themselves. `run` does not need it.
  std::unique_ptr<Executor> make_executor() const;
  /// Computes the energies. Collective if there are several ranks. All ranks get the same result, except the times,
  /// the report of their own GPUs, and the derivatives, see CalculationOptions::wants_derivatives.
  ///
  /// `stop`: the run ends soon after it becomes true; null: never. `progress`: called after each task, by one thread at
  /// a time; may be empty. `warn`: called at once with each sentence that goes to `CalculationResult::warnings`; may be
  /// empty. The rank whose GPU failed warns of the GPU; rank 0 warns of the rest. `report`:
  /// called once with the result, which it may change, before the memory of the run is returned, which takes tenths of
  /// a second after large runs; may be empty, must not throw.
  ///
  /// Throws Interrupted if it was stopped. Throws InputError if the producing program printed other energies, unless
  /// the option `trust_input` is set. Throws UsageError if the journal belongs to another calculation.
  CalculationResult run(const std::atomic<bool>* stop = nullptr, std::function<void(const RunProgress&)> progress = {},
                        std::function<void(const std::string&)> warn = {},
                        const std::function<void(CalculationResult&)>& report = {}) const;

 private:
  std::unique_ptr<CalculationState> state_;
};

}

#pragma GCC visibility pop
