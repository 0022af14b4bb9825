#include "cxx/cuda/runtime/panel_cache.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "tce_tiles/tile_sizes.hpp"

namespace trifuse::gpu {

namespace {

/// A single thread does not fill the bus: of memory that others made it copies some 3 GB/s.
void copy_to_pinned(double* to, const double* from, std::int64_t count) {
  constexpr std::int64_t share = std::int64_t{1} << 18;  // doubles
  const auto parts = std::clamp<std::int64_t>(count / share, 1, 12);
  std::vector<std::thread> others;
  const auto part = [&](std::int64_t n) {
    const std::int64_t begin = count * n / parts, end = count * (n + 1) / parts;
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(double));
  };
  for (std::int64_t n = 1; n < parts; ++n) others.emplace_back(part, n);
  part(0);
  for (std::thread& other : others) other.join();
}

}  // namespace

PanelCache::PanelCache(const PanelStore& host, SpinFormulation formulation, std::int64_t bytes, std::int64_t slot_bytes)
    : host_(host), formulation_(formulation), capacity_(bytes), arena_(bytes) {
  for (int n = 0; n < slots; ++n) {
    const auto doubles = static_cast<std::size_t>(slot_bytes) / sizeof(double);
    ring_.push_back({PinnedArray<double>(doubles), DeviceArray<double>(doubles), Event(cudaEventDisableTiming)});
  }
}

PanelCache::HostPanel PanelCache::host_panel(const PanelName& name) const {
  const PanelTiles tiles{name.tiles[0], name.tiles[1], name.tiles[2]};
  Panel panel;
  if (name.kind == PanelKind::pairs) {
    const auto& t = name.tiles;
    PanelHold pairs = host_.pair_block(host_.disconnected()[name.set], t[0], t[1], t[2], t[3]);
    panel = {pairs.data(), 1, std::move(pairs)};
  } else {
    panel = name.kind == PanelKind::left ? host_.left(tiles, name.side) : host_.right(tiles, name.side);
  }
  const Packing packing = packing_of(host_.tiles(), formulation_, name, panel.stride);
  return {std::move(panel), packing, name.kind == PanelKind::pairs ? 1 : packing.inner};
}

void PanelCache::keep(std::span<const PanelName> names) {
  std::int64_t bytes = 0;
  for (const PanelName& name : names) bytes += bytes_of(name);
  // Memory that others are to see is as small as can be, because the larger it is the longer it takes until they do.
  // And it has pages of its own.
  constexpr std::int64_t page = std::int64_t{1} << 21;
  bytes = (bytes + page - 1) / page * page;
  kept_.reserve(static_cast<std::size_t>(bytes));
  arena_ = Arena(std::max<std::int64_t>(0, capacity_ - bytes));
  memory_.reserve(static_cast<std::size_t>(arena_.size()));
  for (const PanelName& name : names) ask_host(name);
  std::int64_t offset = arena_.size();
  for (const PanelName& name : names) {
    send(name, place(offset));
    const std::lock_guard lock(state_);
    entries_[name] = {offset, 1, clock_};  // in use for ever
    offset += bytes_of(name);
    ++statistics_.kept;
  }
  TRIFUSE_CUDA(cudaStreamSynchronize(stream_));
}

void PanelCache::set_neighbours(std::shared_ptr<const PanelHomes> homes, std::vector<const char*> memory_of_home) {
  homes_ = std::move(homes);
  memory_of_home_ = std::move(memory_of_home);
}

const char* PanelCache::at_neighbour(const PanelName& name) const {
  if (homes_ == nullptr) return nullptr;
  const auto place = homes_->find(name);
  if (!place || place->home >= std::ssize(memory_of_home_)) return nullptr;
  const char* const home = memory_of_home_[static_cast<std::size_t>(place->home)];
  return home == nullptr ? nullptr : home + place->offset;
}

void PanelCache::ask(const PanelName& name) const {
  if (!host_.has_others() || at_neighbour(name) != nullptr) return;
  {
    const std::lock_guard lock(state_);
    if (entries_.contains(name)) return;
  }
  ask_host(name);
}

void PanelCache::ask_host(const PanelName& name) const {
  const auto& t = name.tiles;
  switch (name.kind) {
    case PanelKind::left:
      return host_.ask_left({t[0], t[1], t[2]}, name.side);
    case PanelKind::right:
      return host_.ask_right({t[0], t[1], t[2]});
    case PanelKind::pairs:
      return host_.ask_pairs(host_.disconnected()[name.set], t[0], t[1], t[2], t[3]);
  }
}

std::int64_t PanelCache::bytes_of(const PanelName& name) const {
  return Arena::rounded(packed_bytes(host_.tiles(), formulation_, name));
}

std::int64_t PanelCache::least_slot_bytes(const TileSpace& space, SpinFormulation formulation) {
  const auto [holes, particles] = largest_tiles(space);
  std::int64_t inner = 1;
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    if (formulation == SpinFormulation::spin_adapted && spin == Spin::beta) continue;
    for (int irrep = 0; irrep < 8; ++irrep) {
      const ContractedExtent extent = contracted_extent(space, {spin, irrep});
      inner = std::max(inner, extent.particles + 2 * extent.holes + 8);
    }
  }
  const std::int64_t rows = hole_block * std::max({particles * particles, particles * holes});
  return std::max(rows * inner, hole_block * particles * particles * holes) * static_cast<std::int64_t>(sizeof(double));
}

