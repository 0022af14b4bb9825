#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/threads.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/operands/operand_traffic.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/tile_source.hpp"

/// The whole road for a caller: tile sources in, energies and a report out.
namespace trifuse {

class PanelExecutor;
class PanelStore;
class SemicanonicalSource;
class TeamOperands;

enum class RohfOrbitals {
  nwchem,  ///< orbital energies as they come, and f_ov t2 only where the maker has it: NWChem's, or the maker's, (T)
  semicanonical,  ///< the standard ROHF-CCSD(T)
};

enum class ExecutorKind { cpu, reference, cuda };
std::string to_string(ExecutorKind executor);

struct CalculationOptions {
  std::optional<SpinFormulation> formulation;  ///< default: spin-adapted for RHF, spin-orbital otherwise
  std::vector<double> omega2;                  ///< default: that of regularized left amplitudes, or 0
  RohfOrbitals rohf = RohfOrbitals::nwchem;
  std::optional<std::int64_t> tile_size;
  int threads = 0;  ///< 0: as many as the process may use; with CUDA they only read operands
  /// Bytes. CPU: for scratch beyond amplitudes and integrals, default 2 GiB; where a team shares those, for all that
  /// this rank keeps, default what `TeamShare` says. CUDA: on each device, default what is free.
  std::optional<std::int64_t> memory;
  ExecutorKind executor = ExecutorKind::cpu;
  std::vector<int> devices;  ///< CUDA: as it counts them; empty: all that are new enough
  std::string kernel;        ///< CUDA: name of a kernel configuration; empty: the best for the device
  std::string journal;       ///< empty: none
  /// Whose tiles the plan has; default: those of `executor`. Ranks of a team that have different executors need the
  /// same plan. A journal that has been begun decides before.
  std::optional<ExecutorKind> plan_for;
  /// The tiles of the journal, where they are known already; else they are looked for there.
  std::optional<Tiling> journal_tiles;
  /// Processes that will hold what they read together (see `Calculation::join`).
  int sharers = 1;
  /// CUDA, one process: where the devices fail before the first task, that is an error. Else, and after the first task,
  /// cores take their place, with a warning.
  bool devices_required = false;
  /// CCSD correlation energy of the amplitudes on the right, hartree; default: what their maker printed.
  std::optional<double> ccsd_energy;
  /// Energies that contradict what the maker of the amplitudes printed are given all the same, with a warning.
  bool trust_input = false;
};

/// What options may be.
inline constexpr std::int64_t largest_tile_size = std::int64_t{1} << 20, most_memory = std::int64_t{1} << 50;
inline constexpr std::size_t most_omega2 = 10000, most_devices = 4096;
inline constexpr double largest_omega2 = 1e6;  ///< hartree
/// Throws UsageError for options that no calculation can have, whatever its sources are.
void check_options(const CalculationOptions& options);

/// `cuda` where there is enough to do for GPUs and CUDA sees one that is new enough, else `cpu`. `formulation` as in
/// the options.
ExecutorKind choose_executor(const TileSpace& right, std::optional<SpinFormulation> formulation);

struct EnergyPair {
  double e_bracket_t = 0.0;  ///< E[T], hartree
  double e_paren_t = 0.0;    ///< E(T), hartree
};

/// One omega2 of a calculation.
struct TriplesEnergy {
  double omega2 = 0.0;
  std::string method;  ///< what these numbers are called
  EnergyPair total;
  std::array<EnergyPair, 4> spin_cases{};  ///< aaa, aab, abb, bbb
};

struct CalculationResult {
  std::vector<TriplesEnergy> energies;
  std::size_t tasks = 0;
  std::size_t tasks_from_journal = 0;
  double operations = 0.0;              ///< of the matrix products executed now, a multiply and an add counted as two
  double seconds_journal = 0.0;         ///< opening the journal, with the checksum of the input that it asks for
  double seconds_loading = 0.0;         ///< reading operands, and rotating them before
  double seconds_tasks = 0.0;           ///< executing tasks
  std::optional<CudaReport> cuda;       ///< what the devices did
  std::vector<OperandTraffic> traffic;  ///< of each rank, where operands are shared; else empty
  /// Of the tasks from the journal, those that another kind of worker computed than any of this run.
  std::size_t tasks_from_other_kind = 0;
  std::vector<RankWork> ranks;        ///< what each rank of a team did
  std::vector<std::string> warnings;  ///< of devices that failed, of all ranks, and of energies
};

/// A calculation set up and planned, but not begun.
class Calculation {
 public:
  /// `left` may be null. Sources must outlive the calculation. Throws UsageError for options that do not fit the
  /// sources, InputError when left and right do not belong together or a denominator is not negative.
  Calculation(const TileSource& right, const TileSource* left, CalculationOptions options);
  Calculation(Calculation&&) noexcept;
  ~Calculation();

