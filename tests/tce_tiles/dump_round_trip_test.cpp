#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

namespace trifuse::testing {
namespace {

struct Case {
  std::string name;
  OrbitalSet orbitals;
};

std::vector<Case> cases() {
  return {
      {"rhf", closed_shell({0, 0, 0}, {0, 0, 0, 0})},
      {"rhf_irreps", closed_shell({0, 0, 1, 3}, {0, 1, 1, 2, 3})},
      {"rhf_smallest", closed_shell({0}, {0})},
      {"rhf_one_irrep_not_0", closed_shell({2, 2}, {2, 2, 2})},
      {"uhf", {Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0, 0}}}}},
      {"uhf_irreps", {Reference::uhf, {{{0, 1, 1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}}}},
      {"rohf_irreps", {Reference::rohf, {{{0, 0, 2, 3}, {0, 0}, {0, 1, 2}, {0, 1, 2, 2, 3}}}}},
      {"uhf_no_beta_holes", {Reference::uhf, {{{0, 0}, {}, {0, 0, 0}, {0, 0, 0, 0, 0}}}}},
      {"uhf_no_beta", {Reference::uhf, {{{0, 0}, {}, {0, 0, 0}, {}}}}},
      {"uhf_no_alpha_particles", {Reference::uhf, {{{0, 0, 0}, {0}, {}, {0, 0}}}}},
      {"uhf_one_orbital_each", {Reference::uhf, {{{0}, {0}, {0}, {0}}}}},
  };
}

class DumpRoundTrip : public DumpTest, public ::testing::WithParamInterface<Case> {};

TEST_P(DumpRoundTrip, PlainArraysGiveEveryBlock) {
  const DenseMolecule m(GetParam().orbitals, 1);
  raw_dump(m).write(file("plain.h5"));
  check_dense(file("plain.h5"));
  check_dense(file("plain.h5"), {.box_doubles = 1});
  for (const auto& [hole_tile, particle_tile] : {std::pair{1, 1}, {2, 3}, {40, 40}}) {
    const auto source = open_dump(file("plain.h5"), hole_tile, particle_tile);
    EXPECT_TRUE(source->has_integrals());
    EXPECT_FALSE(source->has_fock());
    expect_equal(*source, m);
  }
}

TEST_P(DumpRoundTrip, WrittenDumpGivesEveryBlock) {
  const DenseMolecule m(GetParam().orbitals, 2);
  const MemorySource memory = memory_source(m, 2, 2);
  using enum WriteOptions::Layout;
  for (const auto& [layout, box] : {std::pair{automatic, std::int64_t{1} << 20}, {contiguous, 1}, {compressed, 100}}) {
    write_dump(memory, file("written.h5"), {.overwrite = true, .layout = layout, .box_doubles = box});
    check_dense(file("written.h5"));
    check_dense(file("written.h5"), {.box_doubles = 30});
    for (const auto& [hole_tile, particle_tile] : {std::pair{1, 2}, {2, 1}, {3, 40}}) {
      const auto source = open_dump(file("written.h5"), hole_tile, particle_tile);
      EXPECT_TRUE(source->has_fock());
      expect_equal(*source, m);
      EXPECT_EQ(source->tiles(), memory.tiles().retiled(hole_tile, particle_tile));
    }
  }
}

TEST_P(DumpRoundTrip, ConvertsItselfWithoutChange) {
  const DenseMolecule m(GetParam().orbitals, 3);
  write_dump(memory_source(m, 2, 2), file("dump.h5"));
  // Reads and replaces the same file. The old file stays readable until the new file is complete.
  write_dump(*open_dump(file("dump.h5"), 1, 3), file("dump.h5"), {.overwrite = true});
  const auto source = open_dump(file("dump.h5"), 2, 2);
  expect_equal(*source, m);
  EXPECT_EQ(source->info().correlation_energy, -0.125);
  EXPECT_EQ(source->info().provenance, memory_source(m, 2, 2).info().provenance);
}

TEST_P(DumpRoundTrip, CopyInMemory) {
  const DenseMolecule m(GetParam().orbitals, 4);
  write_dump(memory_source(m, 2, 2, false), file("dump.h5"));
  const MemorySource copy = copy_of(*open_dump(file("dump.h5"), 2, 2));
  copy.check_complete();
  EXPECT_FALSE(copy.has_fock());
  expect_equal(copy, m);
}

INSTANTIATE_TEST_SUITE_P(References, DumpRoundTrip, ::testing::ValuesIn(cases()),
                         [](const auto& parameter) { return parameter.param.name; });

class DumpWriter : public DumpTest {
 protected:
  const DenseMolecule molecule_{closed_shell({0, 0, 1}, {0, 0, 1, 1}), 5};
  const MemorySource source_ = memory_source(molecule_, 2, 2);

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }
};

