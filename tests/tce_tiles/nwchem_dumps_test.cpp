#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "nwchem_test_data.hpp"
#include "tce_tiles/checks/consistency.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"
#include "tce_tiles/nwchem_files/nwchem_source.hpp"
#include "tests/support/v2_blocks.hpp"

/// Reads all dumps of tests/data/nwchem and compares them with the output of NWChem.
namespace trifuse::testing {
namespace {

std::size_t u(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

std::vector<double> read_v2(const TileSource& source, const std::array<int, 4>& q) {
  const TileSpace& space = source.tiles();
  std::vector<double> block(u(space[q[0]].size * space[q[1]].size * space[q[2]].size * space[q[3]].size));
  source.read_v2(q[0], q[1], q[2], q[3], block);
  return block;
}

/// Runs of orbitals that TCE divides separately. A tile table does not show the boundary between neighbouring runs. For
/// ROHF in `2eorb` storage (`split`) the boundary follows from the numbers of alpha and beta orbitals.
std::vector<OrbitalRange> ranges_of(const TileSpace& space, bool split) {
  if (!split) return space.ranges();
  std::vector<OrbitalRange> ranges;
  for (const OrbitalClass c : orbital_classes) {
    for (int irrep = 0; irrep < 8; ++irrep) {
      const std::int64_t closed = space.range(OrbitalClass::hole_beta, irrep).size;
      const std::int64_t open = space.range(OrbitalClass::hole_alpha, irrep).size - closed;
      const std::int64_t empty = space.range(OrbitalClass::particle_alpha, irrep).size;
      std::vector<std::int64_t> parts = {c == OrbitalClass::hole_beta ? closed : empty};
      if (c == OrbitalClass::hole_alpha) parts = {closed, open};
      if (c == OrbitalClass::particle_beta) parts = {open, empty};
      for (const std::int64_t size : parts) {
        if (size > 0) ranges.push_back({c, irrep, size});
      }
    }
  }
  return ranges;
}

class NwchemDump : public ::testing::TestWithParam<std::string> {};

TEST_P(NwchemDump, AgreesWithTheOutput) {
  const std::string dump = GetParam();
  const auto source = open_dump_of(dump);
  const SourceInfo& info = source->info();
  EXPECT_EQ(to_string(info.reference), *expected_text(dump, {"reference"}));
  EXPECT_NE(info.format.find(*expected_text(dump, {"storage"})), std::string::npos) << info.format;
  ASSERT_TRUE(info.correlation_energy);
  EXPECT_EQ(*info.correlation_energy, expected_number(dump, {"printed", "E_CCSD_corr"}));
  EXPECT_EQ(info.printed_triples.has_value(), dump.find("ccsd_only") == std::string::npos);
  if (info.printed_triples) {
    EXPECT_EQ(info.printed_triples->first, expected_number(dump, {"printed", "E_[T]"}));
    EXPECT_EQ(info.printed_triples->second, expected_number(dump, {"printed", "E_(T)"}));
  }
  const std::array<const char*, 4> names = {"occ_alpha", "occ_beta", "virt_alpha", "virt_beta"};
  const TileSpace& space = source->tiles();
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(space.last(orbital_classes[c]) - space.first(orbital_classes[c]),
              expected_number(dump, {"tiles", names[c]}));
    EXPECT_EQ(static_cast<double>(space.orbitals(orbital_classes[c])), expected_number(dump, {"orbitals", names[c]}));
  }
  EXPECT_EQ(source->orbital_energies().size(), u(space.orbitals()));
}

TEST_P(NwchemDump, GivesTheCcsdEnergy) {
  const auto source = open_dump_of(GetParam());
  const ConsistencyReport report = check_consistency(*source, *source);
  ASSERT_TRUE(report.measured.ccsd_energy);
  EXPECT_NEAR(*report.measured.ccsd_energy, expected_number(GetParam(), {"printed", "E_CCSD_corr"}), 1e-13);
  EXPECT_LT(report.t2_antisymmetry, 1e-13);
  EXPECT_LT(report.t2_spin_symmetry, 1e-13);
  EXPECT_LT(report.v2_antisymmetry, 1e-13);
  EXPECT_LT(report.v2_spin_symmetry, 1e-11);
}

TEST_P(NwchemDump, HasTilesByThePartitionRule) {
  const auto source = open_dump_of(GetParam());
  const TileSpace& space = source->tiles();
  const bool split = source->info().reference == Reference::rohf && expected_text(GetParam(), {"storage"}) == "2eorb";
  const auto size = static_cast<std::int64_t>(expected_number(GetParam(), {"tile_size"}));
  EXPECT_EQ(TileSpace::partition(ranges_of(space, split), size, size, space.restricted()), space);
}

TEST_P(NwchemDump, HasTheSameOrbitalEnergiesFromAllFiles) {
  const DumpCopy copy(GetParam());
  const auto first = copy.open();
  const auto origin = [](const TileSource& source) {
    for (const auto& [key, value] : source.info().provenance) {
      if (key == "orbital energies") return value;
    }
    return std::string();
  };
  copy.drop_lines("irep=");
  const auto second = copy.open();
  EXPECT_TRUE(origin(*second).ends_with("c.movecs")) << origin(*second);
  // The list in the output has 17 digits. Degenerate orbitals of different irreps may be exchanged.
  EXPECT_LT(largest_difference(first->orbital_energies(), second->orbital_energies()), 1e-13);
  copy.remove("movecs");
  const auto third = copy.open();
  EXPECT_TRUE(origin(*third).starts_with("Fock matrix")) << origin(*third);
  EXPECT_LT(largest_difference(first->orbital_energies(), third->orbital_energies()), 1e-9);
}

TEST_P(NwchemDump, IsReadByManyThreads) {
  const auto source = open_dump_of(GetParam());
  const BlockIndex index = v2_blocks(source->tiles());
  std::vector<double> sums(3);
  std::vector<std::thread> threads;
  for (double& sum : sums) {
    threads.emplace_back([&] {
      for (const Block& block : index.blocks()) {
        for (const double x : read_v2(*source, block.tiles)) sum += std::abs(x);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(sums[0], 0.0);
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

INSTANTIATE_TEST_SUITE_P(All, NwchemDump, ::testing::ValuesIn(good_dumps()),
                         [](const auto& dump) { return dump.param; });

class NwchemDumpWithoutSymmetry : public ::testing::TestWithParam<std::string> {};

TEST_P(NwchemDumpWithoutSymmetry, NeedsNoOutput) {
  const DumpCopy copy(GetParam());
  const auto with = copy.open();
  copy.remove("out");
  const auto without = copy.open();
  EXPECT_EQ(without->tiles(), with->tiles());
  EXPECT_EQ(without->info().reference, with->info().reference);
  EXPECT_EQ(without->info().format, with->info().format);
  EXPECT_FALSE(without->info().correlation_energy);
  EXPECT_LT(largest_difference(with->orbital_energies(), without->orbital_energies()), 1e-13);
  const ConsistencyReport report = check_consistency(*without, *without);
  EXPECT_NEAR(*report.measured.ccsd_energy, expected_number(GetParam(), {"printed", "E_CCSD_corr"}), 1e-13);
}

INSTANTIATE_TEST_SUITE_P(All, NwchemDumpWithoutSymmetry, ::testing::ValuesIn(good_dumps("_c1_")),
                         [](const auto& dump) { return dump.param; });

class NwchemSpatialDump : public ::testing::TestWithParam<std::string> {};

// Compares the antisymmetrised blocks with (ij|kl) of the whole file, expanded element by element.
TEST_P(NwchemSpatialDump, GivesAntisymmetrisedIntegrals) {
  const auto source = open_dump_of(GetParam());
  const TileSpace& space = source->tiles();
  const SpatialTiles spatial = spatial_tiles(space);
  std::vector<std::int64_t> first;
  std::int64_t n = 0;
  for (const int t : spatial.alpha_tile) {
    first.push_back(n);
    n += space[t].size;
  }
  std::vector<double> file;
  for (int k = 0;; ++k) {
    const fs::path path = nwchem_data() / GetParam() / ("c.v2int.00000" + std::to_string(k));
    if (!fs::exists(path)) break;
    const std::string raw = read_text(path);
    const std::size_t start = file.size();
    file.resize(start + (raw.size() - 16) / 8);
    std::memcpy(file.data() + start, raw.data() + 16, raw.size() - 16);
  }
  std::vector<double> eri(u(n * n * n * n));
  const auto at = [&](std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) -> double& {
    return eri[u(((p * n + q) * n + r) * n + s)];
  };
  const BlockIndex stored = v2_spatial_blocks(space, spatial);
  ASSERT_EQ(stored.doubles(), static_cast<std::int64_t>(file.size()));
  for (const Block& block : stored.blocks()) {
    const auto [tj, ti, tl, tk] = block.tiles;
    const auto size = [&](int s) { return space[spatial.alpha_tile[u(s)]].size; };
    const double* value = file.data() + block.offset;
    for (std::int64_t l = 0; l < size(tl); ++l) {
      for (std::int64_t k = 0; k < size(tk); ++k) {
        for (std::int64_t j = 0; j < size(tj); ++j) {
          for (std::int64_t i = 0; i < size(ti); ++i, ++value) {
            const std::array<std::int64_t, 4> x = {first[u(ti)] + i, first[u(tj)] + j, first[u(tk)] + k,
                                                   first[u(tl)] + l};
            at(x[0], x[1], x[2], x[3]) = at(x[1], x[0], x[2], x[3]) = at(x[0], x[1], x[3], x[2]) =
                at(x[1], x[0], x[3], x[2]) = *value;
            at(x[2], x[3], x[0], x[1]) = at(x[3], x[2], x[0], x[1]) = at(x[2], x[3], x[1], x[0]) =
                at(x[3], x[2], x[1], x[0]) = *value;
          }
        }
      }
    }
  }
  double worst = 0.0;
  const BlockIndex wanted = v2_blocks(space);
  ASSERT_FALSE(wanted.blocks().empty());
  for (const Block& block : wanted.blocks()) {
    const std::vector<double> values = read_v2(*source, block.tiles);
    std::array<std::int64_t, 4> start{};
    for (std::size_t d = 0; d < 4; ++d) start[d] = first[u(spatial.spatial_tile[u(block.tiles[d])])];
    const auto [g3, g4, g1, g2] = block.tiles;
    const bool direct = space[g3].spin() == space[g1].spin() && space[g4].spin() == space[g2].spin();
    const bool exchange = space[g3].spin() == space[g2].spin() && space[g4].spin() == space[g1].spin();
    std::size_t position = 0;
    for (std::int64_t p = start[0]; p < start[0] + space[g3].size; ++p) {
      for (std::int64_t q = start[1]; q < start[1] + space[g4].size; ++q) {
        for (std::int64_t r = start[2]; r < start[2] + space[g1].size; ++r) {
          for (std::int64_t s = start[3]; s < start[3] + space[g2].size; ++s) {
            const double expected = (direct ? at(p, r, q, s) : 0.0) - (exchange ? at(p, s, q, r) : 0.0);
            worst = std::max(worst, std::abs(values[position++] - expected));
          }
        }
      }
    }
  }
  // Blocks with equal tiles are stored in full, and their halves differ by rounding.
  EXPECT_LT(worst, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All, NwchemSpatialDump, ::testing::ValuesIn(good_dumps("_2eorb")),
                         [](const auto& dump) { return dump.param; });

// Two runs of water with the same tiles but different storage. The sign of each orbital may differ.
TEST(NwchemStorage, MakesNoDifference) {
  const auto spin = open_dump_of("h2o_631g_c2v_rhf_t3_np3");
  const auto spatial = open_dump_of("h2o_631g_c2v_rhf_t3_2eorb");
  ASSERT_EQ(spin->tiles(), spatial->tiles());
  EXPECT_NE(spin->info().format, spatial->info().format);
  const BlockIndex index = v2_blocks(spin->tiles());
  ASSERT_FALSE(index.blocks().empty());
  double worst = 0.0;
  for (const Block& block : index.blocks()) {
    std::vector<double> a = read_v2(*spin, block.tiles);
    std::vector<double> b = read_v2(*spatial, block.tiles);
    for (std::size_t k = 0; k < a.size(); ++k) worst = std::max(worst, std::abs(std::abs(a[k]) - std::abs(b[k])));
  }
  EXPECT_LT(worst, 1e-8);
}

// `save_t` and `writet` write the same numbers.
TEST(NwchemStorage, PlainFilesReplaceNumberedOnes) {
  const DumpCopy copy("ch2_631g_c1_uhf_t3");
  const auto numbered = copy.open();
  for (const char* name : {"t1amp", "t2amp", "f1int"}) copy.remove(name);
  const auto plain = copy.open();
  EXPECT_EQ(check_consistency(*numbered, *numbered).measured.ccsd_energy,
            check_consistency(*plain, *plain).measured.ccsd_energy);
}

TEST(NwchemStorage, PrefixMayBeADirectory) {
  const DumpCopy copy("h2_631g_c1_rhf_t3_2eorb");
  NwchemLocation location;
  location.prefix = copy.folder().string();
  EXPECT_EQ(open_nwchem(location)->tiles(), copy.open()->tiles());
  location.prefix += "/";
  EXPECT_EQ(open_nwchem(location)->tiles(), copy.open()->tiles());
  fs::copy_file(copy.file("t1amp"), copy.folder() / "other.t1amp.000000");
  expect_refusal([&] { open_nwchem(location); }, {copy.folder().string(), "c, other"});
}

TEST(NwchemStorage, OutputMayHaveAnotherNameOrPlace) {
  const DumpCopy copy("h2o_631g_c2v_rhf_t10");
  const TileSpace tiles = copy.open()->tiles();
  fs::rename(copy.file("out"), copy.folder() / "run17.log");
  EXPECT_EQ(copy.open()->tiles(), tiles);
  write_text(copy.folder() / "slurm-4711.out", "job finished\n");
  EXPECT_EQ(copy.open()->tiles(), tiles);
  fs::copy_file(copy.folder() / "run17.log", copy.folder() / "run18.log");
  expect_refusal([&] { copy.open(); }, {"run17.log", "run18.log", "--nwchem-output"});
  NwchemLocation location;
  location.prefix = copy.prefix();
  location.output = (copy.folder() / "run18.log").string();
  EXPECT_EQ(open_nwchem(location)->tiles(), tiles);
}

TEST(NwchemStorage, LeftHandAmplitudesNeedNoIntegrals) {
  const DumpCopy copy("h2o_631g_c2v_rhf_t10");
  copy.remove("v2int");
  copy.remove("f1int");
  NwchemLocation location;
  location.prefix = copy.prefix();
  location.integrals_needed = false;
  const auto source = open_nwchem(location);
  EXPECT_FALSE(source->has_integrals());
  EXPECT_FALSE(source->has_fock());
}

TEST(NwchemStorage, RefusesBlocksThatDoNotExist) {
  const auto source = open_dump_of("h2o_631g_c2v_rhf_t10");
  std::vector<double> block(1);
  EXPECT_THROW(source->read_t1(0, 0, block), Error);
  EXPECT_THROW(source->read_t2(-1, 0, 0, 0, block), Error);
  EXPECT_THROW(source->read_v2(0, 0, 0, 99, block), Error);
  const int p = source->tiles().hole_tiles();
  block.resize(u(source->tiles()[p].size * source->tiles()[0].size) + 1);
  EXPECT_THROW(source->read_t1(p, 0, block), Error);
}

}
}
