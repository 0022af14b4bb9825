#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"
#include "tce_tiles/tiles/memory_source.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/support/held_arrays.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

using Layout = HeldArrays::Layout;

/// The facts that the arrays of a file need besides their numbers.
SourceInfo info_of(const TileSource& file) {
  SourceInfo info = file.info();
  info.path = "the calling program";
  info.files.clear();
  info.printed_triples.reset();
  return info;
}

void expect_same_bits(const Measurements& found, const Measurements& expected) {
  EXPECT_EQ(found.ccsd_energy, expected.ccsd_energy);
  EXPECT_EQ(found.energy_fock_difference, expected.energy_fock_difference);
  EXPECT_EQ(found.largest_t1, expected.largest_t1);
  EXPECT_EQ(found.largest_t2, expected.largest_t2);
  EXPECT_EQ(found.gap, expected.gap);
  ASSERT_EQ(found.singles.has_value(), expected.singles.has_value());
  // Sums over threads depend on their order.
  EXPECT_NEAR(found.doubles.t2_d_t2, expected.doubles.t2_d_t2, 1e-12);
  EXPECT_NEAR(found.doubles.t2_v, expected.doubles.t2_v, 1e-12);
  if (!found.singles) return;
  EXPECT_EQ(found.singles->complete, expected.singles->complete);
  EXPECT_NEAR(found.singles->step, expected.singles->step, 1e-14);
}

Measurements measure(const TileSource& source) {
  const auto check = make_source_check(source, source);
  for (int stage = 0; stage < check->stages(); ++stage) check->accept(stage, check->run(stage));
  return check->measurements();
}

/// The measurements of a check that reads boxes of about `box_doubles` elements.
Measurements measure_in_boxes(const HeldArrays& held, Reference reference, std::int64_t box_doubles) {
  SourceInfo info;
  info.path = "arrays";
  info.reference = reference;
  DenseInput input;
  input.arrays = std::make_shared<CallerArrays>(info.path, held.arrays());
  input.header = read_dense_header(*input.arrays, info);
  const auto check = make_dense_check(input, {.test_with = &input, .threads = 2, .box_doubles = box_doubles});
  for (int stage = 0; stage < check->stages(); ++stage) check->accept(stage, check->run(stage));
  return check->measurements();
}

/// All blocks of both sources, bit for bit.
void expect_same_blocks(const TileSource& found, const TileSource& expected) {
  ASSERT_EQ(found.tiles(), expected.tiles());
  ASSERT_EQ(found.has_fock(), expected.has_fock());
  ASSERT_EQ(found.has_exchange_integrals(), expected.has_exchange_integrals());
  ASSERT_TRUE(std::equal(found.orbital_energies().begin(), found.orbital_energies().end(),
                         expected.orbital_energies().begin(), expected.orbital_energies().end()));
  const TileSpace& space = expected.tiles();
  const auto compare = [&](const BlockIndex& index, auto read) {
    for (const Block& block : index.blocks()) {
      std::vector<double> x(static_cast<std::size_t>(block.size), -1.0), y(x.size(), -2.0);
      read(found, block.tiles, x);
      read(expected, block.tiles, y);
      ASSERT_EQ(x, y);
    }
  };
  compare(t1_blocks(space), [](const TileSource& s, const auto& t, auto& out) { s.read_t1(t[0], t[1], out); });
  compare(t2_blocks(space),
          [](const TileSource& s, const auto& t, auto& out) { s.read_t2(t[0], t[1], t[2], t[3], out); });
  compare(triples_v2_blocks(space, expected.has_exchange_integrals()),
          [](const TileSource& s, const auto& t, auto& out) { s.read_v2(t[0], t[1], t[2], t[3], out); });
  if (!expected.has_fock()) return;
  compare(f1_blocks(space), [](const TileSource& s, const auto& t, auto& out) { s.read_fock(t[0], t[1], out); });
}

/// The arrays as those of GPU 3. The host's memory stands for the GPU's. `copies` counts the copies to the host.
std::vector<CallerArray> as_arrays_of_gpu(std::vector<CallerArray> arrays, int& copies) {
  for (CallerArray& array : arrays) {
    array.device = 3;
    array.copy = [&copies](const void* from, std::span<std::byte> to) {
      ++copies;
      std::copy_n(static_cast<const std::byte*>(from), to.size(), to.data());
    };
  }
  return arrays;
}

