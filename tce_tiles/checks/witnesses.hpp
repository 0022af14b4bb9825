#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/checks/doubles_residual.hpp"
#include "tce_tiles/checks/doubles_sums.hpp"
#include "tce_tiles/checks/lambda_residual.hpp"
#include "tce_tiles/checks/singles_residual.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

/// Physical witnesses: relations that every correct input satisfies and almost no wrong input does.
namespace trifuse {

/// The quantities that a check has measured. A quantity that could not be measured is absent. Energies are in hartree.
struct Measurements {
  std::optional<double> ccsd_energy;  ///< correlation energy, recomputed from the numbers
  bool fock_in_energy = false;  ///< `ccsd_energy` includes f_ov t1; without a Fock matrix this term is assumed zero
  std::optional<SinglesResidual> singles;
  std::string no_singles_reason;  ///< why the equation of the single excitations was not evaluated
  std::optional<LambdaResidual> lambda_singles;
  std::string no_lambda_reason;  ///< why the Lambda equation was not evaluated
  std::optional<DoublesResidual> doubles_equation;
  std::string no_doubles_reason;  ///< why it was not evaluated, for an input with arrays for dressed moments
  /// Largest difference between an orbital energy and its diagonal element of the Fock matrix; absent without a Fock
  /// matrix. For ROHF, the smaller of two results: with the diagonal of each spin, and with the mean of both spins.
  std::optional<double> energy_fock_difference;
  /// Largest off-diagonal element of the Fock matrix of canonical orbitals, absolute value. It shows how well the SCF
  /// has converged.
  double fock_off_diagonal = 0.0;
  double largest_t1 = 0.0, largest_t2 = 0.0;  ///< absolute values
  DoublesSums doubles;                        ///< sums over the amplitudes that are checked
  /// Sums over left and right doubles, and over left and right singles; absent for right amplitudes.
  std::optional<AmplitudeOverlap> with_right, singles_with_right;
  std::optional<double> gap;  ///< lowest virtual minus highest occupied orbital energy, the smaller of both spins

  /// Returns `singles_with_right`. Makes it if it is absent.
  AmplitudeOverlap& singles_overlap() {
    return singles_with_right ? *singles_with_right : singles_with_right.emplace();
  }
  /// Sets `gap`, `energy_fock_difference` and `fock_off_diagonal`. Arrays are by spin: orbital energies eps[o] and
  /// eps[v], and Fock matrices f[p,q] of shape [o+v,o+v] with occupied orbitals first; all in hartree. A restricted
  /// reference uses element 0 only. The matrices may be empty.
  void compare_energies(const std::array<std::vector<double>, 2>& occupied,
                        const std::array<std::vector<double>, 2>& virtuals,
                        const std::array<std::vector<double>, 2>& fock, bool rohf);
};

/// The outcome of a witness. Unknown: the input lacks the numbers to evaluate it.
enum class WitnessStatus { passed, unknown, failed };
/// Returns "passed", "not known" or "failed".
std::string to_string(WitnessStatus status);

/// One witness, with its result.
struct Witness {
  std::string name;
  WitnessStatus status = WitnessStatus::unknown;
  std::optional<double> value, limit;  ///< the measured value and its limit, in the units of the witness
  /// Failed: one sentence for the user. Unknown: the reason. Passed: words about `value` and about a second value, if
  /// the witness has two.
  std::string note;
};

/// The result of a check, for the report of a run.
struct CheckReport {
  std::optional<double> ccsd_energy;  ///< recomputed correlation energy, hartree
  std::vector<Witness> witnesses;
  std::vector<std::string> warnings;  ///< sentences about values that are possible but rare
};

/// Returns true if a witness has failed.
bool has_failed(const CheckReport& report);

/// Compares the measured quantities with their limits. `amplitudes` and `integrals` may be the same source.
CheckReport evaluate_witnesses(const Measurements& measured, const TileSource& amplitudes, const TileSource& integrals);
/// Throws InputError with the sentence of the first failed witness. If `trust_input` is set, adds a warning for each
/// failed witness instead.
void enforce_witnesses(CheckReport& report, bool trust_input);

}

#pragma GCC visibility pop
