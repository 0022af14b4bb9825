#include "cxx/calculation/factor_derivatives.hpp"

#include <cstddef>
#include <vector>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/factor_adjoint.hpp"
#include "tce_tiles/dense/array_specs.hpp"

namespace trifuse {

namespace {

/// The derivatives by the factors of one pair of spaces, [naux,p,q].
struct OfPair {
  FactorSpec spec;
  DerivativeArray array;

  /// Copies the derivatives by a slab, multiplied by their unit. `slab`: [p,q,naux], or [p,naux,q].
  void take(const ClassOrbitals& p, const ClassOrbitals& q, bool auxiliary_last, std::span<const double> slab) {
    const std::int64_t auxiliary = array.shape[0], step_q = auxiliary_last ? auxiliary : 1,
                       step_auxiliary = auxiliary_last ? 1 : q.count;
    for (std::int64_t k = 0; k < auxiliary; ++k) {
      for (std::int64_t x = 0; x < p.count; ++x) {
        double* const to = array.values.data() + (k * array.shape[1] + p.begin + x) * array.shape[2] + q.begin;
        const double* const from = slab.data() + x * q.count * auxiliary + k * step_auxiliary;
        for (std::int64_t y = 0; y < q.count; ++y) to[y] = unit_of_operands * from[y * step_q];
      }
    }
  }
  /// Makes the planes of symmetric factors symmetric.
  void project(int threads) {
    if (!spec.symmetric()) return;
    const std::int64_t n = array.shape[1];
    share_in_turns(static_cast<std::size_t>(array.shape[0]), threads, [&](std::size_t k) {
      double* const plane = array.values.data() + static_cast<std::int64_t>(k) * n * n;
      for (std::int64_t p = 0; p < n; ++p) {
        for (std::int64_t q = 0; q < p; ++q)
          plane[p * n + q] = plane[q * n + p] = 0.5 * (plane[p * n + q] + plane[q * n + p]);
      }
    });
  }
};

}

std::map<std::string, DerivativeArray> derivatives_by_factors(const Problem& problem, const PanelLayout& layout,
                                                              const CompleteSums& sums, int threads) {
  const TileSpace& space = layout.tiles();
  const std::int64_t auxiliary = problem.right->factors()->auxiliary();
  std::vector<OfPair> pairs;
  for (const FactorSpec& spec : factor_arrays(space.restricted())) {
    const std::vector<std::int64_t> shape = {auxiliary, space.orbitals(spec.p), space.orbitals(spec.q)};
    pairs.push_back({spec, {shape, ZeroedVector<double>(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]))}});
  }
  add_to_slabs(problem, layout, sums, threads, [&](const PanelKey& slab, std::span<const double> derivatives) {
    const ClassOrbitals p = orbitals_of(space, space[slab.tiles[0]]);
    const ClassOrbitals q = slab.kind == PanelKind::factors_ov ? orbitals_of(space, space[slab.tiles[1]])
                                                               : orbitals_of(space, p.orbital_class, slab.tiles[1]);
    for (OfPair& pair : pairs) {
      if (pair.spec.p == p.orbital_class && pair.spec.q == q.orbital_class)
        pair.take(p, q, slab.kind != PanelKind::factors_vv, derivatives);
    }
  });
  std::map<std::string, DerivativeArray> arrays;
  for (OfPair& pair : pairs) {
    pair.project(threads);
    arrays.emplace(pair.spec.name, std::move(pair.array));
  }
  return arrays;
}

}
