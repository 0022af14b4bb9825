#include "cxx/operands/panel_store.hpp"

#include <algorithm>
#include <utility>

#include "cxx/base/threads.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_loader.hpp"
#include "tce_tiles/factors/slabs_of_ranks.hpp"

namespace trifuse {

namespace {

/// Limit for read buffers if memory is not limited, in doubles.
constexpr std::int64_t buffered_alone = std::int64_t{1} << 27;

/// Memory for factors that wait for other ranks, for each thread that reads, bytes. A thread reads so much at once.
constexpr std::int64_t exchanged_by_thread = std::int64_t{16} << 20;

}

PanelStore::PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares)
    : PanelStore(problem, tiles, rank, shares, Buffer()) {}

// Memory is allocated first. So no long list of panels is made if the memory does not suffice.
PanelStore::PanelStore(const Problem& problem, const TileSpace& tiles)
    : PanelStore(
          problem, tiles, 0, PanelLayout::undivided,
          Buffer::zeros(static_cast<std::size_t>(PanelLayout::required_doubles(problem, tiles) + vector_margin))) {
  own_.set_memory(0, alone_.data());
  fill_own(problem, buffered_alone);
  read_slabs(nullptr, problem, 0);
}

PanelStore::PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares,
                       Buffer alone)
    : layout_(problem, tiles, shares), own_(layout_, rank), ov_tensors_(layout_.sets()), alone_(std::move(alone)) {
  const auto energies = problem.right->orbital_energies();
  eps_.assign(energies.begin(), energies.end());
  eps_.resize(eps_.size() + vector_margin, 0.0);
  limit_made_panels(default_made_bytes);
  if (problem.derivatives == Derivatives::amplitudes ||
      (problem.derivatives == Derivatives::all && layout_.has_factors()))
    layout_of_sums_.emplace(layout_of_derivatives(problem, tiles));
}

std::vector<SharedSegment> PanelStore::segments() const {
  std::vector<SharedSegment> segments;
  // The energy kernel reads full vectors, also beyond the end of the last panel.
  for (const PanelSection& section : layout_.sections()) {
    segments.push_back({section.rank, section.end - section.begin + vector_margin});
  }
  return segments;
}

void PanelStore::fill(const Problem& problem, std::unique_ptr<SharedArray> array, std::int64_t buffer_bytes) {
  array_ = std::move(array);
  for (const std::size_t section : own_.sections()) own_.set_memory(section, array_->local(section).data());
  own_.set_to_zero();
  fill_own(problem, std::min(buffered_alone, buffer_bytes / static_cast<std::int64_t>(sizeof(double))));
}

std::shared_ptr<const PanelStore> PanelStore::of_small_arrays(const Problem& problem, const TileSpace& tiles) {
  const auto store = std::make_shared<PanelStore>(problem, tiles, 0, PanelLayout::undivided);
  store->has_panels_ = false;
  store->make_ov_tensors();
  PanelLoader(store->layout_, store->own_, buffered_alone).load_ov_tensors(problem, store->ov_tensors_);
  return store;
}

void PanelStore::make_ov_tensors() {
  const std::int64_t orbitals = tiles().orbitals();
  for (std::vector<double>& factor : ov_tensors_) {
    factor.assign(static_cast<std::size_t>(orbitals * orbitals + vector_margin), 0.0);
  }
}

void PanelStore::fill_own(const Problem& problem, std::int64_t max_buffered) {
  make_ov_tensors();
  bytes_read_ = PanelLoader(layout_, own_, max_buffered).load(problem, ov_tensors_);
}

void PanelStore::read_slabs(Communicator* communicator, const Problem& problem, std::int64_t buffer_bytes) {
  if (!layout_.has_factors()) return;
  const TileSpace& space = layout_.tiles();
  std::vector<SlabOfRank> slabs;
  layout_.visit([&](const PanelKey& key, const PanelExtent& extent) {
    if (key.kind != PanelKind::factors_vv) return;
    const Tile& p = space[key.tiles[0]];
    SlabOfRank& slab = slabs.emplace_back();
    slab.rank = layout_.owner(extent);
    slab.slab.p = orbitals_of(space, p);
    slab.slab.d = orbitals_of(space, p.orbital_class, key.tiles[1]);
    if (own_.contains(extent)) slab.slab.values = {own_.data(extent), static_cast<std::size_t>(extent.doubles)};
  });
  const int threads = available_threads();
  const SlabReading reading{threads, std::clamp(buffer_bytes, exchanged_by_thread, threads * exchanged_by_thread)};
  bytes_read_ += read_slabs_of_ranks(communicator, *problem.right->factors(), slabs, reading);
}

void PanelStore::fetch_others(std::int64_t cache_bytes) {
  const auto fetch = [this](std::int64_t at, std::span<double> values) {
    const std::size_t section = layout_.section_of({at, std::ssize(values)});
    array_->get(section, at - layout_.sections()[section].begin, values);
  };
  others_ = std::make_unique<RemotePanels>(fetch, cache_bytes);
}

void PanelStore::limit_made_panels(std::int64_t bytes) {
  if (layout_.has_factors()) made_ = std::make_unique<MadePanels>(*this, bytes);
}

Panel PanelStore::acquire(const PanelKey& key) const {
  if (!layout_.makes(key)) return acquire_stored(key);
  if (layout_.find(key) == nullptr) return {};
  PanelGuard guard = made_->acquire(key);
  if (key.kind == PanelKind::vvoo) return {guard.data(), 1, std::move(guard)};
  const PanelRows rows = layout_.rows(key);
  return {guard.data() + rows.begin, rows.stride, std::move(guard)};
}

Panel PanelStore::acquire_stored(const PanelKey& key) const {
  const PanelExtent* extent = layout_.find(key);
  if (extent == nullptr || extent->doubles == 0) return {};
  PanelGuard guard =
      own_.contains(*extent) ? PanelGuard(own_.data(*extent)) : others_->acquire(extent->begin, extent->doubles);
  if (key.kind != PanelKind::left && key.kind != PanelKind::right) return {guard.data(), 1, std::move(guard)};
  const PanelRows rows = layout_.stored_rows(key);
  return {guard.data() + rows.begin, rows.stride, std::move(guard)};
}

void PanelStore::prefetch(const PanelKey& key) const {
  if (!others_ || (layout_.makes(key) && made_->contains(key))) return;
  layout_.visit_parts_of(key, [&](const PanelExtent& extent) {
    if (!own_.contains(extent)) others_->prefetch(extent.begin, extent.doubles);
  });
}

std::int64_t PanelStore::bytes_of_others() const {
  return layout_.doubles() * static_cast<std::int64_t>(sizeof(double)) - own_bytes();
}

}
