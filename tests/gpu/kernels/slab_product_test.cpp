#include "cxx/cuda/kernel/slab_product.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// Products of slabs on the device, compared with loops on the host.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

class SlabProducts : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) TRIFUSE_CUDA(cudaSetDevice(0));
  }
};

std::vector<double> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  std::vector<double> numbers(count);
  for (double& x : numbers) x = number(random);
  return numbers;
}

DeviceArray<double> on_device(const std::vector<double>& numbers) {
  DeviceArray<double> array(numbers.size());
  TRIFUSE_CUDA(cudaMemcpy(array.data(), numbers.data(), numbers.size() * sizeof(double), cudaMemcpyHostToDevice));
  return array;
}

std::int64_t even(std::int64_t n) {
  return (n + 1) / 2 * 2;
}

/// A product whose rows of C are ordered [outer, matrix, inner] or [outer, inner, matrix].
struct Shape {
  std::int32_t matrices, outer, inner, columns, depth;
  bool matrix_last = false;
  double sign = 1.0;
  bool adds = false, b_transposed = false;
};

void expect_product(const Shape& shape) {
  SCOPED_TRACE(std::to_string(shape.matrices) + " x (" + std::to_string(shape.outer) + " x " +
               std::to_string(shape.inner) + ", " + std::to_string(shape.depth) + ", " + std::to_string(shape.columns) +
               ")" + (shape.b_transposed ? " transposed" : ""));
  SlabProduct p{};
  p.matrices = shape.matrices;
  p.rows = shape.outer * shape.inner;
  p.columns = shape.columns;
  p.depth = shape.depth;
  p.inner_rows = shape.inner;
  // Strides that are larger than needed. What lies between rows must not matter.
  p.a_row = even(shape.depth) + 2;
  p.b_row = even(shape.b_transposed ? shape.depth : shape.columns) + 4;
  p.b_matrix = (shape.b_transposed ? shape.columns : shape.depth) * p.b_row + 6;
  const std::int64_t c_row = even(shape.columns);
  p.c_outer = std::int64_t{shape.inner} * shape.matrices * c_row;
  p.c_matrix = shape.matrix_last ? c_row : shape.inner * c_row;
  p.c_inner = shape.matrix_last ? shape.matrices * c_row : c_row;
  p.sign = shape.sign;
  p.adds = shape.adds;
  p.b_transposed = shape.b_transposed;
  std::vector<double> a = random_numbers(static_cast<std::size_t>(p.rows * p.a_row), 1),
                      b = random_numbers(static_cast<std::size_t>(p.matrices * p.b_matrix), 2);
  const std::vector<double> c = random_numbers(static_cast<std::size_t>(shape.outer * p.c_outer), 3);
  for (std::int64_t m = 0; m < p.rows; ++m) a[static_cast<std::size_t>(m * p.a_row + p.depth)] = NAN;
  const DeviceArray<double> a_there = on_device(a), b_there = on_device(b), c_there = on_device(c);
  p.a = a_there.data();
  p.b = b_there.data();
  p.c = c_there.data();
  launch_slab_product(p, nullptr);
  std::vector<double> found(c.size());
  TRIFUSE_CUDA(cudaMemcpy(found.data(), p.c, found.size() * sizeof(double), cudaMemcpyDeviceToHost));
  double worst = 0.0;
  for (std::int64_t matrix = 0; matrix < p.matrices; ++matrix) {
    for (std::int64_t m = 0; m < p.rows; ++m) {
      for (std::int64_t n = 0; n < p.columns; ++n) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < p.depth; ++k) {
          sum +=
              a[static_cast<std::size_t>(m * p.a_row + k)] *
              b[static_cast<std::size_t>(matrix * p.b_matrix + (p.b_transposed ? n * p.b_row + k : k * p.b_row + n))];
        }
        const auto at = static_cast<std::size_t>(matrix * p.c_matrix + m / shape.inner * p.c_outer +
                                                 m % shape.inner * p.c_inner + n);
        const double difference = std::abs(found[at] - (p.adds ? c[at] : 0.0) - p.sign * sum);
        worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
      }
    }
  }
  EXPECT_LE(worst, 4e-16 * (p.depth + 4));
}

TEST_F(SlabProducts, AreThoseOfTheHost) {
  for (const bool matrix_last : {false, true}) {
    for (const auto& [sign, adds] : {std::pair{1.0, false}, {-1.0, true}, {1.0, true}}) {
      for (const Shape& shape : {Shape{1, 1, 1, 1, 1},
                                 {3, 2, 5, 7, 9},
                                 {2, 4, 33, 64, 8},
                                 {5, 4, 32, 128, 24},
                                 {2, 9, 15, 65, 77},
                                 {3, 1, 129, 129, 130},
                                 {1, 5, 3, 200, 31},
                                 {7, 8, 20, 61, 250}}) {
        Shape tested = shape;
        tested.matrix_last = matrix_last;
        tested.sign = sign;
        tested.adds = adds;
        expect_product(tested);
        tested.b_transposed = true;
        expect_product(tested);
      }
    }
  }
}

TEST_F(SlabProducts, MayBeEmpty) {
  SlabProduct p{};
  launch_slab_product(p, nullptr);
  TRIFUSE_CUDA(cudaDeviceSynchronize());
}

}
}
