#include "tce_tiles/nwchem_files/nwchem_energies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"

namespace trifuse {

namespace {

std::size_t u(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Returns the sorted positions of the orbitals of one spin and irrep, in NWChem's order: holes come before particles.
std::vector<std::size_t> positions(const TileSpace& space, Spin spin, int irrep) {
  std::vector<std::size_t> found;
  for (const Tile& tile : space.tiles()) {
    if (tile.spin() != spin || tile.irrep != irrep) continue;
    for (std::int64_t k = 0; k < tile.size; ++k) found.push_back(u(tile.offset + k));
  }
  return found;
}

/// Returns the permutation that sorts `values` in ascending order.
std::vector<std::size_t> ascending(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

}

std::vector<double> energies_from_fock(const TileSpace& space, Reference reference, const NwchemPayload& f1) {
  const PairOffsets offsets = PairOffsets::f1(space);
  std::vector<double> energies(u(space.orbitals()));
  std::vector<double> block;
  for (int t = 0; t < space.size(); ++t) {
    const Tile& tile = space[t];
    if (tile.partner != t) {
      for (std::int64_t k = 0; k < tile.size; ++k) {
        energies[u(tile.offset + k)] = energies[u(space[tile.partner].offset + k)];
      }
      continue;
    }
    block.resize(u(tile.size * tile.size));
    f1.read_finite(offsets.offset(t, t), block, [&] { return fmt::format("block ({}|{})", t + 1, t + 1); });
    for (std::int64_t k = 0; k < tile.size; ++k) energies[u(tile.offset + k)] = block[u(k * (tile.size + 1))];
  }
  if (reference != Reference::rohf) return energies;

  for (int irrep = 0; irrep < 8; ++irrep) {
    const auto alpha = positions(space, Spin::alpha, irrep);
    const auto beta = positions(space, Spin::beta, irrep);
    if (alpha.size() != beta.size()) {
      throw InputError(
          fmt::format("The tile table has {} alpha but {} beta orbitals of one irrep, which an ROHF reference cannot "
                      "have; name the output of this calculation with --nwchem-output FILE.",
                      alpha.size(), beta.size()));
    }
    for (std::size_t k = 0; k < alpha.size(); ++k) {
      const double mean = (energies[alpha[k]] + energies[beta[k]]) / 2;
      energies[alpha[k]] = mean;
      energies[beta[k]] = mean;
    }
  }
  return energies;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

std::optional<std::vector<double>> energies_from_list(const TileSpace& space, const TceCalculation& calculation) {
  if (calculation.sorted.size() != u(space.orbitals())) return std::nullopt;
  std::vector<double> energies;
  for (const Tile& tile : space.tiles()) {
    for (std::int64_t k = 0; k < tile.size; ++k) {
      const PrintedOrbital& orbital = calculation.sorted[energies.size()];
      if (orbital.spin != tile.spin() || orbital.irrep != tile.irrep) return std::nullopt;
      energies.push_back(orbital.energy);
    }
  }
  return energies;
}

std::vector<double> energies_from_movecs(const TileSpace& space, const NwchemMovecs& movecs,
                                         std::span<const double> fock, const std::string& fock_path) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format(
        "The orbitals in {} belong to another calculation: {}; name the right file with --nwchem-movecs FILE.",
        movecs.path, why));
  };
  std::vector<double> energies;
  const bool symmetry =
      std::any_of(space.tiles().begin(), space.tiles().end(), [](const Tile& t) { return t.irrep != 0; });
  std::array<std::int64_t, 2> core{};
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    const std::size_t s = spin == Spin::alpha ? 0 : 1;
    const std::int64_t holes = space.orbitals(hole_class(spin)), particles = space.orbitals(particle_class(spin));
    core[s] = movecs.occupied[s] - holes;
    if (core[s] < 0 || movecs.orbitals - movecs.occupied[s] < particles) {
      refuse(fmt::format("it has {} occupied and {} virtual {} orbitals, the tile table {} and {}", movecs.occupied[s],
                         movecs.orbitals - movecs.occupied[s], s == 0 ? "alpha" : "beta", holes, particles));
    }
  }
  // NWChem freezes the same number of core orbitals for both spins. Without beta holes this cannot be tested.
  if (core[0] != core[1] && space.orbitals(OrbitalClass::hole_beta) > 0) {
    refuse(fmt::format("it leaves {} alpha but {} beta core orbitals out of the tile table", core[0], core[1]));
  }
  for (const OrbitalClass c : orbital_classes) {
    const std::size_t s = spin_of(c) == Spin::alpha ? 0 : 1;
    const std::int64_t first = space_of(c) == Space::hole ? core[s] : movecs.occupied[s];
    const std::span<const double> values = std::span(movecs.energies[s]).subspan(u(first), u(space.orbitals(c)));
    if (!symmetry) {
      energies.insert(energies.end(), values.begin(), values.end());
      continue;
    }
    if (fock.empty()) {
      throw InputError(
          fmt::format("The orbitals in {} cannot be put in order of their irreps without the Fock matrix; write it "
                      "with `set tce:writeint T`, or run NWChem with `print tile` in the tce block.",
                      movecs.path));
    }
    const std::span<const double> reference = fock.subspan(energies.size(), values.size());
    const auto from = ascending(values);
    const auto to = ascending(reference);
    const std::size_t start = energies.size();
    energies.resize(start + values.size());
    for (std::size_t k = 0; k < values.size(); ++k) energies[start + to[k]] = values[from[k]];
  }
  if (!fock.empty()) {
    const double difference = largest_difference(energies, fock);
    if (difference > energy_agreement) {
      refuse(
          fmt::format("its orbital energies differ from the diagonal of the Fock matrix in {} by up to {:.2g} hartree",
                      fock_path, difference));
    }
  }
  return energies;
}

ChosenEnergies choose_energies(const TileSpace& space, const EnergySources& sources) {
  std::vector<double> orbitals;
  if (sources.movecs != nullptr)
    orbitals = energies_from_movecs(space, *sources.movecs, sources.fock, sources.fock_path);
  if (sources.calculation != nullptr) {
    if (auto list = energies_from_list(space, *sources.calculation)) {
      const double difference = sources.fock.empty() ? 0.0 : largest_difference(*list, sources.fock);
      if (difference > energy_agreement) {
        throw InputError(fmt::format(
            "The orbital energies in {} differ from the diagonal of the Fock matrix in {} by up to {:.2g} hartree; the "
            "output and that file belong to different calculations: name the right output with --nwchem-output FILE.",
            sources.output_path, sources.fock_path, difference));
      }
      return {std::move(*list), fmt::format("list in {}", sources.output_path)};
    }
  }
  if (!orbitals.empty()) return {std::move(orbitals), sources.movecs->path};
  if (sources.fock.empty()) {
    throw InputError(
        "No orbital energies were found: there is no Fock matrix, no movecs file and no list of `print tile`; name the "
        "movecs file with --nwchem-movecs FILE.");
  }
  return {{sources.fock.begin(), sources.fock.end()}, fmt::format("Fock matrix in {}", sources.fock_path)};
}

}
