#include "cxx/cuda/runtime/device_sums.hpp"

#include <algorithm>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/sum_pieces.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_derivatives.hpp"

namespace trifuse::gpu {

template <typename Copy>
void DeviceSums::copy(Copy copy) const {
  try {
    const CurrentDevice current(device_);
    copy();
  } catch (const DeviceError& error) {
    throw_lost_derivatives(error);
  }
}

void DeviceSums::add(const unsigned long long* from, int device, std::int64_t count) {
  constexpr std::int64_t part = std::int64_t{2} << 20;  // 16 MiB
  const CurrentDevice current(device_);
  const Stream stream;
  const DeviceArray<unsigned long long> received(static_cast<std::size_t>(std::min(part, count)));
  for (std::int64_t first = 0; first < count; first += part) {
    const std::int64_t now = std::min(part, count - first);
    TRIFUSE_CUDA(cudaMemcpyPeerAsync(received.data(), device_, from + first, device,
                                     static_cast<std::size_t>(now) * sizeof(*from), stream));
    launch_add_integers(received.data(), now, sums_.data() + first, stream);
  }
  TRIFUSE_CUDA(cudaStreamSynchronize(stream));
}

void DeviceSums::get(std::size_t first, std::span<std::int64_t> elements) const {
  copy([&] {
    TRIFUSE_CUDA(cudaMemcpy(elements.data(), sums_.data() + first, elements.size_bytes(), cudaMemcpyDeviceToHost));
  });
}

void DeviceSums::set(std::size_t first, std::span<const std::int64_t> elements) {
  copy([&] { copy_to_device(sums_.data() + first, elements.data(), elements.size_bytes()); });
}

void DeviceSums::read(std::span<const Piece> pieces, std::size_t size,
                      const std::function<void(std::span<const double>)>& use) const {
  if (size == 0) return use({});
  const CurrentDevice current(device_);
  const auto reader = readers_.take();
  try {
    reader->values.reserve(size);
    reader->on_host.reserve(size);
    double* const values = reader->values.data();
    TRIFUSE_CUDA(cudaMemsetAsync(values, 0, size * sizeof(double), reader->stream));
    for (const Piece& piece : pieces) {
      SumPiece on_device{sums_.data() + piece.begin_from, values + piece.begin_to, {}, {}, {}, piece.sign};
      std::copy(piece.extent.begin(), piece.extent.end(), on_device.extent);
      std::copy(piece.from.begin(), piece.from.end(), on_device.from);
      std::copy(piece.to.begin(), piece.to.end(), on_device.to);
      launch_add_piece(on_device, reader->stream);
    }
    TRIFUSE_CUDA(
        cudaMemcpyAsync(reader->on_host.data(), values, size * sizeof(double), cudaMemcpyDeviceToHost, reader->stream));
    TRIFUSE_CUDA(cudaStreamSynchronize(reader->stream));
  } catch (const DeviceError& error) {
    throw_lost_derivatives(error);
  }
  use({reader->on_host.data(), size});
}

}
