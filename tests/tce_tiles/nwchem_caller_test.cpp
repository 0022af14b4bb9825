#include "tce_tiles/nwchem_files/nwchem_caller.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/nwchem_program.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/v2_blocks.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

/// A program that passes its tensors to Trifuse.
class Caller : public NwchemProgram {
 public:
  explicit Caller(const std::string& dump) : NwchemProgram((nwchem_data() / dump / "c").string()) {}

  std::unique_ptr<TileSource> source() const {
    return make_nwchem_caller_source(tiles(), lengths, energies,
                                     [this](NwchemTensor tensor, std::int64_t offset, std::span<double> values) {
                                       if (fails) throw InputError("The network is down.");
                                       vector(tensor).read(offset, values);
                                       if (spoilt) values.back() = std::numeric_limits<double>::infinity();
                                     });
  }

  bool fails = false, spoilt = false;
};

class CallerOf : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Dump, CallerOf,
                         ::testing::Values("h2o_631g_c2v_rhf_t10", "h2o_ccpvdz_c2v_rhf_t8_2eorb", "ch2_631g_c2v_uhf_t3",
                                           "ch2_631g_c2v_rohf_t3_2eorb"),
                         [](const auto& test) { return test.param; });

TEST_P(CallerOf, GivesTheBlocksOfTheFiles) {
  const Caller caller(GetParam());
  const auto source = caller.source();
  const TileSpace& space = source->tiles();
  EXPECT_TRUE(space == caller.files->tiles());
  EXPECT_TRUE(source->has_integrals());
  EXPECT_FALSE(source->has_fock());
  const auto compare = [&](std::int64_t doubles, const auto& read) {
    std::vector<double> own(static_cast<std::size_t>(doubles), 1.0), files(own.size(), 2.0);
    read(*source, own);
    read(*caller.files, files);
    EXPECT_EQ(own, files);
  };
  const BlockIndex t1 = t1_blocks(space);
  for (const Block& block : t1.blocks()) {
    compare(block.size, [&](const TileSource& from, auto& to) { from.read_t1(block.tiles[0], block.tiles[1], to); });
  }
  const BlockIndex t2 = t2_blocks(space);
  for (const Block& block : t2.blocks()) {
    const auto& t = block.tiles;
    compare(block.size, [&](const TileSource& from, auto& to) { from.read_t2(t[0], t[1], t[2], t[3], to); });
  }
  const BlockIndex v2 = v2_blocks(space);
  for (const Block& block : v2.blocks()) {
    const auto& t = block.tiles;
    compare(block.size, [&](const TileSource& from, auto& to) { from.read_v2(t[0], t[1], t[2], t[3], to); });
  }
}

constexpr const char* folder_of_water = "h2o_631g_c2v_rhf_t10";
constexpr const char* water_2eorb = "h2o_ccpvdz_c2v_rhf_t8_2eorb";

/// Expects that the tensors of `dump` are refused after `change`, and that the message contains `part`.
template <typename Change>
void expect_refused(const char* dump, Change change, const std::string& part) {
  Caller caller(dump);
  change(caller);
  expect_failure<InputError>([&] { static_cast<void>(caller.source()); }, part);
}

TEST(NwchemCaller, RefusesInvalidTables) {
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.spin[1] = 2; },
      "Tile 2 of NWChem's table is in the class occupied alpha, but its spin is 2");
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.irrep[0] = 8; }, "has irrep 8");
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.size[0] = 0; }, "size 0");
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.size.back() += 1; }, "same alpha and beta tiles");
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.counts[0] = -1; }, "a class has -1 tiles");
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.counts[0] += 1; }, "have another length");
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.spin.pop_back(); }, "have another length");
}

TEST(NwchemCaller, RefusesVectorLengthsThatContradictTheTable) {
  for (auto length : {&NwchemLengths::t1, &NwchemLengths::t2, &NwchemLengths::v2}) {
    expect_refused(
        folder_of_water, [&](Caller& caller) { caller.lengths.*length += 1; }, "uses another storage layout");
  }
}

TEST(NwchemCaller, RefusesEnergiesThatContradictTheTable) {
  expect_refused(
      folder_of_water, [](Caller& caller) { caller.energies.pop_back(); }, "orbital energies");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_refused(
      folder_of_water, [&](Caller& caller) { caller.energies[2] = nan; }, "sorted orbital 3 is not finite");
}

TEST(NwchemCaller, RefusesSpatialTilesInAnotherOrder) {
  expect_refused(
      water_2eorb, [](Caller& caller) { std::swap(caller.spatial_tile[0], caller.spatial_tile[1]); },
      "orbitals of tile 1 in spatial tile 2, but 1 is expected");
}

TEST(NwchemCaller, ReportsReadErrorsAndNonFiniteNumbers) {
  for (const char* dump : {folder_of_water, water_2eorb}) {
    Caller caller(dump);
    const auto source = caller.source();
    const BlockIndex blocks = t2_blocks(source->tiles());
    const Block& block = blocks.blocks().front();
    const auto& t = block.tiles;
    std::vector<double> values(static_cast<std::size_t>(block.size));
    const auto read = [&] { source->read_t2(t[0], t[1], t[2], t[3], values); };
    caller.fails = true;
    expect_failure<InputError>(read, "The network is down");
    caller.fails = false;
    caller.spoilt = true;
    expect_failure<InputError>(read, "T2 of NWChem holds a value that is not finite (inf) in T2 block");
  }
}

}
}
