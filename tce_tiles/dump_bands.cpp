#include "tce_tiles/dump_bands.hpp"

#include <vector>

#include "tce_tiles/dump_layout.hpp"

namespace trifuse {

std::size_t BandCache::Hash::operator()(const Key& key) const {
  std::size_t hash = 0;
  for (const std::int64_t part : key) hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

std::shared_ptr<const Buffer> BandCache::band(int id, const Hdf5Dataset& dataset, const std::string& path,
                                              const std::array<std::int64_t, 3>& offset,
                                              const std::array<std::int64_t, 3>& count) {
  const Key key = {id, offset[0], offset[1], offset[2]};
  {
    const std::lock_guard lock(mutex_);
    const auto found = position_.find(key);
    if (found != position_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return recent_.front().band;
    }
  }
  const std::int64_t row = dataset.shape()[3];
  auto band = std::make_shared<Buffer>(static_cast<std::size_t>(count[0] * count[1] * count[2] * row));
  dataset.read(std::array{offset[0], offset[1], offset[2], std::int64_t{0}},
               std::array{count[0], count[1], count[2], row}, band->span());
  check_finite(band->span(), path, dataset.name());

  const std::lock_guard lock(mutex_);
  if (position_.contains(key)) return band;  // another thread was faster
  recent_.push_front({key, band});
  position_.emplace(key, recent_.begin());
  bytes_ += band->size() * sizeof(double);
  while (bytes_ > capacity_ && recent_.size() > 1) {
    bytes_ -= recent_.back().band->size() * sizeof(double);
    position_.erase(recent_.back().key);
    recent_.pop_back();
  }
  return band;
}

}  // namespace trifuse
