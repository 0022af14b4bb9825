#include "cxx/cuda/runtime/peer_panel_provider.hpp"

#include "cxx/cuda/kernel/check.hpp"

namespace trifuse::gpu {

std::int64_t PeerPanelProvider::produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) {
  const std::int64_t bytes = packed_bytes(packing, name.format);
  TRIFUSE_CUDA(cudaMemcpyAsync(to, peers_.find(name), static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream));
  return bytes;
}

}
