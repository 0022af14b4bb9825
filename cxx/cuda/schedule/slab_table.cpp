#include "cxx/cuda/schedule/slab_table.hpp"

#include "cxx/base/error.hpp"

namespace trifuse::gpu {

bool SlabTable::reserve(std::span<const Wanted> slabs, std::vector<Location>& locations) {
  locations.clear();
  for (const Wanted& slab : slabs) {
    const std::int64_t* offset = slabs_.use(slab.key);
    if (offset != nullptr) slabs_.pin(slab.key);
    locations.push_back({offset == nullptr ? 0 : *offset, offset == nullptr});
  }
  bool enough = true;
  for (std::size_t n = 0; n < slabs.size() && enough; ++n) {
    if (!locations[n].missing) continue;
    auto offset = arena_.allocate(slabs[n].bytes);
    while (!offset && slabs_.oldest() != nullptr) {
      forget(PanelKey(*slabs_.oldest()));
      offset = arena_.allocate(slabs[n].bytes);
    }
    enough = offset.has_value();
    if (!enough) break;
    locations[n].offset = *offset;
    slabs_.add(slabs[n].key, *offset);
    slabs_.pin(slabs[n].key);
  }
  for (const Wanted& slab : slabs) {
    if (slabs_.contains(slab.key)) slabs_.unpin(slab.key);
  }
  return enough;
}

std::vector<SlabTable::Location> SlabTable::locate(std::span<const Wanted> slabs) {
  std::vector<Location> locations;
  if (reserve(slabs, locations)) return locations;
  // Either there are gaps between slabs of this list, or the list is too large. Emptying the memory removes gaps.
  while (slabs_.oldest() != nullptr) forget(PanelKey(*slabs_.oldest()));
  if (reserve(slabs, locations)) return locations;
  for (const Wanted& slab : slabs) forget(slab.key);
  throw Error("The factors of one panel do not fit into the memory for factors on a GPU.");
}

void SlabTable::forget(const PanelKey& key) {
  if (slabs_.contains(key)) arena_.release(slabs_.remove(key));
}

std::int64_t SlabTable::required(std::span<const Wanted> slabs) {
  std::int64_t bytes = 0;
  for (const Wanted& slab : slabs) bytes += Arena::rounded(slab.bytes);
  return bytes;
}

}
