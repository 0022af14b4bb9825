#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cxx/cuda/devices.hpp"
#include "tests/nwchem/symbols.hpp"

namespace trifuse::testing {
namespace {

using Tiles = std::array<Integer, 3>;
enum Kind { singles, doubles1, doubles2 };

/// A task whose calls are made through the symbols and, beside them, summed by the formulas of NWChem's kernels.
class TaskOfBoth {
 public:
  TaskOfBoth(const Tiles& particles, const Tiles& holes) : p_(particles), h_(holes) {
    s_.assign(size(), 0.0);
    d_.assign(size(), 0.0);
    for (std::size_t q = 0; q < 3; ++q) {
      eps_h_[q] = random(h_[q], -2.0, -0.5);
      eps_p_[q] = random(p_[q], 0.5, 3.0);
    }
    dev_mem_s_(&h_[0], &h_[1], &h_[2], &p_[0], &p_[1], &p_[2]);
    dev_mem_d_(&h_[0], &h_[1], &h_[2], &p_[0], &p_[1], &p_[2]);
  }

  void call(Kind kind, std::size_t number, Integer inner = 1) {
    const Row& row = (kind == singles ? s1_rows : kind == doubles1 ? d1_rows : d2_rows)[number];
    const Tiles p = local(p_, row.p), h = local(h_, row.h);
    std::vector<double> t, v;
    if (kind == singles) {
      t = random(p[0] * h[0]);
      v = random(h[2] * h[1] * p[2] * p[1]);
      s1[number](&h[0], &h[1], &h[2], &p[0], &p[1], &p[2], nullptr, t.data(), v.data());
    } else if (kind == doubles1) {
      t = random(inner * p[0] * p[1] * h[0]);
      v = random(h[2] * h[1] * p[2] * inner);
      d1[number](&h[0], &h[1], &h[2], &inner, &p[0], &p[1], &p[2], nullptr, t.data(), v.data());
    } else {
      t = random(inner * p[0] * h[0] * h[1]);
      v = random(inner * h[2] * p[2] * p[1]);
      d2[number](&h[0], &h[1], &h[2], &p[0], &p[1], &p[2], &inner, nullptr, t.data(), v.data());
    }
    add(kind, row, p, h, inner, t, v);
    // NWChem uses its buffers for something else now.
    std::fill(t.begin(), t.end(), std::numeric_limits<double>::quiet_NaN());
    std::fill(v.begin(), v.end(), std::numeric_limits<double>::quiet_NaN());
  }

  void expect_same_energies(double factor = 1.0) {
    double energy[2] = {7.0, 7.0};
    compute_en_(&factor, energy, eps_h_[0].data(), eps_h_[1].data(), eps_h_[2].data(), eps_p_[0].data(),
                eps_p_[1].data(), eps_p_[2].data(), &h_[0], &h_[1], &h_[2], &p_[0], &p_[1], &p_[2], nullptr, nullptr,
                nullptr, nullptr);
    dev_release_();
    ASSERT_EQ(take_failure(), "");
    double bracket = 0.0, paren = 0.0, largest = 0.0;
    std::size_t n = 0;
    for_each_element([&](const Tiles& x, const Tiles& y) {
      double denominator = 0.0;
      for (std::size_t q = 0; q < 3; ++q) {
        denominator += eps_h_[q][static_cast<std::size_t>(y[q])] - eps_p_[q][static_cast<std::size_t>(x[q])];
      }
      bracket += d_[n] * d_[n] / denominator;
      paren += d_[n] * (d_[n] + s_[n]) / denominator;
      largest += std::abs(d_[n]) * (std::abs(d_[n]) + std::abs(s_[n])) / std::abs(denominator);
      ++n;
    });
    EXPECT_NEAR(energy[0], factor * bracket, 1e-13 * std::abs(largest) + 1e-300);
    EXPECT_NEAR(energy[1], factor * paren, 1e-13 * std::abs(largest) + 1e-300);
    EXPECT_NE(bracket, 0.0);
  }

