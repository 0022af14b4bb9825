#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

/// The arrays that only dressed moments need: their names, and the check of those that a dump has.
namespace trifuse {
namespace {

using namespace testing;

/// Adds all these arrays, with numbers that have their symmetries.
RawDump with_moment_arrays(RawDump dump, const DenseMolecule& molecule) {
  const bool restricted = molecule.restricted();
  for (const ArraySpec& spec : moment_arrays(restricted)) {
    RawDump::Dataset& data = dump.datasets[spec.name];
    if (spec.matrices > 0) data.shape.push_back(spec.matrices);
    for (const OrbitalClass c : spec.axes) data.shape.push_back(static_cast<std::int64_t>(molecule.count(c)));
    std::int64_t size = 1;
    for (const std::int64_t extent : data.shape) size *= extent;
    const bool antisymmetric = spec.kind == ArrayKind::ladder && !restricted && spec.first == spec.second;
    data.values.assign(static_cast<std::size_t>(size), antisymmetric ? 0.0 : 0.25);
  }
  return dump;
}

RawDump restricted_dump() {
  const DenseMolecule molecule(closed_shell({0, 0}, {0, 0, 0}), 1);
  return with_moment_arrays(raw_dump(molecule), molecule);
}

RawDump unrestricted_dump() {
  const DenseMolecule molecule({Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}}}}, 2);
  return with_moment_arrays(raw_dump(molecule), molecule);
}