void PanelCache::send(const PanelName& name, double* to) {
  HostPanel panel = host_panel(name);
  Packing& packing = panel.packing;
  const std::int64_t outer_stride = packing.stride[packing.outer];
  const std::int32_t outer = packing.extent[packing.outer];
  const auto room = static_cast<std::int64_t>(ring_.front().host.size());
  const std::int64_t blocks_at_once = std::max<std::int64_t>(1, room / (outer_stride * hole_block));
  const auto step = static_cast<std::int32_t>(std::min<std::int64_t>(outer, blocks_at_once * hole_block));
  // The last row ends with its inner index; what pads it may lie outside the host's memory.
  std::int64_t row_end = panel.inner_rows;
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
  ++statistics_.from_neighbours;
  statistics_.bytes_from_neighbours += bytes;
}

bool PanelCache::make_room(std::int64_t bytes, std::int64_t& offset, std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (const auto found = arena_.take(bytes)) {
      offset = *found;
      statistics_.most_bytes =
          std::max(statistics_.most_bytes, arena_.used() + static_cast<std::int64_t>(kept_.size()));
      return true;
    }
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second.users == 0 && (oldest == entries_.end() || it->second.last_use < oldest->second.last_use)) {
        oldest = it;
      }
    }
    if (oldest != entries_.end()) {
      arena_.give_back(oldest->second.offset);
      entries_.erase(oldest);
      ++statistics_.evicted;
    } else if (leases_ > 0) {
      released_.wait(lock);
    } else {
      return false;
    }
  }
}

void PanelCache::drop_unused() {
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.users > 0) {
      ++it;
      continue;
    }
    arena_.give_back(it->second.offset);
    it = entries_.erase(it);
    ++statistics_.evicted;
  }
}

bool PanelCache::reserve(std::span<const PanelName> names, std::vector<std::int64_t>& offsets,
                         std::vector<std::size_t>& missing, std::unique_lock<std::mutex>& lock) {
  missing.clear();
  for (std::size_t n = 0; n < names.size(); ++n) {
    const auto it = entries_.find(names[n]);
    if (it == entries_.end()) {
      missing.push_back(n);
      continue;
    }
    ++it->second.users;
    it->second.last_use = clock_;
    offsets[n] = it->second.offset;
  }
  for (std::size_t m = 0; m < missing.size(); ++m) {
    const std::size_t n = missing[m];
    if (make_room(bytes_of(names[n]), offsets[n], lock)) {
      entries_[names[n]] = {offsets[n], 1, clock_};
      continue;
    }
    // Nothing has been sent yet: what was reserved is given back, what was there is let go.
    for (std::size_t taken = 0; taken < m; ++taken) {
      arena_.give_back(offsets[missing[taken]]);
      entries_.erase(names[missing[taken]]);
    }
    for (const PanelName& name : names) {
      const auto it = entries_.find(name);
      if (it != entries_.end()) --it->second.users;
    }
    return false;
  }
  return true;
}

bool PanelCache::acquire(std::span<const PanelName> names, std::vector<const double*>& pointers,
                         cudaStream_t consumer) {
  // One at a time: whoever waits for room waits only for those that compute.
  const std::lock_guard acquiring(acquiring_);
  memory_.reserve(static_cast<std::size_t>(arena_.size()));
  std::vector<std::size_t> missing;
  std::vector<std::int64_t> offsets(names.size());
  {
    std::unique_lock lock(state_);
    ++clock_;
    if (!reserve(names, offsets, missing, lock)) {
      // Nobody else holds a panel, so it is gaps between panels of the list itself that are in the way, or the list is
      // too large. In empty memory there are no gaps.
      drop_unused();
      if (!reserve(names, offsets, missing, lock)) return false;
    }
    ++leases_;
    statistics_.wanted += static_cast<std::int64_t>(names.size());
  }
  try {
    send_missing(names, offsets, missing, consumer);
  } catch (...) {
    // What was to be sent may hold anything, and nobody else has seen it yet.
    release(names);
    const std::lock_guard lock(state_);
    for (const std::size_t n : missing) {
      arena_.give_back(offsets[n]);
      entries_.erase(names[n]);
    }
    throw;
  }
  pointers.resize(names.size());
  for (std::size_t n = 0; n < names.size(); ++n) pointers[n] = place(offsets[n]);
  return true;
}

double* PanelCache::place(std::int64_t offset) const {
  char* const memory = offset < arena_.size() ? memory_.data() + offset : kept_.data() + (offset - arena_.size());
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
      if (at_neighbour(names[n]) == nullptr) ask_host(names[n]);
    }
    TRIFUSE_CUDA(cudaEventRecord(copies_begin_, stream_));
    for (const std::size_t n : missing) {
      if (const char* from = at_neighbour(names[n])) {
        copy(names[n], from, place(offsets[n]));
      } else {
        send(names[n], place(offsets[n]));
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
    for (const PanelName& name : names) --entries_.at(name).users;
    --leases_;
  }
  released_.notify_all();
}

std::int64_t PanelCache::bytes_from_neighbours() const {
  const std::lock_guard lock(state_);
  return statistics_.bytes_from_neighbours;
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
