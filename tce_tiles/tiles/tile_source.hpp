#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/tiles/tile_space.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

class FactorSource;

/// The kind of reference determinant.
enum class Reference { rhf, uhf, rohf };

/// The equations that the amplitudes of a source solve.
enum class AmplitudeKind {
  ccsd,
  regularized_ccsd,
  lambda,
  made_up,  ///< random numbers, used to measure speed
};

/// What a source states about the disconnected term f_ov t2 in the (T) of the program that made its amplitudes.
enum class FockInTriples {
  not_stated,
  enters,    ///< (T) includes the term; the source needs the Fock matrix
  left_out,  ///< (T) assumes f_ov = 0, as NWChem does
};

/// Facts about a set of amplitudes and integrals, besides its numbers.
struct SourceInfo {
  std::string path;                ///< the path that the user gave
  std::vector<std::string> files;  ///< all files that this or another run reads; no output may replace them
  std::string format;              ///< e.g. "NWChem files (2eorb)", "Trifuse dump, version 1.1, sealed"
  Reference reference = Reference::rhf;
  AmplitudeKind amplitudes = AmplitudeKind::ccsd;
  double omega2 = 0.0;  ///< the parameter of regularized CCSD amplitudes, hartree; else 0
  FockInTriples fock_in_triples = FockInTriples::not_stated;
  bool sealed = false;  ///< the file has a checksum for every number
  /// True if all ranks of a job read the same numbers, from arrays that they share. Then ranks can share the check of
  /// the numbers.
  bool of_all_ranks = false;
  /// True if the user can add no numbers to this source, because it is a running program. Then no warning asks for
  /// more.
  bool nothing_to_add = false;
  /// True if the orbitals of an unrestricted source may be orbitals of ROHF. Then an unknown f_ia need not be zero.
  bool may_be_rohf = false;
  std::optional<double> scf_energy;          ///< total energy of the reference, from the producing program, hartree
  std::optional<double> correlation_energy;  ///< CCSD correlation energy, from the producing program, hartree
  /// Largest norm of the change of the amplitudes in the last iteration of the producing program, as it states it.
  std::optional<double> convergence;
  std::optional<std::pair<double, double>> printed_triples;     ///< E[T] and E(T), from the producing program, hartree
  std::vector<std::pair<std::string, std::string>> provenance;  ///< program, molecule, basis, files, ...
};

/// A 128-bit hash of many numbers.
using SourceDigest = std::array<std::uint64_t, 2>;

/// Delivers the blocks of F1, T1, T2 and V2, from memory, files, Global Arrays or a caller's callback.
///
/// A block holds the elements of one tile for each index. Its layout is C order: the last index is the fastest, and the
/// order of the indices is the order of the tiles in the argument list. A caller may ask only for blocks that
/// `block_exists` allows and whose tiles ascend in each pair: p1 <= p2, h3 <= h4, g3 <= g4, g1 <= g2. All numbers are
/// real, and energies and integrals are in hartree. A read function throws InputError if the input is at fault; the
/// sentence names the file.
class TileSource {
 public:
  virtual ~TileSource() = default;

  virtual const SourceInfo& info() const = 0;
  virtual const TileSpace& tiles() const = 0;
  /// Returns the orbital energies of the denominators, hartree; eps[orbitals] in the sorted order of tile_space.hpp.
  virtual std::span<const double> orbital_energies() const = 0;
  /// Returns true if `read_v2` delivers integrals; false for a left-hand source, which has amplitudes only.
  virtual bool has_integrals() const = 0;
  /// Returns true if `read_fock` delivers the Fock matrix.
  virtual bool has_fock() const = 0;
  /// Returns true if `read_v2` also delivers the blocks {h p|h p}. A restricted reference has these blocks for the
  /// spins alpha, beta, alpha, beta; other references have them for four equal spins. Triples do not need them. The
  /// equation of the single excitations does.
  virtual bool has_exchange_integrals() const { return false; }
  /// Returns true if `read_v2` delivers all blocks, also those of four holes and of four particles.
  virtual bool has_all_integrals() const { return false; }
  /// Returns true if several threads may read at the same time. Otherwise only one thread may read at a time.
  virtual bool concurrent_reads() const { return false; }
  /// Returns true if every block can be derived from the blocks whose tiles have the spins alpha, beta, alpha, beta.
  virtual bool opposite_spin_blocks_suffice() const { return false; }
  /// Returns true if the source stores several spin cases of V2 of a restricted reference, which may contradict each
  /// other. Returns false if it derives all spin cases from one.
  virtual bool stores_spin_cases_of_v2() const { return !opposite_spin_blocks_suffice(); }
  /// Returns the factors from which `read_v2` computes integrals; null if the source stores integrals. They are valid
  /// as long as the source. A reader may multiply factors itself instead of reading the blocks {p p|h p}.
  virtual const FactorSource* factors() const { return nullptr; }
  /// Returns a hash of the orbital energies and of all blocks that have been read so far, or nullopt if the source
  /// keeps none. The order of the reads and the number of threads do not matter. Two processes that have read the same
  /// blocks of the same numbers get the same digest.
  virtual std::optional<SourceDigest> digest() const { return std::nullopt; }

  /// Reads the Fock matrix block f[g6,g5], in hartree. `block` must have size(g6) * size(g5) elements.
  virtual void read_fock(int g6, int g5, std::span<double> block) const = 0;
  /// Reads t_h^p as t1[p,h]; p is a particle tile, h a hole tile. `block` must have size(p) * size(h) elements.
  virtual void read_t1(int p, int h, std::span<double> block) const = 0;
  /// Reads t_{h3 h4}^{p1 p2} as t2[p1,p2,h3,h4]; p1 <= p2 are particle tiles, h3 <= h4 hole tiles. `block` must have as
  /// many elements as the product of the four tile sizes.
  virtual void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const = 0;
  /// Reads <g3 g4||g1 g2> as v2[g3,g4,g1,g2], in hartree; g3 <= g4 and g1 <= g2. `block` must have as many elements as
  /// the product of the four tile sizes. A source delivers at least the blocks {p p|h h}, {h p|h h} and {p p|h p}.
  virtual void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const = 0;
  /// Reads a block of a tensor. `tiles`: the arguments of the function above that reads it; of F1 and T1 the first two.
  void read_block(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const;
};

/// Returns "RHF", "UHF" or "ROHF".
std::string to_string(Reference reference);
/// Returns the name that dumps and reports use, e.g. "reg-ccsd".
std::string to_string(AmplitudeKind kind);

}

#pragma GCC visibility pop
