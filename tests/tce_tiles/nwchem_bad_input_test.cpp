#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <random>

#include "nwchem_test_data.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/nwchem_files/nwchem_movecs.hpp"
#include "tce_tiles/nwchem_files/nwchem_output.hpp"
#include "tce_tiles/nwchem_files/nwchem_source.hpp"
#include "tests/support/unprivileged.hpp"

/// Damaged files: each must be refused with one sentence that names the file.
namespace trifuse::testing {
namespace {

constexpr const char* water = "h2o_631g_c2v_rhf_t10";         // spin-orbital integrals, output with orbital energies
constexpr const char* radical = "ch2_631g_c1_uhf_t3";         // no symmetry, also with files of `save_t`
constexpr const char* processes = "h2o_631g_c2v_rhf_t3_np3";  // three files for each tensor

void expect_refused(const DumpCopy& copy, const std::vector<std::string>& parts) {
  expect_refusal(
      [&] {
        const auto source = copy.open();
        verify_source(*source, *source);
      },
      parts);
}

std::vector<std::byte> swapped_words(std::vector<std::byte> bytes, std::size_t begin) {
  for (std::size_t k = begin; k + 8 <= bytes.size(); k += 8)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(k), bytes.begin() + static_cast<std::ptrdiff_t>(k) + 8);
  return bytes;
}

class EachTensor : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EachTensor, ::testing::Values("f1int", "t1amp", "t2amp", "v2int"),
                         [](const auto& name) { return name.param; });

TEST_P(EachTensor, Absent) {
  const DumpCopy copy(water);
  copy.remove(GetParam());
  expect_refused(copy, {"c." + GetParam() + ".000000", "set tce:write"});
}

TEST_P(EachTensor, Empty) {
  const DumpCopy copy(water);
  copy.write(GetParam(), {});
  expect_refused(copy, {"c." + GetParam() + ".000000", "is empty"});
}

TEST_P(EachTensor, Truncated) {
  for (const std::size_t kept : {5, 15, 16, 20, 24}) {
    const DumpCopy copy(water);
    auto bytes = copy.bytes(GetParam());
    bytes.resize(kept);
    copy.write(GetParam(), bytes);
    expect_refused(copy, {"c." + GetParam() + ".000000", "truncated"});
  }
  const DumpCopy copy(water);
  auto bytes = copy.bytes(GetParam());
  bytes.pop_back();
  copy.write(GetParam(), bytes);
  expect_refused(copy, {"c." + GetParam() + ".000000", "truncated"});
}

TEST_P(EachTensor, TooLong) {
  const DumpCopy copy(water);
  auto bytes = copy.bytes(GetParam());
  bytes.resize(bytes.size() + 8);
  copy.write(GetParam(), bytes);
  expect_refused(copy, {"c." + GetParam() + ".000000", "too long"});
}

TEST_P(EachTensor, LongerWithItsHeader) {
  const DumpCopy copy(water);
  auto values = copy.doubles(GetParam());
  values.push_back(0.0);
  copy.write_doubles(GetParam(), values);
  expect_refused(copy, {"c." + GetParam() + ".000000", "wrong size"});
}

TEST_P(EachTensor, Directory) {
  const DumpCopy copy(water);
  const fs::path path = copy.file(GetParam());
  copy.remove(GetParam());
  fs::create_directory(path);
  expect_refused(copy, {"c." + GetParam() + ".000000", "is a directory"});
}

TEST_P(EachTensor, Pipe) {
  const DumpCopy copy(water);
  const fs::path path = copy.file(GetParam());
  copy.remove(GetParam());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_refused(copy, {"c." + GetParam() + ".000000", "not a regular file"});
}

TEST_P(EachTensor, Forbidden) {
  const DumpCopy copy(water);
  fs::permissions(copy.file(GetParam()), fs::perms::none);
  const Unprivileged as_anybody;
  expect_refused(copy, {"c." + GetParam() + ".000000", "not readable"});
}

