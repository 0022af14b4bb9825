#include "cxx/cuda/runtime/panel_cache.hpp"

#include <algorithm>
#include <utility>

namespace trifuse::gpu {

namespace {

std::vector<const PanelSource*> sources_of(const PanelCache::Providers& providers) {
  std::vector<const PanelSource*> sources;
  for (const auto& provider : providers) sources.push_back(provider.get());
  return sources;
}

}

PanelCache::PanelCache(const TileSpace& tiles, SpinFormulation formulation, std::int64_t bytes, Providers providers)
    : tiles_(tiles),
      formulation_(formulation),
      providers_(std::move(providers)),
      sources_(sources_of(providers_)),
      capacity_(bytes),
      arena_(bytes) {}

void PanelCache::load_owned(std::span<const PanelName> names) {
  std::int64_t bytes = 0;
  for (const PanelName& name : names) bytes += bytes_of(name);
  // Exported memory is as small as possible, because peers need longer to open larger memory. It has pages of its own.
  constexpr std::int64_t page = std::int64_t{1} << 21;
  bytes = (bytes + page - 1) / page * page;
  owned_.reserve(static_cast<std::size_t>(bytes));
  arena_ = Arena(std::max<std::int64_t>(0, capacity_ - bytes));
  memory_.reserve(static_cast<std::size_t>(arena_.size()));
  const std::vector<std::size_t> providers = choose_providers(names);
  std::int64_t offset = arena_.size();
  for (std::size_t n = 0; n < names.size(); ++n) {
    produce(names[n], providers[n], address(offset), true);
    const std::lock_guard lock(state_);
    panels_.add(names[n], offset);
    panels_.pin(names[n]);
    offset += bytes_of(names[n]);
    ++statistics_.owned;
  }
  TRIFUSE_CUDA(cudaStreamSynchronize(stream_));
}

void PanelCache::prefetch(const PanelName& name) const {
  if (!sources_.prefetches()) return;
  const PanelProvider& provider = *providers_[sources_.choose(name)];
  if (!provider.prefetches()) return;
  {
    const std::lock_guard lock(state_);
    if (panels_.contains(name)) return;
  }
  provider.prefetch(name);
}

std::vector<std::size_t> PanelCache::choose_providers(std::span<const PanelName> names) const {
  std::vector<std::size_t> chosen;
  for (const PanelName& name : names) {
    chosen.push_back(sources_.choose(name));
    providers_[chosen.back()]->prefetch(name);
  }
  return chosen;
}

std::int64_t PanelCache::bytes_of(const PanelName& name) const {
  return Arena::rounded(packed_bytes(tiles_, formulation_, name));
}

void PanelCache::produce(const PanelName& name, std::size_t provider, std::byte* to, bool owned) {
  const Packing packing = packing_of(tiles_, formulation_, name, 1);
  const std::int64_t bytes = providers_[provider]->produce(name, packing, to, stream_);
  const std::lock_guard lock(state_);
  sources_.count(provider, bytes, owned);
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
  // Panels of one list are used at the same time. Among them the first by name is evicted first.
  std::vector<PanelName> by_name(names.begin(), names.end());
  std::sort(by_name.begin(), by_name.end());
  for (const PanelName& name : by_name) panels_.use(name);
  return true;
}

bool PanelCache::acquire(std::span<const PanelName> names, std::vector<const std::byte*>& pointers,
                         cudaStream_t consumer) {
  // One worker at a time acquires panels. So a worker that waits for memory waits only for workers that compute.
  const std::lock_guard acquiring(acquiring_);
  memory_.reserve(static_cast<std::size_t>(arena_.size()));
  std::vector<std::size_t> missing;
  std::vector<std::int64_t> offsets(names.size());
  {
    std::unique_lock lock(state_);
    if (!reserve(names, offsets, missing, lock)) {
      // No other worker uses a panel. So either there are gaps between panels of this list, or the list is too large.
      // Emptying the memory removes gaps.
      while (evict()) {
      }
      if (!reserve(names, offsets, missing, lock)) return false;
    }
    ++leases_;
    statistics_.wanted += static_cast<std::int64_t>(names.size());
  }
  try {
    produce_missing(names, offsets, missing, consumer);
  } catch (...) {
    // The memory of the missing panels has undefined contents. No other worker has used these panels yet.
    release(names);
    const std::lock_guard lock(state_);
    for (const std::size_t n : missing) arena_.release(panels_.remove(names[n]));
    throw;
  }
  pointers.resize(names.size());
  for (std::size_t n = 0; n < names.size(); ++n) pointers[n] = address(offsets[n]);
  return true;
}

std::byte* PanelCache::address(std::int64_t offset) const {
  return offset < arena_.size() ? memory_.data() + offset : owned_.data() + (offset - arena_.size());
}

void PanelCache::produce_missing(std::span<const PanelName> names, const std::vector<std::int64_t>& offsets,
                                 const std::vector<std::size_t>& missing, cudaStream_t consumer) {
  if (!missing.empty()) {
    if (copies_timed_) {
      TRIFUSE_CUDA(cudaEventSynchronize(copies_end_));
      const double seconds = seconds_between(copies_begin_, copies_end_);
      const std::lock_guard lock(state_);
      statistics_.seconds_copies += seconds;
      copies_timed_ = false;
    }
    // Panels that are made from the same factors stand beside each other.
    std::vector<std::size_t> by_name = missing;
    std::sort(by_name.begin(), by_name.end(), [&](std::size_t m, std::size_t n) { return names[m] < names[n]; });
    std::vector<PanelName> missing_names;
    for (const std::size_t n : by_name) missing_names.push_back(names[n]);
    const std::vector<std::size_t> providers = choose_providers(missing_names);
    TRIFUSE_CUDA(cudaEventRecord(copies_begin_, stream_));
    for (std::size_t m = 0; m < by_name.size(); ++m) {
      produce(missing_names[m], providers[m], address(offsets[by_name[m]]), false);
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

ProducedPanels PanelCache::produced_by(const PanelProvider& provider) const {
  const std::lock_guard lock(state_);
  return sources_.produced_by(provider);
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

}
