#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cxx/contraction/reference.hpp"
#include "cxx/contraction/tuned_plans.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/contraction/timed_contraction.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "tests/contraction/random_contraction.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/temporary_folder.hpp"

/// Contractions of random indices on a GPU, compared with plain loops.
namespace trifuse::contraction {
namespace {

using trifuse::testing::OnGpu;

/// A random contraction, its result by loops, and its tensors in device memory.
class OnDevice : public ExpectedContraction {
 public:
  /// `shift`: doubles by which the addresses of the tensors are shifted.
  OnDevice(std::uint32_t seed, bool gaps, std::size_t shift) : ExpectedContraction(seed, 3e5, gaps), shift_(shift) {
    for (const Tensor t : {A, B, C}) {
      std::vector<double> shifted(shift);
      shifted.insert(shifted.end(), memory[t].begin(), memory[t].end());
      device_[t] = gpu::to_device(shifted);
    }
  }
  std::vector<double> run(GpuContraction planned) {
    const std::size_t bytes = memory[C].size() * sizeof(double);
    TRIFUSE_CUDA(cudaMemcpy(on_device(C), memory[C].data(), bytes, cudaMemcpyHostToDevice));
    planned.start(alpha, first_on_device(A), first_on_device(B), beta, first_on_device(C), nullptr);
    std::vector<double> found(memory[C].size());
    TRIFUSE_CUDA(cudaMemcpy(found.data(), on_device(C), bytes, cudaMemcpyDeviceToHost));
    return found;
  }

 private:
  double* on_device(Tensor t) const { return device_[t].data() + shift_; }
  double* first_on_device(Tensor t) const { return on_device(t) - offset_range(contraction, t).first; }

