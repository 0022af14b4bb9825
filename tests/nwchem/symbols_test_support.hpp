#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/nwchem/symbols.hpp"

namespace trifuse::testing {

using Tiles = std::array<Integer, 3>;
enum Kind { singles, doubles1, doubles2 };

/// A task that is computed twice: through the symbols, and by the formulas of NWChem's kernels.
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

  void call(Kind kind, std::size_t number, Integer contracted = 1) {
    const Row& row = (kind == singles ? s1_rows : kind == doubles1 ? d1_rows : d2_rows)[number];
    const Tiles p = local(p_, row.p), h = local(h_, row.h);
    std::vector<double> t, v;
    if (kind == singles) {
      t = random(p[0] * h[0]);
      v = random(h[2] * h[1] * p[2] * p[1]);
      s1[number](&h[0], &h[1], &h[2], &p[0], &p[1], &p[2], nullptr, t.data(), v.data());
    } else if (kind == doubles1) {
      t = random(contracted * p[0] * p[1] * h[0]);
      v = random(h[2] * h[1] * p[2] * contracted);
      d1[number](&h[0], &h[1], &h[2], &contracted, &p[0], &p[1], &p[2], nullptr, t.data(), v.data());
    } else {
      t = random(contracted * p[0] * h[0] * h[1]);
      v = random(contracted * h[2] * p[2] * p[1]);
      d2[number](&h[0], &h[1], &h[2], &p[0], &p[1], &p[2], &contracted, nullptr, t.data(), v.data());
    }
    add(kind, row, p, h, contracted, t, v);
    // NWChem reuses its buffers after the call.
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
    double e_bracket_t = 0.0, e_paren_t = 0.0, largest = 0.0;
    std::size_t n = 0;
    for_each_element([&](const Tiles& x, const Tiles& y) {
      double denominator = 0.0;
      for (std::size_t q = 0; q < 3; ++q) {
        denominator += eps_h_[q][static_cast<std::size_t>(y[q])] - eps_p_[q][static_cast<std::size_t>(x[q])];
      }
      e_bracket_t += d_[n] * d_[n] / denominator;
      e_paren_t += d_[n] * (d_[n] + s_[n]) / denominator;
      largest += std::abs(d_[n]) * (std::abs(d_[n]) + std::abs(s_[n])) / std::abs(denominator);
      ++n;
    });
    EXPECT_NEAR(energy[0], factor * e_bracket_t, 1e-13 * std::abs(largest) + 1e-300);
    EXPECT_NEAR(energy[1], factor * e_paren_t, 1e-13 * std::abs(largest) + 1e-300);
    EXPECT_NE(e_bracket_t, 0.0);
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
  void add(Kind kind, const Row& row, const Tiles& p, const Tiles& h, Integer contracted, const std::vector<double>& t,
           const std::vector<double>& v) {
    std::size_t n = 0;
    for_each_element([&](const Tiles& task_x, const Tiles& task_y) {
      const Tiles x = local(task_x, row.p), y = local(task_y, row.h);
      // Addresses of the first term; doubles from one term to the next. The contracted index of t is the fastest one.
      const double *t_term = t.data(), *v_term = v.data();
      Integer v_step = 1;
      if (kind == singles) {
        t_term += x[0] + p[0] * y[0];
        v_term += y[2] + h[2] * (y[1] + h[1] * (x[2] + p[2] * x[1]));
      } else if (kind == doubles1) {
        t_term += contracted * (x[0] + p[0] * (x[1] + p[1] * y[0]));
        v_term += y[2] + h[2] * (y[1] + h[1] * x[2]);
        v_step = h[2] * h[1] * p[2];
      } else {
        t_term += contracted * (x[0] + p[0] * (y[0] + h[0] * y[1]));
        v_term += contracted * (y[2] + h[2] * (x[2] + p[2] * x[1]));
      }
      long double sum = 0.0L;  // long sums must be more exact than the sums of the symbols
      for (Integer l = 0; l < contracted; ++l, v_term += v_step) sum += *t_term++ * *v_term;
      (kind == singles ? s_ : d_)[n++] += row.sign * static_cast<double>(sum);
    });
  }

  Tiles p_, h_;
  std::vector<double> s_, d_;
  std::array<std::vector<double>, 3> eps_h_, eps_p_;
  std::mt19937 random_{7};
};

/// Expects that the host program gets a message of the failure and no energy.
class SymbolsTest : public ::testing::Test {
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
  static inline const Integer two = 2, three = 3;
  static inline const std::vector<double> numbers = std::vector<double>(81, 1.0);
};

}
