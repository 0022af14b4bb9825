#include "cxx/cuda/runtime/device_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// Sums that stay on a GPU, compared with sums in memory of the host.
namespace trifuse::testing {
namespace {

constexpr std::int64_t count = 70000;

class SumsOnGpu : public OnGpu {
 protected:
  using Numbers = ZeroedVector<std::int64_t>;

  static Numbers random_numbers(unsigned seed) {
    std::mt19937_64 random(seed);
    Numbers numbers(static_cast<std::size_t>(count));
    for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random());
    return numbers;
  }
  static gpu::DeviceArray<unsigned long long> on_device(const Numbers& numbers, int device) {
    const gpu::CurrentDevice current(device);
    return gpu::to_device(std::vector<unsigned long long>(numbers.begin(), numbers.end()));
  }
  /// Pieces of all orders of indices, some of which have one value. They lie on each other.
  static std::vector<CompleteSums::Piece> pieces() {
    std::vector<CompleteSums::Piece> all;
    for (const std::array<std::int64_t, 4>& extent :
         {std::array<std::int64_t, 4>{5, 6, 7, 9}, {1, 6, 1, 200}, {3, 1, 40, 1}, {1, 1, 1, 1}, {2, 0, 3, 4}}) {
      std::array<int, 4> order = {0, 1, 2, 3};
      do {
        CompleteSums::Piece piece{std::ssize(all) * 17, std::ssize(all) % 5, extent, {}, {}, 0.0};
        std::int64_t from = 1, to = 1;
        for (std::size_t d = 4; d-- > 0;) {
          piece.step_in_values[d] = to;
          to *= extent[d];
        }
        for (const int d : order) {
          piece.step_in_sums[static_cast<std::size_t>(d)] = from;
          from *= extent[static_cast<std::size_t>(d)] + 1;
        }
        piece.sign = all.size() % 3 == 0 ? -1.0 : 1.0;
        all.push_back(piece);
      } while (std::next_permutation(order.begin(), order.end()));
    }
    return all;
  }
  static std::vector<double> read(const CompleteSums& sums, std::span<const CompleteSums::Piece> of) {
    std::vector<double> found;
    sums.read(of, 2000, [&](std::span<const double> values) { found.assign(values.begin(), values.end()); });
    return found;
  }
};

TEST_F(SumsOnGpu, HaveTheBitsOfSumsOnTheHost) {
  const Numbers numbers = random_numbers(1);
  const HostSums on_host(numbers);
  const gpu::DeviceSums on_gpu(0, on_device(numbers, 0));
  const auto all = pieces();
  const std::vector<double> together = read(on_host, all);
  EXPECT_EQ(read(on_gpu, all), together);
  share_in_turns(all.size(), 8, [&](std::size_t n) {
    const std::span one(&all[n], 1);
    EXPECT_EQ(read(on_gpu, one), read(on_host, one)) << n;
    EXPECT_EQ(read(on_gpu, all), together);
  });
  on_gpu.read({}, 0, [](std::span<const double> values) { EXPECT_TRUE(values.empty()); });
}

TEST_F(SumsOnGpu, PassOnExceptionsOfTheCaller) {
  const gpu::DeviceSums sums(0, on_device(random_numbers(1), 0));
  EXPECT_THROW(sums.read({}, 1, [](std::span<const double>) { throw std::runtime_error("of the caller"); }),
               std::runtime_error);
  EXPECT_EQ(read(sums, {}), std::vector<double>(2000, 0.0));
}

TEST_F(SumsOnGpu, AddThoseOfAnotherGpu) {
  const Numbers numbers = random_numbers(1), more = random_numbers(2);
  Numbers expected = numbers;
  for (std::size_t n = 0; n < expected.size(); ++n) {
    expected[n] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(numbers[n]) + static_cast<std::uint64_t>(more[n]));
  }
  for (int other = 0; other < visible_device_count(); ++other) {
    gpu::DeviceSums sums(0, on_device(numbers, 0));
    // In several parts.
    sums.add(on_device(more, other).data(), other, count, on_device(Numbers(count / 3), 0));
    EXPECT_EQ(read(sums, pieces()), read(HostSums(expected), pieces())) << other;
  }
}

}
}
