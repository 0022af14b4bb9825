#include <gtest/gtest.h>

#include <thread>

#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tests/c_interface/c_interface_test_support.hpp"
#include "tests/c_interface/dense_arrays.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

using Layout = HeldArrays::Layout;

/// A dump as a file, and its arrays for a caller.
struct WrittenDump {
  explicit WrittenDump(const std::string& name) : path((folder.path() / "dump.h5").string()) {
    const auto source = open_dump_of(name);
    write_dump(*source, path);
    reference = static_cast<std::int32_t>(source->info().reference);
    raw = read_raw_dump(path);
  }
  TemporaryFolder folder;
  std::string path;
  std::int32_t reference;
  RawDump raw;
};

trifuse_amplitudes new_amplitudes(const HeldArrays& held, std::int32_t reference) {
  const DenseDescription description(held, reference);
  trifuse_status status;
  const trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status, &description.all);
  expect_success(status);
  return amplitudes;
}

double energy_of(const HeldArrays& held, std::int32_t reference) {
  trifuse_amplitudes amplitudes = new_amplitudes(held, reference);
  OpenCalculation calculation(amplitudes);
  trifuse_delete_amplitudes(&amplitudes);
  return calculation.energy();
}

class DenseArraysOf : public ::testing::TestWithParam<std::string> {};

TEST_P(DenseArraysOf, GiveTheBitsOfTheFile) {
  WrittenDump dump(GetParam());
  OpenCalculation of_file(dump.path);
  const double expected = of_file.energy();
  for (const Layout layout : {Layout::c_order, Layout::fortran_order}) {
    EXPECT_EQ(energy_of(HeldArrays(dump.raw, layout), dump.reference), expected) << static_cast<int>(layout);
  }
  make_symmetric(dump.raw);
  const double symmetric = energy_of(HeldArrays(dump.raw, Layout::c_order), dump.reference);
  EXPECT_NEAR(symmetric, expected, 1e-12);
  EXPECT_EQ(energy_of(HeldArrays(dump.raw, Layout::c_order, true), dump.reference), symmetric);
}

INSTANTIATE_TEST_SUITE_P(All, DenseArraysOf, ::testing::ValuesIn(good_dumps()),
                         [](const auto& dump) { return dump.param; });

class DenseArrays : public ::testing::Test {
 protected:
  static const WrittenDump& water() {
    static const WrittenDump dump("h2o_631g_c2v_rhf_t3_2eorb");
    return dump;
  }
  HeldArrays held_{water().raw, Layout::c_order};
  DenseDescription description_{held_, TRIFUSE_RHF};
  trifuse_status status_{};

  void refuse(trifuse_code code, const std::string& part) {
    EXPECT_EQ(trifuse_new_dense_amplitudes(&status_, &description_.all), nullptr);
    expect_status(status_, code, part);
  }
};

TEST_F(DenseArrays, DescriptionsThatAreNotPossible) {
  description_.all.size -= 8;
  refuse(TRIFUSE_BAD_USAGE, "must be sizeof(trifuse_arrays)");
  description_.all.size += 8;
  EXPECT_EQ(trifuse_new_dense_amplitudes(&status_, nullptr), nullptr);
  expect_status(status_, TRIFUSE_BAD_USAGE, "they are null");
  description_.all.reference = 3;
  refuse(TRIFUSE_BAD_USAGE, "trifuse_reference");
  description_.all.reference = TRIFUSE_RHF;
  description_.all.scf_energy = std::numeric_limits<double>::infinity();
  refuse(TRIFUSE_BAD_USAGE, "The SCF energy");
  description_.all.scf_energy = 0.0;
  trifuse_array& t2 = description_.array("t2");
  const trifuse_array good = t2;
  t2.name = nullptr;
  refuse(TRIFUSE_BAD_USAGE, "has no name");
  t2 = good;
  t2.rank = 5;
  refuse(TRIFUSE_BAD_USAGE, "Array 't2' has 5 axes; 1 to 4 are possible");
  t2 = good;
  const std::int64_t far_away[] = {std::int64_t{1} << 61, 1, 1, 1}, most[] = {1, 1, 1, INT64_MIN};
  for (const std::int64_t* strides : {far_away, most}) {
    t2.strides = strides;
    refuse(TRIFUSE_BAD_USAGE, "array 't2' has the strides (");
  }
  t2 = good;
  const std::string long_name(TRIFUSE_NAME_LENGTH, 'x');
  t2.name = long_name.c_str();
  refuse(TRIFUSE_BAD_USAGE, "counted from 0, has 64 characters or more; the names are those of the dump format");
  t2 = good;
  t2.type = 3;
  refuse(TRIFUSE_BAD_USAGE, "Array 't2' must have one of the types");
  t2 = good;
  t2.location = TRIFUSE_GPU(0);
  if ((trifuse_features() & TRIFUSE_FEATURE_CUDA) == 0) refuse(TRIFUSE_BAD_USAGE, "built without CUDA");
  t2 = good;
  t2.name = "another";
  refuse(TRIFUSE_BAD_INPUT, "the calling program: the array name 'another' is unknown");
  t2 = good;
  description_.all.source = "";
  t2.shape = description_.array("ovov").shape;
  refuse(TRIFUSE_BAD_INPUT, "the calling program: array 't2' has shape");
  description_.all.source = "PySCF";
  t2.shape = description_.array("ovov").shape;
  refuse(TRIFUSE_BAD_INPUT, "PySCF: array 't2' has shape");
  t2 = good;
  trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status_, &description_.all);
  expect_success(status_);
  trifuse_delete_amplitudes(&amplitudes);
}

