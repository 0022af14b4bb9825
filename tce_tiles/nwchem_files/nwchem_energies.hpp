#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_files/nwchem_movecs.hpp"
#include "tce_tiles/nwchem_files/nwchem_output.hpp"
#include "tce_tiles/nwchem_files/nwchem_payload.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// The orbital energies of NWChem's denominators, eps[orbitals] in sorted order, hartree. The files of amplitudes and
/// integrals do not contain them. They come from the list of `print tile`, from the movecs file, or from the Fock
/// matrix. List and movecs file must agree with the Fock matrix.
namespace trifuse {

/// Largest difference (hartree) of energies from two places that belong to one calculation. After an SCF with NWChem's
/// default threshold, a difference of 2e-7 between orbital energies and the diagonal of the Fock matrix was observed.
inline constexpr double energy_agreement = 1e-4;

/// Returns the orbital energies that follow from the Fock matrix in `f1`. For RHF and UHF they are its diagonal. For
/// ROHF they are the mean of the alpha and beta elements of each spatial orbital, because the SCF diagonalised an
/// effective operator. Throws InputError if a value cannot be read or is not finite.
std::vector<double> energies_from_fock(const TileSpace& space, Reference reference, const NwchemPayload& f1);

/// Returns the largest difference of two lists of energies, or infinity if their lengths differ.
double largest_difference(std::span<const double> a, std::span<const double> b);

/// Returns the energies of the list "Sorted" of `print tile`, or nullopt if the output has no such list for these
/// tiles.
std::optional<std::vector<double>> energies_from_list(const TileSpace& space, const TceCalculation& calculation);

/// Returns the energies of the movecs file in sorted order. Without symmetry NWChem's order is the sorted order. With
/// symmetry, the file does not contain the irreps of the orbitals. Then each energy goes to the position whose energy
/// by the Fock matrix has the same rank in its class. `fock` are the energies by the Fock matrix; it may be empty
/// without symmetry. `fock_path` is for messages. Throws InputError if the orbitals are not those of these tiles.
std::vector<double> energies_from_movecs(const TileSpace& space, const NwchemMovecs& movecs,
                                         std::span<const double> fock, const std::string& fock_path = {});

/// Orbital energies and the place they come from.
struct ChosenEnergies {
  std::vector<double> energies;  ///< eps[orbitals] in sorted order, hartree
  std::string origin;            ///< for reports
};
/// The places to look for energies. A place that does not exist is null or empty. The paths are for messages.
struct EnergySources {
  const TceCalculation* calculation = nullptr;
  std::string output_path;
  const NwchemMovecs* movecs = nullptr;
  std::span<const double> fock;  ///< energies by the Fock matrix
  std::string fock_path;
};
/// Takes the energies from the first existing one of list, movecs file and Fock matrix. Compares list and movecs file
/// with the Fock matrix if there is one. Throws InputError if they disagree or if there are no energies.
ChosenEnergies choose_energies(const TileSpace& space, const EnergySources& sources);

}
