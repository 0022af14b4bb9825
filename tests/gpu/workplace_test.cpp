#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cxx/cuda/contraction/device_workplace.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tests/moments/molecule.hpp"

/// Terms on a GPU: the operands of methods with moments.
namespace trifuse::moments {
namespace {

class MomentsOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (visible_devices().empty()) GTEST_SKIP() << why_no_devices();
  }
};

TEST_P(MomentsOnGpu, OperandsAreThoseOfTheReference) {
  Molecule molecule(GetParam());
  const auto workplace = contraction::device_as_workplace(0, 2);
  for (const MomentInputs& inputs : molecule.all_inputs()) {
    SCOPED_TRACE(inputs.antisymmetrised);
    MomentOperands operands(inputs, 2, workplace);
    molecule.for_operands([&](Spin s, Spin t) {
      const auto check = [&](const std::string& name, const auto& make) {
        std::vector<double> found(molecule.arrays.numbers(molecule.names.of_operand(name, s, t)).size());
        make(found.data());
        molecule.expect(molecule.names.of_operand(name, s, t), found.data());
      };
      check("right_ovvv", [&](double* v) { operands.right_ovvv(s, t, v); });
      check("right_ovoo", [&](double* o) { operands.right_ovoo(s, t, o); });
      check("left_ovvv", [&](double* v) { operands.left_ovvv(s, t, v); });
      check("left_ovoo", [&](double* o) { operands.left_ovoo(s, t, o); });
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Of, MomentsOnGpu, ::testing::Values("h2o_631g_rhf.h5", "random_uhf.h5"), [](const auto& test) {
  const std::string name = test.param;
  return name.substr(0, name.find('.'));
});

}
}
