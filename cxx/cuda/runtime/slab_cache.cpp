#include "cxx/cuda/runtime/slab_cache.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cxx/cuda/runtime/peer_memory.hpp"

namespace trifuse::gpu {

SlabCache::SlabCache(const PanelStore& host, std::shared_ptr<UploadRing> ring, std::int64_t bytes)
    : host_(host), ring_(std::move(ring)), placement_(host.layout(), bytes) {}

void SlabCache::load_owned(std::span<const PanelName> slabs, std::int64_t limit) {
  const std::vector<SlabPlacement::Copy> copies = placement_.own(slabs, limit);
  if (copies.empty()) return;
  // Exported memory has pages of its own.
  constexpr std::int64_t page = std::int64_t{1} << 21;
  owned_.reserve(static_cast<std::size_t>((placement_.owned_bytes() + page - 1) / page * page));
  const Stream stream;
  std::int64_t bytes = 0;
  for (const SlabPlacement::Copy& copy : copies) bytes += put(copy, stream);
  TRIFUSE_CUDA(cudaStreamSynchronize(stream));
  const std::lock_guard lock(mutex_);
  statistics_.owned = std::ssize(copies);
  statistics_.owned_bytes = bytes;
}

SlabCache::Brought SlabCache::bring(std::span<const PanelKey> keys, cudaStream_t stream) {
  memory_.reserve(static_cast<std::size_t>(placement_.cache_bytes()));
  const SlabPlacement::Plan plan = placement_.plan(keys);
  // All work that reads the memory is on the same stream. So a slab may replace another one without a wait.
  Brought brought{};
  for (std::size_t n = 0; n < plan.copies.size(); ++n) {
    try {
      brought.bytes += put(plan.copies[n], stream);
    } catch (...) {
      placement_.forget(std::span(plan.copies).subspan(n));
      throw;
    }
  }
  for (const SlabPlacement::Place& place : plan.places) {
    brought.slabs.push_back(reinterpret_cast<const double*>(address(place)));
  }
  return brought;
}

std::int64_t SlabCache::put(const SlabPlacement::Copy& copy, cudaStream_t stream) {
  const std::int64_t bytes = copy.shape.bytes();
  std::byte* const to = address(copy.to);
  const bool from_peer = copy.peer != nullptr && PeerMemory::copy(to, copy.peer, bytes, stream);
  if (!from_peer) {
    // The peer may have failed. The host has all slabs.
    if (copy.peer != nullptr) placement_.lose_peer(copy.key);
    const Panel slab = host_.acquire(copy.key);
    ring_->send_rows(reinterpret_cast<double*>(to), slab.data, copy.shape.rows, copy.shape.length, copy.shape.stride(),
                     stream);
  }
  const std::lock_guard lock(mutex_);
  ++(from_peer ? statistics_.from_peers : statistics_.sent);
  if (from_peer) statistics_.peer_bytes += bytes;
  statistics_.max_bytes = std::max(statistics_.max_bytes, placement_.used());
  return from_peer ? 0 : bytes;
}

SlabCache::Statistics SlabCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}
