#include <bit>
#include <map>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/backward.hpp"
#include "cxx/cuda/runtime/kernel_timing.cuh"
#include "cxx/cuda/schedule/backward_program.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"

namespace trifuse {

namespace {

using namespace gpu;

__global__ void round_to_floats(const double* from, float* to, std::size_t count) {
  for_elements(static_cast<std::int64_t>(count), [&](std::int64_t n) { to[n] = static_cast<float>(from[n]); });
}

/// The products of one task, in device memory.
class BackwardTask {
 public:
  BackwardTask(const KernelCase& which, BackwardSide side, Precision precision)
      : precision_(precision), seeds_(random_array(SeedExtents(data_of(which).extent).seeds(), 5)) {
    if (precision == Precision::mixed) {
      rounded_.reserve(seeds_.size());
      round_to_floats<<<1024, 256>>>(seeds_.data(), rounded_.data(), seeds_.size());
      TRIFUSE_CUDA(cudaGetLastError());
      seeds_ = DeviceArray<double>();
      largest_ = to_device(std::vector<unsigned>{std::bit_cast<unsigned>(1.0f)});
    }
    for (int n = 0; n < products_per_target; ++n) {
      if (side != BackwardSide::right) add(which, axes_of_product(n), true);
      if (side != BackwardSide::left) add(which, axes_of_product(n), false);
    }
    products_on_device_ = to_device(products_);
    for (const auto& [width, tiles] : tiles_) tiles_on_device_[width] = to_device(tiles);
  }

  void launch(int multiprocessors) const {
    for (const auto& [width, tiles] : tiles_) {
      const auto count = static_cast<std::uint32_t>(tiles.size());
      launch_backward(precision_, width, std::min(multiprocessors, static_cast<int>(count)),
                      {products_on_device_.data(), tiles_on_device_.at(width).data(), count}, nullptr);
    }
  }

 private:
  static TaskData data_of(const KernelCase& which) { return single_task(which.extent); }

  void add(const KernelCase& which, const ProductAxes& axes, bool to_left) {
    const auto [u, w] = others(axes.particle);
    const auto [h1, h2] = others(axes.hole);
    const Packing left = whole_panel(which, PanelKind::left, {axes.particle, 3 + h1, 3 + h2, 0}),
                  right = whole_panel(which, PanelKind::right, {u, w, 3 + axes.hole, 0});
    const OperandFormat format = precision_ == Precision::mixed ? format_of<SplitHalfTransposed>() : format_of<Fp64>();
    panels_.push_back(random_panel(to_left ? right : left, format, panels_.size()));
    const Packing& out = to_left ? left : right;
    sums_.emplace_back(static_cast<std::size_t>(out.stride[0] * out.extent[0]));
    BackwardProduct product{};
    product.seeds = precision_ == Precision::mixed ? static_cast<const void*>(rounded_.data()) : seeds_.data();
    product.largest = largest_.data();
    product.panel = reinterpret_cast<const char*>(panels_.back().data());
    product.out = sums_.back().data();
    std::copy_n(out.stride, 3, product.stride);
    product.factor = 1.0;
    std::copy_n(data_of(which).extent, 6, product.extent);
    product.particle = axes.particle;
    product.hole = axes.hole;
    product.left = to_left ? 1 : 0;
    product.k_tiles = static_cast<std::int32_t>(ceil_div(which.contracted, format.k_tile_depth));
    product.end = which.contracted;
    const int width = backward_width(product, precision_);
    append_backward_tiles(product, precision_, static_cast<std::uint32_t>(products_.size()), width, tiles_[width]);
    products_.push_back(product);
  }

  const Precision precision_;
  DeviceArray<double> seeds_;
  DeviceArray<float> rounded_;     ///< the seeds in mixed precision
  DeviceArray<unsigned> largest_;  ///< see TaskSeeds
  std::vector<DeviceArray<double>> panels_;
  std::vector<DeviceArray<unsigned long long>> sums_;
  std::vector<BackwardProduct> products_;
  std::map<int, std::vector<BackwardTile>> tiles_;  ///< key: width
  DeviceArray<BackwardProduct> products_on_device_;
  std::map<int, DeviceArray<BackwardTile>> tiles_on_device_;
};

}

std::vector<double> time_backward(const KernelCase& which, BackwardSide side, Precision precision, int repeats,
                                  int device_number) {
  const cudaDeviceProp& device = use_device(device_number);
  if (device.major != 9 || device.minor != 0) throw UsageError("Derivatives on a GPU need compute capability 9.0.");
  set_backward_limits(precision);
  const BackwardTask task(which, side, precision);
  return settled_times_of_launches(repeats, [&] { task.launch(device.multiProcessorCount); });
}

}