 private:
  static Tiles local(const Tiles& task, const std::array<int, 3>& row) {
    Tiles found{};
    for (std::size_t q = 0; q < 3; ++q) found[q] = task[static_cast<std::size_t>(row[q])];
    return found;
  }
  std::size_t size() const { return static_cast<std::size_t>(p_[0] * p_[1] * p_[2] * h_[0] * h_[1] * h_[2]); }
  std::vector<double> random(Integer n, double from = -1.0, double to = 1.0) {
    std::uniform_real_distribution<double> number(from, to);
    std::vector<double> all(static_cast<std::size_t>(n));
    for (double& x : all) x = number(random_);
    return all;
  }
  /// p4 slowest, h3 fastest.
  template <typename Function>
  void for_each_element(Function function) const {
    Tiles x{}, y{};
    for (x[0] = 0; x[0] < p_[0]; ++x[0])
      for (x[1] = 0; x[1] < p_[1]; ++x[1])
        for (x[2] = 0; x[2] < p_[2]; ++x[2])
          for (y[0] = 0; y[0] < h_[0]; ++y[0])
            for (y[1] = 0; y[1] < h_[1]; ++y[1])
              for (y[2] = 0; y[2] < h_[2]; ++y[2]) function(x, y);
  }
  void add(Kind kind, const Row& row, const Tiles& p, const Tiles& h, Integer inner, const std::vector<double>& t,
           const std::vector<double>& v) {
    std::size_t n = 0;
    for_each_element([&](const Tiles& task_x, const Tiles& task_y) {
      const Tiles x = local(task_x, row.p), y = local(task_y, row.h);
      const auto at = [](Integer place) { return static_cast<std::size_t>(place); };
      double sum = 0.0;
      for (Integer l = 0; l < inner; ++l) {
        if (kind == singles) {
          sum += t[at(x[0] + p[0] * y[0])] * v[at(y[2] + h[2] * (y[1] + h[1] * (x[2] + p[2] * x[1])))];
        } else if (kind == doubles1) {
          sum += t[at(l + inner * (x[0] + p[0] * (x[1] + p[1] * y[0])))] *
                 v[at(y[2] + h[2] * (y[1] + h[1] * (x[2] + p[2] * l)))];
        } else {
          sum += t[at(l + inner * (x[0] + p[0] * (y[0] + h[0] * y[1])))] *
                 v[at(l + inner * (y[2] + h[2] * (x[2] + p[2] * x[1])))];
        }
      }
      (kind == singles ? s_ : d_)[n++] += row.sign * sum;
    });
  }

