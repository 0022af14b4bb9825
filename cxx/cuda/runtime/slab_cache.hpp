#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/upload_ring.hpp"
#include "cxx/cuda/schedule/slab_shape.hpp"
#include "cxx/cuda/schedule/slab_table.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse::gpu {

/// The slabs of factors on one device, in memory of their own. A slab is sent when it is first used. It stays until its
/// memory is needed; the least recently used slab is dropped first.
///
/// On the device a slab is [p, Q, d] or [h, p, Q]. The last index is padded to an even length.
class SlabCache {
 public:
  /// Belongs to the current device. Takes its memory at the first bring(). `host`: has the slabs; must stay valid.
  /// `bytes`: size of the memory, PanelDemand::slabs_at_once or more.
  SlabCache(const PanelStore& host, std::shared_ptr<UploadRing> ring, std::int64_t bytes);

  struct Brought {
    std::vector<const double*> slabs;  ///< in device memory, in the order of the keys
    std::int64_t bytes;                ///< sent from the host for this list
  };
  /// Makes slabs present for work that is put on `stream` before the next call. One worker at a time may call this,
  /// always with the same stream. `keys`: may have repetitions.
  Brought bring(std::span<const PanelKey> keys, cudaStream_t stream);

  struct Statistics {
    std::int64_t sent = 0;       ///< slabs sent from the host so far
    std::int64_t max_bytes = 0;  ///< largest amount of slabs on the device
  };
  /// Any thread may call this.
  Statistics statistics() const;

 private:
  const PanelStore& host_;
  std::shared_ptr<UploadRing> ring_;
  std::int64_t bytes_;
  DeviceArray<std::byte> memory_;
  SlabTable table_;
  mutable std::mutex mutex_;  ///< guards `statistics_`
  Statistics statistics_;
};

}  // namespace trifuse::gpu
