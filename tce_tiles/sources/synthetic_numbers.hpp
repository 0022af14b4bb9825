#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse {

/// The orbitals of a made-up molecule, and formulas for its numbers. Each number is a hash of its indices and has all
/// symmetries of a real one. Orbitals a, b, i, j, p, q, r, s are sorted orbitals of the tile space. Energies and
/// integrals are in hartree. The formulas ignore irreps and spins; the sources that call them take both into account.
class SyntheticNumbers {
 public:
  /// Throws UsageError if the sizes are not possible.
  explicit SyntheticNumbers(const SyntheticMolecule& molecule);

  /// Returns the name, the reference and the kind of the amplitudes.
  SourceInfo info() const;
  const TileSpace& tiles() const { return space_; }
  const std::vector<double>& orbital_energies() const { return eps_; }
  Spin spin(std::int64_t orbital) const { return spin_[static_cast<std::size_t>(orbital)]; }

  /// Returns the element f[p,q] of the Fock matrix.
  double fock(std::int64_t p, std::int64_t q) const;
  /// Returns t_i^a.
  double t1(std::int64_t a, std::int64_t i) const;
  /// Returns the part of t_ij^ab in which i and a belong to one electron, j and b to the other. It is the whole
  /// amplitude if i is alpha and j is beta. It is symmetric under the exchange of both electrons.
  double amplitude(std::int64_t a, std::int64_t i, std::int64_t b, std::int64_t j) const;
  /// Returns the Mulliken integral (pq|rs), with its eightfold symmetry.
  double integral(std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) const;
  /// Returns the factor for auxiliary function x and a pair of orbitals. `key`: a number of the pair, the same for
  /// [p,q] and [q,p]. Sums of `auxiliary` products of such factors are about as large as `integral`.
  double factor(std::int64_t x, std::uint64_t key) const;

 private:
  std::int64_t hole_end() const {
    return space_.orbitals(OrbitalClass::hole_alpha) + space_.orbitals(OrbitalClass::hole_beta);
  }
  std::int64_t identity(std::int64_t orbital) const { return identity_[static_cast<std::size_t>(orbital)]; }

  Reference reference_;
  std::uint64_t seed_;
  TileSpace space_;
  std::vector<double> eps_;
  std::vector<Spin> spin_;
  std::vector<std::int64_t> identity_;  ///< identity_[sorted orbital]: number of its spatial orbital
  double scale_ = 1.0, factor_scale_ = 1.0;
};

namespace synthetic {

/// Returns a hash of a number: the last step of splitmix64.
inline std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

/// Returns a number in [-1/2, 1/2).
inline double centred(std::uint64_t v) {
  return static_cast<double>(v >> 11) * 0x1.0p-53 - 0.5;
}

/// Makes a number in [-1/2, 1/2) from four indices.
inline double hashed(std::uint64_t seed, std::int64_t w, std::int64_t x, std::int64_t y, std::int64_t z) {
  std::uint64_t v = seed * 0x9e3779b97f4a7c15u;
  for (const std::int64_t index : {w, x, y, z}) {
    v = mixed(v ^ (static_cast<std::uint64_t>(index) + 0x9e3779b97f4a7c15u + (v << 6) + (v >> 2)));
  }
  return centred(v);
}

}

inline double SyntheticNumbers::fock(std::int64_t p, std::int64_t q) const {
  if (p == q) return eps_[static_cast<std::size_t>(p)];
  const std::int64_t x = identity(p), y = identity(q);
  const bool occupied_virtual = (p < hole_end()) != (q < hole_end());
  return occupied_virtual ? 0.01 * synthetic::hashed(99, std::min(x, y), std::max(x, y), 0, 0) : 0.0;
}

inline double SyntheticNumbers::t1(std::int64_t a, std::int64_t i) const {
  return 0.2 * scale_ * synthetic::hashed(seed_ + 7, identity(a), identity(i), 0, 0);
}

inline double SyntheticNumbers::amplitude(std::int64_t a, std::int64_t i, std::int64_t b, std::int64_t j) const {
  std::array<std::int64_t, 2> first = {identity(a), identity(i)}, second = {identity(b), identity(j)};
  if (first < second) std::swap(first, second);
  return 0.5 * scale_ * synthetic::hashed(seed_, first[0], first[1], second[0], second[1]);
}

inline double SyntheticNumbers::integral(std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) const {
  std::array<std::int64_t, 2> pq = {identity(p), identity(q)}, rs = {identity(r), identity(s)};
  if (pq[0] < pq[1]) std::swap(pq[0], pq[1]);
  if (rs[0] < rs[1]) std::swap(rs[0], rs[1]);
  if (pq < rs) std::swap(pq, rs);
  return scale_ * synthetic::hashed(17, pq[0], pq[1], rs[0], rs[1]);
}

inline double SyntheticNumbers::factor(std::int64_t x, std::uint64_t key) const {
  const std::uint64_t row = synthetic::mixed(static_cast<std::uint64_t>(x) + 0x632be59bd9b4e019u);
  return factor_scale_ * synthetic::centred(synthetic::mixed(row + key * 0x9e3779b97f4a7c15u));
}

}
