#include "cxx/operands/made_panels.hpp"

#include <algorithm>

#include "cxx/base/blas.hpp"
#include "cxx/operands/factor_products.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse {

namespace {

PanelTiles tiles_of(const PanelKey& key) {
  return {key.tiles[0], key.tiles[1], key.tiles[2]};
}

}  // namespace

MadePanels::MadePanels(const PanelStore& store, std::int64_t budget_bytes)
    : store_(store), layout_(store.layout()), cache_(budget_bytes) {
  // Any number of threads multiply at the same time, and the bits must not depend on the threads of the BLAS library.
  use_single_threaded_blas();
}

PanelGuard MadePanels::acquire(const PanelKey& key) {
  return cache_.acquire(number_of(key), layout_.whole_doubles(key), [&](std::span<double> values) {
    if (key.kind == PanelKind::right) return make_right_panel(key, values);
    multiply_factors(key, values.data(), factor_rows(layout_.tiles(), layout_.formulation(), key).length);
  });
}

void MadePanels::make_right_panel(const PanelKey& key, std::span<double> rows) const {
  ContractedIndex contracted{};
  right_contracted_index(layout_.tiles(), layout_.formulation(), tiles_of(key), contracted);
  const auto [particles, holes] = contracted_extent(layout_.tiles(), contracted);
  const PanelRows whole = layout_.rows(key);
  const std::int64_t numbers = particles + (layout_.two_sided() ? 2 : 1) * holes;
  for (auto row = rows.begin(); row != rows.end(); row += whole.stride) {
    std::fill(row + numbers, row + whole.stride, 0.0);
  }
  for (const AmplitudeSide side : {AmplitudeSide::right, AmplitudeSide::left}) {
    if (side == AmplitudeSide::left && !layout_.two_sided()) continue;
    copy_holes(PanelKey::right(tiles_of(key), side), holes, rows.data());
  }
  multiply_factors(key, rows.data() + whole.particle_part, whole.stride);
}

void MadePanels::copy_holes(const PanelKey& key, std::int64_t holes, double* rows) const {
  const Panel stored = store_.acquire_stored(key);
  if (stored.data == nullptr) return;
  const PanelRows whole = layout_.rows(key);
  const std::int64_t count = factor_rows(layout_.tiles(), layout_.formulation(), key).count();
  for (std::int64_t n = 0; n < count; ++n) {
    std::copy_n(stored.data + n * stored.stride, holes, rows + n * whole.stride + whole.hole_part);
  }
}

void MadePanels::multiply_factors(const PanelKey& key, double* to, std::int64_t stride) const {
  const FactorRows rows = factor_rows(layout_.tiles(), layout_.formulation(), key);
  const std::int64_t auxiliary = layout_.auxiliary(), length = rows.length;
  bool first = true;
  thread_local Buffer memory;
  for (const auto& [first_key, second_key, sign, x, y, z] :
       factor_products(layout_.tiles(), layout_.formulation(), key)) {
    const Panel one = store_.acquire_stored(first_key), other = store_.acquire_stored(second_key);
    const bool transposed = second_key.kind == PanelKind::factors_ov;  // [z,n,Q] instead of [z,Q,n]
    const std::int64_t x_count = rows.extent[x], y_count = rows.extent[y];
    const auto count = static_cast<std::size_t>(x_count * y_count * length);
    memory.reserve(count);
    for (std::int64_t k = 0; k < rows.extent[z]; ++k) {
      const double* from = memory.data();
      std::fill_n(memory.data(), count, 0.0);
      multiply_add(false, transposed, x_count * y_count, length, auxiliary, 1.0, one.data, auxiliary,
                   other.data + k * auxiliary * length, transposed ? auxiliary : length, memory.data(), length);
      for (std::int64_t i = 0; i < x_count; ++i) {
        for (std::int64_t j = 0; j < y_count; ++j, from += length) {
          double* const row = to + (i * rows.step(x) + j * rows.step(y) + k * rows.step(z)) * stride;
          if (first) {
            for (std::int64_t n = 0; n < length; ++n) row[n] = sign * from[n];
          } else {
            for (std::int64_t n = 0; n < length; ++n) row[n] += sign * from[n];
          }
        }
      }
    }
    first = false;
  }
}

}  // namespace trifuse
