#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/hdf5/hdf5_writer.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/support/unprivileged.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

namespace trifuse::testing {
namespace {

using Values = std::vector<double>;

/// Each test damages a valid dump. It expects one sentence that begins with the name of the file and ends with a full
/// stop.
class DumpValidation : public DumpTest {
 protected:
  void expect(const std::string& part, const std::function<void()>& action) {
    const std::string text = message<InputError>(action);
    EXPECT_TRUE(text.starts_with(path_ + ": ")) << text;
    EXPECT_TRUE(text.ends_with(".") && text.find('\n') == std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  void expect_open(const std::string& part) {
    expect(part, [&] { open_dump(path_, 2, 2); });
  }
  void expect_refused(const RawDump& dump, const std::string& part) {
    dump.write(path_);
    expect_open(part);
  }
  /// For a dump that opens without an error, but breaks a rule that only `check_dense` tests. Any number of processes
  /// and any box size must find the error. `single_mistake`: exactly one of three processes must find it.
  void expect_check(const RawDump& dump, const std::string& part, bool single_mistake = false) {
    dump.write(path_);
    for (const std::int64_t box : {1, 30, 1 << 20}) {
      expect(part, [&] { check_dense(path_, {.box_doubles = box}); });
      int noticed = 0;
      for (int k = 0; k < 3; ++k) {
        try {
          check_dense(path_, {.part = k, .parts = 3, .box_doubles = box});
        } catch (const InputError&) {
          ++noticed;
        }
      }
      EXPECT_GE(noticed, 1);
      if (single_mistake) {
        EXPECT_EQ(noticed, 1);
      }
    }
  }

  RawDump rhf() const { return raw_dump(DenseMolecule(closed_shell({0, 0}, {0, 0, 0}), 1)); }
  RawDump uhf() const {
    return raw_dump(DenseMolecule({Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}}}}, 2));
  }

  std::string path_;
  void SetUp() override {
    DumpTest::SetUp();
    path_ = file("dump.h5");
  }
};

TEST_F(DumpValidation, Files) {
  expect_open("this file does not exist");
  EXPECT_FALSE(is_hdf5(path_));

  std::ofstream(path_) << "c.out of NWChem, not a dump\n";
  expect_open("this is not an HDF5 file");
  EXPECT_FALSE(is_hdf5(path_));

  rhf().write(path_);
  EXPECT_TRUE(is_hdf5(path_));
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 100);
  EXPECT_TRUE(is_hdf5(path_));
  expect_open("the file is truncated");
  std::filesystem::resize_file(path_, 60);
  expect_open("the file is");

  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  expect_open("this is a directory");
}

TEST_F(DumpValidation, UnreadableFile) {
  rhf().write(path_);
  std::filesystem::permissions(path_, std::filesystem::perms::none);
  const Unprivileged as_anybody;
  expect_open("the file cannot be read (Permission denied)");
}

TEST_F(DumpValidation, FormatAndVersion) {
  RawDump dump = rhf();
  dump.attributes["format"] = std::string("another");
  expect_refused(dump, "attribute 'format' of the root group is 'another' instead of 'trifuse-dump'");
  dump.attributes.erase("format");
  expect_refused(dump, "attribute 'format' of the root group is absent");

  dump = rhf();
  dump.attributes["version"] = std::int64_t{3};
  expect_refused(dump,
                 "this dump was written by a newer program (dump version 3, known here up to 2); use a newer Trifuse");
  dump.attributes["version"] = std::int64_t{0};
  expect_refused(dump, "attribute 'version' of the root group is 0 instead of 1 or 2");
  dump.attributes["version"] = std::string("one");
  expect_refused(dump, "attribute 'version' holds strings, but an integer is needed");
  dump.attributes.erase("version");
  expect_refused(dump, "is absent instead of 1 or 2");
}

