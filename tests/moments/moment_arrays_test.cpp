#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/moments/moment_arrays.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dump_files/hdf5_arrays.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tests/moments/molecule.hpp"

namespace trifuse::moments {
namespace {

Hdf5Arrays dump(const std::string& name) {
  return Hdf5Arrays(Hdf5File::open(std::string(TRIFUSE_TEST_DATA) + "/dumps/" + name));
}

const std::vector<std::string> left = {"ovoo", "ovov", "ovvv"};

/// The arrays of a dump with antisymmetrised integrals, one of which has the name of a plain one.
class OnePlainName final : public DenseArrays {
 public:
  explicit OnePlainName(Hdf5Arrays arrays) : arrays_(std::move(arrays)) {}
  const std::string& path() const override { return arrays_.path(); }
  ArrayWords words() const override { return arrays_.words(); }
  bool has(const std::string& name) const override { return name == plain || arrays_.has(name); }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    return arrays_.array(name == plain ? "asym_" + name : name);
  }

 private:
  static constexpr const char* plain = "ovoo_aaaa";
  Hdf5Arrays arrays_;
};

MomentArrays arrays_of(const DenseArrays& arrays, bool closed_shell, const std::vector<std::string>& integrals = left) {
  return MomentArrays(arrays, header_of(arrays, closed_shell), integrals);
}

TEST(MomentArrays, PlainAndAntisymmetrisedDumpsHaveTheSameOperands) {
  const MomentArrays plain = arrays_of(dump("beh_180_sto3g_uhf.h5"), false),
                     other = arrays_of(dump("beh_180_sto3g_uhf_asym.h5"), false);
  EXPECT_FALSE(plain.inputs().antisymmetrised);
  EXPECT_TRUE(other.inputs().antisymmetrised);
  const MomentOperands of_plain(plain.inputs(), 1), of_other(other.inputs(), 1);
  for (const Spin s : both_spins) {
    const auto holes = plain.inputs().holes[s], particles = plain.inputs().particles[s];
    std::vector<double> expected(static_cast<std::size_t>(holes * particles * particles * particles)), found = expected;
    of_plain.left_ovvv(s, s, expected.data());
    of_other.left_ovvv(s, s, found.data());
    for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], expected[n], 1e-14);
    of_plain.hbar_fov(s, expected.data());
    of_other.hbar_fov(s, found.data());
    for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], expected[n], 1e-14);
  }
}

TEST(MomentArrays, MustHaveOneForm) {
  try {
    arrays_of(OnePlainName(dump("beh_180_sto3g_uhf_asym.h5")), false);
    FAIL() << "must be refused";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("ovoo_aaaa is not"), std::string::npos) << text;
  }
}

TEST(MomentArrays, MustBeThere) {
  EXPECT_THROW(arrays_of(dump("beh_180_sto3g_uhf.h5"), false, {"oooo"}), InputError);
}

TEST(MomentArrays, MustHaveTheShapeOfTheOrbitals) {
  const Hdf5Arrays arrays = dump("beh_180_sto3g_uhf.h5");
  DenseHeader header = header_of(arrays, false);
  header.energies[static_cast<std::size_t>(particle_class(beta))].push_back(1.0);
  try {
    MomentArrays(arrays, header, left);
    FAIL() << "must be refused";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("has the shape"), std::string::npos) << text;
  }
}

/// Without beta electrons.
TEST(MomentArrays, WithoutElementsMayBeAbsent) {
  const Hdf5Arrays arrays = dump("beh_180_sto3g_uhf.h5");
  DenseHeader header = header_of(arrays, false);
  for (auto& energies : header.energies) energies.clear();
  const MomentArrays none(arrays, header, {"oooo"});
  EXPECT_EQ(none.inputs().oooo[alpha][beta], nullptr);
  double nothing = 1.0;
  MomentOperands(none.inputs(), 1).right_ovoo(alpha, beta, &nothing);
  EXPECT_EQ(nothing, 1.0);
}

}
}
