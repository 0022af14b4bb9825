#include "cxx/cuda/runtime/panel_cache.hpp"

#include <algorithm>
#include <cstring>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "tce_tiles/tile_sizes.hpp"

namespace trifuse::gpu {

namespace {

/// A single thread is slower than the bus: it copies about 3 GB/s of memory that other threads wrote.
void copy_to_pinned(double* to, const double* from, std::int64_t count) {
  constexpr std::int64_t share = std::int64_t{1} << 18;  // doubles
  const auto parts = std::clamp<std::int64_t>(count / share, 1, 12);
  on_new_threads(static_cast<std::size_t>(parts), [&](std::size_t n) {
    const std::int64_t part = static_cast<std::int64_t>(n);
    const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(double));
  });
}

}  // namespace

std::size_t PanelCache::Hash::operator()(const PanelName& name) const {
  std::size_t hash = static_cast<std::size_t>(name.kind) << 24 | static_cast<std::size_t>(name.side) << 16 |
                     std::size_t{name.set} << 8 | std::size_t{name.swapped};
  for (const int tile : name.tiles) hash = (hash ^ static_cast<std::size_t>(tile)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

PanelCache::PanelCache(const PanelStore& host, SpinFormulation formulation, std::int64_t bytes, std::int64_t slot_bytes)
    : host_(host), formulation_(formulation), capacity_(bytes), arena_(bytes) {
  for (int n = 0; n < slots; ++n) {
    const auto doubles = static_cast<std::size_t>(slot_bytes) / sizeof(double);
    ring_.push_back({PinnedArray<double>(doubles), DeviceArray<double>(doubles), Event(cudaEventDisableTiming)});
  }
}

PanelCache::HostPanel PanelCache::host_panel(const PanelName& name) const {
  Panel panel = host_.acquire(name.on_host());
  const Packing packing = packing_of(host_.tiles(), formulation_, name, panel.stride);
  return {std::move(panel), packing, name.kind == PanelKind::vvoo ? 1 : packing.contracted};
}

void PanelCache::load_owned(std::span<const PanelName> names) {
  std::int64_t bytes = 0;
  for (const PanelName& name : names) bytes += bytes_of(name);
  // Exported memory is as small as possible, because peers need longer to open larger memory. It has pages of its own.
  constexpr std::int64_t page = std::int64_t{1} << 21;
  bytes = (bytes + page - 1) / page * page;
  owned_.reserve(static_cast<std::size_t>(bytes));
  arena_ = Arena(std::max<std::int64_t>(0, capacity_ - bytes));
  memory_.reserve(static_cast<std::size_t>(arena_.size()));
  for (const PanelName& name : names) host_.prefetch(name.on_host());
  std::int64_t offset = arena_.size();
  for (const PanelName& name : names) {
    send(name, address(offset));
    const std::lock_guard lock(state_);
    panels_.add(name, offset);
    panels_.pin(name);
    offset += bytes_of(name);
    ++statistics_.owned;
  }
  TRIFUSE_CUDA(cudaStreamSynchronize(stream_));
}

void PanelCache::set_peers(std::shared_ptr<const PanelOwnerMap> owners, std::vector<const char*> memory_of_owner) {
  owners_ = std::move(owners);
  memory_of_owner_ = std::move(memory_of_owner);
}

const char* PanelCache::at_peer(const PanelName& name) const {
  if (owners_ == nullptr) return nullptr;
  const auto location = owners_->find(name);
  if (!location || location->owner >= std::ssize(memory_of_owner_)) return nullptr;
  const char* const owner = memory_of_owner_[static_cast<std::size_t>(location->owner)];
  return owner == nullptr ? nullptr : owner + location->offset;
}

void PanelCache::prefetch(const PanelName& name) const {
  if (!host_.has_others() || at_peer(name) != nullptr) return;
  {
    const std::lock_guard lock(state_);
    if (panels_.contains(name)) return;
  }
  host_.prefetch(name.on_host());
}

std::int64_t PanelCache::bytes_of(const PanelName& name) const {
  return Arena::rounded(packed_bytes(host_.tiles(), formulation_, name));
}

std::int64_t PanelCache::least_slot_bytes(const TileSpace& space, SpinFormulation formulation) {
  const auto [holes, particles] = largest_tiles(space);
  std::int64_t contracted = 1;
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    if (formulation == SpinFormulation::spin_adapted && spin == Spin::beta) continue;
    for (int irrep = 0; irrep < 8; ++irrep) {
      const ContractedExtent extent = contracted_extent(space, {spin, irrep});
      contracted = std::max(contracted, extent.particles + 2 * extent.holes + 8);
    }
  }
  const std::int64_t rows = hole_block * std::max({particles * particles, particles * holes});
  return std::max(rows * contracted, hole_block * particles * particles * holes) *
         static_cast<std::int64_t>(sizeof(double));
}

void PanelCache::send(const PanelName& name, double* to) {
  HostPanel panel = host_panel(name);
  Packing& packing = panel.packing;
  const std::int64_t outer_stride = packing.stride[packing.outer];
  const std::int32_t outer = packing.extent[packing.outer];
  const auto room = static_cast<std::int64_t>(ring_.front().host.size());
  const std::int64_t blocks_at_once = std::max<std::int64_t>(1, room / (outer_stride * hole_block));
  const auto step = static_cast<std::int32_t>(std::min<std::int64_t>(outer, blocks_at_once * hole_block));
  // The last row ends with its last contracted index. Its padding may lie outside the host's memory.
  std::int64_t row_end = panel.row_doubles;
  for (int q = 0; q < 4; ++q) {
    if (q != packing.outer) row_end += std::max<std::int64_t>(packing.extent[q] - 1, 0) * packing.stride[q];
  }
  for (std::int32_t begin = 0; begin < outer; begin += step) {
    packing.outer_begin = begin;
    packing.outer_count = std::min(step, outer - begin);
    const std::int64_t doubles = (packing.outer_count - 1) * outer_stride + row_end;
    Slot& slot = ring_[next_slot_];
    next_slot_ = (next_slot_ + 1) % ring_.size();
    TRIFUSE_CUDA(cudaEventSynchronize(slot.free));
    copy_to_pinned(slot.host.data(), panel.panel.data + begin * outer_stride, doubles);
    TRIFUSE_CUDA(cudaMemcpyAsync(slot.device.data(), slot.host.data(),
                                 static_cast<std::size_t>(doubles) * sizeof(double), cudaMemcpyHostToDevice, stream_));
    launch_packing(packing, slot.device.data(), to, stream_);
    TRIFUSE_CUDA(cudaEventRecord(slot.free, stream_));
    const std::lock_guard lock(state_);
    statistics_.bytes_sent += doubles * static_cast<std::int64_t>(sizeof(double));
  }
}

void PanelCache::copy(const PanelName& name, const char* from, double* to) {
  const std::int64_t bytes = packed_bytes(host_.tiles(), formulation_, name);
  TRIFUSE_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_));
  const std::lock_guard lock(state_);
  ++statistics_.from_peers;
  statistics_.bytes_from_peers += bytes;
}

