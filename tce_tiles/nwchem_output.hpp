#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/tile_source.hpp"

/// What an NWChem output says about its TCE calculations.
namespace trifuse {

/// One line of the table "Block Spin Irrep Size Offset Alpha".
struct PrintedTile {
  Spin spin;
  std::string irrep;
  std::int64_t size;
  std::int64_t offset;
};

/// One line of the list "Sorted" that `print tile` adds.
struct PrintedOrbital {
  Spin spin;
  int irrep;
  double energy;
};

/// One calculation of the TCE module. What was not printed is absent.
struct TceCalculation {
  std::optional<Reference> reference;
  bool kohn_sham = false;
  std::array<std::optional<std::int64_t>, 2> electrons;       ///< alpha, beta
  std::array<std::optional<std::int64_t>, 2> frozen_core;     ///< alpha, beta
  std::array<std::optional<std::int64_t>, 2> frozen_virtual;  ///< alpha, beta
  std::optional<std::int64_t> orbitals;                       ///< alpha, frozen ones included
  std::optional<std::int64_t> ao_functions;
  std::optional<std::int64_t> tile_size;
  bool symmetry = false;
  std::string group;  ///< point group of the geometry before
  std::optional<double> scf_energy;
  std::vector<PrintedTile> tiles;
  std::vector<PrintedOrbital> sorted;
  bool orbital_storage = false;    ///< the integrals were stored in orbital form (`2eorb`)
  bool out_of_iterations = false;  ///< CCSD stopped before it converged; NWChem writes amplitudes all the same
  std::optional<double> correlation_energy;
  std::optional<double> bracket_triples;  ///< E[T]
  std::optional<double> triples;          ///< E(T)
  /// Sums of these: the correlation energy with [T] and with (T), and the total energies of CCSD, CCSD[T] and CCSD(T).
  std::optional<double> bracket_correlation, triples_correlation, total, bracket_total, triples_total;
};

struct NwchemOutput {
  std::string path;
  std::string version;
  std::vector<TceCalculation> calculations;  ///< in the order of the file, those that printed anything of use
};

/// Reads an output of any size; bytes that make no sense are passed over.
NwchemOutput read_nwchem_output(const std::string& path);

/// True if the file is an output with a TCE calculation.
bool mentions_tce(const std::string& path);

/// TCE's number of an irrep, by NWChem's label; products are bitwise exclusive ors. The label decides but for b1 and
/// b2, which D2 numbers otherwise than C2v.
std::optional<int> irrep_number(std::string_view label, bool d2);

/// The tile table of a calculation. Throws InputError, naming `path`, if the table or what is needed to read it is
/// absent or damaged.
TileSpace tiles_of(const TceCalculation& calculation, const std::string& path);

}  // namespace trifuse
