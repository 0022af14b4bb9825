#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cxx/base/threads.hpp"
#include "cxx/cuda/contraction/host_contraction.hpp"
#include "fortran_iface/trifuse_contract.h"
#include "tests/contraction/random_contraction.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// Contractions of tensors in the memory of the host on GPUs, and the C function for them.
namespace trifuse::contraction {
namespace {

class ContractionOfHost : public testing::OnGpu {
 protected:
  /// Numbers of all visible GPUs.
  static std::vector<int> all() {
    std::vector<int> numbers;
    for (const DeviceInfo& device : visible_devices()) numbers.push_back(device.number);
    return numbers;
  }
  static int threads() { return std::min(4, available_threads()); }
};

/// A product of matrices of random numbers in slices: C[i,j] = sum_k A[k,i] B[j,k].
struct MatrixProduct {
  MatrixProduct(std::int64_t i, std::int64_t j, std::int64_t k)
      : contraction(describe("ki,jk->ij", {{k, i}, {}}, {{j, k}, {}})),
        a(static_cast<std::size_t>(i * k)),
        b(static_cast<std::size_t>(j * k)),
        c(static_cast<std::size_t>(i * j), std::numeric_limits<double>::quiet_NaN()) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (double& x : a) x = uniform(random);
    for (double& x : b) x = uniform(random);
  }
  std::int64_t bytes_of_all() const { return static_cast<std::int64_t>(bytes(contraction, false)); }
  std::vector<double> run(const std::vector<int>& devices, std::int64_t memory, int threads) {
    std::vector<double> found = c;
    HostContraction(contraction, devices, memory, threads).run(1.0, a.data(), b.data(), 0.0, found.data());
    return found;
  }

  Contraction contraction;
  std::vector<double> a, b, c;
};

TEST_F(ContractionOfHost, RandomContractionsAreThoseOfTheLoops) {
  for (std::uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    ExpectedContraction random(seed, 2e4, seed % 2 == 1);
    std::vector<double> found = random.memory[C];
    // Below about 48 bytes nothing fits.
    const std::int64_t memory = static_cast<std::int64_t>(bytes(random.contraction, false)) / random.number(1, 8) + 48;
    const HostContraction contraction(random.contraction, {0}, memory, 1);
    contraction.run(random.alpha, random.first(A), random.first(B), random.beta, random.first(C, found));
    SCOPED_TRACE(std::to_string(seed) + " " + random.expression + ": " + contraction.text());
    expect_equal(found, random.expected, terms_of(random.contraction));
  }
}

TEST_F(ContractionOfHost, SlicesOfEveryKind) {
  // External indices are cut; a contracted one only for a small result.
  for (MatrixProduct product : {MatrixProduct(3000, 2000, 1000), MatrixProduct(60, 40, 300000)}) {
    std::vector<double> expected = product.run({0}, 0, threads());
    for (const int parts : {2, 5, 20}) {
      const std::int64_t memory = product.bytes_of_all() / parts;
      SCOPED_TRACE(HostContraction(product.contraction, {0}, memory, 1).text());
      expect_equal(product.run({0}, memory, threads()), expected, terms_of(product.contraction));
    }
  }
}

TEST_F(ContractionOfHost, AnyNumberOfGpusGivesTheSameBits) {
  MatrixProduct product(3000, 2500, 700);
  const std::int64_t memory = product.bytes_of_all() / 6;
  const std::vector<double> one = product.run({0}, memory, threads()), again = product.run({0}, memory, 1),
                            several = product.run(all(), memory, threads());
  EXPECT_EQ(std::memcmp(one.data(), again.data(), one.size() * sizeof(double)), 0);
  EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(double)), 0);
}

TEST_F(ContractionOfHost, TheFunctionForC) {
  const std::int64_t of_a[] = {3, 4}, of_b[] = {4, 2};
  const trifuse_layout layout_a = {2, of_a, nullptr}, layout_b = {2, of_b, nullptr};
  std::vector<double> a(12, 0.5), b(8, 3.0), c(6, 1.0);
  trifuse_status status;
  const auto contract = [&](std::int64_t count, const std::int32_t* gpus) {
    trifuse_contract_on_gpus(&status, "ik,kj->ij", 2.0, a.data(), &layout_a, b.data(), &layout_b, -1.0, c.data(),
                             nullptr, count, gpus, 0);
  };
  contract(0, nullptr);
  EXPECT_EQ(status.code, TRIFUSE_SUCCESS) << status.message;
  EXPECT_EQ(c, std::vector<double>(6, 11.0));
  const std::int32_t first = 0, many = 4000;
  contract(1, &first);
  EXPECT_EQ(c, std::vector<double>(6, 1.0));
  contract(1, &many);
  EXPECT_EQ(status.code, TRIFUSE_BAD_USAGE);
}

}
}
