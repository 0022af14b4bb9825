#pragma once

#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/slab_dealer.hpp"
#include "cxx/prediction/inspector.hpp"

namespace trifuse {

/// The GPUs that own slabs of factors for their peers. The GPUs of a group exchange slabs. A group is the GPUs of a
/// node or of a rank.
struct SlabOwners {
  std::vector<int> owner;      ///< [slab] number of the GPU in its group; -1: the host sends the slab to each GPU
  std::vector<double> bytes;   ///< [gpu of the group] size of the slabs that it owns
  std::vector<double> memory;  ///< [gpu of the group] memory of these slabs, with padding between them
};

/// Assigns the slabs of an inspection to owners as a run does. `gpus`: number of GPUs of a group. `limit`: most bytes
/// that a GPU owns.
inline SlabOwners slab_owners(const Inspection& inspection, int gpus, std::int64_t limit) {
  SlabOwners owners;
  owners.bytes.assign(static_cast<std::size_t>(gpus), 0.0);
  owners.memory = owners.bytes;
  gpu::SlabDealer dealer(owners.bytes.size());
  for (std::uint32_t slab = 0; slab < inspection.slab_count(); ++slab) {
    const auto bytes = static_cast<std::int64_t>(inspection.slab_bytes(slab));
    const gpu::SlabDealer::Place place = dealer.deal(bytes);
    const bool owned = gpu::owner_keeps(place.offset, bytes, limit);
    owners.owner.push_back(owned ? static_cast<int>(place.gpu) : -1);
    if (!owned) continue;
    owners.bytes[place.gpu] += static_cast<double>(bytes);
    owners.memory[place.gpu] += static_cast<double>(gpu::Arena::rounded(bytes));
  }
  return owners;
}

}
