#include "cxx/operands/made_panels.hpp"

#include <algorithm>

#include "cxx/base/blas.hpp"
#include "cxx/operands/factor_products.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse {

MadePanels::MadePanels(const PanelStore& store, std::int64_t budget_bytes)
    : store_(store), layout_(store.layout()), cache_(budget_bytes) {
  // Any number of threads multiply at the same time, and the bits must not depend on the threads of the BLAS library.
  use_single_threaded_blas();
}

PanelGuard MadePanels::acquire(const PanelKey& key) {
  return cache_.acquire(number_of(key), layout_.whole_doubles(key), [&](std::span<double> values) {
    if (key.kind != PanelKind::vvoo) return make_rows(key, values);
    multiply_factors(key, values.data(), factor_rows(layout_.tiles(), layout_.formulation(), key).length);
  });
}

void MadePanels::make_rows(const PanelKey& key, std::span<double> rows) const {
  const bool left = key.kind == PanelKind::left;
  const auto [particles, holes] = layout_.contracted(key);
  const PanelRows whole = layout_.rows(key);
  const std::span<const Side> sides = layout_.sides_in_panel(key);
  const std::int64_t numbers = particles + std::ssize(sides) * holes;
  for (auto row = rows.begin(); row != rows.end(); row += whole.stride) {
    std::fill(row + numbers, row + whole.stride, 0.0);
  }
  for (const Side side : sides) {
    PanelKey of_side = key;
    of_side.side = side;
    copy_amplitudes(of_side, left ? particles : holes, rows.data());
  }
  multiply_factors(key, rows.data() + whole.made_part(key.kind), whole.stride);
}

void MadePanels::copy_amplitudes(const PanelKey& key, std::int64_t length, double* rows) const {
  const Panel stored = store_.acquire_stored(key);
  if (stored.data == nullptr) return;
  const PanelRows whole = layout_.rows(key);
  const std::int64_t count = factor_rows(layout_.tiles(), layout_.formulation(), key).count();
  for (std::int64_t n = 0; n < count; ++n) {
    std::copy_n(stored.data + n * stored.stride, length, rows + n * whole.stride + whole.amplitude_part(key.kind));
  }
}

void MadePanels::multiply_factors(const PanelKey& key, double* to, std::int64_t stride) const {
  const PanelFactorRows rows = factor_rows(layout_.tiles(), layout_.formulation(), key);
  const std::int64_t auxiliary = layout_.auxiliary(), length = rows.length;
  bool first = true;
  thread_local Buffer memory;
  for (const FactorProduct& product : factor_products(layout_.tiles(), layout_.formulation(), key)) {
    const auto& [first_key, second_key, sign, x, y, z] = product;
    const Panel one = store_.acquire_stored(first_key), other = store_.acquire_stored(second_key);
    const bool transposed = product.transposed();
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

}
