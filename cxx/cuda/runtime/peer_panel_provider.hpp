#pragma once

#include <cstdint>
#include <utility>

#include "cxx/cuda/runtime/panel_provider.hpp"
#include "cxx/cuda/schedule/panel_owner_map.hpp"

namespace trifuse::gpu {

/// Copies packed panels from the memory of the GPUs that own them. Provides nothing before set_peers().
class PeerPanelProvider final : public PanelProvider {
 public:
  /// Sets the peers. From then on, panels are copied from the memory of `peers`: from PanelCache::owned_memory() of
  /// each. No worker may acquire panels during the call.
  void set_peers(PeerPanels peers) { peers_ = std::move(peers); }

  bool provides(const PanelName& name) const override { return peers_.find(name) != nullptr; }
  std::int64_t produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) override;

 private:
  PeerPanels peers_;
};

}
