#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/checked_array.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_input.hpp"

/// Integrals that are dressed with amplitudes have no symmetry in their last two indices.
namespace trifuse {
namespace {

constexpr std::int64_t holes_of_test = 2, particles_of_test = 3;

/// One array of rank 4 with different numbers everywhere.
class Numbers final : public DenseArray {
 public:
  explicit Numbers(ArrayLabel label) : DenseArray(std::move(label)) {}
  std::span<const std::int64_t> shape() const override { return shape_; }
  bool is_integer() const override { return false; }
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    auto to = out.begin();
    for (std::int64_t i = 0; i < count[0]; ++i)
      for (std::int64_t a = 0; a < count[1]; ++a)
        for (std::int64_t b = 0; b < count[2]; ++b)
          for (std::int64_t d = 0; d < count[3]; ++d) {
            *to++ = 1e-3 * static_cast<double>(((offset[0] + i) * 10 + offset[1] + a) * 100 + (offset[2] + b) * 10 +
                                               offset[3] + d);
          }
  }

 private:
  std::vector<std::int64_t> shape_ = {holes_of_test, particles_of_test, particles_of_test, particles_of_test};
};

class OneArray final : public DenseArrays {
 public:
  const std::string& path() const override { return path_; }
  ArrayWords words() const override { return {"array", "pass", "arrays", "array"}; }
  bool has(const std::string& name) const override { return name == "ovvv"; }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    return std::make_shared<Numbers>(label(name));
  }

 private:
  std::string path_ = "numbers";
};

/// Reads all boxes of the array, and returns the number of elements in them.
std::int64_t elements_read(Dressing dressing) {
  DenseHeader header;
  header.energies[static_cast<std::size_t>(OrbitalClass::hole_alpha)].assign(holes_of_test, -1.0);
  header.energies[static_cast<std::size_t>(OrbitalClass::particle_alpha)].assign(particles_of_test, 1.0);
  header.energies[static_cast<std::size_t>(OrbitalClass::hole_beta)].assign(holes_of_test, -1.0);
  header.energies[static_cast<std::size_t>(OrbitalClass::particle_beta)].assign(particles_of_test, 1.0);
  ArraySpec spec = array_spec(ArrayKind::ovvv, true, Spin::alpha, Spin::beta);
  spec.dressing = dressing;
  const CheckedArray array(OneArray(), header, spec, 4);
  std::int64_t elements = 0;
  Buffer first, second;
  for (const BoxIndex& begin : array.begins()) {
    const BoxPair boxes = array.read(begin, array.count(begin), first, second);
    elements += std::ssize(boxes.first.values) + (boxes.second ? std::ssize(boxes.second->values) : 0);
  }
  return elements;
}

TEST(DressedArrays, MayBeUnsymmetric) {
  EXPECT_EQ(elements_read(Dressing::dressed),
            holes_of_test * particles_of_test * particles_of_test * particles_of_test);
}

TEST(BareArrays, MustBeSymmetric) {
  EXPECT_THROW(elements_read(Dressing::bare), InputError);
}

TEST(DressedFactors, AreNotPacked) {
  for (FactorSpec spec : factor_arrays(true)) {
    EXPECT_EQ(spec.symmetric(), spec.p == spec.q);
    spec.dressing = Dressing::dressed;
    EXPECT_FALSE(spec.symmetric());
  }
}

}
}
