#include <cmath>
#include <functional>
#include <limits>

#include "c_interface_test_support.hpp"
#include "tests/support/expected_energies.hpp"

/// Callers may pass any number.
namespace trifuse::testing {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

std::string small_water() {
  return (nwchem_data() / "h2o_631g_c2v_rhf_t3_2eorb" / "c").string();
}

class Setters : public ::testing::Test {
 protected:
  /// After refused calls, the earlier settings must still give this energy.
  void TearDown() override { EXPECT_EQ(open.energy(), expected); }
  void expect_usage_error(const std::string& part) { expect_status(open.status, TRIFUSE_BAD_USAGE, part); }

  OpenCalculation open{small_water()};
  double expected = open.energy();
};

TEST_F(Setters, RefuseTileSizes) {
  for (const std::int64_t size :
       {std::int64_t{0}, std::int64_t{-1}, least, most, most - 1, (std::int64_t{1} << 20) + 1}) {
    trifuse_set_tile_size(&open.status, open.calculation, size);
    expect_usage_error("tile_size is");
  }
}

TEST_F(Setters, TakeTheLargestTileSize) {
  trifuse_set_tile_size(&open.status, open.calculation, std::int64_t{1} << 20);
  expect_success(open.status);
  EXPECT_NEAR(open.energy(), expected, 1e-14);
  expected = open.energy();
}

TEST_F(Setters, RefuseThreads) {
  for (const std::int64_t threads :
       {std::int64_t{0}, std::int64_t{-1}, least, most, std::int64_t{4097}, (std::int64_t{1} << 32) + 1}) {
    trifuse_set_threads(&open.status, open.calculation, threads);
    expect_usage_error("threads");
  }
}

TEST_F(Setters, RefuseMemory) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-1}, least, most, (std::int64_t{1} << 50) + 1}) {
    trifuse_set_memory(&open.status, open.calculation, bytes);
    expect_usage_error("memory");
  }
}

TEST_F(Setters, RefuseOmega2) {
  const double one = 0.0;
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, least, most, std::int64_t{10001}}) {
    trifuse_set_omega2(&open.status, open.calculation, count, &one);
    expect_usage_error("values of omega2");
  }
  trifuse_set_omega2(&open.status, open.calculation, 1, nullptr);
  expect_usage_error("null");
  for (const double omega2 : {nan, infinity, -infinity, -1e-300, 1e300, 1.1e6}) {
    const double values[2] = {0.0, omega2};
    trifuse_set_omega2(&open.status, open.calculation, 2, values);
    expect_usage_error("omega2");
  }
}

TEST_F(Setters, RefuseGpus) {
  const std::int32_t gpu = -1;
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, least, most, std::int64_t{4097}}) {
    trifuse_set_gpus(&open.status, open.calculation, count, &gpu);
    expect_usage_error("GPUs");
  }
  trifuse_set_gpus(&open.status, open.calculation, 1, nullptr);
  expect_usage_error("null");
  trifuse_set_gpus(&open.status, open.calculation, 1, &gpu);
  EXPECT_NE(open.status.code, TRIFUSE_SUCCESS);
}

