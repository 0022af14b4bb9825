#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/panel_provider.hpp"
#include "cxx/cuda/runtime/slab_cache.hpp"
#include "cxx/cuda/runtime/upload_ring.hpp"
#include "cxx/operands/factor_products.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse::gpu {

/// Makes panels on the device from slabs of factors: left and right panels, and vvoo blocks of integrals. The integrals
/// of their rows are matrix products of slabs. The other numbers of a row are amplitudes, which come from the host. A
/// panel that was evicted is made again.
///
/// The bits of a panel depend neither on earlier panels nor on the amount of memory.
class FactorPanelProvider final : public PanelProvider {
 public:
  struct Statistics {
    SlabCache::Statistics slabs;
    std::int64_t bytes_made = 0;  ///< bytes of packed panels
    double seconds = 0.0;         ///< time on the device; products wait for kernels that run at the same time
  };

  /// Makes a provider for the current device. It provides nothing if the layout of `host` has no factors. `host` must
  /// stay valid. `ring`: the ring of the device. `slab_bytes`: memory for slabs, see slab_bytes(). `row_bytes`: memory
  /// for rows without their amplitudes, PanelDemand::made_rows.
  FactorPanelProvider(const PanelStore& host, std::shared_ptr<UploadRing> ring, std::int64_t slab_bytes,
                      std::int64_t row_bytes);

  /// Returns the slabs, for their exchange with peers.
  SlabCache& slabs() { return slabs_; }

  bool provides(const PanelName& name) const override;
  bool prefetches() const override { return host_.has_others(); }
  void prefetch(const PanelName& name) const override;
  /// Makes a panel, see PanelProvider. The result does not count slabs that come from peers, see Statistics.
  std::int64_t produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) override;

  /// Returns the number of bytes of slabs that were copied from peers so far. Works for a device that has failed, too.
  std::int64_t bytes_from_peers() const { return slabs_.statistics().peer_bytes; }
  /// Returns the statistics. Any thread may call this. The device must be the current one.
  Statistics statistics() const;

 private:
  /// A panel that is being made.
  struct Making {
    PanelFactorRows rows;
    std::vector<FactorProduct> products;
    std::vector<const double*> slabs;  ///< for each product its first slab, then its second one
    /// Returns the length of a row with its padding, doubles.
    std::int64_t stride() const { return SlabShape::even_row(rows.length); }
  };
  /// A part of a panel that is made at once: `holes` of the holes that number the rows first, from `first` on.
  struct Part {
    std::int32_t first, holes;
  };
  /// Puts the products of a part on `stream`. They write to `rows_`.
  void multiply(const Making& making, const Part& part, cudaStream_t stream);
  /// Puts the packing of a part that was multiplied on `stream`. `amplitudes`: the amplitudes of the whole panel.
  /// Returns the number of bytes that are sent for them.
  std::int64_t pack(const PanelName& name, const Packing& part, const Making& making, const Panel& amplitudes, void* to,
                    cudaStream_t stream);

  const PanelStore& host_;
  std::shared_ptr<UploadRing> ring_;
  SlabCache slabs_;
  std::int64_t row_bytes_;
  DeviceArray<double> rows_;  ///< rows of a part before it is packed, see PanelFactorRows

  /// The begin and the end of a production, on the device.
  struct Span {
    Event begin, end;
    bool recorded = false;
  };
  /// Returns the seconds of a span, and waits for its end; 0 if none was recorded.
  static double seconds_of(const Span& span);
  mutable std::mutex mutex_;    ///< guards the members below
  std::array<Span, 32> spans_;  ///< spans of the last productions; their times are not in `statistics_`
  std::size_t next_span_ = 0;
  Statistics statistics_;
};

}
