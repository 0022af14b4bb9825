#include "tce_tiles/nwchem_files/nwchem_caller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_tensor_source.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {

namespace {

/// A vector that the running NWChem reads.
class CallerVector final : public NwchemVector {
 public:
  CallerVector(NwchemTensor tensor, std::string name, std::int64_t doubles, NwchemReader read)
      : tensor_(tensor), name_(std::move(name)), doubles_(doubles), read_(std::move(read)) {}

  std::int64_t doubles() const override { return doubles_; }
  const std::string& name() const override { return name_; }
  void read(std::int64_t offset, std::span<double> values) const override {
    if (offset < 0 || offset + static_cast<std::int64_t>(values.size()) > doubles_) {
      throw InputError(
          fmt::format("{} of NWChem ends before double {}.", name_, offset + static_cast<std::int64_t>(values.size())));
    }
    read_(tensor_, offset, values);
  }

 private:
  std::string not_finite(std::int64_t position, double value, const std::string& what) const override {
    return fmt::format("{} of NWChem holds a value that is not finite ({}) in {}, double {} of the array.", name_,
                       value, what, position + 1);
  }

  NwchemTensor tensor_;
  std::string name_;
  std::int64_t doubles_;
  NwchemReader read_;
};

std::string_view storage_name(V2Storage storage) {
  return storage == V2Storage::spatial ? "2eorb" : "2espin";
}

/// Throws InputError if a vector has a wrong length. NWChem gives a tensor without blocks a vector of one double.
void check_length(const std::string& name, std::int64_t expected, std::int64_t found) {
  if (found == expected || (expected == 0 && found == 1)) return;
  throw InputError(fmt::format(
      "{} of NWChem has {} doubles, but by the tile table it must have {}: this NWChem uses another storage layout.",
      name, found, expected));
}

void check_spatial_tiles(const NwchemTiles& tiles, const TileSpace& space) {
  const SpatialTiles own = spatial_tiles(space);
  for (int t = 0; t < space.size(); ++t) {
    const std::int64_t expected = own.spatial_tile[static_cast<std::size_t>(t)] + 1;
    const std::int64_t found = tiles.spatial_tile[static_cast<std::size_t>(t)];
    if (found == expected) continue;
    throw InputError(
        fmt::format("NWChem has the orbitals of tile {} in spatial tile {}, but {} is expected: this NWChem uses "
                    "another order of orbital integrals (2eorb); use 2espin.",
                    t + 1, found, expected));
  }
}

}

TileSpace nwchem_tile_space(const NwchemTiles& table) {
  const std::array<std::int64_t, 4> counts = {table.noa, table.nob, table.nva, table.nvb};
  constexpr std::int64_t max_tiles = 1'000'000;
  std::int64_t all = 0;
  for (const std::int64_t count : counts) {
    if (count < 0 || count > max_tiles) {
      throw InputError(fmt::format("NWChem's table says that a class has {} tiles; this is impossible.", count));
    }
    all += count;
  }
  const auto entries = static_cast<std::size_t>(all);
  const bool spatial = table.storage == V2Storage::spatial;
  if (all == 0 || table.spin.size() != entries || table.irrep.size() != entries || table.size.size() != entries ||
      table.spatial_tile.size() != (spatial ? entries : 0)) {
    throw InputError(
        fmt::format("NWChem's table has {} + {} + {} + {} tiles, but its lists of spins, irreps, sizes or spatial "
                    "tiles have another length.",
                    counts[0], counts[1], counts[2], counts[3]));
  }
  std::vector<Tile> tiles;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    for (std::int64_t n = 0; n < counts[c]; ++n) {
      const std::size_t t = tiles.size();
      const auto orbital_class = orbital_classes[c];
      if (table.spin[t] != spin_number(spin_of(orbital_class))) {
        throw InputError(fmt::format("Tile {} of NWChem's table is in the class {}, but its spin is {}.", t + 1,
                                     to_string(orbital_class), table.spin[t]));
      }
      if (table.irrep[t] < 0 || table.irrep[t] > 7) {
        throw InputError(
            fmt::format("Tile {} of NWChem's table has irrep {}; Trifuse supports Abelian groups, with irreps 0 to 7.",
                        t + 1, table.irrep[t]));
      }
      tiles.push_back({orbital_class, static_cast<int>(table.irrep[t]), table.size[t], 0, 0});
    }
  }
  return {std::move(tiles), table.restricted};
}

std::unique_ptr<TileSource> make_nwchem_caller_source(const NwchemTiles& tiles, const NwchemLengths& lengths,
                                                      std::span<const double> orbital_energies, NwchemReader read) {
  TileSpace space = nwchem_tile_space(tiles);
  if (static_cast<std::int64_t>(orbital_energies.size()) != space.orbitals()) {
    throw InputError(fmt::format("NWChem's tiles hold {} orbitals, but there are {} orbital energies.",
                                 space.orbitals(), orbital_energies.size()));
  }
  for (std::size_t p = 0; p < orbital_energies.size(); ++p) {
    if (std::isfinite(orbital_energies[p])) continue;
    throw InputError(
        fmt::format("NWChem's energy of sorted orbital {} is not finite ({}).", p + 1, orbital_energies[p]));
  }
  const bool spatial = tiles.storage == V2Storage::spatial;
  if (spatial) check_spatial_tiles(tiles, space);
  const NwchemSizes sizes = nwchem_sizes(space);
  check_length("T1", sizes.t1, lengths.t1);
  check_length("T2", sizes.t2, lengths.t2);
  const std::string v2 = fmt::format("V2 ({})", storage_name(tiles.storage));
  check_length(v2, spatial ? sizes.v2_spatial.value() : sizes.v2_spin_orbital, lengths.v2);

  SourceInfo info;
  info.path = "NWChem's calculation";
  info.format = fmt::format("NWChem's arrays ({})", storage_name(tiles.storage));
  // NWChem's (T) does not distinguish UHF and ROHF: both have orbital energies of each spin.
  info.reference = tiles.restricted ? Reference::rhf : Reference::uhf;
  info.may_be_rohf = !tiles.restricted;
  info.of_all_ranks = true;
  info.nothing_to_add = true;
  info.fock_in_triples = FockInTriples::left_out;
  NwchemVectors vectors;
  vectors.storage = tiles.storage;
  vectors.t1 = std::make_unique<CallerVector>(NwchemTensor::t1, "T1", lengths.t1, read);
  vectors.t2 = std::make_unique<CallerVector>(NwchemTensor::t2, "T2", lengths.t2, read);
  vectors.v2 = std::make_unique<CallerVector>(NwchemTensor::v2, v2, lengths.v2, std::move(read));
  return std::make_unique<NwchemTensorSource>(std::move(info), std::move(space),
                                              std::vector<double>(orbital_energies.begin(), orbital_energies.end()),
                                              std::move(vectors));
}

}
