#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cxx/triples/precision.hpp"
#include "cxx/triples/task.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

class TileSource;

/// The orbitals that the (T) of an ROHF reference uses.
enum class RohfOrbitals {
  given,          ///< orbitals and orbital energies of the source; f_ov t2 only if the source states that it enters
  semicanonical,  ///< semicanonical orbitals and f_ov t2: the standard ROHF-CCSD(T)
};

/// The methods whose energies a run computes, see drivers/docs/methods.md.
enum class TriplesMethod : std::uint8_t {
  t,         ///< (T), or Lambda-CCSD(T) or Reg-CCSD(T) by the left amplitudes
  ct,        ///< CCSD(cT); with regularised left amplitudes Reg-(cT)
  cr_t,      ///< CR-CCSD(T)
  two_t,     ///< CCSD(2)_T = CR-CC(2,3)_A
  cr_cc23,   ///< CR-CC(2,3)_A, _B, _C and _D
  reg_t,     ///< Reg-CCSD(T)
  reg_gf_t,  ///< Reg-GF(T)
};

/// What computes the tasks: CPU cores, the plain reference evaluation (slow, for tests), or GPUs.
enum class ExecutorKind { cpu, reference, cuda };
/// Returns "cpu", "reference" or "cuda".
std::string to_string(ExecutorKind executor);

/// What a user chooses. Users write the options as the table in option_table.cpp says, which also has their limits.
struct CalculationOptions {
  std::vector<TriplesMethod> methods;          ///< empty: t
  std::optional<SpinFormulation> formulation;  ///< default: spin-adapted for RHF, spin-orbital otherwise
  std::vector<double> omega2;                  ///< hartree; empty: the omega2 of regularised left amplitudes, or 0
  RohfOrbitals rohf = RohfOrbitals::given;     ///< `semicanonical` is for ROHF references only
  std::optional<std::int64_t> tile_size;       ///< largest number of orbitals in a tile; default: see default_tiling()
  /// Number of threads; 0: as many as the process may use. With CUDA they check the input and read operands. They
  /// compute tasks only after a GPU has failed.
  int threads = 0;
  /// Memory limit, bytes. CPU: limit of the scratch and of panels made from factors, besides operands; default 2 GiB.
  /// If ranks share the operands: limit of everything that this rank stores; default: `RankAssignment::memory`. CUDA:
  /// limit on each GPU; default: its free memory.
  std::optional<std::int64_t> memory;
  ExecutorKind executor = ExecutorKind::cpu;
  /// True: run_job() sets `executor` when it knows the size of the input, see choose_executor().
  bool choose_executor = false;
  /// Precision of the matrix products. `mixed` is for GPUs; CPU cores emulate it slowly, for tests, without
  /// derivatives.
  Precision precision = Precision::fp64;
  /// Mixed precision: the error bar that the user accepts, hartree. As many tasks as this requires are computed in
  /// double precision, and some tasks in any case. Default: 7e-9 of the energy, or 3e-10 hartree if this is more.
  std::optional<double> target_error;
  std::vector<int> devices;  ///< CUDA: numbers of the GPUs, as CUDA counts them; empty: all supported ones
  std::string kernel;        ///< CUDA: name of a kernel configuration; empty: the best for the GPU
  std::string journal;       ///< path of the journal; empty: no journal
  /// Derivatives of E(T) by the arrays of the input, for one omega2. In mixed precision GPUs are needed.
  Derivatives derivatives = Derivatives::none;
  /// False: this rank computes its tasks, but its result has no derivatives. Arrays of derivatives may be large, and
  /// often one rank alone writes them.
  bool wants_derivatives = true;
  /// CUDA, one process: true if a failure of the GPUs before the first task is an error. If false, CPU cores replace
  /// the GPUs, with a warning. After the first task, CPU cores replace failed GPUs in any case.
  bool devices_required = false;
  /// Operands of the right side in the place of those of the right source; then the left side has the integrals of the
  /// right source, and its amplitudes unless there are left ones. For the methods t and reg-t only. Must outlive the
  /// calculation. Null: the sides have the operands of the sources.
  const TileSource* right_operands = nullptr;
  /// CCSD correlation energy of the right amplitudes, hartree; default: `SourceInfo::correlation_energy`.
  std::optional<double> ccsd_energy;
  /// One process: checks the input while the tasks are executed, and returns the value for `ccsd_energy`. `run` calls
  /// it once, on the calling thread, after it has read the operands. If it throws, the tasks are stopped, and `run`
  /// throws its exception and returns no energy. Empty: the input has been checked before.
  std::function<std::optional<double>()> check_beside_tasks;
  /// True: energies that contradict the energies printed by the producing program are a warning. False: an error.
  bool trust_input = false;
  bool check = true;  ///< false: run_job() does not check the numbers of its input, and a warning says so
};

inline constexpr std::int64_t largest_tile_size = std::int64_t{1} << 20;  ///< orbitals
inline constexpr double largest_omega2 = 1e6;                             ///< hartree
/// Throws UsageError if an option is out of its limits. Makes only the checks that do not depend on the sources.
void check_options(const CalculationOptions& options);

}

#pragma GCC visibility pop
