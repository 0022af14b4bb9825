#include "tce_tiles/synthetic_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// Makes a number in [-1/2, 1/2) from four indices, with the finaliser of splitmix64.
double hashed(std::uint64_t seed, std::int64_t w, std::int64_t x, std::int64_t y, std::int64_t z) {
  std::uint64_t v = seed * 0x9e3779b97f4a7c15u;
  for (const std::int64_t index : {w, x, y, z}) {
    v ^= static_cast<std::uint64_t>(index) + 0x9e3779b97f4a7c15u + (v << 6) + (v >> 2);
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    v ^= v >> 31;
  }
  return static_cast<double>(v >> 11) * 0x1.0p-53 - 0.5;
}

/// The number of orbitals, of n, in the irreps before `irrep`.
std::int64_t orbitals_before(const SyntheticMolecule& molecule, std::int64_t n, int irrep) {
  if (!molecule.uneven || molecule.irreps == 1) return irrep * n / molecule.irreps;
  // The weights of the irreps are 2 m, 2 m - 1, ..., m, with m = irreps - 1.
  const std::int64_t m = molecule.irreps - 1;
  const auto weights_before = [&](std::int64_t x) { return x * 2 * m - x * (x - 1) / 2; };
  const std::int64_t all = weights_before(molecule.irreps);
  return (2 * weights_before(irrep) * n + all) / (2 * all);
}