class MomentArrays : public DumpTest {
 protected:
  void expect_refused(const RawDump& dump, const std::string& part) {
    dump.write(file("dump.h5"));
    const std::string text = message<InputError>([&] { check_dense(file("dump.h5")); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(MomentArrays, Names) {
  const auto names = [](bool restricted) {
    std::vector<std::string> found;
    for (const ArraySpec& spec : moment_arrays(restricted)) found.push_back(spec.name);
    return found;
  };
  EXPECT_EQ(names(true), (std::vector<std::string>{"oooo", "kvvv", "ladder", "vvvv_diag", "vvvv_diag_semicanonical"}));
  EXPECT_EQ(names(false),
            (std::vector<std::string>{"oovv_aabb", "oovv_bbaa", "oooo_aaaa", "oooo_aabb", "oooo_bbbb", "kvvv_aaaa",
                                      "kvvv_aabb", "kvvv_bbaa", "kvvv_bbbb", "ladder_aa", "ladder_ab", "ladder_bb",
                                      "vvvv_diag_aa", "vvvv_diag_ab", "vvvv_diag_bb", "vvvv_diag_semicanonical_aa",
                                      "vvvv_diag_semicanonical_ab", "vvvv_diag_semicanonical_bb"}));
  const std::vector<std::string> all = array_names(false);
  for (const char* name : {"asym_oooo_aaaa", "asym_kvvv_bbbb", "ladder_ab", "vvvv_diag_ab"}) {
    EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << name;
  }
  for (const char* name : {"asym_ladder_aa", "asym_vvvv_diag_aa"}) {
    EXPECT_EQ(std::count(all.begin(), all.end(), name), 0) << name;
  }
}

TEST_F(MomentArrays, EachIsOptional) {
  for (const RawDump& dump : {restricted_dump(), unrestricted_dump()}) {
    dump.write(file("dump.h5"));
    EXPECT_NO_THROW(check_dense(file("dump.h5")));
    for (const ArraySpec& spec : moment_arrays(dump.datasets.contains("t2"))) {
      RawDump without = dump;
      without.datasets.erase(spec.name);
      without.write(file("dump.h5"));
      EXPECT_NO_THROW(check_dense(file("dump.h5"))) << spec.name;
    }
  }
}

TEST_F(MomentArrays, ShapesAndNumbersAreChecked) {
  for (const RawDump& good : {restricted_dump(), unrestricted_dump()}) {
    for (const ArraySpec& spec : moment_arrays(good.datasets.contains("t2"))) {
      RawDump dump = good;
      RawDump::Dataset& data = dump.datasets[spec.name];
      data.values.back() = std::numeric_limits<double>::quiet_NaN();
      expect_refused(dump, "'" + spec.name + "' holds a value that is not finite");
      data.values.back() = 2e6;
      expect_refused(dump, "'" + spec.name + "' is 2e+06, beyond any reasonable size");
      const auto plane = static_cast<std::size_t>(data.values.size()) / static_cast<std::size_t>(data.shape[0]);
      data.values.resize(data.values.size() + plane);
      ++data.shape[0];
      expect_refused(dump, "'" + spec.name + "' has shape [");
    }
  }
}

TEST_F(MomentArrays, SymmetriesAreChecked) {
  for (const RawDump& good : {restricted_dump(), unrestricted_dump()}) {
    for (const ArraySpec& spec : moment_arrays(good.datasets.contains("t2"))) {
      // Of different spins, these have no symmetry.
      const bool by_electrons = spec.kind == ArrayKind::ladder || are_diagonals(spec.kind);
      if (by_electrons && !good.datasets.contains("t2") && spec.first != spec.second) continue;
      RawDump dump = good;
      dump.datasets[spec.name].values[1] += 0.5;
      expect_refused(dump, are_diagonals(spec.kind) ? "'" + spec.name + "' is not symmetric, element ["
                                                    : "'" + spec.name + "' breaks its symmetry: element [");
    }
  }
}

TEST_F(MomentArrays, OtherOrbitalsHaveTheSameSums) {
  for (const RawDump& good : {restricted_dump(), unrestricted_dump()}) {
    for (const ArraySpec& spec : moment_arrays(good.datasets.contains("t2"))) {
      if (spec.kind != ArrayKind::vvvv_diag_semicanonical) continue;
      RawDump dump = good;
      dump.datasets[spec.name].values.front() += 1e-3;
      expect_refused(dump, "'" + spec.name + "' is of other integrals than 'vvvv_diag");
    }
  }
}

TEST_F(MomentArrays, CopiesOfADumpKeepThem) {
  for (const RawDump& dump : {restricted_dump(), unrestricted_dump()}) {
    dump.write(file("dump.h5"));
    write_dump(*open_dump(file("dump.h5"), 2, 2), file("copy.h5"), {.overwrite = true});
    const Hdf5File copy = Hdf5File::open(file("copy.h5"));
    for (const ArraySpec& spec : moment_arrays(dump.datasets.contains("t2"))) {
      const RawDump::Dataset& expected = dump.datasets.at(spec.name);
      const Hdf5Dataset found = copy.dataset(spec.name);
      EXPECT_TRUE(std::ranges::equal(found.shape(), expected.shape)) << spec.name;
      std::vector<double> values(expected.values.size());
      found.read(std::vector<std::int64_t>(expected.shape.size(), 0), expected.shape, values);
      EXPECT_EQ(values, expected.values) << spec.name;
    }
  }
}

TEST_F(MomentArrays, FactorsStandForAllOfThem) {
  RawDump dump = restricted_dump();
  for (const char* name : {"ovvv", "ovoo", "ovov", "oooo", "ladder", "vvvv_diag", "vvvv_diag_semicanonical"})
    dump.datasets.erase(name);
  dump.attributes["version"] = std::int64_t{2};
  dump.datasets["factors_oo"] = {{1, 2, 2}, std::vector<double>(4, 0.25)};
  dump.datasets["factors_ov"] = {{1, 2, 3}, std::vector<double>(6, 0.25)};
  dump.datasets["factors_vv"] = {{1, 3, 3}, std::vector<double>(9, 0.25)};
  expect_refused(dump, "there are factors and also the integrals 'kvvv'; write only one of them");
}

TEST_F(MomentArrays, OneFormOfAnArrayIsRead) {
  RawDump dump = unrestricted_dump();
  dump.datasets["asym_kvvv_aaaa"] = dump.datasets["kvvv_aaaa"];
  expect_refused(dump, "both 'kvvv_aaaa' and 'asym_kvvv_aaaa' are present; write only one of them");
  dump.datasets.erase("kvvv_aaaa");
  expect_refused(dump, "'asym_kvvv_aaaa' breaks its symmetry");
}

}
}
