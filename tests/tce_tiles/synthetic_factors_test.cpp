#include "tce_tiles/sources/synthetic_factors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/memory_source.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/support/refusals.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

namespace trifuse::testing {
namespace {

constexpr std::int64_t auxiliary = 30;

std::vector<SyntheticMolecule> molecules() {
  std::vector<SyntheticMolecule> all = {
      {Reference::rhf, 4, 4, 7, 7, 1, 2, 3},
      {Reference::rhf, 5, 5, 9, 9, 4, 2, 3, 2, true},
      {Reference::uhf, 4, 3, 6, 7, 2, 2, 3},
      {Reference::rohf, 3, 0, 5, 0},
  };
  for (SyntheticMolecule& molecule : all) molecule.auxiliary = auxiliary;
  return all;
}

/// The elements of all blocks, in one vector.
std::vector<double> elements_of(const MemorySource& source, bool integrals) {
  std::vector<double> all;
  const auto add = [&](std::span<const double> block) { all.insert(all.end(), block.begin(), block.end()); };
  if (integrals) {
    for (const Block& b : source.v2_index().blocks()) add(source.v2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3]));
    return all;
  }
  for (const Block& b : source.t1_index().blocks()) add(source.t1(b.tiles[0], b.tiles[1]));
  for (const Block& b : source.t2_index().blocks()) add(source.t2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3]));
  return all;
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double x : values) sum += x * x;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

void expect_same_elements(const TileSource& found, const TileSource& wanted, double tolerance) {
  ASSERT_EQ(found.tiles(), wanted.tiles());
  const MemorySource x = copy_of(found), y = copy_of(wanted);
  EXPECT_EQ(elements_of(x, false), elements_of(y, false));
  const std::vector<double> v_x = elements_of(x, true), v_y = elements_of(y, true);
  ASSERT_EQ(v_x.size(), v_y.size());
  for (std::size_t n = 0; n < v_x.size(); ++n) ASSERT_NEAR(v_x[n], v_y[n], tolerance);
}

TEST(SyntheticFactors, AmplitudesAreThoseOfTheMoleculeWithoutFactors) {
  for (SyntheticMolecule molecule : molecules()) {
    const auto factors = make_synthetic_source(molecule);
    EXPECT_FALSE(dense_input_of(*factors)->factors.empty());
    molecule.auxiliary = 0;
    const auto plain = make_synthetic_source(molecule);
    ASSERT_EQ(factors->tiles(), plain->tiles());
    EXPECT_TRUE(std::ranges::equal(factors->orbital_energies(), plain->orbital_energies()));
    const MemorySource x = copy_of(*factors), y = copy_of(*plain);
    EXPECT_EQ(elements_of(x, false), elements_of(y, false));
    // Integrals of factors have the size of other made-up integrals. Some of these factors are squares: (pq|pq).
    const double with_factors = root_mean_square(elements_of(x, true)), hashed = root_mean_square(elements_of(y, true));
    EXPECT_GT(with_factors, 0.7 * hashed);
    EXPECT_LT(with_factors, 2.0 * hashed);
  }
}

TEST(SyntheticFactors, PassTheChecksOfAnInput) {
  for (const SyntheticMolecule& molecule : molecules()) {
    const auto source = make_synthetic_source(molecule);
    EXPECT_NO_THROW(verify_source(*source, *source));
  }
}

/// Counts how often arrays are opened, by name.
class OpenedArrays final : public DenseArrays {
 public:
  explicit OpenedArrays(std::shared_ptr<const DenseArrays> arrays) : arrays_(std::move(arrays)) {}

  const std::string& path() const override { return arrays_->path(); }
  ArrayWords words() const override { return arrays_->words(); }
  bool has(const std::string& name) const override { return arrays_->has(name); }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    ++opened[name];
    return arrays_->array(name);
  }

  mutable std::map<std::string, int> opened;

 private:
  std::shared_ptr<const DenseArrays> arrays_;
};

