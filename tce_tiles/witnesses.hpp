#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/singles_residual.hpp"
#include "tce_tiles/tile_source.hpp"

/// Physical witnesses: relations that hold for every right input and for hardly any wrong one.
namespace trifuse {

/// What a check has measured of amplitudes and integrals; what could not be measured is absent. Hartree.
struct Measurements {
  std::optional<double> ccsd_energy;  ///< correlation energy recomputed from the numbers
  bool fock_in_energy = false;        ///< it has the term f_ov t1; without a Fock matrix that is taken for zero
  std::optional<SinglesResidual> singles;
  std::string no_singles_reason;  ///< why the equation of the single excitations was not evaluated
  /// Largest difference of orbital energies and diagonal of the Fock matrix; absent without one. For ROHF the diagonal
  /// of each spin, or the mean of both spins, whichever fits.
  std::optional<double> energy_fock_difference;
  /// Largest off-diagonal element of the Fock matrix of canonical orbitals, which tells how far the SCF converged.
  double fock_off_diagonal = 0.0;
  double largest_t1 = 0.0, largest_t2 = 0.0;  ///< absolute values
  /// sum t2 D t2 and sum t2 v over opposite spins, D_ijab = eps_i + eps_j - eps_a - eps_b.
  double t2_d_t2 = 0.0, t2_v = 0.0;
  std::optional<double> gap;  ///< lowest virtual less highest occupied orbital energy, smallest of both spins

  /// Measures gap and orbital energies from orbital energies and Fock matrices [o+v, o+v] by spin (a restricted
  /// reference has the first alone; matrices may be empty).
  void compare_energies(const std::array<std::vector<double>, 2>& occupied,
                        const std::array<std::vector<double>, 2>& virtuals,
                        const std::array<std::vector<double>, 2>& fock, bool rohf);
};

enum class WitnessStatus { passed, unknown, failed };
std::string to_string(WitnessStatus status);

struct Witness {
  std::string name;
  WitnessStatus status = WitnessStatus::unknown;
  std::optional<double> value, limit;
  std::string note;  ///< failed: one sentence for the user; unknown: why
};

struct CheckReport {
  std::optional<double> ccsd_energy;  ///< hartree
  std::vector<Witness> witnesses;
  std::vector<std::string> warnings;  ///< sentences about numbers that are possible but rare
};

/// Whether any witness has failed.
bool has_failed(const CheckReport& report);

/// Compares what was measured with what must hold. `amplitudes` and `integrals` may be the same source.
CheckReport evaluate_witnesses(const Measurements& measured, const TileSource& amplitudes, const TileSource& integrals);
/// Throws InputError with the sentence of the first failed witness; with `trust_input` adds a warning instead.
void enforce_witnesses(CheckReport& report, bool trust_input);

}  // namespace trifuse