class CallerArraysOfDumps : public ::testing::TestWithParam<std::string> {
 protected:
  CallerArraysOfDumps() : path_((folder_.path() / "dump.h5").string()) {
    write_dump(*open_dump_of(GetParam()), path_);
    file_ = open_dump(path_, dense_hole_tile, dense_particle_tile);
    raw_ = read_raw_dump(path_);
  }
  TemporaryFolder folder_;
  std::string path_;
  std::unique_ptr<TileSource> file_;
  RawDump raw_;
};

TEST_P(CallerArraysOfDumps, HaveTheBlocksAndWitnessesOfTheFile) {
  const Measurements expected = measure(*file_);
  for (const Layout layout : {Layout::c_order, Layout::fortran_order, Layout::with_gaps, Layout::reader}) {
    SCOPED_TRACE(static_cast<int>(layout));
    const HeldArrays held(raw_, layout);
    const auto source = held.open(info_of(*file_));
    expect_same_blocks(*source, *file_);
    expect_same_bits(measure(*source), expected);
  }
}

TEST_P(CallerArraysOfDumps, OnAGpuAreCopiedOnceWhenTheHostReadsThem) {
  for (const Layout layout : {Layout::c_order, Layout::fortran_order}) {
    int copies = 0;
    const HeldArrays held(raw_, layout);
    const auto source = open_arrays(info_of(*file_), as_arrays_of_gpu(held.arrays(), copies));
    const DenseInput& input = *dense_input_of(*source);
    int of_rank_4 = 0, all = 0;  // arrays without elements are not read
    for (const CallerArray& array : held.arrays()) {
      const bool empty = std::count(array.shape.begin(), array.shape.end(), 0) > 0;
      all += empty ? 0 : 1;
      if (array.shape.size() != 4) continue;
      of_rank_4 += empty ? 0 : 1;
      const auto view = input.arrays->array(array.name)->device_view();
      ASSERT_TRUE(view.has_value());
      EXPECT_EQ(view->device, 3);
      EXPECT_EQ(view->elements.data, array.data);
    }
    EXPECT_EQ(copies, all - of_rank_4);
    expect_same_blocks(*source, *file_);
    measure(*source);
    EXPECT_EQ(copies, all);
  }
}

TEST_P(CallerArraysOfDumps, OnAGpuHaveNoGaps) {
  int copies = 0;
  const HeldArrays held(raw_, Layout::with_gaps);
  EXPECT_THROW(open_arrays(info_of(*file_), as_arrays_of_gpu(held.arrays(), copies)), UsageError);
}

TEST(BeginWithoutGaps, IsTheFirstElementInMemory) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(begin_without_gaps(Numbers{2, 3, 4}, Numbers{12, 4, 1}), 0);
  EXPECT_EQ(begin_without_gaps(Numbers{2, 3, 4}, Numbers{1, 2, 6}), 0);
  EXPECT_EQ(begin_without_gaps(Numbers{2, 3, 4}, Numbers{-12, 4, -1}), -15);
  EXPECT_EQ(begin_without_gaps(Numbers{1, 3, 1}, Numbers{77, 1, 5}), 0);
  EXPECT_EQ(begin_without_gaps(Numbers{2, 0}, Numbers{5, 5}), 0);
  EXPECT_EQ(begin_without_gaps(Numbers{2, 3, 4}, Numbers{24, 8, 2}), std::nullopt);
  EXPECT_EQ(begin_without_gaps(Numbers{2, 3, 4}, Numbers{16, 4, 1}), std::nullopt);
  EXPECT_EQ(begin_without_gaps(Numbers{3, 3}, Numbers{0, 1}), std::nullopt);
}

// In Fortran order the boxes are cut along other axes, and the amplitudes of several orbitals are needed at a time.
TEST_P(CallerArraysOfDumps, TheCheckMeasuresTheSameInBoxesOfAnySizeAndOrder) {
  const Reference reference = file_->info().reference;
  const HeldArrays in_c_order(raw_, Layout::c_order), in_fortran_order(raw_, Layout::fortran_order);
  const Measurements expected = measure_in_boxes(in_c_order, reference, std::int64_t{1} << 18);
  for (const std::int64_t box_doubles : {50, 2000}) {
    SCOPED_TRACE(box_doubles);
    expect_same_bits(measure_in_boxes(in_c_order, reference, box_doubles), expected);
    expect_same_bits(measure_in_boxes(in_fortran_order, reference, box_doubles), expected);
  }
}