  std::size_t shift_;
  std::array<gpu::DeviceArray<double>, 3> device_;
};

using GpuContractionOnGpu = OnGpu;

TEST_F(GpuContractionOnGpu, RandomContractionsAreThoseOfTheLoops) {
  const GpuModel model = gpu_model(0);
  GpuModel any_gpu = model;
  any_gpu.matrix_instructions = false;
  for (std::uint32_t seed = 0; seed < 600 && !HasFailure(); ++seed) {
    OnDevice tensors(seed, seed % 3 == 2, seed % 5 == 4 ? 1 : 0);
    const Contraction form = canonical_form(tensors.contraction);
    const double terms = terms_of(form);
    const std::string what = std::to_string(seed) + " " + tensors.expression + ": ";
    {
      GpuContraction contraction(tensors.contraction, 0);
      SCOPED_TRACE(what + contraction.text());
      expect_equal(tensors.run(std::move(contraction)), tensors.expected, terms);
    }
    const std::vector<GpuProgram> programs = candidate_programs(form, seed % 10 == 9 ? any_gpu : model, 300);
    for (int n = 0; n < 3; ++n) {
      const auto chosen = static_cast<std::size_t>(tensors.number(0, static_cast<int>(programs.size()) - 1));
      SCOPED_TRACE(what + text_of(programs[chosen]));
      const std::vector<double> found = tensors.run({form, programs[chosen], 0});
      expect_equal(found, tensors.expected, terms);
      const std::vector<double> again = tensors.run({form, programs[chosen], 0});
      EXPECT_EQ(std::memcmp(found.data(), again.data(), found.size() * sizeof(double)), 0) << "other bits";
    }
  }
}

// Offsets of 32 bits do not reach all elements of A.
TEST_F(GpuContractionOnGpu, TensorsMayBeLarge) {
  constexpr std::int64_t stride = std::int64_t{1} << 30, rows = 3, terms = 4, columns = 2;
  constexpr auto size = static_cast<std::size_t>((rows - 1) * stride + terms);
  constexpr std::int64_t reserve = std::int64_t{1} << 30;
  if (free_device_memory(0) < static_cast<std::int64_t>(size * sizeof(double)) + reserve) {
    GTEST_SKIP() << "needs 17 GiB of memory";
  }
  const gpu::DeviceArray<double> a(size), c(rows * columns);
  const gpu::DeviceArray<double> b = gpu::to_device(std::vector<double>{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0});
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<double> values(terms, static_cast<double>(row + 1));
    TRIFUSE_CUDA(
        cudaMemcpy(a.data() + row * stride, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice));
  }
  GpuContraction contraction(describe("ab,bc->ac", {{rows, terms}, {stride, 1}}, {{terms, columns}, {}}), 0);
  contraction.start(1.0, a.data(), b.data(), 0.0, c.data(), nullptr);
  std::vector<double> found(rows * columns);
  TRIFUSE_CUDA(cudaMemcpy(found.data(), c.data(), found.size() * sizeof(double), cudaMemcpyDeviceToHost));
  EXPECT_EQ(found, (std::vector<double>{16.0, 20.0, 32.0, 40.0, 48.0, 60.0}));
}

TEST_F(GpuContractionOnGpu, SmallProductsOfABatch) {
  for (const std::int64_t n : {2, 3, 4, 7, 16, 31, 32}) {
    constexpr std::int64_t products = 3000;
    const auto size = static_cast<std::size_t>(products * n * n);
    const Contraction contraction = describe("xik,xkj->xij", {{products, n, n}, {}}, {{products, n, n}, {}});
    std::vector<double> a(size), b(size), expected(size), found(size);
    for (std::size_t at = 0; at < size; ++at)
      a[at] = std::sin(static_cast<double>(at)), b[at] = std::cos(static_cast<double>(at));
    contract_by_loops(contraction, 1.0, a.data(), b.data(), 0.0, expected.data());
    const auto on_device = gpu::to_device(a), b_on_device = gpu::to_device(b);
    const gpu::DeviceArray<double> c(size);
    GpuContraction planned(contraction, 0);
    SCOPED_TRACE(planned.text());
    planned.start(1.0, on_device.data(), b_on_device.data(), 0.0, c.data(), nullptr);
    TRIFUSE_CUDA(cudaMemcpy(found.data(), c.data(), size * sizeof(double), cudaMemcpyDeviceToHost));
    expect_equal(found, expected, static_cast<double>(n));
  }
}

// The contiguous contracted indices of A and B differ, so some of the measured programs pack an operand.
TEST_F(GpuContractionOnGpu, HaveTheirTunedPlan) {
  const testing::TemporaryFolder folder;
  const testing::EnvironmentVariable cache("TRIFUSE_CACHE", folder.path().c_str());
  const Contraction contraction = describe("bfae,cedf->dcba", {{24, 16, 20, 32}, {}}, {{18, 32, 24, 16}, {}});
  const Contraction form = canonical_form(contraction);
  std::array<std::vector<double>, 3> memory;
  for (const Tensor t : {A, B, C}) memory[t].resize(static_cast<std::size_t>(elements(contraction, t)));
  for (std::size_t n = 0; n < memory[A].size(); ++n) memory[A][n] = std::sin(static_cast<double>(n));
  for (std::size_t n = 0; n < memory[B].size(); ++n) memory[B][n] = std::cos(static_cast<double>(n));
  contract_by_loops(contraction, 1.0, memory[A].data(), memory[B].data(), 0.0, memory[C].data());
  const auto run = [&](TimedContraction& timed, int repeats) {
    std::vector<double> seconds;
    for (int r = 0; r < repeats; ++r) seconds.push_back(timed.run());
    expect_equal(timed.result(), memory[C], terms_of(contraction));
    return seconds;
  };

  const GpuModel gpu = gpu_model(0);
  TimedContraction timed(contraction, memory[A], memory[B], 0);
  const std::string first = timed.plan();
  Tuning tuning = tune(form, gpu, [&](const GpuProgram& program, int repeats) {
    timed.use(program);
    return run(timed, repeats);
  });
  EXPECT_GT(tuning.measured, 1);
  EXPECT_GT(tuning.best_seconds, 0.0);
  EXPECT_EQ(text_of(tuning.first), first);
  // The first choice may be the best one.
  tuning.best = candidate_programs(form, gpu, 5).back();
  tuning.first_seconds = 2.0 * tuning.best_seconds;
  store_tuning(form, gpu, tuning);
  EXPECT_EQ(GpuContraction(contraction, 0).text(), "tuned: " + text_of(tuning.best));
  TimedContraction later(contraction, memory[A], memory[B], 0), again(contraction, memory[A], memory[B], 0);
  EXPECT_EQ(later.plan(), "tuned: " + text_of(tuning.best));
  run(later, 1);
  run(again, 1);
  EXPECT_EQ(later.result(), again.result()) << "other bits";
  {
    const testing::EnvironmentVariable off("TRIFUSE_CACHE", "");
    EXPECT_EQ(GpuContraction(contraction, 0).text(), first);
  }
}

TEST_F(GpuContractionOnGpu, WithoutTermsCIsMultipliedByBeta) {
  const Contraction no_terms = describe("ab,bc->ac", {{2, 0}, {}}, {{0, 3}, {}});
  const gpu::DeviceArray<double> c = gpu::to_device(std::vector<double>{1.0, 2.0, 3.0, 4.0, 5.0, nan});
  GpuContraction contraction(no_terms, 0);
  const auto run = [&](double beta) {
    contraction.start(1.0, nullptr, nullptr, beta, c.data(), nullptr);
    std::vector<double> found(6);
    TRIFUSE_CUDA(cudaMemcpy(found.data(), c.data(), 6 * sizeof(double), cudaMemcpyDeviceToHost));
    return found;
  };
  EXPECT_EQ(run(0.5)[4], 2.5);
  EXPECT_EQ(run(0.0), std::vector<double>(6, 0.0));
  GpuContraction(describe("ab,bc->ac", {{0, 2}, {}}, {{2, 3}, {}}), 0)
      .start(1.0, nullptr, nullptr, 0.0, nullptr, nullptr);
  EXPECT_THROW(GpuContraction(no_terms, 99), UsageError);
}

}
}
