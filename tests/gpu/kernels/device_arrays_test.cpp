#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "cxx/cuda/runtime/device_copy.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/arrays_of_molecules.hpp"

/// Arrays of a caller in the memory of a GPU.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;
using Layout = HeldArrays::Layout;

/// The arrays of a molecule, those with four indices in the memory of GPU 0.
class ArraysInDeviceMemory {
 public:
  explicit ArraysInDeviceMemory(const ArraysOfMolecule& molecule) {
    TRIFUSE_CUDA(cudaSetDevice(0));
    std::vector<CallerArray> list = molecule.arrays();
    for (CallerArray& array : list) {
      if (array.shape.size() != 4) continue;
      std::size_t size = 1;
      for (const std::int64_t extent : array.shape) size *= static_cast<std::size_t>(extent);
      const DeviceArray<double>& memory = memory_.emplace_back(size);
      copy_to_device(memory.data(), array.data, size * sizeof(double));
      array.data = memory.data();
      array.device = 0;
      array.copy = [this](const void* from, std::span<std::byte> to) {
        ++copies_;
        copy_from_device(0, from, to);
      };
    }
    SourceInfo info;
    info.path = "arrays of GPU 0";
    source_ = open_arrays(std::move(info), std::move(list));
  }

  const TileSource& source() const { return *source_; }
  int copies() const { return copies_; }

 private:
  std::vector<DeviceArray<double>> memory_;
  int copies_ = 0;
  std::unique_ptr<TileSource> source_;
};

class DeviceArrays : public OnGpu {
 protected:
  static std::vector<double> numbers(const TileSource& source, SpinFormulation formulation, DeviceReport& report) {
    Problem problem;
    problem.right = &source;
    problem.formulation = formulation;
    const Plan plan = make_plan(source.tiles().retiled(3, 4), formulation);
    const auto executor = make_cuda_executor(problem, plan.tiles, {});
    std::vector<double> found = batch_numbers(*executor, plan, 1);
    report = *executor->device_report();
    return found;
  }
};

TEST_F(DeviceArrays, ArePackedInPlaceWithTheSameBits) {
  for (const Layout layout : {Layout::c_order, Layout::fortran_order}) {
    const ArraysOfMolecule molecule(closed_shell(5, 7, 4), layout);
    const ArraysInDeviceMemory on_device(molecule);
    DeviceReport report;
    const auto expected = numbers(molecule.source(), SpinFormulation::spin_adapted, report);
    EXPECT_GT(report.bytes_sent, 0);
    EXPECT_EQ(numbers(on_device.source(), SpinFormulation::spin_adapted, report), expected);
    EXPECT_EQ(report.bytes_sent, 0);
    EXPECT_EQ(on_device.copies(), 0);
  }
}

TEST_F(DeviceArrays, AreCopiedToTheHostForOtherFormulations) {
  const ArraysOfMolecule molecule(closed_shell(4, 6), Layout::fortran_order);
  const ArraysInDeviceMemory on_device(molecule);
  DeviceReport report;
  const auto expected = numbers(molecule.source(), SpinFormulation::spin_orbital, report);
  EXPECT_EQ(numbers(on_device.source(), SpinFormulation::spin_orbital, report), expected);
  EXPECT_GT(on_device.copies(), 0);
}

TEST_F(DeviceArrays, AreCopiedWholeThroughPinnedMemory) {
  TRIFUSE_CUDA(cudaSetDevice(0));
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, (std::size_t{5} << 20) + 3}) {
    std::vector<std::byte> sent(size), found(size);
    for (std::size_t n = 0; n < size; ++n) sent[n] = static_cast<std::byte>(n * 7 + n / 256);
    const DeviceArray<std::byte> memory(std::max<std::size_t>(size, 1));
    copy_to_device(memory.data(), sent.data(), size);
    copy_from_device(0, memory.data(), found);
    EXPECT_TRUE(found == sent) << size;
  }
}

}
}