// Same-spin integrals that are not antisymmetrised have other symmetries.
TEST(CallerArraysOfMolecules, TheCheckMeasuresTheSameInFortranOrder) {
  for (const Reference reference : {Reference::rhf, Reference::uhf}) {
    OrbitalSet set = closed_shell(std::vector<int>(5, 0), std::vector<int>(7, 0));
    if (reference == Reference::uhf) set.irreps[3].push_back(0);
    set.reference = reference;
    const RawDump dump = raw_dump(DenseMolecule(set, 5));
    const HeldArrays in_c_order(dump, Layout::c_order), in_fortran_order(dump, Layout::fortran_order);
    const Measurements expected = measure_in_boxes(in_c_order, reference, std::int64_t{1} << 18);
    ASSERT_TRUE(expected.singles.has_value());
    for (const std::int64_t box_doubles : {1, 300, 5000}) {
      const Measurements found = measure_in_boxes(in_fortran_order, reference, box_doubles);
      EXPECT_EQ(found.ccsd_energy, expected.ccsd_energy);
      EXPECT_NEAR(found.singles->step, expected.singles->step, 1e-10 * expected.singles->step);
    }
  }
}

TEST_P(CallerArraysOfDumps, PackedArraysHaveTheBlocksOfUnpackedArrays) {
  make_symmetric(raw_);
  const HeldArrays unpacked(raw_, Layout::c_order);
  const auto expected = unpacked.open(info_of(*file_));
  const Measurements measured = measure(*expected);
  for (const Layout layout : {Layout::c_order, Layout::fortran_order, Layout::reader}) {
    SCOPED_TRACE(static_cast<int>(layout));
    const HeldArrays held(raw_, layout, true);
    const auto source = held.open(info_of(*file_));
    expect_same_bits(measure(*source), measured);
    expect_same_blocks(*source, *expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CallerArraysOfDumps, ::testing::ValuesIn(good_dumps()),
                         [](const auto& dump) { return dump.param; });

/// Each test spoils good arrays and expects one sentence that names the caller and the array.
class CallerArraysValidation : public ::testing::Test {
 protected:
  static RawDump rhf() { return raw_dump(DenseMolecule(closed_shell({0, 0}, {0, 0, 0}), 1)); }
  static RawDump uhf() {
    return raw_dump(DenseMolecule({Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}}}}, 2));
  }
  static SourceInfo info(Reference reference = Reference::rhf) {
    SourceInfo info;
    info.path = "my program";
    info.reference = reference;
    return info;
  }
  template <typename Failure = InputError>
  static void expect(const std::function<void()>& action, const std::string& part) {
    const std::string text = message<Failure>(action);
    EXPECT_TRUE(text.starts_with("my program: ")) << text;
    EXPECT_TRUE(text.ends_with(".") && text.find('\n') == std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    for (const char* foreign : {"dataset", "dump", "file"}) EXPECT_EQ(text.find(foreign), std::string::npos) << text;
  }
  static void expect_refused(const RawDump& dump, const std::string& part, Reference reference = Reference::rhf) {
    for (const Layout layout : {Layout::c_order, Layout::fortran_order, Layout::reader}) {
      const HeldArrays held(dump, layout);
      expect([&] { held.open(info(reference)); }, part);
    }
  }
  /// Arrays that open well, but break a promise that only the check tests.
  static void expect_check(const RawDump& dump, const std::string& part, Reference reference = Reference::rhf) {
    for (const Layout layout : {Layout::c_order, Layout::fortran_order, Layout::reader}) {
      const HeldArrays held(dump, layout);
      const auto source = held.open(info(reference));
      expect([&] { measure(*source); }, part);
    }
  }
};

