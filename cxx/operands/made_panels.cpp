#include "cxx/operands/made_panels.hpp"

#include <algorithm>
#include <array>

#include "cxx/base/blas.hpp"
#include "cxx/operands/factor_products.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse {

namespace {

PanelTiles tiles_of(const PanelKey& key) {
  return {key.tiles[0], key.tiles[1], key.tiles[2]};
}

/// Numbers of orbitals of the tiles p, p', h.
std::array<std::int64_t, 3> extents_of(const TileSpace& space, const PanelKey& key) {
  return {space[key.tiles[0]].size, space[key.tiles[1]].size, space[key.tiles[2]].size};
}

}  // namespace

MadePanels::MadePanels(const PanelStore& store, std::int64_t budget_bytes)
    : store_(store), layout_(store.layout()), cache_(budget_bytes) {
  // Any number of threads multiply at the same time, and the bits must not depend on the threads of the BLAS library.
  use_single_threaded_blas();
}

PanelGuard MadePanels::acquire(const PanelKey& key) {
  return cache_.acquire(layout_.number_of(key), layout_.whole_doubles(key),
                        [&](std::span<double> rows) { make(key, rows); });
}

void MadePanels::make(const PanelKey& key, std::span<double> rows) const {
  ContractedIndex contracted{};
  right_contracted_index(layout_.tiles(), layout_.formulation(), tiles_of(key), contracted);
  const auto [particles, holes] = contracted_extent(layout_.tiles(), contracted);
  const std::int64_t stride = layout_.rows(key).stride, numbers = particles + (layout_.two_sided() ? 2 : 1) * holes;
  for (auto row = rows.begin(); row != rows.end(); row += stride) std::fill(row + numbers, row + stride, 0.0);
  for (const AmplitudeSide side : {AmplitudeSide::right, AmplitudeSide::left}) {
    if (side == AmplitudeSide::left && !layout_.two_sided()) continue;
    copy_holes(PanelKey::right(tiles_of(key), side), holes, rows.data());
  }
  multiply_factors(key, particles, rows.data());
}

void MadePanels::copy_holes(const PanelKey& key, std::int64_t holes, double* rows) const {
  const Panel stored = store_.acquire_stored(key);
  if (stored.data == nullptr) return;
  const PanelRows whole = layout_.rows(key);
  const auto [np, npp, nh] = extents_of(layout_.tiles(), key);
  for (std::int64_t n = 0; n < np * npp * nh; ++n) {
    std::copy_n(stored.data + n * stored.stride, holes, rows + n * whole.stride + whole.hole_part);
  }
}

void MadePanels::multiply_factors(const PanelKey& key, std::int64_t particles, double* rows) const {
  const PanelRows whole = layout_.rows(key);
  const std::int64_t auxiliary = layout_.auxiliary();
  const auto [np, npp, nh] = extents_of(layout_.tiles(), key);
  bool first = true;
  thread_local Buffer memory;
  for (const FactorProduct& product : factor_products(layout_.tiles(), layout_.formulation(), tiles_of(key))) {
    const Panel vv = store_.acquire_stored(product.vv), ov = store_.acquire_stored(product.ov);
    // The rows are [h,p,p']. One of p and p' is b, the other one is q.
    const std::int64_t b_step = product.batched == 0 ? npp : 1, q_step = product.batched == 0 ? 1 : npp;
    const std::int64_t b_count = product.batched == 0 ? np : npp, q_count = product.batched == 0 ? npp : np;
    const auto count = static_cast<std::size_t>(nh * q_count * particles);
    memory.reserve(count);
    for (std::int64_t b = 0; b < b_count; ++b) {
      const double* from = memory.data();
      std::fill_n(memory.data(), count, 0.0);
      multiply_add(false, false, nh * q_count, particles, auxiliary, 1.0, ov.data, auxiliary,
                   vv.data + b * auxiliary * particles, particles, memory.data(), particles);
      for (std::int64_t h = 0; h < nh; ++h) {
        for (std::int64_t q = 0; q < q_count; ++q, from += particles) {
          double* const row = rows + (b * b_step + q * q_step + h * np * npp) * whole.stride + whole.particle_part;
          if (first) {
            for (std::int64_t d = 0; d < particles; ++d) row[d] = product.sign * from[d];
          } else {
            for (std::int64_t d = 0; d < particles; ++d) row[d] += product.sign * from[d];
          }
        }
      }
    }
    first = false;
  }
}

}  // namespace trifuse
