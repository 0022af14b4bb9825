#include "cxx/cuda/runtime/memory_pool.hpp"

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/pinned_mapping.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// Memory that outlives a calculation.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

std::int64_t free_for_others() {
  std::size_t free = 0, total = 0;
  TRIFUSE_CUDA(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

class KeptMemory : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    TRIFUSE_CUDA(cudaSetDevice(0));
    release_idle_memory();
  }
  void TearDown() override {
    if (!IsSkipped()) release_idle_memory();
  }
};

TEST_F(KeptMemory, OfADeviceIsFreeForTheNextRunAndReleasedOnDemand) {
  const DeviceArray<double> keeps_the_context_busy(1);
  const std::int64_t others = free_for_others(), own = device_memory_now().free;
  { const DeviceArray<double> array(std::size_t{1} << 27); }  // 1 GiB
  EXPECT_GE(device_memory_now().free, own - 4 * mebibyte) << "idle memory counts as free";
  release_idle_memory();
  EXPECT_GE(free_for_others(), others - 4 * mebibyte);
}

TEST_F(KeptMemory, DoesNotCountAsUsedMemory) {
  constexpr std::size_t doubles = std::size_t{1} << 27;  // 1 GiB
  constexpr auto bytes = static_cast<std::int64_t>(doubles * sizeof(double));
  {
    const DeviceArray<double> one(doubles), other(doubles);
    EXPECT_GE(peak_device_memory(), 2 * bytes);
  }
  const std::int64_t peak = peak_device_memory();
  { const DeviceArray<double> again(doubles); }
  EXPECT_EQ(peak_device_memory(), peak);
}

TEST_F(KeptMemory, HasALimit) {
  const std::int64_t others = free_for_others();
  { const DeviceArray<double> array(std::size_t{1} << 30); }  // 8 GiB
  TRIFUSE_CUDA(cudaDeviceSynchronize());
  EXPECT_GE(free_for_others(), others - static_cast<std::int64_t>(kept_device_bytes) - 64 * mebibyte);
}

TEST_F(KeptMemory, HasNoLimitWhileAKeeperExists) {
  constexpr std::size_t doubles = std::size_t{1} << 30;  // 8 GiB
  constexpr auto bytes = static_cast<std::int64_t>(doubles * sizeof(double));
  const std::int64_t others = free_for_others();
  {
    const DeviceMemoryKeeper keeper;
    { const DeviceArray<double> array(doubles / 2), other(doubles / 2); }
    TRIFUSE_CUDA(cudaDeviceSynchronize());
    EXPECT_LE(free_for_others(), others - bytes + 64 * mebibyte);
    const DeviceArray<double> larger(doubles);
    EXPECT_GE(free_for_others(), others - bytes - 64 * mebibyte) << "kept memory serves an array of another size";
  }
  EXPECT_GE(free_for_others(), others - static_cast<std::int64_t>(kept_device_bytes) - 64 * mebibyte);
}

TEST_F(KeptMemory, OfTheHostMayHaveLargePages) {
  for (const std::size_t bytes : {pinned_page - 8, pinned_page, 5 * pinned_page + 1000}) {
    const std::size_t count = bytes / sizeof(double);
    const PinnedArray<double> sent(count), received(count);
    for (std::size_t n = 0; n < count; ++n) sent.data()[n] = 0.5 * static_cast<double>(n);
    const DeviceArray<double> array(count);
    const Stream stream;
    TRIFUSE_CUDA(cudaMemcpyAsync(array.data(), sent.data(), count * sizeof(double), cudaMemcpyHostToDevice, stream));
    TRIFUSE_CUDA(
        cudaMemcpyAsync(received.data(), array.data(), count * sizeof(double), cudaMemcpyDeviceToHost, stream));
    TRIFUSE_CUDA(cudaStreamSynchronize(stream));
    EXPECT_TRUE(std::equal(sent.data(), sent.data() + count, received.data())) << bytes;
    cudaPointerAttributes attributes{};
    TRIFUSE_CUDA(cudaPointerGetAttributes(&attributes, sent.data()));
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost) << "the memory is pinned";
  }
  void* const mapped = map_pinned(3 * pinned_page);
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped) % pinned_page, 0u);
  unmap_pinned(mapped, 3 * pinned_page);
}

TEST_F(KeptMemory, OfTheHostIsUsedAgain) {
  double* first = nullptr;
  {
    const PinnedArray<double> array(std::size_t{1} << 20);
    first = array.data();
  }
  const PinnedArray<double> same_size(std::size_t{1} << 20);
  EXPECT_EQ(same_size.data(), first);
  const PinnedArray<double> other(std::size_t{1} << 20);
  EXPECT_NE(other.data(), first);
}

TEST_F(KeptMemory, HoldsWhatIsWrittenToIt) {
  const std::vector<int> numbers{3, 1, 4, 1, 5, 9};
  for (int round = 0; round < 3; ++round) {
    const DeviceArray<int> array(numbers.size());
    TRIFUSE_CUDA(cudaMemcpy(array.data(), numbers.data(), numbers.size() * sizeof(int), cudaMemcpyHostToDevice));
    std::vector<int> back(numbers.size());
    TRIFUSE_CUDA(cudaMemcpy(back.data(), array.data(), numbers.size() * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(back, numbers);
  }
}

TEST_F(KeptMemory, IsFlatOverManyRunsOfTheSameBits) {
  const auto source = make_synthetic_source({Reference::rhf, 5, 5, 20, 20, 1, 5, 20, 1});
  CalculationOptions options;
  options.executor = ExecutorKind::cuda;
  options.devices = {0};
  std::vector<double> energies;
  for (int round = 0; round < 20; ++round) {
    energies.push_back(Calculation(*source, nullptr, options).run().energies.front().total.e_paren_t);
  }
  EXPECT_EQ(std::count(energies.begin(), energies.end(), energies.front()), std::ssize(energies));
  // Another process may take memory of the GPU meanwhile. A leak would take some in every series of runs.
  bool flat = false;
  for (int series = 0; series < 3 && !flat; ++series) {
    const std::int64_t before = free_for_others();
    for (int round = 0; round < 200; ++round) static_cast<void>(Calculation(*source, nullptr, options).run());
    flat = free_for_others() >= before - 4 * mebibyte;
  }
  EXPECT_TRUE(flat) << "each series of 200 runs took more than 4 MiB of the GPU";
}

}
}
