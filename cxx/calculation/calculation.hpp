#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/cuda_report.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/operands/operand_traffic.hpp"
#include "cxx/parallel/run_report.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/tile_source.hpp"

/// The whole road for a caller: tile sources in, energies and a report out.
namespace trifuse {

class CalculationContext;
class CudaExecutor;
class Executor;

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
  /// Of a rank of a team, see `plan_in_team`.
  explicit Calculation(std::unique_ptr<const CalculationContext> context);
  Calculation(Calculation&&) noexcept;
  ~Calculation();

  const CalculationOptions& options() const;
  const Problem& problem() const;
  const Plan& plan() const;
  /// "CCSD(T)", "Reg-CCSD(T)", "denominator-shifted CCSD(T)", ...
  std::string method(double omega2) const;
  /// Says which ROHF energy this is; empty for other references.
  std::string reference_note() const;
  /// Hartree.
  double largest_denominator() const;

  /// The GPUs that will be used; none on the CPU.
  const std::vector<DeviceInfo>& devices() const;
  int threads() const;
  /// Bytes of operands (amplitudes and integrals as the executor keeps them on the host) and of scratch for all
  /// threads.
  std::int64_t operand_bytes() const;
  std::int64_t scratch_bytes() const;
  /// Of amplitudes and integrals in rotated orbitals, which stay beside the operands that are made of them.
  std::int64_t rotated_bytes() const;
  /// Whether a team shares the operands.
  bool shares_operands() const;

  /// Reads the operands. `run` does so itself; for callers that execute tasks on their own.
  std::unique_ptr<Executor> make_executor() const;
  /// The same if the executor of the options is `cuda`, for callers that want its report; else UsageError.
  std::unique_ptr<CudaExecutor> make_cuda_executor() const;
  /// All ranks of a team call it, and get the same result, but for the report of their own devices. `warn` is told at
  /// once, on the rank that it happens on, what `CalculationResult::warnings` holds in the end; of energies the first
  /// rank is told. Throws InputError where the maker of the amplitudes printed other energies.
  CalculationResult run(const std::atomic<bool>* stop = nullptr, std::function<void(const RunProgress&)> progress = {},
                        std::function<void(const std::string&)> warn = {}) const;

 private:
  std::unique_ptr<const CalculationContext> context_;
};

}  // namespace trifuse