TEST_F(DenseArrays, WrongNumbersMeetTheWitnesses) {
  description_.all.correlation_energy = -0.125;
  trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status_, &description_.all);
  expect_success(status_);
  {
    OpenCalculation calculation(amplitudes);
    trifuse_run(&status_, calculation.calculation);
    expect_status(status_, TRIFUSE_BAD_INPUT, "The numbers in the calling program give a CCSD correlation energy of");
  }
  trifuse_delete_amplitudes(&amplitudes);

  const WrittenDump& dump = water();
  RawDump wrong = dump.raw;
  for (double& x : wrong.datasets["ovvv"].values) x = -x;
  const HeldArrays held(wrong, Layout::c_order);
  amplitudes = new_amplitudes(held, dump.reference);
  OpenCalculation calculation(amplitudes);
  trifuse_run(&status_, calculation.calculation);
  expect_status(status_, TRIFUSE_BAD_INPUT, "the CCSD equation of the single excitations");
  trifuse_delete_amplitudes(&amplitudes);
}

/// A box reader that uses the amplitudes to which its array belongs.
struct SelfReader {
  const CallerArray* array;
  trifuse_amplitudes amplitudes;
  std::vector<trifuse_status> seen;
};
std::int32_t read_with_calls(void* context, const std::int64_t* offset, const std::int64_t* count, double* box) {
  auto& reader = *static_cast<SelfReader*>(context);
  if (reader.amplitudes != nullptr && reader.seen.empty()) {
    trifuse_witness_count(&reader.seen.emplace_back(), reader.amplitudes);
    const std::int64_t tiles[4] = {};
    double block = 0.0;
    trifuse_get_block(&reader.seen.emplace_back(), reader.amplitudes, TRIFUSE_T2, tiles, 1, &block);
    trifuse_status status;
    trifuse_calculation calculation = trifuse_new_calculation(&status, reader.amplitudes, nullptr);
    trifuse_run(&reader.seen.emplace_back(), calculation);
    trifuse_delete_calculation(&calculation);
  }
  return call_reader(const_cast<CallerArray*>(reader.array), offset, count, box);
}

TEST_F(DenseArrays, ABoxReaderThatUsesItsAmplitudesIsNotWaitedFor) {
  const HeldArrays held(water().raw, Layout::reader);
  DenseDescription description(held, TRIFUSE_RHF);
  trifuse_array& t2 = description.array("t2");
  SelfReader reader{static_cast<const CallerArray*>(t2.context), nullptr, {}};
  t2.reader = read_with_calls;
  t2.context = &reader;
  trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status_, &description.all);
  expect_success(status_);
  reader.amplitudes = amplitudes;
  OpenCalculation calculation(amplitudes);
  EXPECT_NE(calculation.energy(), 0.0);
  trifuse_delete_amplitudes(&amplitudes);
  ASSERT_EQ(reader.seen.size(), 3u);
  for (const trifuse_status& seen : reader.seen) expect_status(seen, TRIFUSE_BAD_USAGE, "A box reader calls ");
}

