#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>

#include "tce_tiles/nwchem_files/nwchem_caller.hpp"
#include "tests/nwchem/task_loop.hpp"
#include "tests/support/expected_energies.hpp"
#include "tests/support/nwchem_program.hpp"

/// What the stand-in for NWChem gets from a reference dump: the tile table as NWChem's memory has it, and the vectors
/// as NWChem wrote them.

namespace {

using namespace trifuse;

struct Dump {
  std::string name;
  trifuse::testing::NwchemProgram program;
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

}

extern "C" {

void start_mpi() {
  int provided = 0;
  // As NWChem does: no promise that any other thread may call.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
}
void forget_settings() {
  unsetenv("TRIFUSE_FORM");
}
void end_mpi() {
  MPI_Finalize();
}

void open_dump(const char* folder, std::int64_t* counts) {
  or_end([&] {
    const std::filesystem::path path = folder;
    dump.emplace(Dump{path.filename().string(), trifuse::testing::NwchemProgram((path / "c").string())});
    const auto& program = dump->program;
    counts = std::copy(program.counts.begin(), program.counts.end(), counts);
    *counts++ = static_cast<std::int64_t>(program.energies.size());
    *counts++ = program.restricted ? 1 : 0;
    *counts++ = program.spatial() ? 1 : 0;
    *counts++ = program.lengths.t1;
    *counts++ = program.lengths.t2;
    *counts++ = program.lengths.v2;
  });
}

void dump_tiles(std::int64_t* spin, std::int64_t* irrep, std::int64_t* size, std::int64_t* spatial, double* energies) {
  const auto& program = dump->program;
  std::copy(program.spin.begin(), program.spin.end(), spin);
  std::copy(program.irrep.begin(), program.irrep.end(), irrep);
  std::copy(program.size.begin(), program.size.end(), size);
  std::copy(program.spatial_tile.begin(), program.spatial_tile.end(), spatial);
  std::copy(program.energies.begin(), program.energies.end(), energies);
}

void dump_read(std::int64_t tensor, std::int64_t offset, std::int64_t count, double* values) {
  or_end([&] {
    const auto& vector = dump->program.vector(static_cast<NwchemTensor>(tensor - 1));
    vector.read(offset, std::span(values, static_cast<std::size_t>(count)));
  });
}

void dump_energies(double* energies) {
  or_end([&] {
    const auto expected = trifuse::testing::expected_energies(dump->name);
    energies[0] = expected.plain.e_bracket_t;
    energies[1] = expected.plain.e_paren_t;
  });
}

using Get = std::int64_t (*)(void*, std::int64_t, std::int64_t, std::int64_t, double*);
using Next = std::int64_t (*)();

void symbols_energies(const std::int64_t* handles, Get get, Next next, double* energies) {
  or_end([&] {
    const auto read = [&](NwchemTensor tensor, std::int64_t offset, std::span<double> values) {
      get(nullptr, handles[static_cast<int>(tensor)], offset, static_cast<std::int64_t>(values.size()), values.data());
    };
    const auto& program = dump->program;
    const auto source = make_nwchem_caller_source(program.tiles(), program.lengths, program.energies, read);
    const auto found = trifuse::testing::TaskLoop(*source).energies(next);
    energies[0] = found[0];
    energies[1] = found[1];
  });
}
}
