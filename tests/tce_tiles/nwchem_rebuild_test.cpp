#include "tce_tiles/nwchem_files/nwchem_rebuild.hpp"

#include <gtest/gtest.h>

#include "nwchem_test_data.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"

namespace trifuse::testing {
namespace {

/// Synthetic orbitals as a movecs file gives them, and the file sizes of a tile table.
class Rebuild : public ::testing::Test {
 protected:
  void orbitals(Reference reference, std::int64_t n, std::int64_t alpha, std::int64_t beta) {
    movecs_.path = "c.movecs";
    movecs_.reference = reference;
    movecs_.orbitals = n;
    movecs_.occupied = {alpha, beta};
    const double shift = reference == Reference::uhf ? 0.01 : 0.0;
    for (std::size_t s = 0; s < 2; ++s) {
      movecs_.energies[s].clear();
      for (std::int64_t p = 0; p < n; ++p)
        movecs_.energies[s].push_back(0.3 * static_cast<double>(p) - 2.0 + (s == 1 ? shift : 0.0));
    }
  }
  OrbitalCounts counts(std::int64_t core, std::int64_t top) const {
    OrbitalCounts c;
    c.orbitals = {movecs_.orbitals, movecs_.orbitals};
    c.occupied = movecs_.occupied;
    c.frozen_core = {core, core};
    c.frozen_virtual = {top, top};
    return c;
  }
  /// Rebuilds the tile table from the file sizes and orbital energies of `space`.
  RebuiltTiles rebuild(const TileSpace& space, std::int64_t core, bool spatial) {
    const NwchemSizes sizes = nwchem_sizes(space);
    std::vector<double> fock;
    for (const Tile& tile : space.tiles()) {
      for (std::int64_t k = 0; k < tile.size; ++k) {
        const std::size_t s = tile.spin() == Spin::alpha ? 0 : 1;
        const std::int64_t first = space[space.first(tile.orbital_class)].offset;
        const std::int64_t start = tile.space() == Space::hole ? core : movecs_.occupied[s];
        fock.push_back(movecs_.energies[s][static_cast<std::size_t>(start + tile.offset - first + k)]);
      }
    }
    const RebuildRequest request{
        movecs_,
        {sizes.f1, sizes.t1, sizes.t2, spatial ? sizes.v2_spatial.value() : sizes.v2_spin_orbital},
        tile_size_,
        core_,
        {},
        "c",
        "There is no output",
        [&](const TileSpace& tried, Reference) {
          return tried.orbitals() == space.orbitals() ? fock : std::vector<double>();
        }};
    return rebuild_tiles(request);
  }
  NwchemMovecs movecs_;
  std::optional<std::int64_t> tile_size_, core_;
};

TEST_F(Rebuild, FindsEveryTable) {
  struct Kind {
    Reference reference;
    std::int64_t alpha, beta;
  };
  for (const Kind& kind : {Kind{Reference::rhf, 5, 5}, Kind{Reference::rhf, 1, 1}, Kind{Reference::uhf, 6, 3},
                           Kind{Reference::uhf, 2, 0}, Kind{Reference::rohf, 6, 3}, Kind{Reference::rohf, 3, 0}}) {
    orbitals(kind.reference, 14, kind.alpha, kind.beta);
    for (const std::int64_t core : {0, 1}) {
      if (core > std::min(kind.alpha, kind.beta) - (kind.alpha == 1 ? 1 : 0)) continue;
      for (const std::int64_t top : {0, 2}) {
        for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 20}) {
          for (const bool split : {false, true}) {
            if (split && kind.reference != Reference::rohf) continue;
            SCOPED_TRACE(to_string(kind.reference) + " core " + std::to_string(core) + " top " + std::to_string(top) +
                         " size " + std::to_string(size) + (split ? " split" : ""));
            const TileSpace space = TileSpace::partition(sort_orbitals(counts(core, top), split).ranges, size, size,
                                                         kind.reference == Reference::rhf);
            const RebuiltTiles rebuilt =
                rebuild(space, core, split || (kind.reference == Reference::rhf && size % 2 == 0));
            EXPECT_EQ(rebuilt.space, space);
            EXPECT_EQ(rebuilt.reference, kind.reference);
            EXPECT_EQ(rebuilt.frozen_core, core);
            EXPECT_EQ(rebuilt.frozen_virtual, top);
            EXPECT_LE(rebuilt.tile_size, size);
          }
        }
      }
    }
  }
}

TEST_F(Rebuild, TellsClosedShellRohfFromRhf) {
  orbitals(Reference::rhf, 10, 4, 4);
  const TileSpace space = TileSpace::partition(sort_orbitals(counts(0, 0), false).ranges, 3, 3, false);
  EXPECT_EQ(rebuild(space, 0, false).reference, Reference::rohf);
}

TEST_F(Rebuild, UsesTheGivenTileSizeAndFrozenCore) {
  orbitals(Reference::rhf, 14, 5, 5);
  const TileSpace space = TileSpace::partition(sort_orbitals(counts(1, 0), false).ranges, 3, 3, true);
  tile_size_ = 3;
  core_ = 1;
  EXPECT_EQ(rebuild(space, 1, true).space, space);
  tile_size_ = 4;
  expect_refusal([&] { rebuild(space, 1, true); }, {"c.*", "c.movecs", "given", "--nwchem-output"});
  tile_size_.reset();
  core_ = 2;
  expect_refusal([&] { rebuild(space, 1, true); }, {"given"});
  core_ = 1'000'000'000;
  expect_refusal([&] { rebuild(space, 1, true); }, {"given"});
}

TEST_F(Rebuild, RefusesOrbitalsThatDoNotFit) {
  orbitals(Reference::rhf, 14, 5, 5);
  const TileSpace space = TileSpace::partition(sort_orbitals(counts(1, 0), false).ranges, 3, 3, true);
  movecs_.energies[0][3] += 0.01;
  movecs_.energies[1] = movecs_.energies[0];
  const NwchemMovecs changed = movecs_;
  orbitals(Reference::rhf, 14, 5, 5);
  std::vector<double> fock;
  for (int spin = 0; spin < 2; ++spin)
    fock.insert(fock.end(), movecs_.energies[0].begin() + 1, movecs_.energies[0].begin() + 5);
  for (int spin = 0; spin < 2; ++spin)
    fock.insert(fock.end(), movecs_.energies[0].begin() + 5, movecs_.energies[0].end());
  const NwchemSizes sizes = nwchem_sizes(space);
  const auto attempt = [&](const NwchemMovecs& movecs) {
    return rebuild_tiles({movecs,
                          {sizes.f1, sizes.t1, sizes.t2, sizes.v2_spin_orbital},
                          {},
                          {},
                          {},
                          "c",
                          "There is no output",
                          [&](const TileSpace&, Reference) { return fock; }});
  };
  EXPECT_EQ(attempt(movecs_).space, space);
  expect_refusal([&] { attempt(changed); }, {"c.movecs", "0.01", "--nwchem-movecs", "--nwchem-output"});
}

// Symmetry changes the file sizes. No table without symmetry may be accepted for such files.
TEST(RebuildFromFiles, RefusesEveryDumpWithSymmetry) {
  int refused = 0;
  for (const std::string& dump : good_dumps()) {
    if (dump.find("_c1_") != std::string::npos) continue;
    SCOPED_TRACE(dump);
    const DumpCopy copy(dump);
    copy.remove("out");
    expect_refusal([&] { copy.open(); }, {"c.movecs", "--nwchem-output"});
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

}
}