TEST_P(EachTensor, OppositeByteOrder) {
  const DumpCopy copy(water);
  copy.write(GetParam(), swapped_words(copy.bytes(GetParam()), 0));
  expect_refused(copy, {"c." + GetParam() + ".000000", "opposite byte order"});
  // Swap only the bytes of the numbers, not of the header.
  const DumpCopy other(water);
  other.write(GetParam(), swapped_words(other.bytes(GetParam()), 16));
  expect_refused(other, {"c." + GetParam() + ".000000", "opposite byte order"});
}

TEST_P(EachTensor, Garbage) {
  const DumpCopy copy(water);
  std::mt19937 random(1);
  std::vector<std::byte> bytes(copy.bytes(GetParam()).size());
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  copy.write(GetParam(), bytes);
  expect_refused(copy, {"c." + GetParam() + ".000000"});
}

TEST_P(EachTensor, HugeHeader) {
  for (const std::int64_t count : {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 60, std::int64_t{-1}}) {
    const DumpCopy copy(water);
    auto bytes = copy.bytes(GetParam());
    std::memcpy(bytes.data() + 8, &count, 8);
    copy.write(GetParam(), bytes);
    expect_refused(copy, {"c." + GetParam() + ".000000"});
  }
  const DumpCopy copy(water);
  auto bytes = copy.bytes(GetParam());
  const std::int64_t files = 1'000'000;
  std::memcpy(bytes.data(), &files, 8);
  copy.write(GetParam(), bytes);
  expect_refused(copy, {"c." + GetParam() + ".000001", "is missing"});
}

TEST_P(EachTensor, NotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    const DumpCopy copy(water);
    auto values = copy.doubles(GetParam());
    // The element must be one that the triples read. The first element of F1 is an orbital energy. The end of V2 has
    // only virtual orbitals, which triples do not read, so all of V2 changes.
    values[GetParam() == "t2amp" ? values.size() - 1 : 0] = bad;
    if (GetParam() == "v2int") std::fill(values.begin(), values.end(), bad);
    copy.write_doubles(GetParam(), values);
    expect_refused(copy, {"c." + GetParam() + ".000000", "not finite", "block ("});
  }
}

TEST_P(EachTensor, OneOfSeveralFiles) {
  const DumpCopy copy(processes);
  fs::remove(copy.folder() / ("c." + GetParam() + ".000002"));
  expect_refused(copy, {"c." + GetParam() + ".000002", "is missing"});
  const DumpCopy first(processes);
  fs::remove(first.folder() / ("c." + GetParam() + ".000000"));
  expect_refused(first, {"c." + GetParam() + ".000000"});
  // The last file of a run with another number of processes.
  const DumpCopy mixed(processes);
  fs::remove(mixed.folder() / ("c." + GetParam() + ".000002"));
  fs::copy_file(nwchem_data() / water / ("c." + GetParam() + ".000000"),
                mixed.folder() / ("c." + GetParam() + ".000002"));
  expect_refused(mixed, {"c." + GetParam() + ".000002"});
}

TEST_P(EachTensor, OfAnotherCalculation) {
  const DumpCopy copy(water);
  fs::remove(copy.file(GetParam()));
  fs::copy_file(nwchem_data() / "h2o_631g_c2v_rhf_fc1_fv2_t3" / ("c." + GetParam() + ".000000"),
                copy.folder() / ("c." + GetParam() + ".000000"));
  expect_refused(copy, {"c." + GetParam() + ".000000", "wrong size"});
}

TEST(SpoiltDump, AmplitudesExchanged) {
  const DumpCopy copy(water);
  const fs::path t1 = copy.file("t1amp");
  const fs::path t2 = copy.file("t2amp");
  fs::rename(t1, copy.folder() / "x");
  fs::rename(t2, t1);
  fs::rename(copy.folder() / "x", t2);
  expect_refused(copy, {t1.string(), t2.string(), "exchanged"});
}

TEST(SpoiltDump, HeaderlessFiles) {
  for (const char* name : {"t1_copy", "t2_copy", "f1_copy"}) {
    const DumpCopy whole(radical);
    for (const char* numbered : {"t1amp", "t2amp", "f1int"}) whole.remove(numbered);
    const auto bytes = whole.bytes(name);
    const std::string file = whole.file(name).string();
    whole.write(name, swapped_words(bytes, 0));
    expect_refused(whole, {file, "opposite byte order"});
    whole.write(name, {});
    expect_refused(whole, {file, "is empty"});
    whole.write(name, {bytes.begin(), bytes.end() - 3});
    expect_refused(whole, {file, "truncated"});
    whole.write(name, {bytes.begin(), bytes.end() - 8});
    expect_refused(whole, {file, "wrong size"});
  }
}