TEST_F(DumpValidation, OtherAttributes) {
  RawDump dump = rhf();
  dump.attributes["reference"] = std::string("GHF");
  expect_refused(dump, "attribute 'reference' is 'GHF', but it must be one of 'RHF', 'UHF', 'ROHF'.");
  dump.attributes["reference"] = 1.0;
  expect_refused(dump, "attribute 'reference' holds floating-point numbers, but a string is needed");
  dump.attributes.erase("reference");
  expect_refused(dump, "attribute 'reference' of the root group is missing");

  dump = rhf();
  dump.attributes["amplitudes"] = std::string("mp2");
  expect_refused(dump,
                 "attribute 'amplitudes' is 'mp2', but it must be one of 'ccsd', 'reg-ccsd', 'lambda', 'made-up'.");
  dump.attributes["amplitudes"] = std::string("reg-ccsd");
  expect_refused(dump, "'omega2' is missing");
  dump.attributes["omega2"] = -0.1;
  expect_refused(dump, "attribute 'omega2' is -0.1");
  dump.attributes["amplitudes"] = std::string("lambda");
  dump.attributes["omega2"] = 0.1;
  expect_refused(dump, "0 or absent unless 'amplitudes' is 'reg-ccsd'");

  dump = rhf();
  dump.attributes["correlation_energy"] = std::numeric_limits<double>::quiet_NaN();
  expect_refused(dump, "attribute 'correlation_energy' is not a finite number");
  dump.attributes["correlation_energy"] = std::string("-0.2");
  expect_refused(dump, "attribute 'correlation_energy' holds strings, but a number is needed");
}

TEST_F(DumpValidation, MissingDatasets) {
  for (const char* name : {"eps_occ", "eps_vir", "t1", "t2", "ovvv", "ovoo", "ovov"}) {
    RawDump dump = rhf();
    dump.datasets.erase(name);
    expect_refused(dump, std::string("dataset '") + name + "' is missing");
  }
  RawDump dump = uhf();
  dump.datasets.erase("ovvv_bbbb");
  expect_refused(dump, "dataset 'ovvv_bbbb' (or 'asym_ovvv_bbbb') is missing although 'ovvv_aaaa' is present");
  dump = uhf();
  dump.datasets["asym_ovoo_aaaa"] = dump.datasets["ovoo_aaaa"];
  expect_refused(dump, "both 'ovoo_aaaa' and 'asym_ovoo_aaaa' are present");
  dump = uhf();
  dump.datasets["fock_a"] = {{6, 6}, Values(36, 0.0)};
  expect_refused(dump, "only one of the datasets 'fock_a' and 'fock_b' is present");
  dump = uhf();
  dump.datasets.erase("irrep_occ_b");
  expect_refused(dump, "dataset 'irrep_occ_b' is missing although 'irrep_occ_a' is present");
}

TEST_F(DumpValidation, Shapes) {
  RawDump dump = rhf();
  dump.datasets["ovvv"] = {{2, 3, 3, 4}, Values(72, 0.0)};
  expect_refused(dump,
                 "dataset 'ovvv' has shape [2,3,3,4], but [o,v,v,v] with o = 2 from 'eps_occ', v = 3 from 'eps_vir' is "
                 "[2,3,3,3]");
  dump.datasets["ovvv"] = {{6, 9}, Values(54, 0.0)};
  expect_refused(dump, "dataset 'ovvv' has shape [6,9]");
  dump = rhf();
  dump.datasets["t1"] = {{3, 2}, Values(6, 0.0)};
  expect_refused(dump, "dataset 't1' has shape [3,2]");
  dump = rhf();
  dump.datasets["eps_occ"] = {{2, 1}, Values(2, 0.0)};
  expect_refused(dump, "dataset 'eps_occ' has shape [2,1], but it must be a vector of orbital energies");
  dump = rhf();
  dump.datasets["eps_vir"] = {{20001}, Values(20001, 0.0)};
  expect_refused(dump, "dataset 'eps_vir' holds 20001 numbers, but no more than 10000 orbitals are possible");
  dump = rhf();
  dump.datasets["eps_vir"] = {{0}, {}};
  expect_refused(dump, "there are no active virtual orbitals ('eps_vir' is empty)");
  dump = rhf();
  dump.datasets["eps_occ"] = {{0}, {}};
  expect_refused(dump, "there are no active occupied orbitals ('eps_occ' is empty)");
  dump = rhf();
  dump.datasets["fock"] = {{4, 4}, Values(16, 0.0)};
  expect_refused(dump, "dataset 'fock' has shape [4,4], but [o+v,o+v]");
  dump = uhf();
  dump.datasets["ovov_aabb"] = dump.datasets["ovov_aaaa"];
  expect_refused(dump,
                 "[oa,va,ob,vb] with oa = 3 from 'eps_occ_a', va = 3 from 'eps_vir_a', ob = 2 from 'eps_occ_b', vb = 4 "
                 "from 'eps_vir_b' is [3,3,2,4]");
}

