#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/dump_writer.hpp"
#include "tce_tiles/open_source.hpp"
#include "tce_tiles/source_check.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/expected_energies.hpp"

/// Files that were damaged at random end in a finite energy or in a sentence: never in a crash, an endless loop, more
/// memory than the machine has, or an error of another kind.
///
/// TRIFUSE_FUZZ_ROUNDS=n tries n damaged copies of each dump instead of the usual number, TRIFUSE_FUZZ_FIRST=n begins
/// with copy n, which repeats a failure, and TRIFUSE_FUZZ_KEEP=FOLDER keeps the copies that failed.
namespace trifuse {
namespace {

using namespace trifuse::testing;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// How a damaged dump ended; the values are exit codes of the process that tried it, and none that sanitizers use.
enum Ending : int { computed = 70, refused, not_finite, no_memory, no_sentence, strange_error };

Ending try_dump(const std::string& path, std::string& message) {
  try {
    NwchemLocation location;
    location.prefix = path;
    const auto source = open_source(location);
    verify_source(*source, *source);
    CalculationOptions options = options_for();
    options.omega2 = {0.0, 0.1};
    const auto numbers = numbers_of(calculate(*source, options));
    const bool finite = std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
    return finite ? computed : not_finite;
  } catch (const Error& error) {
    message = error.what();
    return message.empty() || message.find('\n') != std::string::npos ? no_sentence : refused;
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (const std::exception& error) {
    message = error.what();
    return strange_error;
  }
}

/// Tries a dump in a process of its own, which may not take long or much memory.
int status_of_trying(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr rlim_t seconds = 20, bytes = rlim_t{4} << 30;
    const rlimit time{seconds, seconds}, memory{bytes, bytes};
    setrlimit(RLIMIT_CPU, &time);
#if !defined(__SANITIZE_ADDRESS__)
    setrlimit(RLIMIT_AS, &memory);
#endif
    static_cast<void>(memory);
    std::string message;
    const Ending ending = try_dump(path, message);
    if (ending > refused) std::fprintf(stderr, "%s\n", message.c_str());
    _exit(ending);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("no process could be made");
  return status;
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) return "it was ended by signal " + std::to_string(WTERMSIG(status));
  switch (WEXITSTATUS(status)) {
    case computed:
    case refused:
      return "";
    case not_finite:
      return "its energy is not finite";
    case no_memory:
      return "it asked for too much memory";
    case no_sentence:
      return "its error is not one sentence";
    case strange_error:
      return "its error is of another kind";
    default:
      return "a sanitizer complained, or something ended the process";
  }
}

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
  static Files dump_of(const std::string& nwchem_case, WriteOptions::Layout layout) {
    const TemporaryFolder folder;
    WriteOptions options;
    options.layout = layout;
    write_dump(*open_dump_of(nwchem_case), (folder.path() / "dump.h5").string(), options);
    return files_in(folder.path());
  }

  /// Spoils one of the files, now and then two, or puts one in the place of another.
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

  /// `path` is what a user would name, relative to the folder of the files.
  void try_damaged_copies(const Files& sound, const std::string& path, std::uint64_t usual_rounds) {
    const std::uint64_t first = number_from_environment("TRIFUSE_FUZZ_FIRST", 1);
    const std::uint64_t rounds = number_from_environment("TRIFUSE_FUZZ_ROUNDS", usual_rounds);
    ASSERT_EQ(WEXITSTATUS(status_of(sound, path)), computed) << "the dump must be sound to begin with";
    std::uint64_t refusals = 0;
    for (std::uint64_t round = first; round < first + rounds; ++round) {
      Files files = sound;
      Mutation mutation(round * 0x9e3779b97f4a7c15u);
      const std::string what = spoil(files, mutation);
      const int status = status_of(files, path);
      EXPECT_EQ(describe(status), "") << "copy " << round << ", " << what;
      if (!describe(status).empty()) keep(files, round);
      refusals += WEXITSTATUS(status) == refused ? 1 : 0;
    }
    EXPECT_GE(refusals, rounds / 4) << "much damage should be noticed";
  }

 private:
  static void write(const Files& files, const fs::path& folder) {
    fs::create_directories(folder);
    for (const auto& [name, content] : files) write_text(folder / name, content);
  }
  static int status_of(const Files& files, const std::string& path) {
    const TemporaryFolder folder;
    write(files, folder.path());
    return status_of_trying((folder.path() / path).string());
  }
  static void keep(const Files& files, std::uint64_t round) {
    const char* folder = std::getenv("TRIFUSE_FUZZ_KEEP");
    if (folder != nullptr) write(files, fs::path(folder) / std::to_string(round));
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

TEST_F(DamagedDumps, InHdf5EndInAnEnergyOrASentence) {
  using enum WriteOptions::Layout;
  try_damaged_copies(dump_of("h2o_sto3g_c2v_rhf_ccsd_only_t3", contiguous), "dump.h5", usual_rounds);
  try_damaged_copies(dump_of("h2o_sto3g_c2v_rhf_ccsd_only_t3", compressed), "dump.h5", usual_rounds);
  try_damaged_copies(dump_of("ch2_sto3g_c2v_uhf_t1_nodiis", automatic), "dump.h5", usual_rounds);
}

}  // namespace
}  // namespace trifuse
