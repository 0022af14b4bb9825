#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_derivatives.hpp"

/// The current GPU of a thread is that of the calling program.
namespace trifuse::testing {
namespace {

int current_device() {
  int device = -1;
  TRIFUSE_CUDA(cudaGetDevice(&device));
  return device;
}

class CurrentGpu : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && visible_device_count() < 2) GTEST_SKIP() << "needs two GPUs";
  }
  void TearDown() override {
    if (visible_device_count() > 0) TRIFUSE_CUDA(cudaSetDevice(0));
  }
};

TEST_F(CurrentGpu, IsThatOfTheCallerAfterEveryCall) {
  const int last = visible_device_count() - 1;
  const ArraysOfMolecule arrays(closed_shell(6, 17), HeldArrays::Layout::c_order);
  for (const int current : {0, last}) {
    TRIFUSE_CUDA(cudaSetDevice(current));
    const gpu::DeviceArray<double> in_use(1);
    for (const std::vector<int>& devices : {std::vector<int>{}, {0}, {last}, {0, last}}) {
      for (const Precision precision : {Precision::fp64, Precision::mixed}) {
        CalculationOptions options = options_for();
        options.executor = ExecutorKind::cuda;
        options.devices = devices;
        options.precision = precision;
        if (!kernels_with_seeds().empty()) options.derivatives = Derivatives::all;
        const Calculation calculation(arrays.source(), nullptr, options);
        EXPECT_EQ(current_device(), current);
        const CalculationResult result = calculation.run();
        EXPECT_EQ(current_device(), current);
        if (result.derivatives) arrays_of(*result.derivatives);  // they come from the GPU
        EXPECT_EQ(current_device(), current);
      }
    }
    free_device_memory(last - current);
    EXPECT_EQ(current_device(), current);
    release_kept_device_memory();
    EXPECT_EQ(current_device(), current);
    const contraction::GpuContraction product(contraction::describe("ab,bc->ac", {{2, 3}, {}}, {{3, 4}, {}}),
                                              last - current);
    EXPECT_EQ(current_device(), current);
  }
}

}
}