TEST_F(Setters, RefuseWhatIsNoneOfAList) {
  for (const std::int32_t value :
       {-1, 3, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    trifuse_set_form(&open.status, open.calculation, value);
    expect_usage_error("trifuse_form");
    trifuse_set_rohf(&open.status, open.calculation, value);
    expect_usage_error("trifuse_rohf");
    trifuse_set_device(&open.status, open.calculation, value);
    expect_usage_error("trifuse_device");
  }
}

TEST_F(Setters, RefusePaths) {
  const std::string longest(10'000'000, 'x');
  for (const char* path : {static_cast<const char*>(nullptr), "", longest.c_str()}) {
    trifuse_set_journal(&open.status, open.calculation, path);
    expect_usage_error("path");
    EXPECT_EQ(trifuse_open_amplitudes(&open.status, path), nullptr);
    expect_usage_error("path");
    EXPECT_EQ(trifuse_open_left_amplitudes(&open.status, path, open.amplitudes), nullptr);
    expect_usage_error("path");
  }
}

TEST_F(Setters, NeedNoStatus) {
  trifuse_set_tile_size(nullptr, open.calculation, most);
  trifuse_run(nullptr, nullptr);
}

TEST_F(Setters, GettersRefuseIndices) {
  std::int64_t tiles[4] = {}, size = 0;
  trifuse_tile tile;
  double number = 0.0;
  for (const std::int64_t index : {std::int64_t{-1}, least, most, std::int64_t{1'000'000}}) {
    trifuse_get_energy(&open.status, open.calculation, index, nullptr, nullptr, nullptr);
    expect_usage_error("none with this number");
    trifuse_get_tile(&open.status, open.amplitudes, index, &tile);
    expect_usage_error("no tile");
    trifuse_get_block_tiles(&open.status, open.amplitudes, TRIFUSE_V2, index, tiles, &size);
    expect_usage_error("no block");
    trifuse_get_orbital_energies(&open.status, open.amplitudes, index, &number);
    expect_usage_error("orbital energies");
  }
  trifuse_get_orbital_energies(&open.status, open.amplitudes, 1, nullptr);
  expect_usage_error("orbital energies");
  for (const std::int32_t tensor : {-1, 4, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_EQ(trifuse_block_count(&open.status, open.amplitudes, tensor), 0);
    expect_usage_error("trifuse_tensor");
    trifuse_get_block(&open.status, open.amplitudes, tensor, tiles, 1, &number);
    expect_usage_error("trifuse_tensor");
  }
  for (std::int32_t tensor = TRIFUSE_FOCK; tensor <= TRIFUSE_V2; ++tensor) {
    for (const std::int64_t index : {std::int64_t{-1}, least, most, std::int64_t{1} << 32}) {
      const std::int64_t wrong[4] = {index, index, index, index};
      trifuse_get_block(&open.status, open.amplitudes, tensor, wrong, 1, &number);
      expect_usage_error("no block");
    }
    trifuse_get_block_tiles(&open.status, open.amplitudes, tensor, 0, tiles, &size);
    expect_success(open.status);
    for (const std::int64_t room : {size - 1, size + 1, std::int64_t{-1}, least, most}) {
      trifuse_get_block(&open.status, open.amplitudes, tensor, tiles, room, &number);
      expect_usage_error("numbers");
    }
    trifuse_get_block(&open.status, open.amplitudes, tensor, tiles, size, nullptr);
    expect_usage_error("numbers");
    trifuse_get_block(&open.status, open.amplitudes, tensor, nullptr, size, &number);
    expect_usage_error("null");
  }
}

class Descriptions : public ::testing::Test {
 protected:
  void expect_refused(const std::function<void(Description&)>& spoil, const std::string& part,
                      trifuse_code code = TRIFUSE_BAD_USAGE) {
    Description description(open.amplitudes);
    spoil(description);
    trifuse_status status;
    for (const trifuse_block_reader reader : {trifuse_block_reader{nullptr}, &read_from}) {
      EXPECT_EQ(trifuse_new_amplitudes(&status, &description.all, reader, open.amplitudes), nullptr);
      expect_status(status, code, part);
    }
  }
  OpenCalculation open{small_water()};
};

TEST_F(Descriptions, OfTilesAreBounded) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, least, most, std::int64_t{1'000'000}}) {
    expect_refused([&](Description& d) { d.all.tile_count = count; }, "tiles were described");
  }
  expect_refused([](Description& d) { d.all.tiles = nullptr; }, "null");
  for (const std::int32_t value : {-1, 4, 1 << 30}) {
    expect_refused([&](Description& d) { d.tiles[1].orbital_class = value; }, "class of trifuse_class");
  }
  for (const std::int32_t value : {-1, 8, 1 << 30}) {
    expect_refused([&](Description& d) { d.tiles[1].irrep = value; }, "irrep");
  }
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, least}) {
    expect_refused([&](Description& d) { d.tiles[1].size = size; }, "size", TRIFUSE_BAD_INPUT);
  }
  // Also sizes whose sum would overflow.
  for (const std::int64_t size : {most, most / 2 + 1, std::int64_t{30001}, std::int64_t{15001}}) {
    const auto spoil = [&](Description& d) {
      for (trifuse_tile& tile : d.tiles) tile.size = size;
    };
    expect_refused(spoil, "more than 30000 spin orbitals", TRIFUSE_BAD_INPUT);
  }
}

TEST_F(Descriptions, OfNumbersAreChecked) {
  for (const double value : {nan, infinity, -infinity}) {
    expect_refused([&](Description& d) { d.energies.back() = value; }, "not a number");
    expect_refused([&](Description& d) { d.all.omega2 = value; }, "omega2");
    expect_refused([&](Description& d) { d.all.correlation_energy = value; }, "correlation energy");
  }
  expect_refused([](Description& d) { d.all.orbital_energies = nullptr; }, "null");
  for (const double value : {-0.1, 1e300}) {
    expect_refused([&](Description& d) { d.all.omega2 = value; }, "omega2");
  }
  for (const std::int32_t kind : {TRIFUSE_CCSD, TRIFUSE_LAMBDA}) {
    expect_refused([&](Description& d) { d.all.kind = kind, d.all.omega2 = 0.1; }, "only regularised ones");
  }
  for (const std::int32_t value : {-1, 3, 1 << 30}) {
    expect_refused([&](Description& d) { d.all.reference = value; }, "trifuse_reference");
    expect_refused([&](Description& d) { d.all.kind = value; }, "trifuse_kind");
    expect_refused([&](Description& d) { d.all.has_integrals = value; }, "0 or 1");
    expect_refused([&](Description& d) { d.all.has_fock = value; }, "0 or 1");
  }
  for (const std::int32_t value : {-2, 2, 1 << 30}) {
    expect_refused([&](Description& d) { d.all.fock_in_triples = value; }, "not stated");
  }
  expect_refused([](Description& d) { d.all.fock_in_triples = 1; }, "has_fock");
  trifuse_status status;
  EXPECT_EQ(trifuse_new_amplitudes(&status, nullptr, nullptr, nullptr), nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, "null");
}

TEST_F(Descriptions, OfMoreThanMemoryHolds) {
  // 7500 orbitals of each class: 24 PiB of T2 alone.
  Description description(open.amplitudes);
  description.tiles.clear();
  for (std::int32_t c = TRIFUSE_HOLE_ALPHA; c <= TRIFUSE_PARTICLE_BETA; ++c) description.tiles.push_back({c, 0, 7500});
  description.energies.assign(30000, 0.0);
  description.all.tile_count = 4;
  description.all.tiles = description.tiles.data();
  description.all.orbital_energies = description.energies.data();
  trifuse_status status;
  EXPECT_EQ(trifuse_new_amplitudes(&status, &description.all, nullptr, nullptr), nullptr);
  expect_status(status, TRIFUSE_BAD_SYSTEM, "memory");
}

}
}
