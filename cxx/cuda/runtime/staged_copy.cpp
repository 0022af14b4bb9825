#include "cxx/cuda/runtime/staged_copy.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::gpu {

namespace {

/// Two pinned buffers of a thread: one is filled while the other one is sent.
class PinnedPair {
 public:
  struct Slot {
    PinnedArray<double> memory;
    std::optional<Event> sent;  ///< the last copy from this buffer; absent before it
  };

  PinnedPair() = default;
  PinnedPair(const PinnedPair&) = delete;
  PinnedPair& operator=(const PinnedPair&) = delete;
  /// Waits for the copies, because the memory may be used again at once.
  ~PinnedPair() {
    for (const Slot& slot : slots_) {
      if (slot.sent) static_cast<void>(cudaEventSynchronize(*slot.sent));
    }
  }

  /// Returns a buffer for `doubles` numbers that no copy reads.
  Slot& next(std::size_t doubles) {
    Slot& slot = slots_[turn_ = 1 - turn_];
    if (slot.sent) TRIFUSE_CUDA(cudaEventSynchronize(*slot.sent));
    slot.memory.reserve(doubles);
    return slot;
  }

 private:
  std::array<Slot, 2> slots_;
  std::size_t turn_ = 0;
};

}

void upload(std::span<const UploadPart> parts, int threads) {
  const int device = current_device();
  std::int64_t largest = 0;
  for (const UploadPart& part : parts) largest = std::max(largest, part.doubles);
  const Stream stream;
  share_among_threads<PinnedPair>(parts.size(), threads, [&](std::size_t n, PinnedPair& buffers) {
    const UploadPart& part = parts[n];
    const CurrentDevice current(device);
    PinnedPair::Slot& slot = buffers.next(static_cast<std::size_t>(largest));
    const std::span<double> numbers(slot.memory.data(), static_cast<std::size_t>(part.doubles));
    part.read(numbers);
    if (!slot.sent) slot.sent.emplace(cudaEventDisableTiming);
    TRIFUSE_CUDA(cudaMemcpyAsync(part.to, numbers.data(), numbers.size_bytes(), cudaMemcpyHostToDevice, stream));
    TRIFUSE_CUDA(cudaEventRecord(*slot.sent, stream));
  });
  TRIFUSE_CUDA(cudaStreamSynchronize(stream));
}

void download_parts(const void* from, std::size_t bytes, int threads,
                    const std::function<void(std::size_t, std::span<const std::byte>)>& use) {
  const int device = current_device();
  constexpr std::size_t part = usual_part * sizeof(double);
  const std::size_t parts = (bytes + part - 1) / part;
  std::atomic<std::size_t> next{0};
  on_new_threads(std::min(parts, static_cast<std::size_t>(threads)), [&](std::size_t) {
    const CurrentDevice current(device);
    const PinnedArray<std::byte> buffer(part);
    const Stream stream;
    for (std::size_t n = next++; n < parts; n = next++) {
      const std::size_t length = std::min(part, bytes - n * part);
      TRIFUSE_CUDA(cudaMemcpyAsync(buffer.data(), static_cast<const std::byte*>(from) + n * part, length,
                                   cudaMemcpyDeviceToHost, stream));
      TRIFUSE_CUDA(cudaStreamSynchronize(stream));
      use(n * part, {buffer.data(), length});
    }
  });
}

void download(const void* from, std::span<std::byte> to, int threads) {
  download_parts(from, to.size(), threads, [&](std::size_t first, std::span<const std::byte> part) {
    std::copy(part.begin(), part.end(), to.data() + first);
  });
}

}
