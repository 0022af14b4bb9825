#include "tce_tiles/tiles/watched_source.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "cxx/base/error.hpp"
#include "tce_tiles/sources/open_source.hpp"
#include "tests/support/refusals.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

DenseMolecule molecule() {
  return DenseMolecule(closed_shell({0, 1, 1}, {0, 0, 1, 2}), 2);
}

std::unique_ptr<MemorySource> blocks(const DenseMolecule& m) {
  return std::make_unique<MemorySource>(memory_source(m, 2, 2));
}

/// Reads the blocks of V2 from the fraction `begin` to the fraction `end` of their list.
void read_v2(const TileSource& source, double begin, double end) {
  const BlockIndex index = triples_v2_blocks(source.tiles());
  const auto count = static_cast<double>(index.blocks().size());
  std::vector<double> block;
  for (auto n = static_cast<std::size_t>(begin * count); n < static_cast<std::size_t>(end * count); ++n) {
    const Block& b = index.blocks()[n];
    block.resize(static_cast<std::size_t>(b.size));
    source.read_v2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3], block);
  }
}

TEST(WatchedSource, PassesEverythingOn) {
  const DenseMolecule m = molecule();
  const WatchedSource watched(blocks(m));
  expect_equal(watched, m);
  expect_equal(watched, m);
  EXPECT_TRUE(watched.concurrent_reads());
  EXPECT_EQ(watched.info().path, "random");
}

TEST(WatchedSource, RefusesNumbersThatChangedSinceTheFirstRead) {
  const DenseMolecule m = molecule();
  auto owned = blocks(m);
  MemorySource& changing = *owned;
  WatchedSource watched(std::move(owned));
  std::vector<double> block;
  // In each tensor, change one number by one bit, then restore it.
  const auto expect_noticed = [&](const char* part, const Block& b, auto read, auto set) {
    block.resize(static_cast<std::size_t>(b.size));
    read(block);
    const std::vector<double> sound = block;
    std::vector<double> other = sound;
    other.back() = std::nextafter(other.back(), 1e9);
    set(other);
    expect_failure<InputError>([&] { read(block); }, part);
    set(sound);
    EXPECT_NO_THROW(read(block));
  };
  const Block f = changing.fock_index().blocks().back(), t1 = changing.t1_index().blocks().back(),
              t2 = changing.t2_index().blocks().back(), v2 = changing.v2_index().blocks().back();
  expect_noticed(
      "random: the numbers of F1 block (", f, [&](auto& to) { watched.read_fock(f.tiles[0], f.tiles[1], to); },
      [&](const auto& from) { changing.set_fock(f.tiles[0], f.tiles[1], from); });
  expect_noticed(
      "T1 block (", t1, [&](auto& to) { watched.read_t1(t1.tiles[0], t1.tiles[1], to); },
      [&](const auto& from) { changing.set_t1(t1.tiles[0], t1.tiles[1], from); });
  expect_noticed(
      "T2 block (", t2, [&](auto& to) { watched.read_t2(t2.tiles[0], t2.tiles[1], t2.tiles[2], t2.tiles[3], to); },
      [&](const auto& from) { changing.set_t2(t2.tiles[0], t2.tiles[1], t2.tiles[2], t2.tiles[3], from); });
  expect_noticed(
      "V2 block (", v2, [&](auto& to) { watched.read_v2(v2.tiles[0], v2.tiles[1], v2.tiles[2], v2.tiles[3], to); },
      [&](const auto& from) { changing.set_v2(v2.tiles[0], v2.tiles[1], v2.tiles[2], v2.tiles[3], from); });

  // After a refusal the caller may correct the numbers and reset the hashes.
  const int p = t1.tiles[0], h = t1.tiles[1];
  block.assign(static_cast<std::size_t>(t1.size), 0.5);
  changing.set_t1(p, h, block);
  EXPECT_THROW(watched.read_t1(p, h, block), InputError);
  watched.reset_hashes();
  EXPECT_NO_THROW(watched.read_t1(p, h, block));
}

TEST(WatchedSource, HasADigestOfTheNumbersRead) {
  const DenseMolecule m = molecule();
  const WatchedSource one(blocks(m)), other(blocks(m));
  EXPECT_EQ(one.digest(), other.digest());
  read_v2(one, 0.0, 1.0);
  EXPECT_NE(one.digest(), other.digest());
  // Read in another order, by several threads, some blocks twice.
  std::thread thread([&] { read_v2(other, 0.5, 1.0); });
  read_v2(other, 0.3, 0.6);
  thread.join();
  EXPECT_NE(one.digest(), other.digest());
  read_v2(other, 0.0, 0.5);
  EXPECT_EQ(one.digest(), other.digest());

  const WatchedSource another(blocks(DenseMolecule(closed_shell({0, 1, 1}, {0, 0, 1, 2}), 3)));
  read_v2(another, 0.0, 1.0);
  EXPECT_NE(one.digest(), another.digest());
  EXPECT_FALSE(blocks(m)->digest().has_value());
}

TEST(WatchedSource, WatchesTheFilesOfNwchem) {
  DumpCopy copy("h2o_631g_c2v_rhf_t3_2eorb");
  NwchemLocation location;
  location.prefix = copy.prefix();
  const auto source = open_source(location);
  verify_source(*source, *source);
  const auto digest = source->digest();
  ASSERT_TRUE(digest);
  verify_source(*source, *source);
  EXPECT_EQ(source->digest(), digest);

  // A number of T1 changes in the file that is open.
  std::vector<double> t1 = copy.doubles("t1amp");
  t1.back() = std::nextafter(t1.back(), 1.0);
  std::fstream file(copy.file("t1amp"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(16);
  file.write(reinterpret_cast<const char*>(t1.data()), static_cast<std::streamsize>(8 * t1.size()));
  file.close();
  expect_failure<InputError>([&] { verify_source(*source, *source); }, "the numbers of T1 block (");
}

}
}
