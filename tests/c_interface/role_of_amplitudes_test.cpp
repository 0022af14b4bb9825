#include <gtest/gtest.h>

#include <thread>

#include "tests/c_interface/c_interface_test_support.hpp"
#include "tests/c_interface/dense_arrays.hpp"

/// A check belongs to the side of the amplitudes in a calculation, and to the integrals that it took.
namespace trifuse::testing {
namespace {

const std::string dumps = TRIFUSE_TEST_DATA "/dumps/";

/// Arrays in memory, and a handle of them.
class Held {
 public:
  Held(RawDump dump, std::int32_t kind) : arrays_(dump, HeldArrays::Layout::c_order) {
    DenseDescription description(arrays_, TRIFUSE_RHF);
    description.all.kind = kind;
    description.all.fock_in_triples = kind == TRIFUSE_CCSD ? 1 : 0;
    if (kind == TRIFUSE_CCSD) description.all.correlation_energy = -0.17576706748024123;
    trifuse_status status;
    handle = trifuse_new_dense_amplitudes(&status, &description.all);
    expect_success(status);
  }
  ~Held() { trifuse_delete_amplitudes(&handle); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  trifuse_amplitudes handle = nullptr;

 private:
  const HeldArrays arrays_;
};

RawDump right_arrays() {
  return read_raw_dump(dumps + "hf_160_631g_rhf.h5");
}

/// The same molecule with the other sign of the first virtual orbital.
RawDump with_another_sign() {
  RawDump dump = right_arrays();
  const std::int64_t o = dump.datasets["eps_occ"].shape[0], v = dump.datasets["eps_vir"].shape[0];
  for (auto& [name, data] : dump.datasets) {
    if (data.shape.size() < 2) continue;
    const std::int64_t first = name == "fock" ? o : 0, length = name == "fock" ? o + v : v;
    std::int64_t distance = 1;
    for (std::size_t axis = data.shape.size(); axis-- > 0; distance *= data.shape[axis]) {
      if (data.shape[axis] != length) continue;
      for (std::int64_t n = 0; n < std::ssize(data.values); ++n) {
        if (n / distance % length == first) data.values[static_cast<std::size_t>(n)] *= -1.0;
      }
    }
  }
  return dump;
}

/// Runs a calculation and returns its status.
trifuse_status run(const Held& right, const Held* left) {
  trifuse_status status;
  trifuse_calculation calculation = trifuse_new_calculation(&status, right.handle, left ? left->handle : nullptr);
  expect_success(status);
  trifuse_set_device(&status, calculation, TRIFUSE_DEVICE_CPU);
  trifuse_run(&status, calculation);
  trifuse_delete_calculation(&calculation);
  return status;
}

TEST(RoleOfAmplitudes, IntegralsOfLeftOnesAreCheckedOnTheRight) {
  RawDump wrong = right_arrays();
  for (double& x : wrong.datasets["ovvv"].values) x *= -1.0;
  const Held good(right_arrays(), TRIFUSE_CCSD), bad(wrong, TRIFUSE_CCSD);
  expect_success(run(good, &bad));  // the integrals are those of the right side
  expect_status(run(bad, nullptr), TRIFUSE_BAD_INPUT, "do not satisfy the CCSD equation");
  trifuse_status status;
  trifuse_correlation_energy(&status, bad.handle);
  expect_status(status, TRIFUSE_BAD_INPUT, "do not satisfy the CCSD equation");
  expect_success(run(good, &bad));
  expect_success(run(good, nullptr));
}

TEST(RoleOfAmplitudes, LeftOnesAreCheckedWithTheIntegralsOfEachCalculation) {
  const Held one(right_arrays(), TRIFUSE_CCSD), other(with_another_sign(), TRIFUSE_CCSD);
  const Held left(read_raw_dump(dumps + "hf_160_631g_rhf_lambda.h5"), TRIFUSE_LAMBDA);
  expect_success(run(one, nullptr));
  expect_success(run(other, nullptr));
  expect_success(run(one, &left));
  const trifuse_status status = run(other, &left);
  EXPECT_EQ(status.code, TRIFUSE_BAD_INPUT) << status.message;
  expect_success(run(one, &left));
}

TEST(RoleOfAmplitudes, CalculationsInTwoThreadsMayHaveTheSame) {
  const Held right(right_arrays(), TRIFUSE_CCSD), left(right_arrays(), TRIFUSE_CCSD);
  const auto run_some = [&](const Held& one, const Held* other) {
    for (int n = 0; n < 5; ++n) expect_success(run(one, other));
  };
  std::thread thread([&] { run_some(right, &left); });
  run_some(left, &right);
  thread.join();
}

}
}
