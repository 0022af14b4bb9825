#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "cxx/cuda/schedule/panel_owner_map.hpp"
#include "cxx/cuda/schedule/slab_shape.hpp"
#include "cxx/cuda/schedule/slab_table.hpp"

namespace trifuse::gpu {

/// Decides where the slabs of factors of one device lie, and which copies bring them there. Works with offsets only and
/// touches no memory of the device.
///
/// The device may own some slabs for its peers. They lie in a range of their own and stay there to the end. The other
/// slabs lie in a range that is a cache. They come from the peer that owns them, or else from the host.
class SlabPlacement {
 public:
  /// `panels` has the slabs and must stay valid. `bytes`: device memory for slabs, PanelDemand::slabs_at_once or more.
  SlabPlacement(const PanelLayout& panels, std::int64_t bytes) : panels_(panels), bytes_(bytes), table_(bytes) {}

  struct Place {
    bool owned;           ///< true: in the range of owned slabs; false: in the cache
    std::int64_t offset;  ///< offset in the range, bytes
  };
  struct Copy {
    PanelKey key;
    SlabShape shape;
    Place to;
    const std::byte* peer;  ///< the slab in the memory of a peer, in the layout of the device; null: the host sends it
  };

  /// Makes the device the owner of the first slabs of a list, as many as fit into `limit` bytes. Call it at most once,
  /// before plan(). Returns the copies from the host that fill the range of owned slabs. `slabs`: result of
  /// PanelOwnerMap::panels_of().
  std::vector<Copy> own(std::span<const PanelName> slabs, std::int64_t limit);
  /// Sets the peers. From then on, missing slabs are copied from the memory of the peers that own them.
  void set_peers(PeerPanels peers);
  /// Call this if a copy from the peer that owns this slab was refused. From then on, the host sends the slabs of this
  /// peer. An earlier plan may still name the memory of the peer.
  void lose_peer(const PanelKey& key);

  struct Plan {
    std::vector<Place> places;  ///< in the order of the keys
    std::vector<Copy> copies;   ///< copies of the slabs that are not there yet
  };
  /// Reserves memory for slabs that are used together, and drops other slabs if needed. A place is valid until the next
  /// call. Throws Error if the slabs do not fit. `keys` may have repetitions.
  Plan plan(std::span<const PanelKey> keys);
  /// Forgets slabs that could not be copied.
  void forget(std::span<const Copy> copies);

  std::int64_t owned_bytes() const { return owned_bytes_; }
  std::int64_t cache_bytes() const { return bytes_ - owned_bytes_; }
  std::int64_t used() const { return owned_bytes_ + table_.used(); }  ///< bytes

 private:
  SlabShape shape_of(const PanelKey& key) const { return slab_shape(panels_.tiles(), panels_.auxiliary(), key); }

  const PanelLayout& panels_;
  std::int64_t bytes_, owned_bytes_ = 0;
  std::map<PanelKey, std::int64_t> owned_;  ///< offsets
  SlabTable table_;                         ///< slabs of the cache
  PeerPanels peers_;
};

}
