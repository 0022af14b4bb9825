#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_movecs.hpp"
#include "tce_tiles/nwchem_output.hpp"
#include "tce_tiles/nwchem_payload.hpp"
#include "tce_tiles/tile_space.hpp"

/// The orbital energies that NWChem puts into the denominators, in sorted order. They are in none of the files of
/// amplitudes and integrals as such, but can be had from three places that must agree.
namespace trifuse {

/// Energies from different places that differ by more than this (hartree) belong to different calculations. Orbitals of
/// an SCF that was stopped at NWChem's default threshold were seen to differ from the diagonal of the Fock matrix by
/// 2e-7.
inline constexpr double energy_agreement = 1e-4;

/// The energies that follow from the Fock matrix in `f1`: its diagonal for RHF and UHF; for ROHF, whose effective
/// operator is what was diagonalised, the mean of the alpha and beta elements of each spatial orbital.
std::vector<double> energies_from_fock(const TileSpace& space, Reference reference, const NwchemPayload& f1);

/// The largest difference, or infinity if the numbers of energies differ.
double largest_difference(std::span<const double> a, std::span<const double> b);

/// Energies of the list "Sorted" of `print tile`, if the output has one that belongs to these tiles.
std::optional<std::vector<double>> energies_from_list(const TileSpace& space, const TceCalculation& calculation);

/// Energies of the movecs file in sorted order. Without symmetry NWChem's order is the sorted order; with symmetry the
/// irreps of the orbitals are not in the file, and each energy goes to the position whose energy by the Fock matrix has
/// the same rank in its class. Throws InputError if the orbitals are not those of these tiles; `fock` may be empty
/// without symmetry, its path is for messages.
std::vector<double> energies_from_movecs(const TileSpace& space, const NwchemMovecs& movecs,
                                         std::span<const double> fock, const std::string& fock_path = {});

struct ChosenEnergies {
  std::vector<double> energies;
  std::string origin;
};
/// What may be absent is null or empty; the paths are for messages.
struct EnergySources {
  const TceCalculation* calculation = nullptr;
  std::string output_path;
  const NwchemMovecs* movecs = nullptr;
  std::span<const double> fock;
  std::string fock_path;
};
/// The first of list, movecs and Fock matrix that is there, checked against the others.
ChosenEnergies choose_energies(const TileSpace& space, const EnergySources& sources);

}  // namespace trifuse