  Tiles p_, h_;
  std::vector<double> s_, d_;
  std::array<std::vector<double>, 3> eps_h_, eps_p_;
  std::mt19937 random_{7};
};

class Kernel : public ::testing::TestWithParam<int> {};

TEST_P(Kernel, OfDoublesOverHolesAgreesWithItsFormula) {
  TaskOfBoth task({2, 5, 3}, {4, 1, 3});
  task.call(doubles1, static_cast<std::size_t>(GetParam()), 6);
  task.expect_same_energies(0.25);
}

TEST_P(Kernel, OfDoublesOverParticlesAgreesWithItsFormula) {
  TaskOfBoth task({3, 1, 4}, {2, 5, 3});
  task.call(doubles2, static_cast<std::size_t>(GetParam()), 17);
  task.expect_same_energies();
}

TEST_P(Kernel, OfSinglesAgreesWithItsFormula) {
  TaskOfBoth task({3, 2, 5}, {4, 3, 2});
  task.call(doubles1, 2, 5);
  task.call(singles, static_cast<std::size_t>(GetParam()));
  task.expect_same_energies(2.0);
}

INSTANTIATE_TEST_SUITE_P(Every, Kernel, ::testing::Range(0, 9));

TEST(Task, AddsUpAllCalls) {
  TaskOfBoth task({5, 3, 7}, {2, 4, 3});
  for (std::size_t n = 0; n < 9; ++n) {
    task.call(singles, n);
    for (const Integer inner : {3, 1, 8}) task.call(doubles1, n, inner);
  }
  for (const Integer inner : {11, 2}) {
    for (std::size_t n = 0; n < 9; ++n) task.call(doubles2, n, inner);
  }
  task.expect_same_energies(1.0 / 36.0);
}

TEST(Task, MayHaveTilesThatOverflowNwchemsSingles) {
  TaskOfBoth task({40, 2, 1}, {33, 1, 2});
  for (std::size_t n = 0; n < 9; ++n) {
    task.call(singles, n);
    task.call(doubles2, n, 3);
  }
  task.expect_same_energies();
}

TEST(Task, IsFollowedByOthersOfOtherSizes) {
  for (const Integer n : {4, 1, 6}) {
    TaskOfBoth task({n, 2, n}, {1, n, 3});
    task.call(doubles1, 4, n + 1);
    task.call(singles, 8);
    task.expect_same_energies();
  }
}

TEST(Task, HasNoEnergyWithoutDoubles) {
  const Integer one = 1;
  const double eps_h = -1.0, eps_p = 1.0, t1 = 2.0, v2 = 3.0, factor = 1.0;
  double energy[2] = {7.0, 7.0};
  dev_mem_s_(&one, &one, &one, &one, &one, &one);
  sd_t_s1_1_cuda_(&one, &one, &one, &one, &one, &one, nullptr, &t1, &v2);
  dev_mem_d_(&one, &one, &one, &one, &one, &one);
  compute_en_(&factor, energy, &eps_h, &eps_h, &eps_h, &eps_p, &eps_p, &eps_p, &one, &one, &one, &one, &one, &one,
              nullptr, nullptr, nullptr, nullptr);
  EXPECT_EQ(take_failure(), "");
  EXPECT_EQ(energy[0], 0.0);
  EXPECT_EQ(energy[1], 0.0);
}

class WrongUse : public ::testing::Test {
 protected:
  void TearDown() override { dev_release_(); }
  static void begin(const Integer& n) {
    dev_mem_s_(&n, &n, &n, &n, &n, &n);
    dev_mem_d_(&n, &n, &n, &n, &n, &n);
  }
  static void expect_failure(const std::string& part) {
    const std::string found = take_failure();
    EXPECT_NE(found.find(part), std::string::npos) << found;
    EXPECT_EQ(found.find("Trifuse: "), 0u) << found;
  }
  static void expect_no_energy(const Integer& n) {
    const std::vector<double> eps(static_cast<std::size_t>(n), -1.0);
    double energy[2] = {7.0, 7.0};
    const double factor = 1.0;
    compute_en_(&factor, energy, eps.data(), eps.data(), eps.data(), eps.data(), eps.data(), eps.data(), &n, &n, &n, &n,
                &n, &n, nullptr, nullptr, nullptr, nullptr);
    EXPECT_TRUE(std::isnan(energy[0]) && std::isnan(energy[1]));
  }
  const Integer two = 2, three = 3;
  const std::vector<double> numbers = std::vector<double>(81, 1.0);
};

TEST_F(WrongUse, OfAKernelBeforeItsMemory) {
  sd_t_s1_3_cuda_(&two, &two, &two, &two, &two, &two, nullptr, numbers.data(), numbers.data());
  expect_failure("Kernel s1_3 was called before");
  sd_t_d2_7_cuda_(&two, &two, &two, &two, &two, &two, &two, nullptr, numbers.data(), numbers.data());
  expect_failure("Kernel d2_7 was called before");
  expect_no_energy(two);
  expect_failure("before the memory");
}

TEST_F(WrongUse, OfExtents) {
  for (const Integer n : {Integer{0}, Integer{-1}, Integer{1} << 40, Integer{1} << 19}) {
    dev_mem_s_(&n, &n, &n, &n, &n, &n);
    expect_failure(n == Integer{1} << 19 ? "too large" : "cannot have");
  }
  begin(two);
  sd_t_d1_2_cuda_(&two, &two, &two, &two, &two, &three, &two, nullptr, numbers.data(), numbers.data());
  expect_failure("Kernel d1_2 was called with tiles");
  expect_no_energy(two);
  expect_failure("before the memory");
  begin(two);
  expect_no_energy(three);
  expect_failure("tiles that are not those");
}

TEST_F(WrongUse, OfNothing) {
  begin(two);
  sd_t_d1_2_cuda_(&two, &two, &two, &two, &two, &two, &two, nullptr, nullptr, numbers.data());
  expect_failure("without operands");
}

TEST_F(WrongUse, OfNumbersThatAreNone) {
  begin(two);
  std::vector<double> bad = numbers;
  bad[3] = std::numeric_limits<double>::quiet_NaN();
  sd_t_d1_2_cuda_(&two, &two, &two, &two, &two, &two, &two, nullptr, bad.data(), numbers.data());
  expect_no_energy(two);
  expect_failure("not finite");
}

TEST(Device, IsUsedByTheFirstRanksOfANode) {
  const Integer none = 0, one = 1;
  EXPECT_EQ(check_device_(&one), 1);
  EXPECT_EQ(check_device_(&none), 0);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);  // the second of its node, whatever its number among all
  const Integer two = 2;
  EXPECT_EQ(check_device_(&one), 0);
  EXPECT_EQ(check_device_(&two), 1);
  unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
}

/// With so little memory on the GPU as TRIFUSE_MEMORY says, and afterwards as before.
class LittleGpuMemory : public WrongUse {
 protected:
  void SetUp() override {
    const char* device = std::getenv("TRIFUSE_NWCHEM_DEVICE");
    if (device != nullptr && std::string(device) == "cpu") GTEST_SKIP() << "cores are to compute";
  }
  void TearDown() override {
    unsetenv("TRIFUSE_MEMORY");
    if (!IsSkipped()) begin_with(nullptr);
    WrongUse::TearDown();
  }
  static Integer begin_with(const char* memory) {
    if (memory != nullptr) setenv("TRIFUSE_MEMORY", memory, 1);
    const Integer one = 1;
    Integer device = 0;
    device_init_(&one, &device);
    return device;
  }
};

TEST_F(LittleGpuMemory, EndsALargeTaskAndLeavesRoomForOthers) {
  EXPECT_NE(begin_with("96MiB"), 30);
  EXPECT_EQ(take_failure(), "");
  // An operand of 100 MiB.
  const Integer holes = 2, particles = 40, inner = 4096;
  const std::vector<double> t(static_cast<std::size_t>(inner * particles * holes * holes), 1e-3),
      v(static_cast<std::size_t>(inner * holes * particles * particles), 1e-3);
  dev_mem_s_(&holes, &holes, &holes, &particles, &particles, &particles);
  dev_mem_d_(&holes, &holes, &holes, &particles, &particles, &particles);
  sd_t_d2_1_cuda_(&holes, &holes, &holes, &particles, &particles, &particles, &inner, nullptr, t.data(), v.data());
  expect_failure("of the 96 MiB that were allowed are left; allow more memory, or give a smaller tile size");
  dev_release_();
  TaskOfBoth task({3, 5, 2}, {2, 4, 3});
  task.call(doubles1, 2, 6);
  task.expect_same_energies();
}

TEST_F(LittleGpuMemory, IsRefusedWhereNothingFits) {
  EXPECT_EQ(begin_with("1MiB"), 30) << "NWChem's sign of failure";
  expect_failure("of the 1 MiB that were allowed are left");
}

#if !defined(__SANITIZE_ADDRESS__)
std::size_t resident_pages() {
  std::size_t all = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu %zu", &all, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident;
}

TEST(Memory, IsFlatAfterManyTasks) {
  const auto one_task = [](Integer n) {
    TaskOfBoth task({n, 3, 2}, {2, n, 3});
    initmemmodule_();
    for (std::size_t k = 0; k < 9; ++k) {
      task.call(singles, k);
      task.call(doubles1, k, 3);
      task.call(doubles2, k, 5);
    }
    task.expect_same_energies();
    finalizememmodule_();
  };
  for (int n = 0; n < 500; ++n) one_task(1 + n % 4);
  const std::size_t before = resident_pages();
  const auto free_on_device = [] { return visible_device_count() > 0 ? free_device_memory(0) : 0; };
  const std::int64_t free_before = free_on_device();
  for (int n = 0; n < 10000; ++n) one_task(1 + n % 4);
  EXPECT_LE(resident_pages(), before + 256) << "pages";
  EXPECT_GE(free_on_device(), free_before - (std::int64_t{16} << 20));
}
#endif

}  // namespace
}  // namespace trifuse::testing
