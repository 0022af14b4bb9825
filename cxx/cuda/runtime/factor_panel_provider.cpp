#include "cxx/cuda/runtime/factor_panel_provider.hpp"

#include <algorithm>
#include <utility>

#include "cxx/cuda/kernel/made_panel.hpp"
#include "cxx/cuda/kernel/slab_product.hpp"

namespace trifuse::gpu {

namespace {

PanelTiles tiles_of(const PanelKey& key) {
  return {key.tiles[0], key.tiles[1], key.tiles[2]};
}

}  // namespace

FactorPanelProvider::FactorPanelProvider(const PanelStore& host, std::shared_ptr<UploadRing> ring,
                                         std::int64_t slab_bytes, std::int64_t row_bytes)
    : host_(host), ring_(std::move(ring)), slabs_(host, ring_, slab_bytes), row_bytes_(row_bytes) {}

bool FactorPanelProvider::provides(const PanelName& name) const {
  return name.key.kind == PanelKind::right && host_.layout().has_factors() && host_.layout().find(name.key) != nullptr;
}

void FactorPanelProvider::prefetch(const PanelName& name) const {
  host_.prefetch(name.key);
}

std::int64_t FactorPanelProvider::produce(const PanelName& name, const Packing& whole, void* to, cudaStream_t stream) {
  rows_.reserve(static_cast<std::size_t>(row_bytes_) / sizeof(double));
  const PanelLayout& layout = host_.layout();
  const PanelTiles tiles = tiles_of(name.key);
  const std::vector<FactorProduct> products = factor_products(layout.tiles(), layout.formulation(), tiles);
  std::vector<PanelKey> keys;
  for (const FactorProduct& product : products) keys.insert(keys.end(), {product.vv, product.ov});

  Span& span = spans_[next_span_];
  {
    const std::lock_guard lock(mutex_);
    statistics_.seconds += seconds_of(span);
    span.recorded = false;
    next_span_ = (next_span_ + 1) % spans_.size();
  }
  TRIFUSE_CUDA(cudaEventRecord(span.begin, stream));
  const SlabCache::Brought slabs = slabs_.bring(keys, stream);
  std::int64_t bytes_sent = slabs.bytes;

  ContractedIndex contracted{};
  right_contracted_index(layout.tiles(), layout.formulation(), tiles, contracted);
  const ContractedExtent extent = contracted_extent(layout.tiles(), contracted);
  const PanelRows rows = layout.rows(name.key);
  const Panel holes = host_.acquire_stored(name.key);
  MadeRows made{};
  made.of_particles = rows_.data();
  made.particle_stride = SlabShape::even_row(extent.particles);
  made.hole_stride = holes.stride;
  made.first_particle = static_cast<std::int32_t>(rows.particle_part - rows.begin);
  made.particles = static_cast<std::int32_t>(extent.particles);

  Packing packing = whole;
  const std::int64_t rows_of_hole = packing.stride[packing.outer];
  const std::int64_t of_block = hole_block * rows_of_hole;
  const std::int64_t room = std::min(row_bytes_ / (of_block * std::max<std::int64_t>(made.particle_stride, 1) *
                                                   static_cast<std::int64_t>(sizeof(double))),
                                     ring_->room() / (of_block * std::max<std::int64_t>(made.hole_stride, 1)));
  const std::int32_t all = packing.extent[packing.outer];
  const auto step =
      static_cast<std::int32_t>(std::min<std::int64_t>(all, std::max<std::int64_t>(room, 1) * hole_block));
  for (std::int32_t first = 0; first < all; first += step) {
    packing.outer_begin = first;
    packing.outer_count = std::min(step, all - first);
    multiply(tiles, products, slabs.slabs, {first, packing.outer_count}, made.particle_stride, stream);
    if (holes.data != nullptr) {
      // The last row ends with its last hole. Its padding may lie outside the host's memory.
      const std::int64_t doubles = (packing.outer_count * rows_of_hole - 1) * holes.stride + extent.holes;
      made.of_holes = ring_->stage(holes.data + first * rows_of_hole * holes.stride, doubles, stream);
      bytes_sent += doubles * static_cast<std::int64_t>(sizeof(double));
    }
    launch_packing_of_made_rows(packing, name.format, made, to, stream);
    if (holes.data != nullptr) ring_->release(stream);
  }
  TRIFUSE_CUDA(cudaEventRecord(span.end, stream));
  const std::lock_guard lock(mutex_);
  span.recorded = true;
  statistics_.bytes_made += packed_bytes(whole, name.format);
  return bytes_sent;
}

void FactorPanelProvider::multiply(const PanelTiles& tiles, std::span<const FactorProduct> products,
                                   std::span<const double* const> slabs, const Part& part, std::int64_t row,
                                   cudaStream_t stream) {
  const TileSpace& space = host_.tiles();
  const auto size = [&](std::size_t n) { return space[tiles[n]].size; };
  const std::int64_t auxiliary = host_.layout().auxiliary();
  for (std::size_t n = 0; n < products.size(); ++n) {
    const SlabShape vv = slab_shape(space, auxiliary, products[n].vv),
                    ov = slab_shape(space, auxiliary, products[n].ov);
    // Rows of the part are [h, p, p']. The batches go over one of the particles, the rows of a product over the other.
    const bool first_batched = products[n].batched == 0;
    const std::int64_t batches = size(first_batched ? 0 : 1), inner = size(first_batched ? 1 : 0);
    SlabProduct product{};
    product.a = slabs[2 * n + 1] + part.first * inner * ov.stride();
    product.b = slabs[2 * n];
    product.c = rows_.data();
    product.batches = static_cast<std::int32_t>(batches);
    product.rows = static_cast<std::int32_t>(part.holes * inner);
    product.columns = static_cast<std::int32_t>(vv.length);
    product.depth = static_cast<std::int32_t>(auxiliary);
    product.inner_rows = static_cast<std::int32_t>(inner);
    product.a_row = ov.stride();
    product.b_row = vv.stride();
    product.b_batch = auxiliary * vv.stride();
    product.c_outer = size(0) * size(1) * row;
    product.c_batch = (first_batched ? size(1) : 1) * row;
    product.c_inner = (first_batched ? 1 : size(1)) * row;
    product.sign = products[n].sign;
    product.adds = n > 0;
    launch_slab_product(product, stream);
  }
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

}  // namespace trifuse::gpu