TEST(SpoiltDump, T1OfAnotherRunShowsInTheEnergy) {
  const DumpCopy copy(water);
  auto values = copy.doubles("t1amp");
  for (double& t : values) t *= 1.001;
  copy.write_doubles("t1amp", values);
  expect_refused(copy, {"CCSD correlation energy", "-0.135397", "do not belong together"});
}

TEST(SpoiltDump, NothingThere) {
  NwchemLocation location;
  location.prefix = "/nowhere/at/all/c";
  expect_refusal([&] { open_nwchem(location); }, {"/nowhere/at/all/c.t1amp.000000"});
  const TemporaryFolder empty;
  location.prefix = empty.path().string();
  expect_refusal([&] { open_nwchem(location); }, {empty.path().string(), "set tce:writet"});
}

TEST(SpoiltOutput, OfAnotherCalculation) {
  const DumpCopy copy(water);
  write_text(copy.file("out"), read_text(nwchem_data() / radical / "c.out"));
  expect_refused(copy, {"c.out", "another calculation", "--nwchem-output"});
}

// The same molecule at another geometry: all sizes are equal, but the orbital energies differ.
TEST(SpoiltOutput, OfAnotherGeometry) {
  const DumpCopy copy(water);
  std::string text = read_text(copy.file("out"));
  const std::size_t line = text.find("eval=");
  text[text.find('5', line)] = '6';
  write_text(copy.file("out"), text);
  expect_refused(copy, {"c.out", "c.f1int.000000", "orbital energies"});
}

TEST(SpoiltOutput, Garbage) {
  NwchemLocation location;
  const DumpCopy copy(water);
  location.prefix = copy.prefix();
  location.output = copy.file("v2int").string();
  expect_refusal([&] { open_nwchem(location); }, {"c.v2int.000000", "not an NWChem output"});
  location.output = copy.folder().string();
  expect_refusal([&] { open_nwchem(location); }, {copy.folder().string(), "directory"});
  location.output = "/nowhere.out";
  expect_refusal([&] { open_nwchem(location); }, {"/nowhere.out", "does not exist"});
}

TEST(SpoiltOutput, CutOffInTheTable) {
  const DumpCopy copy(water);
  std::string text = read_text(copy.file("out"));
  text.resize(text.find("alpha     b"));
  write_text(copy.file("out"), text);
  expect_refused(copy, {"c.out", "--nwchem-output"});
}

TEST(SpoiltOutput, SymmetryWithoutOutput) {
  const DumpCopy copy(water);
  copy.remove("out");
  expect_refused(copy, {"c.movecs", "--nwchem-output"});
  copy.remove("movecs");
  expect_refused(copy, {"c.movecs", "--nwchem-output", "--nwchem-movecs"});
}

class UnsuitableRun : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(UnsuitableRun, IsRefused) {
  const std::string dump = GetParam().first;
  const std::string reason = GetParam().second;
  const std::string prefix = (nwchem_data() / dump / "c").string();
  expect_refusal([&] { open_dump_of(dump); }, {prefix, reason});
}
INSTANTIATE_TEST_SUITE_P(All, UnsuitableRun,
                         ::testing::Values(std::pair("bad_ch2_321g_c2v_uhf_t3_lindep", "symmetry c1"),
                                           std::pair("bad_h2o_sto3g_c2v_rhf_t3_2eorb_2emet1", "2emet 13"),
                                           std::pair("bad_h2o_sto3g_c2v_rhf_t3_notconverged", "did not converge"),
                                           std::pair("bad_h2o_sto3g_c2v_rhf_t3_printlow", "print low"),
                                           std::pair("bad_h2o_sto3g_c2v_rks_t3", "Kohn-Sham")),
                         [](const auto& run) { return std::string(run.param.first); });

