#include "cxx/cuda/runtime/device_sums.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/sum_pieces.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_derivatives.hpp"

namespace trifuse::gpu {

template <typename Action>
void DeviceSums::on_gpu(Action action) const {
  try {
    const CurrentDevice current(device_);
    action();
  } catch (const DeviceMemoryError&) {
    throw SystemError(fmt::format(
        "GPU {} has no memory left to copy derivatives from it; free some of its memory and copy them again.",
        device_));
  } catch (const DeviceError& error) {
    throw_lost_derivatives(error);
  }
}

void DeviceSums::add(const unsigned long long* from, int device, std::int64_t count,
                     const DeviceArray<unsigned long long>& received) {
  const CurrentDevice current(device_);
  const Stream stream;
  const auto part = static_cast<std::int64_t>(received.size());
  for (std::int64_t first = 0; first < count; first += part) {
    const std::int64_t now = std::min(part, count - first);
    TRIFUSE_CUDA(cudaMemcpyPeerAsync(received.data(), device_, from + first, device,
                                     static_cast<std::size_t>(now) * sizeof(*from), stream));
    launch_add_integers(received.data(), now, sums_.data() + first, stream);
  }
  TRIFUSE_CUDA(cudaStreamSynchronize(stream));
}

void DeviceSums::get(std::size_t first, std::span<std::int64_t> elements) const {
  on_gpu([&] {
    TRIFUSE_CUDA(cudaMemcpy(elements.data(), sums_.data() + first, elements.size_bytes(), cudaMemcpyDeviceToHost));
  });
}

void DeviceSums::set(std::size_t first, std::span<const std::int64_t> elements) {
  on_gpu([&] { copy_to_device(sums_.data() + first, elements.data(), elements.size_bytes()); });
}

void DeviceSums::read(std::span<const Piece> pieces, std::size_t size,
                      const std::function<void(std::span<const double>)>& use) const {
  if (size == 0) return use({});
  const auto reader = readers_.take();
  on_gpu([&] {
    if (!reader->stream) reader->stream.emplace();
    reader->values.reserve(size);
    reader->on_host.reserve(size);
    const cudaStream_t stream = *reader->stream;
    double* const values = reader->values.data();
    TRIFUSE_CUDA(cudaMemsetAsync(values, 0, size * sizeof(double), stream));
    for (const Piece& piece : pieces) {
      SumPiece on_device{sums_.data() + piece.first_in_sums, values + piece.first_in_values, {}, {}, {}, piece.sign};
      std::copy(piece.extent.begin(), piece.extent.end(), on_device.extent);
      std::copy(piece.step_in_sums.begin(), piece.step_in_sums.end(), on_device.step_in_sums);
      std::copy(piece.step_in_values.begin(), piece.step_in_values.end(), on_device.step_in_values);
      launch_add_piece(on_device, stream);
    }
    TRIFUSE_CUDA(
        cudaMemcpyAsync(reader->on_host.data(), values, size * sizeof(double), cudaMemcpyDeviceToHost, stream));
    TRIFUSE_CUDA(cudaStreamSynchronize(stream));
  });
  use({reader->on_host.data(), size});
}

}
