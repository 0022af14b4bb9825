#include "cxx/operands/factor_adjoint.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/factor_products.hpp"
#include "tce_tiles/factors/factor_slabs.hpp"

namespace trifuse {

namespace {

/// The slabs of factors from which panels are made.
class Slabs {
 public:
  Slabs(const Problem& problem, const PanelLayout& layout)
      : factors_(*problem.right->factors()), space_(layout.tiles()), held_(factors_.acquire_factors(nullptr)) {}

  std::int64_t auxiliary() const { return factors_.auxiliary(); }
  std::size_t doubles(const PanelKey& key) const {
    const auto [first, last] = orbitals(key);
    return static_cast<std::size_t>(first.count * last.count * auxiliary());
  }
  /// Reads the slabs of two particles into memory.
  void read_vv(const std::vector<PanelKey>& keys, int threads) {
    std::vector<FactorSlab> slabs;
    for (const PanelKey& key : keys) {
      if (key.kind != PanelKind::factors_vv) continue;
      Buffer& memory = vv_.emplace(key, Buffer(doubles(key))).first->second;
      const auto [p, d] = orbitals(key);
      slabs.push_back({p, d, {memory.data(), doubles(key)}});
    }
    read_slabs(factors_, slabs, threads);
  }
  /// Returns a slab. It points into `memory` unless it is one of two particles.
  const double* read(const PanelKey& key, Buffer& memory) const {
    if (key.kind == PanelKind::factors_vv) return vv_.at(key).data();
    memory.reserve(doubles(key));
    const std::span<double> values(memory.data(), doubles(key));
    const auto [h, other] = orbitals(key);
    if (key.kind == PanelKind::factors_oo) {
      factors_.read_oo(h, other, values);
    } else {
      factors_.read_ov(h, other, values);
    }
    return memory.data();
  }

 private:
  std::pair<ClassOrbitals, ClassOrbitals> orbitals(const PanelKey& key) const {
    const ClassOrbitals first = orbitals_of(space_, space_[key.tiles[0]]);
    if (key.kind == PanelKind::factors_ov) return {first, orbitals_of(space_, space_[key.tiles[1]])};
    return {first, orbitals_of(space_, first.orbital_class, key.tiles[1])};
  }

  const FactorSource& factors_;
  const TileSpace& space_;
  const std::shared_ptr<const void> held_;
  std::map<PanelKey, Buffer> vv_;
};

/// A product that makes a part of a panel, and the derivatives by this part: rows of sums.
struct PanelShare {
  FactorProduct product;
  PanelFactorRows rows;
  std::int64_t begin, stride;  ///< first sum, distance between rows
  bool of_first;  ///< whose derivatives are made: those of the first slab of the product, or of the second one
};

/// Returns the shares of all panels in the derivatives by each slab.
std::map<PanelKey, std::vector<PanelShare>> shares_of_slabs(const Problem& problem, const PanelLayout& layout) {
  std::map<PanelKey, std::vector<PanelShare>> shares;
  const std::vector<DisconnectedSet> sets = problem.sets();
  layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
    if (!made_from_factors(sets, key)) return;
    const PanelFactorRows rows = factor_rows(layout.tiles(), layout.formulation(), key);
    const PanelRows stored = key.kind == PanelKind::vvoo ? PanelRows{rows.length, 0, 0, 0} : layout.rows(key);
    const std::int64_t begin = extent.begin + stored.made_part(key.kind);
    for (const FactorProduct& product : factor_products(layout.tiles(), layout.formulation(), key)) {
      shares[product.first].push_back({product, rows, begin, stored.stride, true});
      shares[product.second].push_back({product, rows, begin, stored.stride, false});
    }
  });
  return shares;
}

/// Memory of one thread.
struct SlabScratch {
  Buffer derivatives, other;
};

/// Returns the rows [x,y] of one z, which are copied without gaps.
CompleteSums::Piece rows_of(const PanelShare& share, std::int64_t z) {
  const FactorProduct& product = share.product;
  const PanelFactorRows& rows = share.rows;
  const std::int64_t x_count = rows.extent[product.x], y_count = rows.extent[product.y];
  return {share.begin + z * rows.step(product.z) * share.stride,
          0,
          {1, x_count, y_count, rows.length},
          {0, rows.step(product.x) * share.stride, rows.step(product.y) * share.stride, 1},
          {0, y_count * rows.length, rows.length, 1},
          1.0};
}

/// Adds the share of a panel to the derivatives by a slab.
void add_share(const Slabs& slabs, const PanelShare& share, const CompleteSums& sums, SlabScratch& scratch) {
  const FactorProduct& product = share.product;
  const std::int64_t pairs = share.rows.extent[product.x] * share.rows.extent[product.y], length = share.rows.length,
                     auxiliary = slabs.auxiliary(), matrix = length * auxiliary;
  const double* const other = slabs.read(share.of_first ? product.second : product.first, scratch.other);
  double* const to = scratch.derivatives.data();
  const auto add = [&](std::int64_t z, const double* seeds) {
    // row[x,y] over n = sign sum_Q first[x,y,Q] second[z,Q,n], or second[z,n,Q]
    if (share.of_first) {
      multiply_add(false, !product.transposed(), pairs, auxiliary, length, product.sign, seeds, length,
                   other + z * matrix, product.transposed() ? auxiliary : length, to, auxiliary);
    } else if (product.transposed()) {
      multiply_add(true, false, length, auxiliary, pairs, product.sign, seeds, length, other, auxiliary,
                   to + z * matrix, auxiliary);
    } else {
      multiply_add(true, false, auxiliary, length, pairs, product.sign, other, auxiliary, seeds, length,
                   to + z * matrix, length);
    }
  };
  for (std::int64_t z = 0; z < share.rows.extent[product.z]; ++z) {
    const CompleteSums::Piece rows[] = {rows_of(share, z)};
    sums.read(rows, static_cast<std::size_t>(pairs * length), [&](std::span<const double> seeds) {
      expect_in_range(seeds);
      add(z, seeds.data());
    });
  }
}

}

void add_to_slabs(const Problem& problem, const PanelLayout& layout, const CompleteSums& sums, int threads,
                  const std::function<void(const PanelKey& slab, std::span<const double> derivatives)>& take) {
  use_single_threaded_blas();
  const auto shares = shares_of_slabs(problem, layout);
  std::vector<PanelKey> keys;
  for (const auto& [key, of_slab] : shares) keys.push_back(key);
  Slabs slabs(problem, layout);
  slabs.read_vv(keys, threads);
  // One thread makes all derivatives by a slab, in the order of the layout.
  share_among_threads<SlabScratch>(keys.size(), threads, [&](std::size_t n, SlabScratch& scratch) {
    const std::size_t doubles = slabs.doubles(keys[n]);
    scratch.derivatives.reserve(doubles);
    std::fill_n(scratch.derivatives.data(), doubles, 0.0);
    for (const PanelShare& share : shares.at(keys[n])) add_share(slabs, share, sums, scratch);
    take(keys[n], {scratch.derivatives.data(), doubles});
  });
}

}