TEST_F(CallerArraysValidation, MissingArrays) {
  for (const char* name : {"eps_occ", "eps_vir", "t1", "t2", "ovvv", "ovoo", "ovov"}) {
    RawDump dump = rhf();
    dump.datasets.erase(name);
    expect_refused(dump, std::string("array '") + name + "' is missing");
  }
  RawDump dump = uhf();
  dump.datasets.erase("ovvv_bbbb");
  expect_refused(dump, "array 'ovvv_bbbb' (or 'asym_ovvv_bbbb') is missing although 'ovvv_aaaa' is present",
                 Reference::uhf);
  dump = uhf();
  dump.datasets["asym_ovoo_aaaa"] = dump.datasets["ovoo_aaaa"];
  expect_refused(dump, "both 'ovoo_aaaa' and 'asym_ovoo_aaaa' are present; pass only one", Reference::uhf);
  dump = uhf();
  dump.datasets["fock_a"] = {{6, 6}, std::vector<double>(36, 0.0)};
  expect_refused(dump, "only one of the arrays 'fock_a' and 'fock_b' is present", Reference::uhf);
  dump = uhf();
  dump.datasets.erase("irrep_occ_b");
  expect_refused(dump, "array 'irrep_occ_b' is missing although 'irrep_occ_a' is present", Reference::uhf);
}

TEST_F(CallerArraysValidation, UnknownNames) {
  RawDump dump = rhf();
  dump.datasets["oovvv"] = dump.datasets["t2"];
  expect_refused(
      dump,
      "the array name 'oovvv' is unknown; the names for the reference RHF are t1, t2, ovvv, ovoo, ovov, oovv, oooo, "
      "kvvv, ladder, vvvv_diag, vvvv_diag_semicanonical, factors_oo, factors_ov, factors_vv, fock, fragments, eps_occ, "
      "irrep_occ, eps_vir, irrep_vir");
  dump = uhf();
  dump.datasets["t2"] = dump.datasets["t2_ab"];
  expect_refused(dump, "the array name 't2' is unknown; the names for the reference UHF are t1_a,", Reference::uhf);
  dump = uhf();
  dump.datasets["asym_t2_aa"] = dump.datasets["t2_aa"];
  expect_refused(dump, "the array name 'asym_t2_aa' is unknown", Reference::uhf);
}

TEST_F(CallerArraysValidation, Shapes) {
  RawDump dump = rhf();
  dump.datasets["ovvv"] = {{2, 3, 3, 4}, std::vector<double>(72, 0.0)};
  expect_refused(dump,
                 "array 'ovvv' has shape [2,3,3,4], but [o,v,v,v] with o = 2 from 'eps_occ', v = 3 from 'eps_vir' is "
                 "[2,3,3,3]");
  for (const std::int64_t pairs : {std::int64_t{5}, std::int64_t{10}}) {
    dump.datasets["ovvv"] = {{2, 3, pairs}, std::vector<double>(static_cast<std::size_t>(6 * pairs), 0.0)};
    expect_refused(dump, "array 'ovvv' has shape [2,3," + std::to_string(pairs) + "]");
  }
  dump = rhf();
  dump.datasets["t1"] = {{3, 2}, std::vector<double>(6, 0.0)};
  expect_refused(dump, "array 't1' has shape [3,2]");
  dump = rhf();
  dump.datasets["eps_occ"] = {{2, 1}, std::vector<double>(2, 0.0)};
  expect_refused(dump, "array 'eps_occ' has shape [2,1], but it must be a vector of orbital energies");
  dump = rhf();
  dump.datasets["eps_vir"] = {{0}, {}};
  expect_refused(dump, "there are no active virtual orbitals ('eps_vir' is empty)");
  dump = rhf();
  dump.datasets["fock"] = {{4, 4}, std::vector<double>(16, 0.0)};
  expect_refused(dump, "array 'fock' has shape [4,4], but [o+v,o+v]");
}

TEST_F(CallerArraysValidation, Irreps) {
  RawDump dump = rhf();
  dump.datasets["irrep_vir"].values = {0, 1, 8};
  expect_refused(dump, "array 'irrep_vir' holds the irrep 8");
  dump.datasets["irrep_vir"].values = {0, 1, 0};
  expect_refused(dump, "the irreps in array 'irrep_vir' do not ascend");
  dump.datasets["irrep_vir"].type = Hdf5Writer::Type::real;
  expect_refused(dump, "array 'irrep_vir' holds floating-point numbers; pass irreps as integers");
}