  const CalculationOptions& options() const { return options_; }
  const Problem& problem() const { return problem_; }
  const Plan& plan() const { return plan_; }
  /// "CCSD(T)", "Reg-CCSD(T)", "denominator-shifted CCSD(T)", ...
  std::string method(double omega2) const;
  /// Says which ROHF energy this is; empty for other references.
  std::string reference_note() const;

  /// The GPUs that will be used; none on the CPU.
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  /// Bytes of operands (amplitudes and integrals as the executor keeps them on the host) and of scratch for all
  /// threads.
  std::int64_t operand_bytes() const { return operand_bytes_; }
  std::int64_t scratch_bytes() const { return scratch_per_thread_ * threads_; }
  /// Of amplitudes and integrals in rotated orbitals, which stay beside the operands that are made of them.
  std::int64_t rotated_bytes() const;
  int threads() const { return threads_; }
  /// Whether a team shares the operands.
  bool shares_operands() const;
  /// Of shared operands that this rank keeps, about.
  std::int64_t piece_bytes() const { return piece_bytes_; }
  /// The least that this rank needs beside an equal part of the operands, to compute with one thread: also for the
  /// panel with which its piece ends.
  std::int64_t working_bytes() const { return scratch_per_thread_ + 2 * in_use_per_thread_; }
  double largest_denominator() const { return largest_denominator_; }

  /// From now on this is one of the ranks of a team, which have all planned the same; `run` is made by all of them, and
  /// all get the same result, but for the report of their own devices. Where the team has arrays the ranks share their
  /// operands, and on the CPU `memory` of the options, where it was given, is for all that a rank keeps: its piece of
  /// them, panels of others and scratch. `communicator` must outlive the calculation. Throws UsageError where the
  /// memory is too small.
  void join(Communicator& communicator, const TeamShare& share);

  /// Reads the operands. `run` does so itself; for callers that execute tasks on their own.
  std::unique_ptr<Executor> make_executor() const;
  /// `warn` is told at once, on the rank that it happens on, what `CalculationResult::warnings` holds in the end; of
  /// energies the first rank is told. Throws InputError where the maker of the amplitudes printed other energies.
  CalculationResult run(const std::atomic<bool>* stop = nullptr, std::function<void(const RunProgress&)> progress = {},
                        std::function<void(const std::string&)> warn = {}) const;

 private:
  /// Of cores, for a process whose devices have failed; `panels`: what was read for these, or null.
  std::unique_ptr<Executor> make_executor_on_cores(std::shared_ptr<const PanelStore> panels) const;
  /// Collective where there is a team. `reader`: who will work with them here, or null. `shared`: gets what the team
  /// shares.
  std::shared_ptr<const PanelStore> read_operands(const PanelExecutor* reader,
                                                  std::optional<TeamOperands>& shared) const;
  int threads_on_cores() const;
  std::unique_ptr<Journal> open_journal() const;
  /// Rotates what is to be rotated: collective where there is a team. `stop` may be null.
  void rotate_orbitals(const std::atomic<bool>* stop) const;
  /// Of this rank, while orbitals are rotated and from then on, bytes.
  std::int64_t peak_of_rotation() const;
  std::int64_t kept_of_rotation() const;
  void choose_orbitals();
  void choose_formulation();
  void check_left() const;
  void check_denominators() const;
  void plan_tasks();
  void plan_memory();
  void plan_shared_memory();
  int users_of_operands() const;  ///< at a time
  /// What this rank may use for operands, bytes.
  std::int64_t memory_for_operands() const;
  /// Without operands.
  std::unique_ptr<Executor> prepare_executor(std::vector<std::string>* left_out) const;

  CalculationOptions options_;
  const TileSource* right_;
  const TileSource* left_;
  std::unique_ptr<SemicanonicalSource> semicanonical_right_, semicanonical_left_;
  std::vector<DeviceInfo> devices_;
  Problem problem_;
  Tiling tiles_{};
  Plan plan_;
  double largest_denominator_ = 0.0;
  std::int64_t operand_bytes_ = 0, scratch_per_thread_ = 0, in_use_per_thread_ = 0, piece_bytes_ = 0;
  std::optional<std::int64_t> memory_asked_;  ///< of the host
  int threads_ = 1;
  Communicator* communicator_ = nullptr;
  TeamShare share_;
};

/// Identifies the numbers of a problem and all that decides its energies but for rounding. With a team each rank reads
/// a part of them, and all get the same: collective.
Fingerprint fingerprint(const Problem& problem, Communicator* communicator = nullptr);

}  // namespace trifuse