class SyntheticSource final : public TileSource {
 public:
  explicit SyntheticSource(const SyntheticMolecule& molecule) : seed_(molecule.seed) {
    const bool restricted = molecule.reference == Reference::rhf;
    const std::array<std::int64_t, 4> count = {
        molecule.occupied_alpha, restricted ? molecule.occupied_alpha : molecule.occupied_beta, molecule.virtual_alpha,
        restricted ? molecule.virtual_alpha : molecule.virtual_beta};
    if (molecule.irreps != 1 && molecule.irreps != 2 && molecule.irreps != 4 && molecule.irreps != 8) {
      throw UsageError(fmt::format("{} irreps are not possible; give 1, 2, 4 or 8.", molecule.irreps));
    }
    if (count[0] < 1 || count[2] < 1 || count[1] < 0 || count[3] < 0) {
      throw UsageError("A made-up molecule needs at least one occupied and one virtual orbital.");
    }
    constexpr std::int64_t max_orbitals = 1 << 16;
    if (*std::max_element(count.begin(), count.end()) > max_orbitals) {
      throw UsageError(fmt::format("A made-up molecule has at most {} occupied and {} virtual orbitals of each spin.",
                                   max_orbitals, max_orbitals));
    }
    std::int64_t orbitals = 0;
    for (const std::int64_t n : count) orbitals += std::min(n, max_spin_orbitals + 1);
    if (orbitals > max_spin_orbitals) {
      throw UsageError(
          fmt::format("A made-up molecule may have at most {} spin orbitals; give fewer.", max_spin_orbitals));
    }
    std::vector<OrbitalRun> runs;
    for (const OrbitalClass c : orbital_classes) {
      const std::int64_t n = count[static_cast<std::size_t>(c)];
      for (int x = 0; x < molecule.irreps; ++x) {
        const std::int64_t size = orbitals_before(molecule, n, x + 1) - orbitals_before(molecule, n, x);
        if (size > 0) runs.push_back({c, x, size});
      }
    }
    space_ = TileSpace::partition(runs, molecule.hole_tile, molecule.particle_tile, restricted);
    info_.path = "synthetic";
    info_.format = "made-up amplitudes";
    info_.reference = molecule.reference;
    info_.amplitudes = AmplitudeKind::made_up;
    // Each spatial orbital has an identity of its own. Only in a restricted space, a beta orbital shares the identity
    // of its alpha partner.
    for (int t = 0; t < space_.size(); ++t) {
      const Tile& tile = space_[space_[t].partner];
      for (std::int64_t x = 0; x < tile.size; ++x) {
        identity_.push_back(tile.offset + x);
        spin_.push_back(space_[t].spin());
      }
    }
    const auto n = static_cast<double>(space_.orbitals());
    for (int t = 0; t < space_.size(); ++t) {
      const Tile& tile = space_[space_[t].partner];
      for (std::int64_t x = 0; x < tile.size; ++x) {
        const double position = static_cast<double>(tile.offset + x) / n;
        eps_.push_back(tile.space() == Space::hole ? -1.5 + position : 0.5 + 2.0 * position);
      }
    }
    scale_ = 1.0 / n;
  }

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return space_; }
  std::span<const double> orbital_energies() const override { return eps_; }
  bool has_integrals() const override { return true; }
  bool has_fock() const override { return true; }
  bool concurrent_reads() const override { return true; }

  void read_fock(int g6, int g5, std::span<double> block) const override {
    fill2(g6, g5, block, [&](std::int64_t p, std::int64_t q) {
      if (p == q) return eps_[static_cast<std::size_t>(p)];
      const std::int64_t x = identity(p), y = identity(q);
      const bool occupied_virtual = (p < hole_end()) != (q < hole_end());
      return occupied_virtual ? 0.01 * hashed(99, std::min(x, y), std::max(x, y), 0, 0) : 0.0;
    });
  }
  void read_t1(int p, int h, std::span<double> block) const override {
    fill2(p, h, block, [&](std::int64_t a, std::int64_t i) {
      return 0.2 * scale_ * hashed(seed_ + 7, identity(a), identity(i), 0, 0);
    });
  }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    fill4({p1, p2, h3, h4}, block, [&](std::int64_t a, std::int64_t b, std::int64_t i, std::int64_t j) {
      double value = 0.0;
      if (spin(a) == spin(i) && spin(b) == spin(j)) value += amplitude(a, i, b, j);
      if (spin(a) == spin(j) && spin(b) == spin(i)) value -= amplitude(a, j, b, i);
      return value;
    });
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    fill4({g3, g4, g1, g2}, block, [&](std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) {
      double value = 0.0;
      if (spin(p) == spin(r) && spin(q) == spin(s)) value += integral(p, r, q, s);
      if (spin(p) == spin(s) && spin(q) == spin(r)) value -= integral(p, s, q, r);
      return value;
    });
  }

 private:
  std::int64_t hole_end() const {
    return space_.orbitals(OrbitalClass::hole_alpha) + space_.orbitals(OrbitalClass::hole_beta);
  }
  std::int64_t identity(std::int64_t orbital) const { return identity_[static_cast<std::size_t>(orbital)]; }
  Spin spin(std::int64_t orbital) const { return spin_[static_cast<std::size_t>(orbital)]; }
  /// The Mulliken integral (pq|rs), with its eightfold symmetry.
  double integral(std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) const {
    std::array<std::int64_t, 2> pq = {identity(p), identity(q)}, rs = {identity(r), identity(s)};
    if (pq[0] < pq[1]) std::swap(pq[0], pq[1]);
    if (rs[0] < rs[1]) std::swap(rs[0], rs[1]);
    if (pq < rs) std::swap(pq, rs);
    return scale_ * hashed(17, pq[0], pq[1], rs[0], rs[1]);
  }
  /// An amplitude like t_ij^ab of opposite spins: symmetric under the exchange of both electrons.
  double amplitude(std::int64_t a, std::int64_t i, std::int64_t b, std::int64_t j) const {
    std::array<std::int64_t, 2> first = {identity(a), identity(i)}, second = {identity(b), identity(j)};
    if (first < second) std::swap(first, second);
    return 0.5 * scale_ * hashed(seed_, first[0], first[1], second[0], second[1]);
  }
  template <typename Value>
  void fill2(int upper, int lower, std::span<double> block, Value value) const {
    std::size_t at = 0;
    const Tile &u = space_[upper], &l = space_[lower];
    for (std::int64_t x = u.offset; x < u.offset + u.size; ++x)
      for (std::int64_t y = l.offset; y < l.offset + l.size; ++y) block[at++] = value(x, y);
  }
  template <typename Value>
  void fill4(const std::array<int, 4>& t, std::span<double> block, Value value) const {
    std::size_t at = 0;
    const auto begin = [&](std::size_t d) { return space_[t[d]].offset; };
    const auto end = [&](std::size_t d) { return space_[t[d]].offset + space_[t[d]].size; };
    for (std::int64_t w = begin(0); w < end(0); ++w)
      for (std::int64_t x = begin(1); x < end(1); ++x)
        for (std::int64_t y = begin(2); y < end(2); ++y)
          for (std::int64_t z = begin(3); z < end(3); ++z) block[at++] = value(w, x, y, z);
  }

  std::uint64_t seed_;
  SourceInfo info_;
  TileSpace space_;
  std::vector<double> eps_;
  std::vector<Spin> spin_;
  std::vector<std::int64_t> identity_;  ///< identity_[sorted orbital]: number of its spatial orbital
  double scale_ = 1.0;
};

}  // namespace

std::unique_ptr<TileSource> make_synthetic_source(const SyntheticMolecule& molecule) {
  return std::make_unique<SyntheticSource>(molecule);
}

}  // namespace trifuse