bool PanelCache::make_room(std::int64_t bytes, std::int64_t& offset, std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (const auto found = arena_.allocate(bytes)) {
      offset = *found;
      statistics_.max_bytes = std::max(statistics_.max_bytes, arena_.used() + static_cast<std::int64_t>(owned_.size()));
      return true;
    }
    if (evict()) continue;
    if (leases_ == 0) return false;
    released_.wait(lock);
  }
}

bool PanelCache::evict() {
  const PanelName* const oldest = panels_.oldest();
  if (oldest == nullptr) return false;
  arena_.release(panels_.remove(*oldest));
  ++statistics_.evicted;
  return true;
}

bool PanelCache::reserve(std::span<const PanelName> names, std::vector<std::int64_t>& offsets,
                         std::vector<std::size_t>& missing, std::unique_lock<std::mutex>& lock) {
  missing.clear();
  for (std::size_t n = 0; n < names.size(); ++n) {
    const std::int64_t* const offset = panels_.find(names[n]);
    if (offset == nullptr) {
      missing.push_back(n);
      continue;
    }
    panels_.pin(names[n]);
    offsets[n] = *offset;
  }
  for (std::size_t m = 0; m < missing.size(); ++m) {
    const std::size_t n = missing[m];
    if (make_room(bytes_of(names[n]), offsets[n], lock)) {
      panels_.add(names[n], offsets[n]);
      panels_.pin(names[n]);
      continue;
    }
    // Nothing has been sent yet. The reserved memory is freed, and the panels that were there are no longer in use.
    for (std::size_t taken = 0; taken < m; ++taken) arena_.release(panels_.remove(names[missing[taken]]));
    for (const PanelName& name : names) {
      if (panels_.contains(name)) panels_.unpin(name);
    }
    return false;
  }
  // Panels of one list are used at the same time. Of these the first by name is evicted first.
  std::vector<PanelName> by_name(names.begin(), names.end());
  std::sort(by_name.begin(), by_name.end());
  for (const PanelName& name : by_name) panels_.use(name);
  return true;
}

