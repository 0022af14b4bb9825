#include "cxx/triples/semicanonical.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/cpu/blas.hpp"
#include "tce_tiles/blocks.hpp"
#include "tce_tiles/memory_source.hpp"

extern "C" void dsyev_(const char* job, const char* triangle, const int* n, double* a, const int* lda, double* w,
                       double* work, const int* lwork, int* info);

namespace trifuse {

namespace {

/// One tile per class and irrep, so that a rotation never mixes tiles.
constexpr std::int64_t undivided = std::numeric_limits<std::int32_t>::max();

/// Eigenvectors of one tile's Fock block, column by column: [orbital, new orbital], orbital fastest.
struct Rotation {
  std::vector<double> vectors;
  std::vector<double> energies;
};

Rotation diagonalize(std::vector<double> matrix, std::int64_t size) {
  Rotation rotation;
  rotation.energies.resize(static_cast<std::size_t>(size));
  const int n = static_cast<int>(size), lwork = 34 * n;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  int info = 0;
  dsyev_("V", "U", &n, matrix.data(), &n, rotation.energies.data(), work.data(), &lwork, &info);
  if (info != 0) throw Error(fmt::format("The Fock matrix could not be diagonalised (LAPACK dsyev: {}).", info));
  rotation.vectors = std::move(matrix);
  return rotation;
}

/// Rotates every dimension of a block; dims and rotations from the slowest index to the fastest.
void rotate(std::span<double> block, std::span<const std::int64_t> dims, std::span<const Rotation* const> rotations,
            Buffer& scratch) {
  scratch.reserve(block.size());
  std::int64_t inner = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    const auto n = static_cast<int>(dims[d]);
    const auto step = static_cast<int>(inner);
    const std::int64_t outer = static_cast<std::int64_t>(block.size()) / (dims[d] * inner);
    const double* u = rotations[d]->vectors.data();
    for (std::int64_t o = 0; o < outer; ++o) {
      // block[inner, n] -> sum over n of block[inner, n] u[n, n'].
      const std::int64_t at = o * dims[d] * inner;
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, step, n, n, 1.0, block.data() + at, step, u, n, 0.0,
                  scratch.data() + at, step);
    }
    std::copy_n(scratch.data(), block.size(), block.data());
    inner *= dims[d];
  }
}

}  // namespace

double semicanonical_bytes(const TileSource& source) {
  const TileSpace& space = source.tiles();
  const BlockIndex t2 = t2_blocks(space), v2 = triples_v2_blocks(space);
  constexpr double copies = 2.0;
  return copies * sizeof(double) * static_cast<double>(t2.doubles() + (source.has_integrals() ? v2.doubles() : 0));
}

std::unique_ptr<TileSource> make_semicanonical(const TileSource& source, const TileSource& fock_source) {
  if (!fock_source.has_fock()) {
    throw InputError(fmt::format(
        "{} holds no Fock matrix, which semicanonical orbitals need; add it (NWChem: set tce:writeint T; HDF5: "
        "datasets fock_a and fock_b).",
        fock_source.info().path));
  }
  // The bits of orbitals and amplitudes must not depend on how many threads the library has.
  use_single_threaded_blas();
  const std::unique_ptr<TileSource> whole = retile(source, undivided, undivided);
  const std::unique_ptr<TileSource> fock =
      &source == &fock_source ? nullptr : retile(fock_source, undivided, undivided);
  const TileSource& with_fock = fock ? *fock : *whole;
  const TileSpace& space = whole->tiles();

  std::vector<Rotation> rotations;
  std::vector<double> energies;
  for (int t = 0; t < space.size(); ++t) {
    const std::int64_t n = space[t].size;
    std::vector<double> block(static_cast<std::size_t>(n * n));
    const int alpha = space[t].partner;  // restricted: beta blocks are not stored
    with_fock.read_fock(alpha, alpha, block);
    rotations.push_back(diagonalize(std::move(block), n));
    energies.insert(energies.end(), rotations.back().energies.begin(), rotations.back().energies.end());
  }

  auto result = std::make_unique<MemorySource>(space, energies, source.info(),
                                               MemorySource::Contents{source.has_integrals(), with_fock.has_fock()});
  Buffer block, scratch;
  const auto rotated = [&](std::initializer_list<int> tiles, auto read) {
    std::vector<std::int64_t> dims;
    std::vector<const Rotation*> by;
    std::size_t count = 1;
    for (const int t : tiles) {
      dims.push_back(space[t].size);
      by.push_back(&rotations[static_cast<std::size_t>(t)]);
      count *= static_cast<std::size_t>(space[t].size);
    }
    block.reserve(count);
    const std::span<double> data(block.data(), count);
    read(data);
    rotate(data, dims, by, scratch);
    return std::span<const double>(data);
  };
  for (const Block& b : result->fock_index().blocks()) {
    const auto [u, l, unused1, unused2] = b.tiles;
    result->set_fock(u, l, rotated({u, l}, [&, u = u, l = l](auto data) { with_fock.read_fock(u, l, data); }));
  }
  for (const Block& b : result->t1_index().blocks()) {
    const auto [p, h, unused1, unused2] = b.tiles;
    result->set_t1(p, h, rotated({p, h}, [&, p = p, h = h](auto data) { whole->read_t1(p, h, data); }));
  }
  const auto four = [&](const Block& b, auto read, auto set) {
    const auto [w, x, y, z] = b.tiles;
    set(w, x, y, z, rotated({w, x, y, z}, [&, w = w, x = x, y = y, z = z](auto data) { read(w, x, y, z, data); }));
  };
  for (const Block& b : result->t2_index().blocks()) {
    four(
        b, [&](int w, int x, int y, int z, auto data) { whole->read_t2(w, x, y, z, data); },
        [&](int w, int x, int y, int z, auto data) { result->set_t2(w, x, y, z, data); });
  }
  if (source.has_integrals()) {
    for (const Block& b : result->v2_index().blocks()) {
      four(
          b, [&](int w, int x, int y, int z, auto data) { whole->read_v2(w, x, y, z, data); },
          [&](int w, int x, int y, int z, auto data) { result->set_v2(w, x, y, z, data); });
    }
  }
  return result;
}

}  // namespace trifuse
