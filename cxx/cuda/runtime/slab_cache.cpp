#include "cxx/cuda/runtime/slab_cache.hpp"

#include <algorithm>
#include <utility>

namespace trifuse::gpu {

SlabCache::SlabCache(const PanelStore& host, std::shared_ptr<UploadRing> ring, std::int64_t bytes)
    : host_(host), ring_(std::move(ring)), bytes_(bytes), table_(bytes) {}

SlabCache::Brought SlabCache::bring(std::span<const PanelKey> keys, cudaStream_t stream) {
  memory_.reserve(static_cast<std::size_t>(bytes_));
  std::vector<SlabTable::Wanted> wanted;
  for (const PanelKey& key : keys) {
    const bool named = std::any_of(wanted.begin(), wanted.end(), [&](const auto& other) { return other.key == key; });
    if (!named) wanted.push_back({key, slab_shape(host_.tiles(), host_.layout().auxiliary(), key).bytes()});
  }
  const std::vector<SlabTable::Location> locations = table_.locate(wanted);
  // All work that reads the memory is on the same stream. So a slab may replace another one without a wait.
  Brought brought{};
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    if (!locations[n].missing) continue;
    const SlabShape shape = slab_shape(host_.tiles(), host_.layout().auxiliary(), wanted[n].key);
    try {
      const Panel slab = host_.acquire(wanted[n].key);
      ring_->send_rows(reinterpret_cast<double*>(memory_.data() + locations[n].offset), slab.data, shape.rows,
                       shape.length, shape.stride(), stream);
    } catch (...) {
      for (std::size_t m = n; m < wanted.size(); ++m) {
        if (locations[m].missing) table_.forget(wanted[m].key);
      }
      throw;
    }
    brought.bytes += shape.bytes();
    const std::lock_guard lock(mutex_);
    ++statistics_.sent;
    statistics_.max_bytes = std::max(statistics_.max_bytes, table_.used());
  }
  for (const PanelKey& key : keys) {
    const auto at = std::find_if(wanted.begin(), wanted.end(), [&](const auto& slab) { return slab.key == key; });
    const std::int64_t offset = locations[static_cast<std::size_t>(at - wanted.begin())].offset;
    brought.slabs.push_back(reinterpret_cast<const double*>(memory_.data() + offset));
  }
  return brought;
}

SlabCache::Statistics SlabCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace trifuse::gpu
