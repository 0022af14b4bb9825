#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/trial.hpp"
#include "tests/support/expected_energies.hpp"

/// Randomly damaged HDF5 dumps of Trifuse and of h5py. They must end in the right energy or in one sentence, even if
/// the checksums of damaged metadata were renewed. They must never end in a crash, an endless loop, more memory than
/// the machine has, or an error of another kind.
///
/// TRIFUSE_FUZZ_ROUNDS=n tries n damaged copies of each dump instead of the usual number, TRIFUSE_FUZZ_FIRST=n begins
/// with copy n, which repeats a failure, and TRIFUSE_FUZZ_KEEP=FOLDER keeps the copies that failed. campaign.sh tries
/// more than ten thousand under the sanitizers.
namespace trifuse::testing {
namespace {

constexpr double energy_tolerance = 1e-8;

/// The dumps of data/ by name, and dumps that Trifuse writes from NWChem's files.
std::vector<std::string> dump_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(test_data().parent_path() / "fuzz" / "data")) {
    if (entry.path().extension() == ".h5") names.push_back(entry.path().stem().string());
  }
  for (const char* kind : {"contiguous", "compressed"}) {
    for (const char* reference : {"rhf", "rohf", "uhf"}) names.push_back(fmt::format("own_{}_{}", reference, kind));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string content_of(const std::string& name) {
  if (!name.starts_with("own_")) {
    return read_text(test_data().parent_path() / "fuzz" / "data" / (name + ".h5"));
  }
  const char* const source = name.find("_rhf") != std::string::npos    ? "h2o_sto3g_c2v_rhf_ccsd_only_t3"
                             : name.find("_rohf") != std::string::npos ? "h3_631g_c1_rohf_t3_2eorb"
                                                                       : "ch2_sto3g_c2v_uhf_t1_nodiis";
  const TemporaryFolder folder;
  WriteOptions options;
  options.layout = name.ends_with("compressed") ? WriteOptions::Layout::compressed : WriteOptions::Layout::contiguous;
  const std::string path = (folder.path() / "dump.h5").string();
  // In another process, because a process that has computed may not fork processes that compute.
  const pid_t child = fork();
  if (child == 0) {
    NwchemLocation location;
    location.prefix = (nwchem_data() / source / "c").string();
    write_dump(*open_source(location), path, options);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("no dump was written");
  return read_text(path);
}

/// The contents of the ranges of an undamaged file.
class Contents {
 public:
  explicit Contents(const std::string& path) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    hsize_t links = 0;
    H5Gget_num_objs(file, &links);
    for (hsize_t n = 0; n < links; ++n) {
      std::array<char, 100> name{};
      H5Gget_objname_by_idx(file, n, name.data(), name.size());
      if (H5Gget_objtype_by_idx(file, n) != H5G_DATASET) continue;
      const hid_t dataset = H5Dopen2(file, name.data(), H5P_DEFAULT);
      const hid_t space = H5Dget_space(dataset);
      const haddr_t at = H5Dget_offset(dataset);
      if (at != HADDR_UNDEF) ranges_.push_back({at, H5Dget_storage_size(dataset), name.data(), true});
      hsize_t chunks = 0;
      const hid_t creation = H5Dget_create_plist(dataset);
      if (H5Pget_layout(creation) == H5D_CHUNKED) H5Dget_num_chunks(dataset, space, &chunks);
      for (hsize_t c = 0; c < chunks; ++c) {
        std::array<hsize_t, 4> offset{};
        unsigned mask = 0;
        haddr_t address = 0;
        hsize_t size = 0;
        H5Dget_chunk_info(dataset, space, c, offset.data(), &mask, &address, &size);
        ranges_.push_back({address, size, name.data(), false});
      }
      H5Pclose(creation);
      H5Sclose(space);
      H5Dclose(dataset);
    }
    H5Fclose(file);
  }

  /// The kind of contents at the first difference of a damaged copy.
  std::string hit(const std::string& sound, const std::string& damaged) const {
    const auto [in_sound, in_damaged] = std::mismatch(
        sound.begin(), sound.begin() + std::ssize(std::string_view(sound).substr(0, damaged.size())), damaged.begin());
    static_cast<void>(in_damaged);
    const auto at = static_cast<std::uint64_t>(in_sound - sound.begin());
    for (const StoredRange& range : ranges_) {
      if (at < range.begin || at >= range.begin + range.bytes) continue;
      if (!range.plain) return fmt::format("a chunk of dataset '{}'", range.dataset);
      return fmt::format("number {} of dataset '{}'", (at - range.begin) / 8, range.dataset);
    }
    return fmt::format("byte {}, which belongs to no dataset", at);
  }

 private:
  struct StoredRange {
    std::uint64_t begin, bytes;
    std::string dataset;
    bool plain;
  };
  std::vector<StoredRange> ranges_;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t usual_rounds = 70;
#else
constexpr std::uint64_t usual_rounds = 150;
#endif

class DamagedHdf5 : public ::testing::TestWithParam<std::string> {
 protected:
  std::string path() const { return (folder_.path() / "dump.h5").string(); }
  TemporaryFolder folder_;
};

TEST_P(DamagedHdf5, EndsInTheRightEnergyOrASentence) {
  const std::uint64_t first = number_from_environment("TRIFUSE_FUZZ_FIRST", 1);
  const std::uint64_t rounds = number_from_environment("TRIFUSE_FUZZ_ROUNDS", usual_rounds);
  const std::string sound = content_of(GetParam());
  write_text(path(), sound);
  Trial right;
  run_trials(
      1, [&](std::size_t) { return try_dump(path()); }, [&](std::size_t, const Trial& trial) { right = trial; });
  ASSERT_EQ(right.ending, computed) << "the dump must be sound to begin with: " << describe(right) << right.message();
  if (!GetParam().starts_with("own_")) {
    static const auto energies = read_json(test_data().parent_path() / "fuzz" / "data" / "energies.json").at("E(T)");
    EXPECT_NEAR(right.energy[1], energies.at(GetParam()), 1e-10) << "PySCF's";
  }
  const Contents contents(path());
  const std::vector<CheckedBlock> blocks = checked_blocks(sound);
  const auto damage = [&](std::size_t n, std::string& what) {
    std::string content = sound;
    Mutation mutation((first + n) * 0x9e3779b97f4a7c15u);
    mutation.spoil_hdf5(content, blocks);
    what = mutation.description();
    return content;
  };
  std::map<Ending, std::uint64_t> endings;
  std::uint64_t wrong = 0;
  run_trials(
      rounds,
      [&](std::size_t n) {
        std::string what;
        write_text(path(), damage(n, what));
        return try_dump(path());
      },
      [&](std::size_t n, const Trial& trial) {
        ++endings[trial.ending];
        const double off =
            std::max(std::abs(trial.energy[0] - right.energy[0]), std::abs(trial.energy[1] - right.energy[1]));
        const bool energy_is_wrong = trial.ending == computed && !(off <= energy_tolerance);
        if (describe(trial).empty() && !energy_is_wrong) return;
        std::string what;
        const std::string content = damage(n, what);
        if (const char* folder = std::getenv("TRIFUSE_FUZZ_KEEP")) {
          fs::create_directories(folder);
          write_text(fs::path(folder) / fmt::format("{}_{}.h5", GetParam(), first + n), content);
        }
        if (energy_is_wrong) {
          ++wrong;
          fmt::print("copy {} of {}, {} in {}: the energy is off by {:.1e} Eh\n", first + n, GetParam(), what,
                     contents.hit(sound, content), off);
        } else {
          ADD_FAILURE() << "copy " << first + n << ", " << what << " in " << contents.hit(sound, content) << ": "
                        << describe(trial);
        }
      });
  fmt::print("{}: {} damaged copies, {} refused, {} with an energy, of which {} are off by more than {:g} Eh, {}\n",
             GetParam(), rounds, endings[refused], endings[computed], wrong, energy_tolerance,
             right.sealed ? "sealed" : "unsealed");
  // For dumps without a seal, the witnesses miss about one damage in a thousand. campaign.sh counts these over all
  // dumps.
  EXPECT_LE(wrong, right.sealed ? 0 : 1 + rounds / 500);
  if (rounds >= 20) {
    EXPECT_GE(endings[refused], rounds / 4) << "much damage should be noticed";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DamagedHdf5, ::testing::ValuesIn(dump_names()),
                         [](const auto& test) { return test.param; });

}
}
