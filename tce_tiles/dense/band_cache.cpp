#include "tce_tiles/dense/band_cache.hpp"

#include <exception>
#include <span>
#include <utility>

#include "cxx/base/threads.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse {

std::size_t BandCache::Hash::operator()(const Key& key) const {
  std::size_t hash = 0;
  for (const std::int64_t part : key) hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

BandCache::Band BandCache::band(int id, const DenseArray& array, const std::array<std::int64_t, 3>& offset,
                                const std::array<std::int64_t, 3>& count) {
  const Key key = {id, offset[0], offset[1], offset[2]};
  const std::int64_t row = array.shape()[3];
  const auto size = static_cast<std::size_t>(count[0] * count[1] * count[2] * row);
  std::promise<Band> promise;
  std::shared_future<Band> found;
  {
    const std::lock_guard lock(mutex_);
    if (const Entry* const entry = recent_.use(key)) {
      found = entry->band;
    } else {
      bytes_ += recent_.add(key, {size * sizeof(double), promise.get_future().share()}).bytes;
      // A block may need two strips, and its thread needs both again for the next block.
      const std::size_t min_bands = 2 * static_cast<std::size_t>(available_threads());
      while (bytes_ > capacity_ && recent_.size() > min_bands) evict(*recent_.oldest());
    }
  }
  if (found.valid()) return found.get();
  try {
    const std::shared_ptr<Buffer> band = take_buffer(size);
    const std::span<double> values = band->span().first(size);
    array.read(std::array{offset[0], offset[1], offset[2], std::int64_t{0}},
               std::array{count[0], count[1], count[2], row}, values);
    check_finite(values, array.label());
    promise.set_value(band);
    return band;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    if (recent_.contains(key)) evict(key);
    throw;
  }
}

std::shared_ptr<Buffer> BandCache::take_buffer(std::size_t doubles) const {
  Buffer memory;
  {
    const std::lock_guard lock(pool_->mutex);
    memory = pool_->buffers.take(doubles);
  }
  if (memory.size() == 0) memory = Buffer(doubles);
  const auto give_back = [pool = pool_, most = static_cast<std::int64_t>(capacity_)](Buffer* band) {
    const std::unique_ptr<Buffer> owner(band);
    const std::lock_guard lock(pool->mutex);
    pool->buffers.give(std::move(*band));
    pool->buffers.shrink(most);
  };
  return {new Buffer(std::move(memory)), give_back};
}

void BandCache::evict(const Key& key) {
  bytes_ -= recent_.remove(key).bytes;
}

}
