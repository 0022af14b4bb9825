#include "cxx/cuda/runtime/host_panel_provider.hpp"

#include <algorithm>
#include <cstring>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"

namespace trifuse::gpu {

namespace {

/// A single thread is slower than the bus: it copies about 3 GB/s of memory that other threads wrote.
void copy_to_pinned(double* to, const double* from, std::int64_t count) {
  constexpr std::int64_t share = std::int64_t{1} << 18;  // doubles
  const auto parts = std::clamp<std::int64_t>(count / share, 1, 12);
  on_new_threads(static_cast<std::size_t>(parts), [&](std::size_t n) {
    const std::int64_t part = static_cast<std::int64_t>(n);
    const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(double));
  });
}

}  // namespace

HostPanelProvider::HostPanelProvider(const PanelStore& host, std::int64_t slot_bytes) : host_(host) {
  for (int n = 0; n < panel_slots; ++n) {
    const auto doubles = static_cast<std::size_t>(slot_bytes) / sizeof(double);
    ring_.push_back({PinnedArray<double>(doubles), DeviceArray<double>(doubles), Event(cudaEventDisableTiming)});
  }
}

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
  const auto room = static_cast<std::int64_t>(ring_.front().host.size());
  const std::int64_t blocks_at_once = std::max<std::int64_t>(1, room / (outer_stride * hole_block));
  const auto step = static_cast<std::int32_t>(std::min<std::int64_t>(outer, blocks_at_once * hole_block));
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
    const auto bytes = static_cast<std::size_t>(doubles) * sizeof(double);
    Slot& slot = ring_[next_slot_];
    next_slot_ = (next_slot_ + 1) % ring_.size();
    TRIFUSE_CUDA(cudaEventSynchronize(slot.free));
    copy_to_pinned(slot.host.data(), panel.data + begin * outer_stride, doubles);
    TRIFUSE_CUDA(cudaMemcpyAsync(slot.device.data(), slot.host.data(), bytes, cudaMemcpyHostToDevice, stream));
    launch_packing(packing, name.format, slot.device.data(), to, stream);
    TRIFUSE_CUDA(cudaEventRecord(slot.free, stream));
    bytes_sent += static_cast<std::int64_t>(bytes);
  }
  return bytes_sent;
}

}  // namespace trifuse::gpu