TEST_F(DumpWriter, KeepsWhatIsKnownAboutTheSource) {
  SourceInfo info = source_.info();
  info.format = "NWChem files (2eorb)";
  info.amplitudes = AmplitudeKind::regularized_ccsd;
  info.omega2 = 0.25;
  info.printed_triples = {-0.003, -0.004};
  info.provenance.emplace_back("files", "c.t1amp");
  MemorySource source(source_.tiles(), molecule_.energy, info, {.integrals = false, .fock = false});
  for (const Block& b : source.t1_index().blocks())
    source.set_t1(b.tiles[0], b.tiles[1], source_.t1(b.tiles[0], b.tiles[1]));
  for (const Block& b : source.t2_index().blocks()) {
    const auto& [p1, p2, h3, h4] = b.tiles;
    source.set_t2(p1, p2, h3, h4, source_.t2(p1, p2, h3, h4));
  }
  write_dump(source, file("left.h5"));
  const auto dump = open_dump(file("left.h5"), 3, 3);
  EXPECT_EQ(dump->info().amplitudes, AmplitudeKind::regularized_ccsd);
  EXPECT_EQ(dump->info().omega2, 0.25);
  EXPECT_EQ(dump->info().format, "Trifuse dump, version 1.2, sealed");
  EXPECT_EQ(
      dump->info().provenance.back(),
      (std::pair<std::string, std::string>("comment",
                                           "files: c.t1amp; printed E[T] -0.003000000000 and E(T) -0.004000000000; "
                                           "converted from NWChem files (2eorb)")));
  EXPECT_FALSE(dump->has_integrals());
  EXPECT_FALSE(dump->has_fock());
  expect_equal(*dump, molecule_);
  const auto& space = dump->tiles();
  const BlockIndex integrals = triples_v2_blocks(space);
  const Block& first = integrals.blocks().front();
  std::vector<double> block(static_cast<std::size_t>(first.size));
  const auto& g = first.tiles;
  EXPECT_NE(message<InputError>([&] { dump->read_v2(g[0], g[1], g[2], g[3], block); }).find("no integrals"),
            std::string::npos);
}

TEST_F(DumpWriter, RefusesToOverwrite) {
  write_dump(source_, file("dump.h5"));
  EXPECT_EQ(message<UsageError>([&] { write_dump(source_, file("dump.h5")); }),
            file("dump.h5") + ": this file exists already; give another name, or allow overwriting it (--overwrite).");
  EXPECT_NE(message<UsageError>([&] { write_dump(source_, directory_.string()); }).find("is a directory"),
            std::string::npos);
}

TEST_F(DumpWriter, SaysThatTheDirectoryIsAbsent) {
  const std::string text = message<SystemError>([&] { write_dump(source_, file("absent/dump.h5")); });
  EXPECT_NE(text.find("No such file or directory"), std::string::npos) << text;
}

TEST_F(DumpWriter, InterruptionLeavesNothing) {
  WriteOptions options;
  options.progress = [](double done) {
    if (done > 0.3) throw Interrupted("stopped");
  };
  EXPECT_THROW(write_dump(source_, file("dump.h5"), options), Interrupted);
  EXPECT_EQ(files(), 0U);
}

TEST_F(DumpWriter, ProgressEndsAtOne) {
  double last = 0.0;
  WriteOptions options;
  options.progress = [&](double done) {
    EXPECT_GT(done, last);
    last = done;
  };
  write_dump(source_, file("dump.h5"), options);
  EXPECT_DOUBLE_EQ(last, 1.0);
}

/// A limit on the file size stands for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &old_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(DumpWriter, OnFullDiskThrowsAndLeavesNoFile) {
  for (const auto layout : {WriteOptions::Layout::contiguous, WriteOptions::Layout::compressed}) {
    write_dump(source_, file("dump.h5"), {.layout = layout});
    const rlim_t needed = std::filesystem::file_size(file("dump.h5"));
    std::filesystem::remove(file("dump.h5"));
    for (const rlim_t bytes : {rlim_t{100}, needed / 3, needed / 2, needed - 1}) {
      const FileSizeLimit limit(bytes);
      const std::string text = message<SystemError>([&] { write_dump(source_, file("dump.h5"), {.layout = layout}); });
      EXPECT_NE(text.find("check the free space"), std::string::npos) << text;
      EXPECT_EQ(files(), 0U);
    }
  }
  write_dump(source_, file("dump.h5"));
  expect_equal(*open_dump(file("dump.h5"), 2, 2), molecule_);
}

TEST_F(DumpWriter, RefusesTooSmallDiskBeforeWriting) {
  SyntheticMolecule large;
  large.occupied_alpha = large.occupied_beta = 100;
  large.virtual_alpha = large.virtual_beta = 5000;
  large.hole_tile = large.particle_tile = 1000;
  const std::string text = message<SystemError>([&] { write_dump(*make_synthetic_source(large), file("dump.h5")); });
  EXPECT_NE(text.find("the dump needs 1.04e+05 GB"), std::string::npos) << text;
  EXPECT_EQ(files(), 0U);
}

TEST_F(DumpWriter, RefusesContradictoryReference) {
  SourceInfo info = source_.info();
  info.reference = Reference::uhf;
  const MemorySource source(source_.tiles(), molecule_.energy, info, {});
  EXPECT_NE(message<InputError>([&] { write_dump(source, file("dump.h5")); }).find("restricted"), std::string::npos);
}

TEST_F(DumpWriter, ReadersInThreads) {
  const DenseMolecule m({Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}}}, 6);
  raw_dump(m).write(file("dump.h5"));
  // A cache of one band makes the threads evict each other's bands all the time.
  const auto source = open_dump(file("dump.h5"), 1, 2, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { expect_equal(*source, m); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DumpWriter, OtherClassesOfIntegralsAreRefused) {
  write_dump(source_, file("dump.h5"));
  const auto dump = open_dump(file("dump.h5"), 3, 4);
  std::vector<double> block(81);
  EXPECT_NE(
      message<InputError>([&] { dump->read_v2(0, 0, 0, 0, block); }).find("the requested integrals are not in a dump"),
      std::string::npos);
  EXPECT_THROW(dump->read_t2(dump->tiles().hole_tiles(), dump->tiles().hole_tiles(), 0, 0, block), std::logic_error);
}

}
}
