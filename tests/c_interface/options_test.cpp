#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "tests/support/refusals.hpp"

/// The library refuses the same values as the setters of the C interface.
namespace trifuse::testing {
namespace {

constexpr std::int64_t largest_integer = std::numeric_limits<std::int64_t>::max();

TEST(TilesOfAnySize, HoldAllOrbitals) {
  const std::vector<OrbitalRange> ranges = {{OrbitalClass::hole_alpha, 0, 5},
                                            {OrbitalClass::hole_beta, 0, 5},
                                            {OrbitalClass::particle_alpha, 0, 17},
                                            {OrbitalClass::particle_beta, 0, 17}};
  for (const std::int64_t size :
       {largest_integer, largest_integer - 1, largest_integer / 2, std::int64_t{1} << 62, std::int64_t{1000}}) {
    const TileSpace space = TileSpace::partition(ranges, size, size, true);
    EXPECT_EQ(space.orbitals(), 44);
    EXPECT_EQ(space.size(), 4);
    EXPECT_EQ(space.retiled_aligned(size, size, 4).size(), 4);
    EXPECT_EQ(space.retiled_aligned(size, size, 4).orbitals(), 44);
    EXPECT_EQ(divide_into_tiles(17, size), std::vector<std::int64_t>{17});
  }
  EXPECT_TRUE(divide_into_tiles(0, largest_integer).empty());
  expect_failure<InputError>([] { divide_into_tiles(largest_integer, 1); }, "more than 30000 spin orbitals");
}

TEST(Options, AreCheckedByEachCalculation) {
  const auto water = make_synthetic_source({Reference::rhf, 3, 3, 5, 5, 1, 4, 16, 1});
  const auto expect_refused = [&](auto change, const char* part) {
    CalculationOptions options;
    change(options);
    expect_failure<UsageError>([&] { Calculation(*water, nullptr, options); }, part);
  };
  for (const std::int64_t size : {largest_integer, std::int64_t{0}, std::int64_t{-5}, (std::int64_t{1} << 20) + 1}) {
    expect_refused([&](CalculationOptions& o) { o.tile_size = size; }, "tile_size is");
  }
  for (const std::int64_t bytes : {largest_integer, std::int64_t{0}, std::int64_t{-5}}) {
    expect_refused([&](CalculationOptions& o) { o.memory = bytes; }, "memory is");
  }
  expect_refused([](CalculationOptions& o) { o.threads = -1; }, "it must be a number of threads, 1 to 4096");
  expect_refused([](CalculationOptions& o) { o.threads = 1 << 30; }, "it must be a number of threads, 1 to 4096");
  expect_refused([](CalculationOptions& o) { o.omega2.assign(10001, 0.0); },
                 "omega2 has 10001 values; at most 10000 are possible");
  expect_refused([](CalculationOptions& o) { o.omega2 = {std::nan("")}; }, "omega2 is");
  expect_refused([](CalculationOptions& o) { o.omega2 = {1e300}; }, "omega2 is");
  expect_refused([](CalculationOptions& o) { o.devices = {-1}; }, "gpus is \"-1\"; it must be numbers of GPUs");
  expect_refused([](CalculationOptions& o) { o.journal.assign(5000, 'x'); },
                 "it must be a path of 1 to 4095 characters");
}

}
}