TEST_F(CallerArraysValidation, Numbers) {
  for (const char* name : {"t1", "t2", "ovvv", "ovoo", "ovov"}) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      RawDump dump = rhf();
      dump.datasets[name].values.back() = bad;
      const std::string part = std::string("array '") + name + "' holds a value that is not finite";
      if (std::string(name) == "t1") {
        expect_refused(dump, part);
        continue;
      }
      expect_check(dump, part);
      // Without the check, too, such a number gives no energy.
      const HeldArrays held(dump, Layout::c_order);
      expect([&] { copy_of(*held.open(info())); }, part);
    }
    RawDump dump = rhf();
    dump.datasets[name].values[1] = 1e7;
    expect_check(dump, std::string("a value in array '") + name + "' is 1e+07");
  }
  RawDump dump = rhf();
  dump.datasets["eps_occ"].values[0] = std::numeric_limits<double>::quiet_NaN();
  expect_refused(dump, "array 'eps_occ' holds a value that is not finite");
}

TEST_F(CallerArraysValidation, Symmetries) {
  for (const char* name : {"t2", "ovvv", "ovoo", "ovov"}) {
    RawDump dump = rhf();
    RawDump::Dataset& data = dump.datasets[name];
    const auto& n = data.shape;
    data.values[static_cast<std::size_t>(n[1] * n[2] * n[3] + 1)] += 3e-7;
    expect_check(dump, std::string("array '") + name + "' breaks its symmetry: element [");
  }
  for (const char* name : {"t2_aa", "t2_bb", "ovvv_aabb", "ovoo_bbaa", "ovov_bbbb"}) {
    RawDump dump = uhf();
    RawDump::Dataset& data = dump.datasets[name];
    const auto& n = data.shape;
    data.values[static_cast<std::size_t>(n[1] * n[2] * n[3] + 1)] += 3e-7;
    expect_check(dump, std::string("array '") + name + "' breaks its symmetry", Reference::uhf);
  }
  RawDump dump = rhf();
  dump.datasets["fock"] = {{5, 5}, std::vector<double>(25, 0.0)};
  dump.datasets["fock"].values[1] = 0.5;
  expect_check(dump, "array 'fock' is not symmetric, element [0,1] is 0.5 and [1,0] is 0; pass this array again");
}

TEST_F(CallerArraysValidation, ForbiddenByIrreps) {
  RawDump dump = raw_dump(DenseMolecule(closed_shell({0, 1}, {0, 0, 1}), 8));
  for (double& x : dump.datasets["ovoo"].values) x += 0.125;
  expect_check(dump,
               "of array 'ovoo' is 0.125, but by the irreps of its orbitals it must be zero; correct the irrep "
               "arrays or leave them out");
}

TEST_F(CallerArraysValidation, Descriptions) {
  const HeldArrays held(rhf(), Layout::c_order);
  const auto refuse = [&](const std::string& name, const std::function<void(CallerArray&)>& spoil,
                          const std::string& part) {
    std::vector<CallerArray> arrays = held.arrays();
    for (CallerArray& array : arrays) {
      if (array.name == name) spoil(array);
    }
    expect<UsageError>([&] { open_arrays(info(), arrays); }, "array '" + name + "' " + part);
  };
  refuse(
      "t2", [](CallerArray& array) { array.data = nullptr; }, "has neither data nor a reader");
  refuse(
      "t2",
      [](CallerArray& array) {
        array.strides = {1, 2};
      },
      "has 4 axes, but 2 strides");
  refuse(
      "t2", [](CallerArray& array) { array.shape[2] = -1; }, "has the shape [2,2,-1,3], which is not possible");
  refuse(
      "t2", [](CallerArray& array) { array.shape.assign(4, std::int64_t{1} << 40); }, "has the shape");
  refuse(
      "t2", [](CallerArray& array) { array.shape.assign(5, 1); }, "has 5 axes, but 1 to 4 are possible");
  refuse(
      "t2", [](CallerArray& array) { array.data = static_cast<const char*>(array.data) + 4; },
      "does not begin at a multiple of 8 bytes");
  std::vector<CallerArray> twice = held.arrays();
  twice.push_back(twice.front());
  expect<UsageError>([&] { open_arrays(info(), twice); }, "is present twice; pass it once");
}

TEST_F(CallerArraysValidation, LeftArraysNeedNoIntegrals) {
  const RawDump dump = rhf();
  RawDump left = dump;
  for (const char* name : {"ovvv", "ovoo", "ovov"}) left.datasets.erase(name);
  const HeldArrays held(dump, Layout::c_order), of_left(left, Layout::fortran_order);
  const auto right = held.open(info()), source = of_left.open(info());
  EXPECT_FALSE(source->has_integrals());
  EXPECT_NO_THROW(check_source(*source, *right));
}

}
}