TEST_F(DumpValidation, Irreps) {
  const auto with = [&](Values irreps, Hdf5Writer::Type type = Hdf5Writer::Type::integer) {
    RawDump dump = rhf();
    dump.datasets["irrep_vir"] = {{static_cast<std::int64_t>(irreps.size())}, irreps, type};
    return dump;
  };
  expect_refused(with({0, 1, 8}), "dataset 'irrep_vir' holds the irrep 8");
  expect_refused(with({-1, 1, 2}), "dataset 'irrep_vir' holds the irrep -1");
  expect_refused(with({0, 1, 0}), "the irreps in dataset 'irrep_vir' do not ascend");
  expect_refused(with({0, 1}), "dataset 'irrep_vir' has 2 entries, but 'eps_vir' has 3");
  expect_refused(with({0, 1, 1}, Hdf5Writer::Type::real),
                 "dataset 'irrep_vir' holds floating-point numbers; write irreps as integers");
}

TEST_F(DumpValidation, ValuesThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    RawDump dump = rhf();
    dump.datasets["eps_vir"].values[1] = bad;
    expect_refused(dump, "dataset 'eps_vir' holds a value that is not finite");
    for (const char* name : {"t1", "t2", "ovvv", "ovoo", "ovov"}) {
      dump = rhf();
      dump.datasets[name].values.back() = bad;
      expect_check(dump, std::string("dataset '") + name + "' holds a value that is not finite");
      expect(std::string("dataset '") + name + "'", [&] { copy_of(*open_dump(path_, 1, 1)); });
    }
    dump = rhf();
    dump.datasets["fock"] = {{5, 5}, Values(25, bad)};
    expect_refused(dump, "dataset 'fock' holds a value that is not finite");
  }
}

TEST_F(DumpValidation, TypesOfDatasets) {
  struct Pair {
    double re, im;
  };
  const auto replace_t1 = [&](hid_t type) {
    rhf().write(path_);
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, "t1", H5P_DEFAULT);
    const hsize_t shape[2] = {2, 3};
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    const hid_t dataset = H5Dcreate2(file, "t1", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const double values[6] = {0.5, -0.25, 0, 1, 2, 3};
    if (H5Tget_class(type) == H5T_FLOAT) H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
  };
  const hid_t complex = H5Tcreate(H5T_COMPOUND, sizeof(Pair));
  H5Tinsert(complex, "r", 0, H5T_NATIVE_DOUBLE);
  H5Tinsert(complex, "i", sizeof(double), H5T_NATIVE_DOUBLE);
  replace_t1(complex);
  H5Tclose(complex);
  expect_open("dataset 't1' holds compound values (complex numbers are stored so), but real numbers are needed");
  replace_t1(H5T_C_S1);
  expect_open("dataset 't1' holds strings, but real numbers are needed");

  // Other types of numbers are converted.
  for (const hid_t type : {H5T_IEEE_F32LE, H5T_IEEE_F64BE}) {
    replace_t1(type);
    std::vector<double> t1(6);
    const auto source = open_dump(path_, 2, 3);
    source->read_t1(source->tiles().first(OrbitalClass::particle_alpha), 0, t1);
    EXPECT_EQ(t1, (Values{0.5, 1, -0.25, 2, 0, 3}));
  }

  // A group is not a dataset.
  rhf().write(path_);
  const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "ovvv", H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "ovvv", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(file);
  expect_open("dataset 'ovvv' is a group or damaged");
}

