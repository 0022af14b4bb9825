#include "tests/gpu/kernels/formula_panels.hpp"

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/check.hpp"
#include "tests/support/float_slices.hpp"

namespace trifuse::gpu {

namespace {

/// A number between 0 and 1 with 53 bits, the same on host and device.
constexpr TRIFUSE_HOST_DEVICE double formula(std::uint64_t seed, std::int64_t offset) {
  const std::uint64_t mixed = (seed + static_cast<std::uint64_t>(offset)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<double>((mixed ^ mixed >> 29) >> 11) * 0x1p-53;
}

std::uint64_t seed_of(const PanelKey& key) {
  std::uint64_t seed = static_cast<std::uint64_t>(key.kind) * 2 + static_cast<std::uint64_t>(key.side);
  for (const int tile : key.tiles) seed = seed * 1000003 + static_cast<std::uint64_t>(tile);
  return seed << 32;
}

template <typename Precision>
__global__ void fill(Packing packing, std::uint64_t seed, typename Precision::Operand* packed, std::int64_t elements) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < elements; n += stride) {
    const PackedElement element = packed_element<Precision>(packing, n);
    const double x = element.raw < 0 ? 0.0 : formula(seed, element.raw);
    packed[element.packed] = Precision::slice_of(x, element.slice);
  }
}

template <typename Precision>
void launch_fill(const PanelKey& key, const Packing& packing, void* to, cudaStream_t stream) {
  fill<Precision><<<64, 256, 0, stream>>>(packing, seed_of(key), static_cast<typename Precision::Operand*>(to),
                                          packed_size<Precision>(packing));
  TRIFUSE_CUDA(cudaGetLastError());
}

}

std::int64_t FormulaPanelProvider::produce(const PanelName& name, const Packing& whole, void* to, cudaStream_t stream) {
  const Packing packing = with_row_stride(whole, whole.contracted);
  if (name.format == format_of<Fp64>()) {
    launch_fill<Fp64>(name.key, packing, to, stream);
  } else if (name.format == format_of<Fp32>()) {
    launch_fill<Fp32>(name.key, packing, to, stream);
  } else if (name.format == format_of<TwoFloats>()) {
    launch_fill<TwoFloats>(name.key, packing, to, stream);
  } else {
    throw Error("The formula does not know the format of a panel.");
  }
  return 0;
}

std::vector<double> FormulaPanelProvider::panel(const PanelKey& key, std::int64_t size) {
  std::vector<double> numbers;
  for (std::int64_t offset = 0; offset < size; ++offset) numbers.push_back(formula(seed_of(key), offset));
  return numbers;
}

}