std::int32_t fail(void*, const std::int64_t*, const std::int64_t*, double*) {
  return 7;
}

TEST_F(DenseArrays, AReaderThatFailsIsASentence) {
  trifuse_array& ovvv = description_.array("ovvv");
  ovvv.data = nullptr;
  ovvv.reader = fail;
  trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status_, &description_.all);
  expect_success(status_);
  OpenCalculation calculation(amplitudes);
  trifuse_delete_amplitudes(&amplitudes);
  trifuse_run(&status_, calculation.calculation);
  expect_status(status_, TRIFUSE_BAD_INPUT,
                "The calling program could not deliver a part of array 'ovvv': its reader returned 7.");
}

/// A reader whose numbers can change, by `factor`.
struct ChangingReader {
  const CallerArray* array;
  double factor = 1.0;
  static std::int32_t read(void* context, const std::int64_t* offset, const std::int64_t* count, double* box) {
    const auto& reader = *static_cast<const ChangingReader*>(context);
    call_reader(const_cast<CallerArray*>(reader.array), offset, count, box);
    std::int64_t size = 1;
    for (std::size_t k = 0; k < reader.array->shape.size(); ++k) size *= count[k];
    for (std::int64_t n = 0; n < size; ++n) box[n] *= reader.factor;
    return 0;
  }
};

TEST_F(DenseArrays, AReaderThatChangesAfterTheCheckIsNoticed) {
  const HeldArrays held(water().raw, Layout::reader);
  const double expected = energy_of(held, TRIFUSE_RHF);
  // A reader that computes its numbers may round them in another way.
  for (const auto& [factor, noticed] : {std::pair{1.0 + 1e-15, false}, {1.0 + 1e-6, true}}) {
    for (const char* name : {"t2", "ovvv", "ovoo", "ovov"}) {
      SCOPED_TRACE(name);
      DenseDescription description(held, TRIFUSE_RHF);
      trifuse_array& array = description.array(name);
      ChangingReader reader{static_cast<const CallerArray*>(array.context)};
      array.reader = ChangingReader::read;
      array.context = &reader;
      trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status_, &description.all);
      EXPECT_GT(trifuse_witness_count(&status_, amplitudes), 0);
      OpenCalculation calculation(amplitudes);
      trifuse_delete_amplitudes(&amplitudes);
      reader.factor = factor;
      if (!noticed) {
        EXPECT_NEAR(calculation.energy(), expected, 1e-13);
        continue;
      }
      trifuse_run(&status_, calculation.calculation);
      expect_status(status_, TRIFUSE_BAD_INPUT,
                    "the calling program: array '" + std::string(name) + "': the numbers from element [");
      expect_status(status_, TRIFUSE_BAD_INPUT, "changed after they were first read; the reader must deliver the same");
    }
  }
}

TEST_F(DenseArrays, TenThreadsAtOnceGetTheBitsOfOne) {
  const double expected = energy_of(held_, TRIFUSE_RHF);
  std::vector<double> found(10);
  std::vector<std::thread> threads;
  for (double& energy : found) {
    threads.emplace_back([&] {
      for (int n = 0; n < 3; ++n) energy = energy_of(held_, TRIFUSE_RHF);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double energy : found) EXPECT_EQ(energy, expected);
}

TEST_F(DenseArrays, LeftAmplitudesNeedNoIntegrals) {
  RawDump left = water().raw;
  for (const char* name : {"ovvv", "ovoo", "ovov", "oovv", "fock"}) left.datasets.erase(name);
  const HeldArrays held_left(left, Layout::fortran_order);
  trifuse_amplitudes right = new_amplitudes(held_, TRIFUSE_RHF), of_left = new_amplitudes(held_left, TRIFUSE_RHF);
  trifuse_calculation calculation = trifuse_new_calculation(&status_, right, of_left);
  trifuse_set_device(&status_, calculation, TRIFUSE_DEVICE_CPU);
  trifuse_run(&status_, calculation);
  expect_success(status_);
  double energy = 0.0;
  trifuse_get_energy(&status_, calculation, 0, nullptr, nullptr, &energy);
  EXPECT_NEAR(energy, energy_of(held_, TRIFUSE_RHF), 1e-14);
  trifuse_delete_calculation(&calculation);
  trifuse_delete_amplitudes(&of_left);
  trifuse_delete_amplitudes(&right);
}

}
}