TEST_F(DumpValidation, SymmetriesOfTheArrays) {
  const std::vector<std::pair<RawDump, std::vector<std::string>>> dumps = {
      {rhf(), {"t2", "ovvv", "ovoo", "ovov"}},
      {uhf(),
       {"t2_aa", "t2_bb", "ovvv_aaaa", "ovvv_aabb", "ovvv_bbaa", "ovvv_bbbb", "ovoo_aaaa", "ovoo_aabb", "ovoo_bbaa",
        "ovoo_bbbb", "ovov_aaaa", "ovov_bbbb"}}};
  for (const auto& [good, names] : dumps) {
    good.write(path_);
    EXPECT_NO_THROW(check_dense(path_));
    for (const std::string& name : names) {
      RawDump dump = good;
      // Symmetry ties [0,1,0,1] to another element, because each exchanged pair has different indices.
      RawDump::Dataset& data = dump.datasets[name];
      const auto& n = data.shape;
      data.values[static_cast<std::size_t>((n[1] + 0) * n[2] * n[3] + 1)] += 3e-7;
      expect_check(dump, "dataset '" + name + "' breaks its symmetry: element [", true);
      if (!name.starts_with("t2")) {
        EXPECT_NO_THROW(check_dense(path_, {.integrals = false}));
      }
    }
  }
  RawDump dump = rhf();
  dump.datasets["ovvv"].values[1] = 0.5;
  dump.datasets["ovvv"].values[3] = 0.25;
  expect_check(
      dump,
      "dataset 'ovvv' breaks its symmetry: element [0,0,0,1] is 0.5 and element [0,0,1,0] is 0.25, but equal numbers "
      "are needed; check the order of its indices and write it again.");
  // The integrals of another storage, and a number that must be opposite to itself.
  dump = uhf();
  dump.datasets["ovvv_aaaa"].values[1] += 0.5;
  expect_check(dump, "needed (antisymmetrised integrals have the name 'asym_ovvv_aaaa'); check the order", true);
  dump = uhf();
  dump.datasets["t2_aa"].values[1] = 0.5;
  expect_check(dump, "dataset 't2_aa' breaks its symmetry: element [0,0,0,1] is 0.5, but it must be zero; check");
  dump = rhf();
  dump.datasets["fock"] = {{5, 5}, Values(25, 0.0)};
  dump.datasets["fock"].values[1] = 0.5;
  expect_check(dump, "dataset 'fock' is not symmetric, element [0,1] is 0.5 and [1,0] is 0");
}

TEST_F(DumpValidation, ArraysOfTheEnergyMustBeSymmetricToRounding) {
  const std::map<const char*, bool> arrays = {{"t2", true}, {"ovov", true}, {"ovvv", false}, {"ovoo", false}};
  for (const auto& [name, strict] : arrays) {
    RawDump dump = rhf();
    RawDump::Dataset& data = dump.datasets[name];
    data.values[static_cast<std::size_t>(data.shape[1] * data.shape[2] * data.shape[3] + 1)] += 1e-8;
    if (strict) {
      expect_check(dump, "dataset '" + std::string(name) + "' breaks its symmetry: element [", true);
    } else {
      dump.write(path_);
      EXPECT_NO_THROW(check_dense(path_));
    }
  }
}

