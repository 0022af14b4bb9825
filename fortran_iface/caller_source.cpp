#include "fortran_iface/caller_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"

namespace trifuse::c_interface {

static_assert(static_cast<int>(TensorKind::fock) == TRIFUSE_FOCK && static_cast<int>(TensorKind::t1) == TRIFUSE_T1 &&
              static_cast<int>(TensorKind::t2) == TRIFUSE_T2 && static_cast<int>(TensorKind::v2) == TRIFUSE_V2);

SourceInfo source_info(const trifuse_description& description) {
  constexpr std::array<Reference, 3> references = {Reference::rhf, Reference::uhf, Reference::rohf};
  constexpr std::array<AmplitudeKind, 3> kinds = {AmplitudeKind::ccsd, AmplitudeKind::regularized_ccsd,
                                                  AmplitudeKind::lambda};
  if (description.reference < 0 || description.reference > TRIFUSE_ROHF) {
    throw UsageError("The reference must be one of the values of trifuse_reference.");
  }
  if (description.kind < 0 || description.kind > TRIFUSE_LAMBDA) {
    throw UsageError("The kind of amplitudes must be one of the values of trifuse_kind.");
  }
  if (!std::isfinite(description.omega2) || description.omega2 < 0.0 || description.omega2 > largest_omega2) {
    throw UsageError(fmt::format("The omega2 of amplitudes must be a number of 0 to {:g}, in hartree; it is {}.",
                                 largest_omega2, description.omega2));
  }
  if (description.omega2 != 0.0 && description.kind != TRIFUSE_REGULARIZED_CCSD) {
    throw UsageError(fmt::format(
        "The amplitudes have omega2 = {:g}, but only regularised ones have an omega2; state their kind, or no omega2.",
        description.omega2));
  }
  if (!std::isfinite(description.correlation_energy)) {
    throw UsageError(
        fmt::format("The CCSD correlation energy must be a number; it is {}.", description.correlation_energy));
  }
  // Another value comes from uninitialised memory.
  for (const std::int32_t flag :
       {description.has_integrals, description.has_fock, description.has_exchange_integrals}) {
    if (flag != 0 && flag != 1) {
      throw UsageError(
          fmt::format("has_integrals, has_fock and has_exchange_integrals must be 0 or 1; one of them is {}.", flag));
    }
  }
  if (description.fock_in_triples < -1 || description.fock_in_triples > 1) {
    throw UsageError(
        fmt::format("fock_in_triples must be 1 (f_ov t2 enters), -1 (it is left out) or 0 (not stated); it is {}.",
                    description.fock_in_triples));
  }
  if (description.fock_in_triples == 1 && description.has_fock == 0) {
    throw UsageError("fock_in_triples needs the Fock matrix (has_fock).");
  }
  if (description.has_exchange_integrals == 1 && description.has_integrals == 0) {
    throw UsageError("has_exchange_integrals needs the other integrals (has_integrals).");
  }
  SourceInfo info;
  info.path = "the calling program";
  info.format = "blocks of the calling program";
  info.reference = references[static_cast<std::size_t>(description.reference)];
  info.amplitudes = kinds[static_cast<std::size_t>(description.kind)];
  info.omega2 = description.omega2;
  if (description.fock_in_triples != 0) {
    info.fock_in_triples = description.fock_in_triples == 1 ? FockInTriples::enters : FockInTriples::left_out;
  }
  if (description.correlation_energy != 0.0) info.correlation_energy = description.correlation_energy;
  return info;
}

TileSpace tile_space(const trifuse_description& description) {
  if (description.tile_count < 1 || description.tile_count > max_spin_orbitals || description.tiles == nullptr) {
    throw UsageError(fmt::format("{} tiles were described{}; 1 to {} are possible.", description.tile_count,
                                 description.tiles == nullptr ? ", which are null" : "", max_spin_orbitals));
  }
  std::vector<Tile> tiles;
  for (std::int64_t n = 0; n < description.tile_count; ++n) {
    const trifuse_tile& tile = description.tiles[n];
    if (tile.orbital_class < 0 || tile.orbital_class > TRIFUSE_PARTICLE_BETA || tile.irrep < 0 || tile.irrep > 7) {
      throw UsageError(fmt::format("Tile {} of {} must have a class of trifuse_class and an irrep from 0 to 7.", n + 1,
                                   description.tile_count));
    }
    tiles.push_back({static_cast<OrbitalClass>(tile.orbital_class), tile.irrep, tile.size, 0, 0});
  }
  return {std::move(tiles), description.reference == TRIFUSE_RHF};
}

std::vector<double> energies_of_orbitals(const trifuse_description& description, const TileSpace& space) {
  if (description.orbital_energies == nullptr) throw UsageError("Orbital energies are needed, but they are null.");
  const std::span energies(description.orbital_energies, static_cast<std::size_t>(space.orbitals()));
  for (std::size_t p = 0; p < energies.size(); ++p) {
    if (std::isfinite(energies[p])) continue;
    throw UsageError(
        fmt::format("Orbital energy {} of {}, counted from 0, is not a number ({}).", p, energies.size(), energies[p]));
  }
  return {energies.begin(), energies.end()};
}

CallerSource::CallerSource(const trifuse_description& description, trifuse_block_reader reader, void* context)
    : info_(source_info(description)),
      space_(tile_space(description)),
      energies_(c_interface::energies_of_orbitals(description, space_)),
      has_integrals_(description.has_integrals != 0),
      has_fock_(description.has_fock != 0),
      has_exchange_integrals_(description.has_exchange_integrals != 0),
      reader_(reader),
      context_(context) {}

void CallerSource::read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const {
  const std::array<std::int64_t, 4> numbers = {tiles[0], tiles[1], tiles[2], tiles[3]};
  const std::int32_t code = reader_(context_, static_cast<std::int32_t>(tensor), numbers.data(),
                                    static_cast<std::int64_t>(block.size()), block.data());
  if (code == 0) return;
  constexpr std::array<const char*, 4> names = {"the Fock matrix", "T1", "T2", "V2"};
  throw InputError(fmt::format(
      "The calling program could not deliver block ({}) of {}: its reader returned {}.",
      fmt::join(tiles.begin(), tiles.begin() + (tensor == TensorKind::fock || tensor == TensorKind::t1 ? 2 : 4), ", "),
      names[static_cast<std::size_t>(tensor)], code));
}

}
