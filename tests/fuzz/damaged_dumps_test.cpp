#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/trial.hpp"
#include "tests/support/expected_energies.hpp"

/// Files of NWChem that were damaged at random end in a finite energy or in a sentence: never in a crash, an endless
/// loop, more memory than the machine has, or an error of another kind.
///
/// TRIFUSE_FUZZ_ROUNDS=n tries n damaged copies of each dump instead of the usual number, TRIFUSE_FUZZ_FIRST=n begins
/// with copy n, which repeats a failure, and TRIFUSE_FUZZ_KEEP=FOLDER keeps the copies that failed.
namespace trifuse {
namespace {

using namespace trifuse::testing;

/// The files of a dump in memory, by name.
using Files = std::map<std::string, std::string>;

class DamagedDumps : public ::testing::Test {
 protected:
  static Files files_in(const fs::path& from) {
    Files files;
    for (const auto& entry : fs::directory_iterator(from)) {
      const std::string name = entry.path().filename().string();
      if (name != "c.nw") files[name] = read_text(entry.path());
    }
    return files;
  }
  /// Damages one of the files, sometimes two, or replaces a file by another one.
  static std::string spoil(Files& files, Mutation& mutation) {
    const auto pick = [&] {
      return std::next(files.begin(), static_cast<std::ptrdiff_t>(mutation.below(files.size())));
    };
    const auto file = pick(), other = pick();
    std::string what = file->first + ": ";
    if (file != other && mutation.one_in(12)) {
      std::swap(file->second, other->second);
      return what + "exchanged with " + other->first;
    }
    if (files.size() > 1 && mutation.one_in(20)) {
      files.erase(file);
      return what + "absent";
    }
    const int times = mutation.one_in(8) ? 2 : 1;
    for (int n = 0; n < times; ++n) {
      if (file->first.ends_with(".out")) {
        mutation.spoil_text(file->second);
      } else {
        mutation.spoil_binary(file->second);
      }
    }
    return what + mutation.description();
  }

  /// `path`: the path that a user would give, relative to the folder of the files.
  static void try_damaged_copies(const Files& sound, const std::string& path, std::uint64_t usual_rounds) {
    const std::uint64_t first = number_from_environment("TRIFUSE_FUZZ_FIRST", 1);
    const std::uint64_t rounds = number_from_environment("TRIFUSE_FUZZ_ROUNDS", usual_rounds);
    const auto damage = [&](std::uint64_t round, std::string& what) {
      Files files = sound;
      Mutation mutation(round * 0x9e3779b97f4a7c15u);
      what = spoil(files, mutation);
      return files;
    };
    std::string what;
    run_trials(
        1, [&](std::size_t) { return try_files(sound, path); },
        [&](std::size_t, const Trial& trial) {
          ASSERT_EQ(trial.ending, computed) << "the dump must be sound to begin with: " << trial.message();
        });
    std::uint64_t refusals = 0;
    run_trials(
        rounds, [&](std::size_t n) { return try_files(damage(first + n, what), path); },
        [&](std::size_t n, const Trial& trial) {
          refusals += trial.ending == refused ? 1 : 0;
          if (describe(trial).empty()) return;
          const Files files = damage(first + n, what);
          ADD_FAILURE() << "copy " << first + n << ", " << what << ": " << describe(trial);
          const char* folder = std::getenv("TRIFUSE_FUZZ_KEEP");
          if (folder != nullptr) write(files, fs::path(folder) / std::to_string(first + n));
        });
    EXPECT_GE(refusals, rounds / 4) << "much damage should be noticed";
  }

 private:
  static void write(const Files& files, const fs::path& folder) {
    fs::create_directories(folder);
    for (const auto& [name, content] : files) write_text(folder / name, content);
  }
  static Trial try_files(const Files& files, const std::string& path) {
    const TemporaryFolder folder;
    write(files, folder.path());
    return try_dump((folder.path() / path).string());
  }
};

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t usual_rounds = 40;
#else
constexpr std::uint64_t usual_rounds = 150;
#endif

TEST_F(DamagedDumps, OfNwchemEndInAnEnergyOrASentence) {
  for (const char* name : {"h2o_sto3g_c2v_rhf_ccsd_only_t3", "h3_631g_c1_rohf_t3_2eorb", "lih_sto3g_c1_rhf_t1_nodiis",
                           "h2o_sto3g_c2v_rhf_t3_io2_dgts_np3", "h2_631g_c1_rhf_t3_2eorb"}) {
    SCOPED_TRACE(name);
    try_damaged_copies(files_in(nwchem_data() / name), "c", usual_rounds);
  }
}

TEST_F(DamagedDumps, OfNwchemsRestartFilesEndInAnEnergyOrASentence) {
  const std::string name = "ch2_sto3g_c2v_uhf_t3_save_np3";
  SCOPED_TRACE(name);
  try_damaged_copies(files_in(nwchem_data() / name), "c", usual_rounds);
}

TEST_F(DamagedDumps, OfNwchemWithoutItsOutputEndInAnEnergyOrASentence) {
  for (const std::string name : {"li_631g_c1_uhf_t3", "h2o_631g_c1_rhf_t5_2eorb"}) {
    SCOPED_TRACE(name);
    Files files = files_in(nwchem_data() / name);
    files.erase("c.out");
    try_damaged_copies(files, "c", usual_rounds);
  }
}

}
}
