#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/moments/moment_arrays.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/dump_files/hdf5_arrays.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"

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

TEST(MomentArrays, PlainAndAntisymmetrisedDumpsHaveTheSameOperands) {
  const MomentArrays plain(dump("beh_180_sto3g_uhf.h5"), false, left),
      other(dump("beh_180_sto3g_uhf_asym.h5"), false, left);
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
    MomentArrays(OnePlainName(dump("beh_180_sto3g_uhf_asym.h5")), false, left);
    FAIL() << "must be refused";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("ovoo_aaaa is not"), std::string::npos) << text;
  }
}

TEST(MomentArrays, MustBeThere) {
  EXPECT_THROW(MomentArrays(dump("beh_180_sto3g_uhf.h5"), true, left), InputError);
  EXPECT_THROW(MomentArrays(dump("beh_180_sto3g_uhf.h5"), false, {"oooo"}), InputError);
}

}
}