// Boxes of (ij|ab) with few pairs i, j would cost about as much as all other steps of the check together.
TEST(SyntheticFactors, TheCheckMakesIntegralsOnlyIfIrrepsForbidSome) {
  for (const int irreps : {1, 2}) {
    SyntheticMolecule molecule{Reference::rhf, 4, 4, 7, 7, irreps, 2, 3};
    molecule.auxiliary = auxiliary;
    const auto source = make_synthetic_source(molecule);
    DenseInput input = *dense_input_of(*source);
    const auto arrays = std::make_shared<OpenedArrays>(input.arrays);
    input.arrays = arrays;
    check_dense(input);
    EXPECT_EQ(arrays->opened["t2"], 1);
    for (const char* const name : {"ovov", "ovoo"}) EXPECT_EQ(arrays->opened[name], irreps == 1 ? 0 : 1) << name;
    // FactorIrreps makes these from factors of a few particles at a time.
    for (const char* const name : {"oovv", "ovvv"}) EXPECT_EQ(arrays->opened[name], 0) << name;
  }
}

TEST(SyntheticFactors, NumbersOfAuxiliaryFunctionsThatAreImpossibleAreRefused) {
  SyntheticMolecule molecule{Reference::rhf, 2, 2, 3, 3};
  for (const std::int64_t impossible : {std::int64_t{-1}, std::int64_t{1} << 40}) {
    molecule.auxiliary = impossible;
    EXPECT_THROW(make_synthetic_source(molecule), UsageError) << impossible;
  }
}

class DumpOfFactors : public DumpTest {};

TEST_F(DumpOfFactors, HasTheElementsOfItsSource) {
  using enum WriteOptions::Layout;
  for (const SyntheticMolecule& molecule : molecules()) {
    const auto source = make_synthetic_source(molecule);
    for (const auto& [layout, box] : {std::pair{automatic, std::int64_t{1} << 20}, {contiguous, 1}, {compressed, 50}}) {
      write_dump(*source, file("factors.h5"), {.overwrite = true, .layout = layout, .box_doubles = box});
      const auto dump = open_dump(file("factors.h5"), molecule.hole_tile, molecule.particle_tile);
      EXPECT_EQ(dump->info().format, "Trifuse dump, version 2.2, sealed");
      EXPECT_NO_THROW(verify_source(*dump, *dump));
      expect_same_elements(*dump, *source, 0.0);
      // Once more, from the dump.
      write_dump(*dump, file("copy.h5"), {.overwrite = true, .box_doubles = box});
      expect_same_elements(*open_dump(file("copy.h5"), molecule.hole_tile, molecule.particle_tile), *source, 0.0);
    }
  }
}

TEST_F(DumpOfFactors, FactorsAreMultipliedOutOnRequest) {
  for (const SyntheticMolecule& molecule : molecules()) {
    const auto source = make_synthetic_source(molecule);
    for (const std::int64_t box : {std::int64_t{1} << 20, std::int64_t{1}, std::int64_t{60}}) {
      write_dump(*source, file("integrals.h5"), {.overwrite = true, .multiply_factors = true, .box_doubles = box});
      const auto dump = open_dump(file("integrals.h5"), molecule.hole_tile, molecule.particle_tile);
      EXPECT_EQ(dump->info().format, "Trifuse dump, version 1.2, sealed");
      EXPECT_TRUE(dense_input_of(*dump)->factors.empty());
      EXPECT_TRUE(dump->has_exchange_integrals());
      EXPECT_NO_THROW(verify_source(*dump, *dump));
      expect_same_elements(*dump, *source, 1e-15);
    }
  }
}

TEST_F(DumpOfFactors, ASmallDiskIsRefusedBeforeWriting) {
  SyntheticMolecule large{Reference::rhf, 300, 300, 2500, 2500, 1, 1000, 1000};
  large.auxiliary = 1;
  const auto source = make_synthetic_source(large);
  expect_failure<SystemError>([&] { write_dump(*source, file("dump.h5"), {.multiply_factors = true}); },
                              "the dump needs 5.15e+04 GB with all factors multiplied out");
  expect_failure<SystemError>([&] { write_dump(*source, file("dump.h5"), {.multiply_factors = true}); },
                              "keep the factors (0.0317 GB)");
  EXPECT_FALSE(std::filesystem::exists(file("dump.h5")));
}

TEST_F(DumpOfFactors, ProgressEndsAtOne) {
  const auto source = make_synthetic_source(molecules().front());
  for (const bool multiply : {false, true}) {
    double last = 0.0;
    WriteOptions options;
    options.overwrite = true;
    options.multiply_factors = multiply;
    options.progress = [&](double done) {
      EXPECT_GT(done, last);
      last = done;
    };
    write_dump(*source, file("dump.h5"), options);
    EXPECT_DOUBLE_EQ(last, 1.0);
  }
}

}
}
