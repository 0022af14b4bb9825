#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/c_interface/c_interface_test_support.hpp"

/// Derivatives for callers in C.
namespace trifuse::testing {
namespace {

/// A calculation of a dump with derivatives by all arrays.
class WithDerivatives : public OpenCalculation {
 public:
  WithDerivatives() : OpenCalculation(TRIFUSE_TEST_DATA "/dumps/hf_160_631g_rhf.h5") {
    trifuse_set_option(&status, calculation, "derivatives", "all");
    expect_success(status);
  }
  /// Returns the shape of an array.
  std::vector<std::int64_t> shape(const std::string& wanted) {
    for (std::int64_t n = 0; n < trifuse_derivative_count(&status, calculation); ++n) {
      char name[TRIFUSE_NAME_LENGTH];
      std::int64_t rank = 0, extents[4] = {-1, -1, -1, -1};
      trifuse_get_derivative(&status, calculation, n, name, &rank, extents);
      expect_success(status);
      EXPECT_EQ(std::count(extents + rank, extents + 4, 0), 4 - rank) << name;
      if (wanted == name) return {extents, extents + rank};
    }
    ADD_FAILURE() << wanted;
    return {};
  }
  std::vector<double> copy(const std::string& name) {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape(name)) size *= extent;
    std::vector<double> values(static_cast<std::size_t>(size));
    trifuse_copy_derivative(&status, calculation, name.c_str(), size, values.data());
    expect_success(status);
    return values;
  }
};

TEST(Derivatives, ComeInSlices) {
  WithDerivatives run;
  run.energy();
  for (const std::string name : {"ovvv", "t2", "eps_vir"}) {
    const std::vector<double> whole = run.copy(name);
    const std::int64_t slices = run.shape(name)[0], of_slice = std::ssize(whole) / slices;
    for (std::int64_t first = 0; first < slices; ++first) {
      std::vector<double> values(static_cast<std::size_t>(of_slice));
      trifuse_copy_derivative_slices(&run.status, run.calculation, name.c_str(), first, 1, of_slice, values.data());
      expect_success(run.status);
      EXPECT_EQ(values, std::vector<double>(whole.begin() + first * of_slice, whole.begin() + (first + 1) * of_slice));
    }
    trifuse_copy_derivative_slices(&run.status, run.calculation, name.c_str(), slices, 0, 0, nullptr);
    expect_success(run.status);
  }
}

TEST(Derivatives, OfMistakesAreSentences) {
  WithDerivatives run;
  double value = 0.0;
  const auto expect_refusal = [&](const char* name, std::int64_t first, std::int64_t slices, std::int64_t count,
                                  double* values, const std::string& part) {
    trifuse_copy_derivative_slices(&run.status, run.calculation, name, first, slices, count, values);
    expect_status(run.status, TRIFUSE_BAD_USAGE, part);
  };
  expect_refusal("t1", 0, 1, 1, &value, "There are no derivatives; set the option derivatives to t or all and run.");
  EXPECT_EQ(trifuse_derivative_count(&run.status, run.calculation), 0);
  run.energy();
  const std::int64_t count = trifuse_derivative_count(&run.status, run.calculation);
  trifuse_get_derivative(&run.status, run.calculation, count, nullptr, nullptr, nullptr);
  expect_status(run.status, TRIFUSE_BAD_USAGE, "run has 9 arrays of derivatives, and none with this number");
  expect_refusal("", 0, 1, 1, &value, "no derivatives by \"\"; it has those by ");
  expect_refusal(nullptr, 0, 1, 1, &value, "The name of the derivatives is null.");
  expect_refusal("omega2", 0, 1, 1, nullptr, "The array for derivatives is null.");
  expect_refusal("omega2", 0, 1, -1, &value, "a negative number of elements");
  expect_refusal("omega2", 1, 1, 1, &value, "Of the 1 slices of the derivatives by omega2, 1 behind the first 1");
  expect_refusal("omega2", std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(), 1,
                 &value, "Of the 1 slices");
  expect_refusal("eps_occ", 0, 2, 1, &value, "slices of the derivatives by eps_occ have 2 elements, but the array");
}

TEST(Derivatives, ARunWaitsForNoCopy) {
  WithDerivatives run;
  run.energy();
  const std::vector<double> expected = run.copy("ovvv");
  std::atomic<bool> ended{false};
  std::vector<std::string> failures(3);
  std::vector<std::thread> threads;
  for (std::string& failure : failures) {
    threads.emplace_back([&] {
      trifuse_status status;
      std::vector<double> values(expected.size());
      while (!ended && failure.empty()) {
        trifuse_copy_derivative(&status, run.calculation, "ovvv", std::ssize(values), values.data());
        // During a run, and after one that failed, nothing is copied.
        if (status.code == TRIFUSE_SUCCESS && values != expected) failure = "other bits";
        if (status.code != TRIFUSE_SUCCESS && status.code != TRIFUSE_BAD_USAGE) failure = status.message;
      }
    });
  }
  for (int n = 0; n < 20; ++n) {
    trifuse_status status;
    trifuse_run(&status, run.calculation);
    if (status.code != TRIFUSE_SUCCESS)
      expect_status(status, TRIFUSE_BAD_USAGE, "Another thread uses this calculation");
  }
  ended = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

}
}
