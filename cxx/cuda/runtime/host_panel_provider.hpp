#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "cxx/cuda/runtime/panel_provider.hpp"
#include "cxx/cuda/runtime/upload_ring.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse::gpu {

/// Sends the panels of the host's store. They go through pinned buffers and are packed on the device.
class HostPanelProvider final : public PanelProvider {
 public:
  /// `host` must stay valid. `ring`: the ring of the device; other providers of the same panel cache may use it, too.
  HostPanelProvider(const PanelStore& host, std::shared_ptr<UploadRing> ring) : host_(host), ring_(std::move(ring)) {}

  bool provides(const PanelName& name) const override;
  /// Returns true if panels may come from another process.
  bool prefetches() const override { return host_.has_others(); }
  void prefetch(const PanelName& name) const override;
  std::int64_t produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) override;

 private:
  const PanelStore& host_;
  std::shared_ptr<UploadRing> ring_;
};

}
