#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/upload_ring.hpp"
#include "cxx/cuda/schedule/slab_placement.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse::gpu {

/// The slabs of factors on one device, in memory of their own. A slab is copied when it is first used: from the peer
/// that owns it, or else from the host. After a refused copy from a peer, the host sends all slabs of this peer. A slab
/// stays until its memory is needed; the least recently used slab is dropped first. Slabs that the device owns for its
/// peers are sent before, and stay to the end.
///
/// On the device a slab is [p, Q, d] or [h, p, Q]. The last index is padded to an even length.
class SlabCache {
 public:
  /// Makes a cache for the current device. It takes its memory at the first load_owned() or bring(). `host` has the
  /// slabs and must stay valid. `bytes`: size of the memory, PanelDemand::slabs_at_once or more.
  SlabCache(const PanelStore& host, std::shared_ptr<UploadRing> ring, std::int64_t bytes);

  /// Loads the first slabs of a list, as many as fit into `limit` bytes, into an allocation of their own. Returns when
  /// they are there. Must be called before bring(), at most once. `slabs`: result of PanelOwnerMap::panels_of(). The
  /// allocation is rounded up to a page of 2 MiB, so it may be larger than the memory given to the constructor.
  void load_owned(std::span<const PanelName> slabs, std::int64_t limit);
  /// Returns the begin and the size of the owned slabs, in device memory.
  PeerRange owned_memory() const { return {owned_.data(), placement_.owned_bytes()}; }
  /// Sets the peers. From then on, missing slabs are copied from the memory of `peers`: from owned_memory() of each. No
  /// worker may acquire panels during the call.
  void set_peers(PeerPanels peers) { placement_.set_peers(std::move(peers)); }

  struct Brought {
    std::vector<const double*> slabs;  ///< in device memory, in the order of the keys
    std::int64_t bytes;                ///< sent from the host for this list
  };
  /// Makes slabs present for work that is put on `stream` before the next call. One worker at a time may call this,
  /// always with the same stream. `keys`: may have repetitions.
  Brought bring(std::span<const PanelKey> keys, cudaStream_t stream);

  struct Statistics {
    std::int64_t sent = 0;         ///< slabs sent from the host so far, with owned ones
    std::int64_t owned = 0;        ///< of these, owned for peers
    std::int64_t owned_bytes = 0;  ///< bytes that the host sent for them
    std::int64_t from_peers = 0;   ///< slabs copied from peers so far
    std::int64_t peer_bytes = 0;   ///< size of these copies
    std::int64_t max_bytes = 0;    ///< largest amount of slabs on the device
  };
  /// Any thread may call this, also if the device has failed.
  Statistics statistics() const;

 private:
  std::byte* address(const SlabPlacement::Place& place) const {
    return (place.owned ? owned_.data() : memory_.data()) + place.offset;
  }
  /// Puts a copy on `stream`. Returns the bytes that the host sends.
  std::int64_t put(const SlabPlacement::Copy& copy, cudaStream_t stream);

  const PanelStore& host_;
  std::shared_ptr<UploadRing> ring_;
  DeviceArray<std::byte> memory_;   ///< the cache
  ExportedArray<std::byte> owned_;  ///< owned slabs
  SlabPlacement placement_;
  mutable std::mutex mutex_;  ///< guards `statistics_`
  Statistics statistics_;
};

}
