#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/tile_space.hpp"

namespace trifuse {

enum class Reference { rhf, uhf, rohf };

/// What kind of amplitudes a source holds.
enum class AmplitudeKind {
  ccsd,
  regularized_ccsd,
  lambda,
  made_up,  ///< random numbers, to measure speed with
};

/// What is known about a set of amplitudes and integrals besides the numbers.
struct SourceInfo {
  std::string path;                ///< what the user named
  std::vector<std::string> files;  ///< all files of it that this or another run reads, which no output may replace
  std::string format;              ///< e.g. "NWChem files (2eorb)", "Trifuse dump, version 1.1, sealed"
  Reference reference = Reference::rhf;
  AmplitudeKind amplitudes = AmplitudeKind::ccsd;
  double omega2 = 0.0;                       ///< of regularized CCSD amplitudes, hartree
  bool fock_in_triples = false;              ///< the maker's (T) has f_ov t2 among the disconnected triples
  bool sealed = false;                       ///< every number carries its maker's checksum
  std::optional<double> scf_energy;          ///< total energy of the reference that the maker found, hartree
  std::optional<double> correlation_energy;  ///< CCSD correlation energy that the maker printed, hartree
  std::optional<std::pair<double, double>> printed_triples;     ///< E[T], E(T) that the maker printed, hartree
  std::vector<std::pair<std::string, std::string>> provenance;  ///< program, molecule, basis, files, ...
};

/// A hash of many numbers.
using SourceDigest = std::array<std::uint64_t, 2>;

/// Where tiles come from: memory, files, Global Arrays or a caller's callback.
///
/// Blocks are TCE's: only those with `block_exists` and ascending tiles in each pair may be asked for; the last index
/// is the fastest. All numbers are real, energies in hartree. Reading throws InputError with a sentence that names the
/// file.
class TileSource {
 public:
  virtual ~TileSource() = default;

  virtual const SourceInfo& info() const = 0;
  virtual const TileSpace& tiles() const = 0;
  /// Orbital energies in sorted order, those of the denominators; [orbitals].
  virtual std::span<const double> orbital_energies() const = 0;
  /// False for a left-hand source that holds amplitudes only.
  virtual bool has_integrals() const = 0;
  virtual bool has_fock() const = 0;
  /// True if `read_v2` also delivers {h p|h p}: of a restricted reference for the spins alpha, beta, alpha, beta, else
  /// for four equal spins. Triples do not need them; the equation of the single excitations does.
  virtual bool has_exchange_integrals() const { return false; }
  /// Whether several threads may read at the same time; if not, callers take turns.
  virtual bool concurrent_reads() const { return false; }
  /// Whether all blocks are made of what those have whose tiles have the spins alpha, beta, alpha, beta: then who has
  /// seen these has seen every number.
  virtual bool opposite_spin_blocks_suffice() const { return false; }
  /// Whether several spin cases of V2 of a restricted reference are numbers of their own, which may contradict each
  /// other; else all are made of one.
  virtual bool stores_spin_cases_of_v2() const { return !opposite_spin_blocks_suffice(); }
  /// Of all blocks that have been read so far, in whatever order and by however many threads, and of the orbital
  /// energies: processes that have read the same blocks of the same numbers have the same. None where a source does
  /// not keep it.
  virtual std::optional<SourceDigest> digest() const { return std::nullopt; }

  /// Fock matrix block [g5, g6], g5 fastest.
  virtual void read_fock(int g6, int g5, std::span<double> block) const = 0;
  /// t_h^p as [h, p], h fastest.
  virtual void read_t1(int p, int h, std::span<double> block) const = 0;
  /// t_{h3 h4}^{p1 p2} as [h4, h3, p2, p1], h4 fastest; p1 <= p2, h3 <= h4.
  virtual void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const = 0;
  /// <g3 g4||g1 g2> as [g2, g1, g4, g3], g2 fastest; g3 <= g4, g1 <= g2.
  virtual void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const = 0;
};

std::string to_string(Reference reference);
std::string to_string(AmplitudeKind kind);

}  // namespace trifuse
