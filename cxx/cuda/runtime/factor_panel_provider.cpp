#include "cxx/cuda/runtime/factor_panel_provider.hpp"

#include <algorithm>
#include <utility>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/made_panel.hpp"
#include "cxx/cuda/kernel/slab_product.hpp"

namespace trifuse::gpu {

FactorPanelProvider::FactorPanelProvider(const PanelStore& host, std::shared_ptr<UploadRing> ring,
                                         std::int64_t slab_bytes, std::int64_t row_bytes)
    : host_(host), ring_(std::move(ring)), slabs_(host, ring_, slab_bytes), row_bytes_(row_bytes) {}

bool FactorPanelProvider::provides(const PanelName& name) const {
  return host_.layout().makes(name.key) && host_.layout().find(name.key) != nullptr;
}

void FactorPanelProvider::prefetch(const PanelName& name) const {
  host_.prefetch(name.key);
}

std::int64_t FactorPanelProvider::produce(const PanelName& name, const Packing& whole, void* to, cudaStream_t stream) {
  rows_.reserve(static_cast<std::size_t>(row_bytes_) / sizeof(double));
  const PanelLayout& layout = host_.layout();
  Making making{factor_rows(layout.tiles(), layout.formulation(), name.key),
                factor_products(layout.tiles(), layout.formulation(), name.key),
                {}};
  std::vector<PanelKey> keys;
  for (const FactorProduct& product : making.products) keys.insert(keys.end(), {product.first, product.second});

  Span& span = spans_[next_span_];
  {
    const std::lock_guard lock(mutex_);
    statistics_.seconds += seconds_of(span);
    span.recorded = false;
    next_span_ = (next_span_ + 1) % spans_.size();
  }
  TRIFUSE_CUDA(cudaEventRecord(span.begin, stream));
  SlabCache::Brought slabs = slabs_.bring(keys, stream);
  making.slabs = std::move(slabs.slabs);
  std::int64_t bytes_sent = slabs.bytes;

  const Panel amplitudes = host_.acquire_stored(name.key);
  const std::int64_t rows_of_block = hole_group_size * making.rows.step(0);
  const auto room_for = [&](std::int64_t doubles, std::int64_t stride) {
    return doubles / (rows_of_block * std::max<std::int64_t>(stride, 1));
  };
  const std::int64_t room = std::min(room_for(row_bytes_ / static_cast<std::int64_t>(sizeof(double)), making.stride()),
                                     room_for(ring_->room(), amplitudes.stride));
  Packing packing = whole;
  const std::int32_t all = packing.extent[packing.outer];
  const auto step =
      static_cast<std::int32_t>(std::min<std::int64_t>(all, std::max<std::int64_t>(room, 1) * hole_group_size));
  for (std::int32_t first = 0; first < all; first += step) {
    packing.outer_begin = first;
    packing.outer_count = std::min(step, all - first);
    multiply(making, {first, packing.outer_count}, stream);
    bytes_sent += pack(name, packing, making, amplitudes, to, stream);
  }
  TRIFUSE_CUDA(cudaEventRecord(span.end, stream));
  const std::lock_guard lock(mutex_);
  span.recorded = true;
  statistics_.bytes_made += packed_bytes(whole, name.format);
  return bytes_sent;
}

void FactorPanelProvider::multiply(const Making& making, const Part& part, cudaStream_t stream) {
  const PanelFactorRows& rows = making.rows;
  const std::int64_t auxiliary = host_.layout().auxiliary(), stride = making.stride();
  for (std::size_t n = 0; n < making.products.size(); ++n) {
    const FactorProduct& factors = making.products[n];
    const auto& [first, second, sign, x, y, z] = factors;
    const SlabShape of_first = slab_shape(host_.tiles(), auxiliary, first),
                    of_second = slab_shape(host_.tiles(), auxiliary, second);
    const auto count = [&](std::size_t position) { return position == 0 ? part.holes : rows.extent[position]; };
    SlabProduct product{};
    product.b_transposed = factors.transposed();
    product.matrices = static_cast<std::int32_t>(count(z));
    product.rows = static_cast<std::int32_t>(count(x) * count(y));
    product.columns = static_cast<std::int32_t>(rows.length);
    product.depth = static_cast<std::int32_t>(auxiliary);
    product.inner_rows = static_cast<std::int32_t>(count(y));
    product.a_row = of_first.stride();
    product.b_row = of_second.stride();
    product.b_matrix = (product.b_transposed ? rows.length : auxiliary) * of_second.stride();
    product.a = making.slabs[2 * n] + (x == 0 ? part.first * rows.extent[y] * product.a_row : 0);
    product.b = making.slabs[2 * n + 1] + (z == 0 ? part.first * product.b_matrix : 0);
    product.c = rows_.data();
    product.c_outer = rows.step(x) * stride;
    product.c_inner = rows.step(y) * stride;
    product.c_matrix = rows.step(z) * stride;
    product.sign = sign;
    product.adds = n > 0;
    launch_slab_product(product, stream);
  }
}

std::int64_t FactorPanelProvider::pack(const PanelName& name, const Packing& part, const Making& making,
                                       const Panel& amplitudes, void* to, cudaStream_t stream) {
  if (name.key.kind == PanelKind::vvoo) {
    launch_packing(with_longer_rows(part, making.rows.length, making.stride()), name.format, rows_.data(), to, stream);
    return 0;
  }
  const PanelRows rows = host_.layout().rows(name.key);
  MadeRows made{};
  made.integral_rows = rows_.data();
  made.integral_stride = making.stride();
  made.amplitude_stride = amplitudes.stride;
  made.first_integral = static_cast<std::int32_t>(rows.made_part(name.key.kind) - rows.begin);
  made.integrals = static_cast<std::int32_t>(making.rows.length);
  std::int64_t doubles = 0;
  if (amplitudes.data != nullptr) {
    // The last row ends with its last amplitude. Its padding may lie outside the host's memory.
    const std::int64_t rows_of_hole = making.rows.step(0);
    doubles = (part.outer_count * rows_of_hole - 1) * amplitudes.stride + part.contracted - made.integrals;
    made.amplitude_rows =
        ring_->stage(amplitudes.data + part.outer_begin * rows_of_hole * amplitudes.stride, doubles, stream);
  }
  launch_packing_of_made_rows(part, name.format, made, to, stream);
  if (amplitudes.data != nullptr) ring_->release(stream);
  return doubles * static_cast<std::int64_t>(sizeof(double));
}

double FactorPanelProvider::seconds_of(const Span& span) {
  if (!span.recorded) return 0.0;
  TRIFUSE_CUDA(cudaEventSynchronize(span.end));
  return seconds_between(span.begin, span.end);
}

FactorPanelProvider::Statistics FactorPanelProvider::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics now = statistics_;
  for (const Span& span : spans_) now.seconds += seconds_of(span);
  now.slabs = slabs_.statistics();
  return now;
}

}
