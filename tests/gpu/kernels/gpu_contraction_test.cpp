#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cxx/contraction/gpu_plan.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "tests/contraction/random_contraction.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// Contractions of random indices on a GPU, compared with plain loops.
namespace trifuse::contraction {
namespace {

using trifuse::testing::OnGpu;

/// A random contraction, its result by loops, and its tensors in device memory.
class OnDevice {
 public:
  /// `shift`: doubles by which the addresses of the tensors are shifted.
  OnDevice(std::uint32_t seed, bool gaps, std::size_t shift) : random(seed, 3e5, gaps), shift_(shift) {
    alpha = std::array{1.0, -0.5, 0.0}[static_cast<std::size_t>(random.number(0, 11) / 5)];
    beta = std::array{0.0, 1.0, 0.7}[static_cast<std::size_t>(random.number(0, 2))];
    if (beta == 0.0) std::fill(random.memory[C].begin(), random.memory[C].end(), nan);
    expected = random.memory[C];
    contract_by_loops(random.contraction, alpha, random.first(A), random.first(B), beta, random.first(C, expected));
    for (const Tensor t : {A, B, C}) {
      std::vector<double> shifted(shift);
      shifted.insert(shifted.end(), random.memory[t].begin(), random.memory[t].end());
      device_[t] = gpu::to_device(shifted);
    }
  }
  std::vector<double> run(GpuContraction contraction) {
    const std::size_t bytes = random.memory[C].size() * sizeof(double);
    TRIFUSE_CUDA(cudaMemcpy(memory(C), random.memory[C].data(), bytes, cudaMemcpyHostToDevice));
    contraction.start(alpha, first(A), first(B), beta, first(C), nullptr);
    std::vector<double> found(random.memory[C].size());
    TRIFUSE_CUDA(cudaMemcpy(found.data(), memory(C), bytes, cudaMemcpyDeviceToHost));
    return found;
  }

  RandomContraction random;
  double alpha, beta;
  std::vector<double> expected;

 private:
  double* memory(Tensor t) const { return device_[t].data() + shift_; }
  double* first(Tensor t) const { return memory(t) - offset_range(random.contraction, t).first; }

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
    const Contraction form = canonical_form(tensors.random.contraction);
    const double terms = terms_of(form);
    const std::string what = std::to_string(seed) + " " + tensors.random.expression + ": ";
    {
      GpuContraction contraction(tensors.random.contraction, 0);
      SCOPED_TRACE(what + contraction.text());
      expect_equal(tensors.run(std::move(contraction)), tensors.expected, terms);
    }
    const std::vector<GpuPlan> plans = candidates_for_gpu(form, seed % 10 == 9 ? any_gpu : model, 300);
    for (int n = 0; n < 3; ++n) {
      const auto chosen = static_cast<std::size_t>(tensors.random.number(0, static_cast<int>(plans.size()) - 1));
      SCOPED_TRACE(what + text_of(plans[chosen]));
      const std::vector<double> found = tensors.run({form, plans[chosen], 0});
      expect_equal(found, tensors.expected, terms);
      const std::vector<double> again = tensors.run({form, plans[chosen], 0});
      EXPECT_EQ(std::memcmp(found.data(), again.data(), found.size() * sizeof(double)), 0) << "other bits";
    }
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
