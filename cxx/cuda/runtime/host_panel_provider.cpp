#include "cxx/cuda/runtime/host_panel_provider.hpp"

#include <algorithm>

#include "cxx/cuda/kernel/launch.hpp"

namespace trifuse::gpu {

bool HostPanelProvider::provides(const PanelName& name) const {
  return host_.layout().find(name.key) != nullptr;
}

void HostPanelProvider::prefetch(const PanelName& name) const {
  host_.prefetch(name.key);
}

std::int64_t HostPanelProvider::produce(const PanelName& name, const Packing& whole, void* to, cudaStream_t stream) {
  const Panel panel = host_.acquire(name.key);
  Packing packing = with_row_stride(whole, panel.stride);
  const std::int64_t outer_stride = packing.stride[packing.outer];
  const std::int32_t outer = packing.extent[packing.outer];
  const std::int64_t blocks_at_once = std::max<std::int64_t>(1, ring_->room() / (outer_stride * hole_group_size));
  const auto step = static_cast<std::int32_t>(std::min<std::int64_t>(outer, blocks_at_once * hole_group_size));
  // The last row ends with its last contracted index. Its padding may lie outside the host's memory.
  std::int64_t row_end = packing.contracted;
  for (int q = 0; q < 4; ++q) {
    if (q != packing.outer) row_end += std::max<std::int64_t>(packing.extent[q] - 1, 0) * packing.stride[q];
  }
  std::int64_t bytes_sent = 0;
  for (std::int32_t begin = 0; begin < outer; begin += step) {
    packing.outer_begin = begin;
    packing.outer_count = std::min(step, outer - begin);
    const std::int64_t doubles = (packing.outer_count - 1) * outer_stride + row_end;
    const double* raw = ring_->stage(panel.data + begin * outer_stride, doubles, stream);
    launch_packing(packing, name.format, raw, to, stream);
    ring_->release(stream);
    bytes_sent += doubles * static_cast<std::int64_t>(sizeof(double));
  }
  return bytes_sent;
}

}
