#include <cstdint>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/launch_program.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// The sums over the CTA tiles of tasks, compared with sums on the host.
namespace trifuse::gpu {
namespace {

class TaskSumsOnGpu : public testing::OnGpu {
 protected:
  static constexpr int omega2_count = 2, warps = 8;

  /// Tasks with so many CTA tiles, one after the other.
  static std::vector<TaskData> tasks_of(const std::vector<std::int64_t>& cta_tiles) {
    std::vector<TaskData> tasks;
    std::int64_t first = 0;
    for (const std::int64_t count : cta_tiles) {
      TaskData task{};
      task.first_cta_tile = first;
      task.cta_tiles = count;
      task.weight = 1.0 + static_cast<double>(tasks.size());
      tasks.push_back(task);
      first += count;
    }
    return tasks;
  }
  /// Expects the sums [task, omega2, sum] of numbers that differ for each warp, in two launches the same bits.
  static void expect_sums(SpinFormulation formulation, const std::vector<TaskData>& tasks) {
    const int sums = energy_sums(formulation);
    const std::int64_t all = tasks.back().first_cta_tile + tasks.back().cta_tiles;
    std::vector<double> of_warps(static_cast<std::size_t>(all * omega2_count * warps * sums));
    std::uint32_t state = 1;
    for (double& x : of_warps) x = 1e-3 + static_cast<double>((state = state * 1664525u + 1013904223u) >> 8) * 1e-7;
    std::vector<double> expected;
    for (const TaskData& task : tasks) {
      for (int w = 0; w < omega2_count; ++w) {
        for (int s = 0; s < sums; ++s) {
          double sum = 0.0;
          for (std::int64_t n = task.first_cta_tile; n < task.first_cta_tile + task.cta_tiles; ++n) {
            for (int warp = 0; warp < warps; ++warp) {
              sum += of_warps[static_cast<std::size_t>(((n * omega2_count + w) * warps + warp) * sums + s)];
            }
          }
          expected.push_back(task.weight * sum);
        }
      }
    }
    const std::vector<double> found = sums_on_device(formulation, tasks, of_warps, expected.size());
    for (std::size_t n = 0; n < expected.size(); ++n) EXPECT_NEAR(found[n], expected[n], 1e-12 * expected[n]) << n;
    EXPECT_EQ(sums_on_device(formulation, tasks, of_warps, expected.size()), found);
  }

 private:
  static std::vector<double> sums_on_device(SpinFormulation formulation, const std::vector<TaskData>& tasks,
                                            const std::vector<double>& of_warps, std::size_t count) {
    const auto tasks_on_device = to_device(tasks);
    const auto warp_sums = to_device(of_warps);
    const auto next_cta_tile = to_device(std::vector<std::uint32_t>{7});
    const DeviceArray<double> out(count);
    KernelParameters parameters = base_parameters(formulation, 1, 1);
    parameters.tasks = tasks_on_device.data();
    parameters.warp_sums = warp_sums.data();
    parameters.next_cta_tile = next_cta_tile.data();
    parameters.omega2_count = omega2_count;
    launch_task_sums(parameters, formulation, tasks, out.data(), nullptr);
    std::vector<double> found(count);
    std::uint32_t next = 7;
    TRIFUSE_CUDA(cudaMemcpy(found.data(), out.data(), count * sizeof(double), cudaMemcpyDeviceToHost));
    TRIFUSE_CUDA(cudaMemcpy(&next, next_cta_tile.data(), sizeof(next), cudaMemcpyDeviceToHost));
    EXPECT_EQ(next, 0u) << "the counter of CTA tiles for the next launch";
    return found;
  }
};

TEST_F(TaskSumsOnGpu, AddUpFewCtaTiles) {
  for (const auto formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    expect_sums(formulation, tasks_of({1, 0, 7, 1024}));
  }
}

// A task of more CTA tiles is added up in parts. The last part is full, or it has one CTA tile.
TEST_F(TaskSumsOnGpu, AddUpManyCtaTiles) {
  for (const auto formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    expect_sums(formulation, tasks_of({1025, 0, 3, 2048, 5000}));
  }
}

}
}
