#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/arena.hpp"

namespace trifuse::gpu {

/// Returns true if a GPU keeps a slab in its memory for its peers. `offset`: total size of the slabs that it owns
/// before this slab, each rounded as Arena does. `bytes`: size of the slab. `limit`: most bytes that the GPU owns.
inline bool owner_keeps(std::int64_t offset, std::int64_t bytes, std::int64_t limit) {
  return offset + Arena::rounded(bytes) <= limit;
}

/// Deals slabs of factors to the GPUs of a host that exchange slabs. Each slab goes to the GPU that owns the fewest
/// bytes so far; among equals, to the first. So all GPUs own about the same amount.
class SlabDealer {
 public:
  /// `gpus`: number of GPUs, at least 1.
  explicit SlabDealer(std::size_t gpus) : bytes_(gpus, 0) {}

  struct Place {
    std::size_t gpu;      ///< number of the owner
    std::int64_t offset;  ///< total size of the owner's earlier slabs, each rounded as Arena does
  };
  /// Deals the next slab and returns its place. `bytes`: its size.
  Place deal(std::int64_t bytes) {
    const auto least = std::min_element(bytes_.begin(), bytes_.end());
    const Place place{static_cast<std::size_t>(least - bytes_.begin()), *least};
    *least += Arena::rounded(bytes);
    return place;
  }

 private:
  std::vector<std::int64_t> bytes_;  ///< [gpu]
};

}
