#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "fortran_iface/trifuse.h"
#include "fortran_iface/trifuse_contract.h"
#include "tests/gpu/gpu_test_support.hpp"

/// The C function for tensors in the memory of a GPU, on streams of the caller.
namespace trifuse::testing {
namespace {

/// C[i,j] = sum_k A[i,k] B[k,j] of matrices of equal numbers, in the memory of the current GPU.
class ProductOnGpu {
 public:
  explicit ProductOnGpu(std::int64_t n)
      : extents_{n, n},
        a_(gpu::to_device(std::vector<double>(count(), 0.5))),
        b_(gpu::to_device(std::vector<double>(count(), 2.0))),
        c_(gpu::to_device(std::vector<double>(count(), -1.0))) {}

  trifuse_status start(int device, cudaStream_t stream) {
    const trifuse_layout layout = {2, extents_, nullptr};
    trifuse_status status;
    trifuse_contract_in_gpu_memory(&status, "ik,kj->ij", 1.0, a_.data(), &layout, b_.data(), &layout, 0.0, c_.data(),
                                   nullptr, device, stream);
    return status;
  }
  /// Returns C after the work on a stream.
  std::vector<double> result(cudaStream_t stream) {
    std::vector<double> found(count());
    TRIFUSE_CUDA(cudaMemcpyAsync(found.data(), c_.data(), count() * sizeof(double), cudaMemcpyDeviceToHost, stream));
    TRIFUSE_CUDA(cudaStreamSynchronize(stream));
    return found;
  }
  std::vector<double> expected() const { return std::vector<double>(count(), static_cast<double>(extents_[0])); }

 private:
  std::size_t count() const { return static_cast<std::size_t>(extents_[0] * extents_[1]); }
  std::int64_t extents_[2];
  gpu::DeviceArray<double> a_, b_, c_;
};

class KeptContractions : public OnGpu {};

TEST_F(KeptContractions, OfManyShapesOnTwoStreams) {
  const gpu::CurrentDevice current(0);
  const gpu::Stream one, other;
  // More shapes than plans are kept, and each of them twice.
  for (std::int64_t n = 1; n <= 20; ++n) {
    for (const cudaStream_t stream :
         {cudaStream_t(one), cudaStream_t(other), cudaStream_t(one), cudaStream_t(nullptr)}) {
      ProductOnGpu product(7 * n);
      TRIFUSE_CUDA(cudaDeviceSynchronize());
      const trifuse_status status = product.start(0, stream);
      ASSERT_EQ(status.code, TRIFUSE_SUCCESS) << status.message;
      ASSERT_EQ(product.result(stream), product.expected()) << n;
    }
  }
  trifuse_status status;
  trifuse_release_memory(&status);
  EXPECT_EQ(status.code, TRIFUSE_SUCCESS) << status.message;
}

TEST_F(KeptContractions, OfSeveralThreads) {
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  for (std::string& failure : failures) {
    threads.emplace_back([&failure] {
      const gpu::Stream stream;
      ProductOnGpu product(100), other(100);
      TRIFUSE_CUDA(cudaDeviceSynchronize());
      for (int n = 0; n < 50; ++n) {
        const trifuse_status status = n % 2 == 0 ? product.start(0, stream) : other.start(0, cudaStreamPerThread);
        if (status.code != TRIFUSE_SUCCESS) failure = status.message;
      }
      if (product.result(stream) != product.expected()) failure = "wrong result";
      if (other.result(cudaStreamPerThread) != other.expected()) failure = "wrong result on the stream of the thread";
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<std::string>(4));
}

TEST_F(KeptContractions, LeaveTheCurrentGpuAsItIs) {
  const int last = visible_device_count() - 1;
  std::optional<ProductOnGpu> product;
  {
    const gpu::CurrentDevice current(last);
    product.emplace(10);
  }
  int before = -1, after = -1;
  TRIFUSE_CUDA(cudaGetDevice(&before));
  const trifuse_status status = product->start(last, nullptr);
  TRIFUSE_CUDA(cudaGetDevice(&after));
  EXPECT_EQ(status.code, TRIFUSE_SUCCESS) << status.message;
  EXPECT_EQ(before, after);
  const gpu::CurrentDevice current(last);
  EXPECT_EQ(product->result(nullptr), product->expected());
  EXPECT_EQ(product->start(last + 1, nullptr).code, TRIFUSE_BAD_USAGE);
}

}
}
