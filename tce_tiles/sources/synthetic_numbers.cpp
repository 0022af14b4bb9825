#include "tce_tiles/sources/synthetic_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cxx/base/error.hpp"
#include "tce_tiles/dense/array_specs.hpp"

namespace trifuse {
namespace {

/// Returns how many of n orbitals are in the irreps before `irrep`.
std::int64_t orbitals_before(const SyntheticMolecule& molecule, std::int64_t n, int irrep) {
  if (!molecule.uneven || molecule.irreps == 1) return irrep * n / molecule.irreps;
  // The weights of the irreps are 2 m, 2 m - 1, ..., m, with m = irreps - 1.
  const std::int64_t m = molecule.irreps - 1;
  const auto weights_before = [&](std::int64_t x) { return x * 2 * m - x * (x - 1) / 2; };
  const std::int64_t all = weights_before(molecule.irreps);
  return (2 * weights_before(irrep) * n + all) / (2 * all);
}

}

SyntheticNumbers::SyntheticNumbers(const SyntheticMolecule& molecule)
    : reference_(molecule.reference), seed_(molecule.seed) {
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
  std::vector<OrbitalRange> ranges;
  for (const OrbitalClass c : orbital_classes) {
    const std::int64_t n = count[static_cast<std::size_t>(c)];
    for (int x = 0; x < molecule.irreps; ++x) {
      const std::int64_t size = orbitals_before(molecule, n, x + 1) - orbitals_before(molecule, n, x);
      if (size > 0) ranges.push_back({c, x, size});
    }
  }
  space_ = TileSpace::partition(ranges, molecule.hole_tile, molecule.particle_tile, restricted);
  // Each spatial orbital has a number, its identity. A beta orbital shares the identity of its alpha partner only in a
  // restricted space.
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
  if (molecule.auxiliary < 0 || molecule.auxiliary > max_auxiliary) {
    throw UsageError(fmt::format("A made-up molecule may have at most {} auxiliary functions, not {}.", max_auxiliary,
                                 molecule.auxiliary));
  }
  if (molecule.auxiliary > 0) {
    // With irreps, only one in `irreps` of the products in a sum is not zero. The scale makes the variances with and
    // without factors equal: (auxiliary / irreps) factor_scale_^4 / 144 = scale_^2 / 12.
    const double products = static_cast<double>(molecule.auxiliary) / molecule.irreps;
    factor_scale_ = std::sqrt(scale_ * std::sqrt(12.0 / std::max(products, 1.0)));
  }
}

SourceInfo SyntheticNumbers::info() const {
  SourceInfo info;
  info.path = "synthetic";
  info.format = "made-up amplitudes";
  info.reference = reference_;
  info.amplitudes = AmplitudeKind::made_up;
  info.fock_in_triples = FockInTriples::left_out;
  return info;
}

}
