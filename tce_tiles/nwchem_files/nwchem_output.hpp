#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/tiles/tile_source.hpp"

/// Reads the results of TCE calculations from an output of NWChem.
namespace trifuse {

/// One line of the table "Block Spin Irrep Size Offset Alpha".
struct PrintedTile {
  Spin spin;
  std::string irrep;    ///< NWChem's label, e.g. "a1"
  std::int64_t size;    ///< number of orbitals
  std::int64_t offset;  ///< orbitals in all tiles before
};

/// One line of the list "Sorted" that `print tile` adds.
struct PrintedOrbital {
  Spin spin;
  int irrep;      ///< TCE's number, from 0
  double energy;  ///< hartree
};

/// One calculation of the TCE module. A value that was not printed is absent. Energies are in hartree.
struct TceCalculation {
  std::optional<Reference> reference;
  bool kohn_sham = false;                                     ///< the orbitals are from DFT
  std::array<std::optional<std::int64_t>, 2> electrons;       ///< alpha, beta
  std::array<std::optional<std::int64_t>, 2> frozen_core;     ///< alpha, beta
  std::array<std::optional<std::int64_t>, 2> frozen_virtual;  ///< alpha, beta
  std::optional<std::int64_t> orbitals;                       ///< alpha orbitals, frozen ones included
  std::optional<std::int64_t> ao_functions;
  std::optional<std::int64_t> tile_size;
  bool symmetry = false;  ///< the calculation used point-group symmetry
  std::string group;      ///< point group of the last geometry before the calculation
  std::optional<double> scf_energy;
  std::vector<PrintedTile> tiles;
  std::vector<PrintedOrbital> sorted;
  bool orbital_storage = false;              ///< the integrals were stored in orbital form (`2eorb`)
  bool out_of_iterations = false;            ///< CCSD stopped before it converged; NWChem still writes amplitudes
  std::optional<double> correlation_energy;  ///< CCSD
  std::optional<double> bracket_triples;     ///< E[T]
  std::optional<double> triples;             ///< E(T)
  /// The correlation energies of CCSD[T] and CCSD(T), and the total energies of CCSD, CCSD[T] and CCSD(T).
  std::optional<double> bracket_correlation, triples_correlation, total, bracket_total, triples_total;
};

/// The TCE calculations of one output.
struct NwchemOutput {
  std::string path;
  std::string version;
  std::vector<TceCalculation>
      calculations;  ///< in the order of the file; calculations without useful results are left out
};

/// Reads an output of any size. Skips bytes that it does not understand. Throws InputError as `LineReader` does.
NwchemOutput read_nwchem_output(const std::string& path);

/// Returns true if the file is an output with a TCE calculation.
bool mentions_tce(const std::string& path);

/// Returns TCE's number for the irrep with NWChem's label `label`, or nullopt for an unknown label. The product of two
/// irreps is the bitwise exclusive or of their numbers. `d2`: the point group is D2, which numbers b1 and b2
/// differently from C2v.
std::optional<int> irrep_number(std::string_view label, bool d2);

/// Returns the tile space of a calculation. Throws InputError, which names `path`, if the table or a value that is
/// needed to read it is absent or damaged.
TileSpace tiles_of(const TceCalculation& calculation, const std::string& path);

}
