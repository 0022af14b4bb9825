#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>

#include "tce_tiles/blocks.hpp"
#include "tce_tiles/nwchem_caller.hpp"
#include "tce_tiles/nwchem_layout.hpp"
#include "tce_tiles/nwchem_table.hpp"
#include "tests/nwchem/task_loop.hpp"
#include "tests/support/expected_energies.hpp"

/// What the stand-in for NWChem gets from a reference dump: the tile table as NWChem's memory has it, and the vectors
/// as NWChem wrote them.

namespace {

using namespace trifuse;

struct Dump {
  std::string name;
  std::unique_ptr<TileSource> source;
  NwchemTensors tensors;
  bool spatial = false;
};
std::optional<Dump> dump;

/// What fails here is the test's fault.
template <typename Body>
void or_end(Body body) {
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

struct Table {
  std::vector<std::int64_t> spin, irrep, size, spatial;
};

Table table_of(const TileSpace& space, bool spatial) {
  Table table;
  for (const Tile& tile : space.tiles()) {
    table.spin.push_back(spin_number(tile.spin()));
    table.irrep.push_back(tile.irrep);
    table.size.push_back(tile.size);
  }
  table.spatial.assign(table.spin.size(), 0);
  if (!spatial) return table;
  const SpatialTiles tiles = spatial_tiles(space);
  for (std::size_t t = 0; t < table.spatial.size(); ++t) table.spatial[t] = tiles.spatial_tile[t] + 1;
  return table;
}

std::int64_t tiles_of(const TileSpace& space, OrbitalClass c) {
  return space.last(c) - space.first(c);
}

}  // namespace

extern "C" {

void start_mpi() {
  int provided = 0;
  // As NWChem does: no promise that any other thread may call.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
}
void end_mpi() {
  MPI_Finalize();
}

void open_dump(const char* folder, std::int64_t* counts) {
  or_end([&] {
    const std::filesystem::path path = folder;
    NwchemLocation location;
    location.prefix = (path / "c").string();
    dump.emplace();
    dump->name = path.filename().string();
    dump->source = open_nwchem(location);
    dump->tensors = open_tensors(location);
    const TileSpace& space = dump->source->tiles();
    dump->spatial = dump->tensors.storage(space) == V2Storage::spatial;
    for (const OrbitalClass c : orbital_classes) *counts++ = tiles_of(space, c);
    *counts++ = space.orbitals();
    *counts++ = space.restricted() ? 1 : 0;
    *counts++ = dump->spatial ? 1 : 0;
    *counts++ = dump->tensors.t1.doubles();
    *counts++ = dump->tensors.t2.doubles();
    *counts++ = dump->tensors.v2->doubles();
  });
}

void dump_tiles(std::int64_t* spin, std::int64_t* irrep, std::int64_t* size, std::int64_t* spatial, double* energies) {
  or_end([&] {
    const Table table = table_of(dump->source->tiles(), dump->spatial);
    std::copy(table.spin.begin(), table.spin.end(), spin);
    std::copy(table.irrep.begin(), table.irrep.end(), irrep);
    std::copy(table.size.begin(), table.size.end(), size);
    std::copy(table.spatial.begin(), table.spatial.end(), spatial);
    const auto eps = dump->source->orbital_energies();
    std::copy(eps.begin(), eps.end(), energies);
  });
}

void dump_read(std::int64_t tensor, std::int64_t offset, std::int64_t count, double* values) {
  or_end([&] {
    const NwchemTensors& all = dump->tensors;
    const NwchemPayload& payload = tensor == 1 ? all.t1 : tensor == 2 ? all.t2 : *all.v2;
    payload.read(offset, std::span(values, static_cast<std::size_t>(count)));
  });
}

void dump_energies(double* energies) {
  or_end([&] {
    const auto expected = trifuse::testing::expected_energies(dump->name);
    energies[0] = expected.plain.bracket;
    energies[1] = expected.plain.paren;
  });
}

using Get = std::int64_t (*)(void*, std::int64_t, std::int64_t, std::int64_t, double*);
using Next = std::int64_t (*)();

void symbols_energies(const std::int64_t* handles, Get get, Next next, double* energies) {
  or_end([&] {
    const TileSpace& space = dump->source->tiles();
    const Table table = table_of(space, dump->spatial);
    NwchemTiles tiles;
    tiles.noa = tiles_of(space, OrbitalClass::hole_alpha);
    tiles.nob = tiles_of(space, OrbitalClass::hole_beta);
    tiles.nva = tiles_of(space, OrbitalClass::particle_alpha);
    tiles.nvb = tiles_of(space, OrbitalClass::particle_beta);
    tiles.spin = table.spin;
    tiles.irrep = table.irrep;
    tiles.size = table.size;
    tiles.restricted = space.restricted();
    if (dump->spatial) {
      tiles.storage = V2Storage::spatial;
      tiles.spatial_tile = table.spatial;
    }
    const auto read = [&](NwchemTensor tensor, std::int64_t offset, std::span<double> values) {
      get(nullptr, handles[static_cast<int>(tensor)], offset, static_cast<std::int64_t>(values.size()), values.data());
    };
    const NwchemTensors& all = dump->tensors;
    const auto source = make_nwchem_caller_source(tiles, {all.t1.doubles(), all.t2.doubles(), all.v2->doubles()},
                                                  dump->source->orbital_energies(), read);
    const auto found = trifuse::testing::TaskLoop(*source).energies(next);
    energies[0] = found[0];
    energies[1] = found[1];
  });
}
}