/// The report names the same error for any number of threads and of other errors.
TEST_F(DumpValidation, ThreadsReportTheFirstMistake) {
  const DenseMolecule m(closed_shell({0, 0, 0}, {0, 0, 0, 0, 0}), 3);
  RawDump dump = raw_dump(m);
  dump.datasets["ovoo"].values.back() = std::numeric_limits<double>::quiet_NaN();
  dump.write(path_);
  for (const int threads : {1, 2, 5}) {
    expect("dataset 'ovoo' holds a value that is not finite",
           [&] { check_dense(path_, {.threads = threads, .box_doubles = 1}); });
  }
  for (double& value : dump.datasets["ovvv"].values) value = 1e7;
  const auto first_of_t2 = dump.datasets["t2"].values.begin();
  std::fill(first_of_t2 + 2, dump.datasets["t2"].values.end(), 1e5);
  dump.write(path_);
  for (int n = 0; n < 20; ++n) {
    expect("a value in dataset 't2' is 1e+05", [&] { check_dense(path_, {.threads = 4, .box_doubles = 1}); });
  }
}

TEST_F(DumpValidation, SymmetriesOfAntisymmetrisedArrays) {
  const DenseMolecule m({Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}}}}, 7);
  const std::map<const char*, std::array<hsize_t, 4>> elements = {
      {"asym_ovvv_aaaa", {0, 1, 2, 0}}, {"asym_ovoo_bbbb", {0, 1, 1, 0}}, {"asym_ovov_aaaa", {0, 1, 1, 2}}};
  for (const auto& [name, element] : elements) {
    write_dump(memory_source(m, 2, 2), path_, {.overwrite = true});
    EXPECT_NO_THROW(check_dense(path_));
    remove_seal(path_);
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t space = H5Dget_space(dataset);
    H5Sselect_elements(space, H5S_SELECT_SET, 1, element.data());
    const hid_t memory = H5Screate(H5S_SCALAR);
    const double value = 5.0;
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &value);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    for (const std::int64_t box : {1, 30, 1 << 20}) {
      const std::string plain = std::string(name).substr(5);
      expect("needed (integrals that are not antisymmetrised have the name '" + plain + "'); check",
             [&] { check_dense(path_, {.box_doubles = box}); });
    }
  }
}

TEST_F(DumpValidation, NumbersBeyondAnyReasonableSize) {
  const DenseMolecule m(closed_shell({0, 0}, {0, 0, 0}), 8);
  for (const auto& [name, value] :
       std::map<const char*, double>{{"ovvv", 1e7}, {"ovoo", -1e7}, {"ovov", 1e7}, {"t2", -1e4}, {"t1", 1e4}}) {
    RawDump dump = raw_dump(m);
    dump.datasets[name].values[3] = value;
    expect_check(dump, "a value in dataset '" + std::string(name) + "' is 1e+0" + (std::abs(value) < 1e5 ? "4" : "7"));
  }
  RawDump dump = raw_dump(m);
  dump.datasets["fock"] = {{5, 5}, Values(25, 1e7)};
  expect_check(dump, "a value in dataset 'fock' is 1e+07");
}

TEST_F(DumpValidation, ElementsThatTheIrrepsForbid) {
  const DenseMolecule m(closed_shell({0, 1}, {0, 0, 1}), 8);
  raw_dump(m).write(path_);
  EXPECT_NO_THROW(check_dense(path_));
  for (const char* name : {"ovvv", "ovoo", "ovov", "t2"}) {
    RawDump dump = raw_dump(m);
    // Elements with exactly one index outside irrep 0 must be zero. All elements change alike, so symmetry stays.
    for (double& x : dump.datasets[name].values) x += 0.125;
    expect_check(dump,
                 "of dataset '" + std::string(name) + "' is 0.125, but by the irreps of its orbitals it must be zero");
  }
  RawDump dump = raw_dump(m);
  dump.datasets["t1"].values[2] = 0.125;
  expect_check(dump, "element [0,2] of dataset 't1' is 0.125, but by the irreps");
}

TEST_F(DumpValidation, TileSizes) {
  rhf().write(path_);
  EXPECT_THROW(open_dump(path_, 0, 3), UsageError);
}

}
}