/// A dump whose orbital energies come from the movecs file.
class SpoiltMovecs : public ::testing::Test {
 protected:
  SpoiltMovecs() : copy_("h2o_631g_c2v_rhf_t3_np3") {}
  void replace(const std::string& dump) {
    copy_.remove("movecs");
    fs::copy_file(nwchem_data() / dump / "c.movecs", copy_.folder() / "c.movecs");
  }
  DumpCopy copy_;
};

TEST_F(SpoiltMovecs, OfAnotherMolecule) {
  replace("ch2_631g_c2v_rohf_t3");
  expect_refused(copy_, {"c.movecs", "--nwchem-movecs"});
}

TEST_F(SpoiltMovecs, OfAnotherGeometry) {
  auto bytes = copy_.bytes("movecs");
  const NwchemMovecs movecs = read_nwchem_movecs(copy_.file("movecs").string());
  // Replace one eigenvalue in place.
  const double old = movecs.energies[0][6];
  for (std::size_t k = 0; k + 8 <= bytes.size(); ++k) {
    if (std::memcmp(bytes.data() + k, &old, 8) != 0) continue;
    const double changed = old + 1e-3;
    std::memcpy(bytes.data() + k, &changed, 8);
  }
  copy_.write("movecs", bytes);
  expect_refused(copy_, {"c.movecs", "0.001", "--nwchem-movecs"});
}

TEST_F(SpoiltMovecs, Damaged) {
  const auto bytes = copy_.bytes("movecs");
  for (const std::size_t kept :
       {std::size_t{0}, std::size_t{3}, std::size_t{100}, std::size_t{320}, bytes.size() / 2}) {
    copy_.write("movecs", {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kept)});
    expect_refused(copy_, {"c.movecs", "--nwchem-movecs"});
  }
  auto swapped = bytes;
  std::reverse(swapped.begin(), swapped.begin() + 4);
  copy_.write("movecs", swapped);
  expect_refused(copy_, {"c.movecs", "opposite byte order"});
}

TEST_F(SpoiltMovecs, IsNotReadIfTheOutputHasTheEnergies) {
  const DumpCopy copy(water);
  copy.write("movecs", {});
  EXPECT_NO_THROW(copy.open());
  // It is read if the caller names it.
  NwchemLocation location;
  location.prefix = copy.prefix();
  location.movecs = copy.file("movecs").string();
  expect_refusal([&] { open_nwchem(location); }, {"c.movecs", "is empty"});
}

// With any changed bytes the files are either read or refused with InputError.
TEST(SpoiltBytes, AreReadOrRefused) {
  std::mt19937 random(2024);
  const auto spoil = [&](std::string bytes) {
    for (int k = 0; k < 1 + static_cast<int>(random() % 30); ++k) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = "0123456789 -*\n"[random() % 14];
          break;
        case 2:
          bytes.erase(at, 1 + random() % 40);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 200));
          break;
      }
      if (bytes.empty()) bytes = " ";
    }
    return bytes;
  };
  for (const std::string dump : {water, radical}) {
    const DumpCopy copy(dump);
    // Only the TCE part of the output, so that most changes affect something that is read.
    const std::string output = read_text(copy.file("out"));
    const std::string movecs = read_text(copy.file("movecs"));
    const std::string t1 = read_text(copy.file("t1amp"));
    const auto attempt = [&] {
      try {
        const auto source = copy.open();
        verify_source(*source, *source);
      } catch (const InputError&) {
      }
    };
    for (int k = 0; k < 300; ++k) {
      const std::string text = spoil(output.substr(output.find("General Information")));
      write_text(copy.file("out"), "NWChem Extensible Many-Electron Theory Module\n" + text);
      attempt();
    }
    copy.drop_lines("eval=");
    for (int k = 0; k < 300; ++k) {
      write_text(copy.file("movecs"), spoil(movecs.substr(0, 600)) + movecs.substr(600));
      attempt();
    }
    copy.remove("out");
    for (int k = 0; k < 100; ++k) {
      write_text(copy.file("movecs"), spoil(movecs.substr(0, 600)) + movecs.substr(600));
      write_text(copy.file("t1amp"), spoil(t1));
      attempt();
    }
  }
}

}
}
