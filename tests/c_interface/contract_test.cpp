#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/devices.hpp"
#include "fortran_iface/trifuse_contract.h"
#include "tests/c_interface/c_interface_test_support.hpp"

namespace trifuse::testing {
namespace {

constexpr std::int64_t a_count = 3, b_count = 4, x_count = 5;

/// A[a,x], B[x,b] and a place for C, and their layouts.
struct Matrices {
  std::array<std::int64_t, 2> a_extents = {a_count, x_count}, b_extents = {x_count, b_count},
                              c_extents = {a_count, b_count};
  trifuse_layout of_a = {2, a_extents.data(), nullptr}, of_b = {2, b_extents.data(), nullptr},
                 of_c = {2, c_extents.data(), nullptr};
  std::vector<double> a, b, c;

  Matrices() {
    for (int n = 0; n < a_count * x_count; ++n) a.push_back(std::sin(n));
    for (int n = 0; n < x_count * b_count; ++n) b.push_back(std::cos(n));
    c.assign(a_count * b_count, 2.0);
  }
  double element(std::int64_t i, std::int64_t j) const {
    double sum = 0.0;
    for (std::int64_t x = 0; x < x_count; ++x)
      sum += a[static_cast<std::size_t>(i * x_count + x)] * b[static_cast<std::size_t>(x * b_count + j)];
    return sum;
  }
};

TEST(Contract, ProductOfMatrices) {
  Matrices m;
  trifuse_status status;
  trifuse_contract(&status, "ax,xb->ab", 0.5, m.a.data(), &m.of_a, m.b.data(), &m.of_b, 3.0, m.c.data(), nullptr, 1);
  expect_success(status);
  for (std::int64_t i = 0; i < a_count; ++i)
    for (std::int64_t j = 0; j < b_count; ++j)
      EXPECT_NEAR(m.c[static_cast<std::size_t>(i * b_count + j)], 0.5 * m.element(i, j) + 6.0, 1e-14);
}

TEST(Contract, FortranOrderOfTheResult) {
  Matrices m;
  const std::array<std::int64_t, 2> strides = {1, a_count};
  m.of_c.strides = strides.data();
  m.c.assign(m.c.size(), std::numeric_limits<double>::quiet_NaN());  // not read if beta is 0
  trifuse_contract(nullptr, "ax,xb->ab", 1.0, m.a.data(), &m.of_a, m.b.data(), &m.of_b, 0.0, m.c.data(), &m.of_c, 0);
  for (std::int64_t i = 0; i < a_count; ++i)
    for (std::int64_t j = 0; j < b_count; ++j)
      EXPECT_NEAR(m.c[static_cast<std::size_t>(i + j * a_count)], m.element(i, j), 1e-14);
}

TEST(Contract, NumbersAndEmptyTensors) {
  const trifuse_layout number = {0, nullptr, nullptr};
  const double three = 3.0, four = 4.0;
  double product = 0.0;
  trifuse_status status;
  trifuse_contract(&status, ",->", 1.0, &three, &number, &four, &number, 0.0, &product, &number, 1);
  expect_success(status);
  EXPECT_EQ(product, 12.0);
  const std::int64_t none = 0;
  const trifuse_layout empty = {1, &none, nullptr};
  trifuse_contract(&status, "x,x->", 1.0, nullptr, &empty, nullptr, &empty, 0.25, &product, nullptr, 1);
  expect_success(status);
  EXPECT_EQ(product, 3.0);
}

TEST(Contract, Refusals) {
  Matrices m;
  trifuse_status status;
  const auto refuse = [&](const char* expression, const double* a, const trifuse_layout* of_a, std::int64_t threads,
                          const char* part) {
    trifuse_contract(&status, expression, 1.0, a, of_a, m.b.data(), &m.of_b, 0.0, m.c.data(), &m.of_c, threads);
    expect_status(status, TRIFUSE_BAD_USAGE, part);
  };
  refuse(nullptr, m.a.data(), &m.of_a, 1, "A contraction is needed");
  refuse("ax,xb->ab", m.a.data(), nullptr, 1, "The layout of A is null");
  refuse("ax,xb->ab", nullptr, &m.of_a, 1, "The pointer to the elements of A is null");
  refuse("ax,xb->ab", m.a.data(), &m.of_a, -1, "-1 threads are not possible");
  refuse("ax,xb->ab", m.a.data(), &m.of_a, 4097, "4097 threads are not possible");
  refuse("ax,bx->ab", m.a.data(), &m.of_a, 1, "Index x has the extent 5 in A, but 4 in B");
  refuse("ax,xb->a", m.a.data(), &m.of_a, 1, "Index b occurs only in B");
  const trifuse_layout long_layout = {13, m.a_extents.data(), nullptr}, no_extents = {2, nullptr, nullptr};
  refuse("ax,xb->ab", m.a.data(), &long_layout, 1, "A has 13 axes");
  refuse("ax,xb->ab", m.a.data(), &no_extents, 1, "The extents of A are null");
  EXPECT_EQ(m.c, std::vector<double>(m.c.size(), 2.0));
}

TEST(Contract, RefusalsOfTheCallsForGpus) {
  Matrices m;
  trifuse_status status;
  const std::int32_t no_gpu = -1;
  const auto on_gpus = [&](std::int64_t count, const std::int32_t* gpus, std::int64_t memory, const char* expression) {
    trifuse_contract_on_gpus(&status, expression, 1.0, m.a.data(), &m.of_a, m.b.data(), &m.of_b, 0.0, m.c.data(),
                             nullptr, count, gpus, memory);
  };
  on_gpus(0, nullptr, 0, "ax,bx->ab");
  expect_status(status, TRIFUSE_BAD_USAGE, "Index x has the extent 5 in A, but 4 in B");
  on_gpus(-1, &no_gpu, 0, "ax,xb->ab");
  expect_status(status, TRIFUSE_BAD_USAGE, "-1 numbers of GPUs are not possible");
  on_gpus(1, nullptr, 0, "ax,xb->ab");
  expect_status(status, TRIFUSE_BAD_USAGE, "1 numbers of GPUs at a null pointer are not possible");
  on_gpus(0, nullptr, -5, "ax,xb->ab");
  expect_status(status, TRIFUSE_BAD_USAGE, "The limit of memory is -5 bytes");
  const std::string why = trifuse::why_no_devices(), expected = why.empty() ? "GPU" : why;
  on_gpus(1, &no_gpu, 0, "ax,xb->ab");
  expect_status(status, TRIFUSE_BAD_USAGE, expected);
  trifuse_contract_in_gpu_memory(&status, "ax,xb->a", 1.0, m.a.data(), &m.of_a, m.b.data(), &m.of_b, 0.0, m.c.data(),
                                 nullptr, 0, nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, "Index b occurs only in B");
  trifuse_contract_in_gpu_memory(&status, "ax,xb->ab", 1.0, m.a.data(), &m.of_a, m.b.data(), &m.of_b, 0.0, m.c.data(),
                                 nullptr, no_gpu, nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, expected);
  EXPECT_EQ(m.c, std::vector<double>(m.c.size(), 2.0));
}

}
}
