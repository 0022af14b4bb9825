#include "cxx/rotation/orbital_rotation.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cxx/base/blas.hpp"
#include "cxx/base/copy_box.hpp"
#include "cxx/base/error.hpp"

extern "C" void dsyev_(const char* job, const char* triangle, const int* n, double* a, const int* lda, double* w,
                       double* work, const int* lwork, int* info);

namespace trifuse {

namespace {

/// Returns the Fock matrix of an orbital range, [upper, lower].
std::vector<double> fock_of(const OrbitalRotation::Range& range, const TileSource& source) {
  const TileSpace& space = source.tiles();
  std::vector<double> matrix(static_cast<std::size_t>(range.size * range.size)), block;
  const auto in_range = [&](const Tile& tile) {
    return tile.orbital_class == range.orbital_class && tile.irrep == range.irrep;
  };
  for (const Tile& u : space.tiles()) {
    for (const Tile& l : space.tiles()) {
      if (!in_range(u) || !in_range(l)) continue;
      block.resize(static_cast<std::size_t>(u.size * l.size));
      source.read_fock(u.partner, l.partner, block);  // a restricted source stores no beta blocks
      copy_matrix(u.size, l.size, block.data(), l.size,
                  matrix.data() + (u.offset - range.offset) * range.size + (l.offset - range.offset), range.size);
    }
  }
  return matrix;
}

/// Replaces a symmetric matrix by its eigenvectors, [eigenvector, orbital], and returns its eigenvalues.
std::vector<double> diagonalize(std::vector<double>& matrix, std::int64_t size) {
  std::vector<double> values(static_cast<std::size_t>(size));
  const int n = static_cast<int>(size), lwork = 34 * n;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  int info = 0;
  dsyev_("V", "U", &n, matrix.data(), &n, values.data(), work.data(), &lwork, &info);
  if (info != 0) throw Error(fmt::format("The Fock matrix could not be diagonalised (LAPACK dsyev: {}).", info));
  return values;
}

}

OrbitalRotation::OrbitalRotation(const TileSource& fock) {
  if (!fock.has_fock()) {
    throw InputError(fmt::format(
        "{} holds no Fock matrix, which semicanonical orbitals need; add it (NWChem: set tce:writeint T; HDF5: "
        "datasets fock_a and fock_b).",
        fock.info().path));
  }
  // The bits of orbitals and amplitudes must not depend on the number of threads of the BLAS library.
  use_single_threaded_blas();
  for (const OrbitalClass orbital_class : orbital_classes) {
    for (int irrep = 0; irrep < 8; ++irrep) {
      const auto [offset, size] = fock.tiles().range(orbital_class, irrep);
      if (size == 0) continue;
      Range& range = ranges_.emplace_back(Range{orbital_class, irrep, offset, size, {}});
      range.vectors = fock_of(range, fock);
      const std::vector<double> values = diagonalize(range.vectors, size);
      energies_.insert(energies_.end(), values.begin(), values.end());
    }
  }
}

void OrbitalRotation::take_those_of_first(Communicator& communicator) {
  const auto take = [&](std::span<double> numbers) {
    if (communicator.rank() != 0) std::fill(numbers.begin(), numbers.end(), 0.0);
    communicator.allreduce_sum(numbers);
  };
  take(energies_);
  for (Range& range : ranges_) take(range.vectors);
}

std::size_t OrbitalRotation::range_of(const Tile& tile) const {
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& candidate) {
    return candidate.orbital_class == tile.orbital_class && candidate.irrep == tile.irrep;
  });
  return static_cast<std::size_t>(range - ranges_.begin());
}

void rotate_index(const OrbitalRotation::Range& range, std::int64_t inner, std::int64_t outer, const double* from,
                  double* to) {
  const auto n = static_cast<int>(range.size);
  const double* const u = range.vectors.data();
  if (inner == 1) {
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, static_cast<int>(outer), n, 1.0, u, n, from, n, 0.0, to, n);
    return;
  }
  const auto rows = static_cast<int>(inner);
  for (std::int64_t o = 0; o < outer; ++o) {
    const std::int64_t at = o * range.size * inner;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, n, n, 1.0, from + at, rows, u, n, 0.0, to + at, rows);
  }
}

}