bool PanelCache::acquire(std::span<const PanelName> names, std::vector<const double*>& pointers,
                         cudaStream_t consumer) {
  // One worker at a time acquires panels. So a worker that waits for memory waits only for workers that compute.
  const std::lock_guard acquiring(acquiring_);
  memory_.reserve(static_cast<std::size_t>(arena_.size()));
  std::vector<std::size_t> missing;
  std::vector<std::int64_t> offsets(names.size());
  {
    std::unique_lock lock(state_);
    if (!reserve(names, offsets, missing, lock)) {
      // No other worker uses a panel. So either gaps between panels of this list are in the way, or the list is too
      // large. In empty memory there are no gaps.
      while (evict()) {
      }
      if (!reserve(names, offsets, missing, lock)) return false;
    }
    ++leases_;
    statistics_.wanted += static_cast<std::int64_t>(names.size());
  }
  try {
    send_missing(names, offsets, missing, consumer);
  } catch (...) {
    // The missing panels may hold anything. No other worker has used them yet.
    release(names);
    const std::lock_guard lock(state_);
    for (const std::size_t n : missing) arena_.release(panels_.remove(names[n]));
    throw;
  }
  pointers.resize(names.size());
  for (std::size_t n = 0; n < names.size(); ++n) pointers[n] = address(offsets[n]);
  return true;
}

double* PanelCache::address(std::int64_t offset) const {
  char* const memory = offset < arena_.size() ? memory_.data() + offset : owned_.data() + (offset - arena_.size());
  return reinterpret_cast<double*>(memory);
}

void PanelCache::send_missing(std::span<const PanelName> names, const std::vector<std::int64_t>& offsets,
                              const std::vector<std::size_t>& missing, cudaStream_t consumer) {
  if (!missing.empty()) {
    if (copies_timed_) {
      TRIFUSE_CUDA(cudaEventSynchronize(copies_end_));
      const double seconds = seconds_between(copies_begin_, copies_end_);
      const std::lock_guard lock(state_);
      statistics_.seconds_copies += seconds;
      copies_timed_ = false;
    }
    for (const std::size_t n : missing) {
      if (at_peer(names[n]) == nullptr) host_.prefetch(names[n].on_host());
    }
    TRIFUSE_CUDA(cudaEventRecord(copies_begin_, stream_));
    for (const std::size_t n : missing) {
      if (const char* from = at_peer(names[n])) {
        copy(names[n], from, address(offsets[n]));
      } else {
        send(names[n], address(offsets[n]));
        const std::lock_guard lock(state_);
        ++statistics_.sent;
      }
    }
    TRIFUSE_CUDA(cudaEventRecord(copies_end_, stream_));
    const std::lock_guard lock(state_);
    copies_timed_ = true;
  }
  TRIFUSE_CUDA(cudaEventRecord(ready_, stream_));
  TRIFUSE_CUDA(cudaStreamWaitEvent(consumer, ready_, 0));
}

void PanelCache::release(std::span<const PanelName> names) {
  {
    const std::lock_guard lock(state_);
    for (const PanelName& name : names) panels_.unpin(name);
    --leases_;
  }
  released_.notify_all();
}

std::int64_t PanelCache::bytes_from_peers() const {
  const std::lock_guard lock(state_);
  return statistics_.bytes_from_peers;
}

PanelCache::Statistics PanelCache::statistics() const {
  const std::lock_guard lock(state_);
  Statistics now = statistics_;
  if (copies_timed_) {
    TRIFUSE_CUDA(cudaEventSynchronize(copies_end_));
    now.seconds_copies += seconds_between(copies_begin_, copies_end_);
  }
  return now;
}

}  // namespace trifuse::gpu
