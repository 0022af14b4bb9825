#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/moments/denominator_tables.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"
#include "tests/moments/molecule.hpp"

/// Operands, compared with those of another program: see tests/data/moments/README.md.
namespace trifuse::moments {
namespace {

class MomentsOf : public ::testing::TestWithParam<const char*> {};

/// Compares all operands. Results begin with NaN, because they must not be read.
void expect_operands(Molecule& molecule, MomentOperands operands) {
  const auto check = [&](const std::string& name, auto make) {
    std::vector<double> found(molecule.arrays.numbers(name).size(), std::nan(""));
    make(found.data());
    molecule.expect(name, found.data());
  };
  for (const Spin s : both_spins) {
    if (molecule.names.closed_shell && s == beta) break;
    check(molecule.names.of_spin("hbar_fov", s), [&](double* f) { operands.hbar_fov(s, f); });
  }
  molecule.for_operands([&](Spin s, Spin t) {
    const auto name = [&](const char* of) { return molecule.names.of_operand(of, s, t); };
    check(name("right_ovvv"), [&](double* v) { operands.right_ovvv(s, t, v); });
    check(name("right_ovoo"), [&](double* o) { operands.right_ovoo(s, t, o); });
    check(name("left_ovvv"), [&](double* v) { operands.left_ovvv(s, t, v); });
    check(name("left_ovoo"), [&](double* o) { operands.left_ovoo(s, t, o); });
  });
}

TEST_P(MomentsOf, OperandsAreThoseOfTheReference) {
  Molecule molecule(GetParam());
  for (const MomentInputs& inputs : molecule.all_inputs()) {
    SCOPED_TRACE(inputs.antisymmetrised);
    expect_operands(molecule, MomentOperands(inputs, 2, contract_on_cores(1)));
  }
}

/// A workplace with copies of its own, as a GPU has them: the host sees no result before finish().
class Elsewhere final : public contraction::Workplace {
 public:
  void add(const contraction::Contraction& contraction, double factor, const double* a, const double* b,
           double* c) override {
    if (contraction.empty_result() || contraction.empty_sum()) return;
    const auto span = [&](contraction::Tensor tensor) {
      std::int64_t last = 0;
      for (const contraction::Index& index : contraction.indices) last += (index.extent - 1) * index.stride[tensor];
      return last + 1;
    };
    double *const at_a = copy_of(a, span(contraction::A)), *const at_b = copy_of(b, span(contraction::B)),
                  *const at_c = copy_of(c, span(contraction::C));
    contraction::contract_by_loops(contraction, factor, at_a, at_b, 1.0, at_c);
  }
  void set_to_zero(double* first, std::int64_t size) override {
    copies_[first] = std::make_shared<std::vector<double>>(static_cast<std::size_t>(size));
  }
  void finish(double* first, std::int64_t) override {
    const auto found = copies_.find(first);
    if (found == copies_.end()) return;
    std::copy(found->second->begin(), found->second->end(), first);
    copies_.erase(found);
  }
  void forget(const double* first) override { copies_.erase(first); }
  bool is_host() const override { return false; }
  std::size_t known() const { return copies_.size(); }

 private:
  double* copy_of(const double* first, std::int64_t size) {
    auto found = copies_.upper_bound(first);
    if (found != copies_.begin() && first + size <= std::prev(found)->first + std::ssize(*std::prev(found)->second))
      return std::prev(found)->second->data() + (first - std::prev(found)->first);
    return (copies_[first] = std::make_shared<std::vector<double>>(first, first + size))->data();
  }

  std::map<const double*, std::shared_ptr<std::vector<double>>> copies_;
};

TEST_P(MomentsOf, OperandsMadeElsewhere) {
  Molecule molecule(GetParam());
  const auto elsewhere = std::make_shared<Elsewhere>();
  for (const MomentInputs& inputs : molecule.all_inputs()) {
    SCOPED_TRACE(inputs.antisymmetrised);
    expect_operands(molecule, MomentOperands(inputs, 1, elsewhere));
    EXPECT_GT(elsewhere->known(), 0u);
  }
}

TEST_P(MomentsOf, MayTakeThePlaceOfK) {
  Molecule molecule(GetParam());
  molecule.for_operands([&](Spin s, Spin t) {
    MomentInputs inputs = molecule.inputs();
    std::vector<double> v = molecule.arrays.numbers(molecule.names.of_pairs("kvvv", s, t));
    inputs.kvvv[s][t] = v.data();
    MomentOperands(inputs, 1).right_ovvv(s, t, v.data());
    molecule.expect(molecule.names.of_operand("right_ovvv", s, t), v.data());
  });
}

TEST_P(MomentsOf, OverlapIsThatOfTheReference) {
  Molecule molecule(GetParam());
  const MomentInputs inputs = molecule.inputs();
  const MomentOperands operands(inputs, 1);
  const double expected = molecule.arrays.attribute("overlap D");
  EXPECT_NEAR(operands.overlap(), expected, 1e-12 * std::abs(expected));
  for (const auto& [s, t] : {std::pair(alpha, alpha), std::pair(alpha, beta), std::pair(beta, beta)}) {
    if (inputs.closed_shell && s == t) continue;
    const std::string name = molecule.names.of_spins("c2", s, t);
    std::vector<double> c2(molecule.arrays.numbers(name).size(), std::nan(""));
    operands.c2(s, t, c2.data());
    molecule.expect(name, c2.data());
  }
}

TEST_P(MomentsOf, TablesAreThoseOfTheReference) {
  Molecule molecule(GetParam());
  for (const MomentInputs& inputs : molecule.all_inputs()) {
    SCOPED_TRACE(inputs.antisymmetrised);
    const DenominatorTables tables(MomentOperands(inputs, 1));
    for (const Spin s : both_spins) {
      if (inputs.closed_shell && s == beta) break;
      molecule.expect("table_" + molecule.names.of_spin("o", s), tables.o(s).first);
      molecule.expect("table_" + molecule.names.of_spin("v", s), tables.v(s).first);
      for (const Spin t : both_spins) {
        const auto name = [&](const char* of) { return molecule.names.of_table(of, s, t); };
        molecule.expect(name("oo"), tables.oo(s, t).first);
        molecule.expect(name("vv"), tables.vv(s, t).first);
        molecule.expect(name("ov"), tables.ov(s, t).first);
        molecule.expect(name("oov"), tables.oov(s, t).first);
        molecule.expect(name("ovv"), tables.ovv(s, t).first);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, MomentsOf, ::testing::Values("h2o_631g_rhf.h5", "random_uhf.h5"), [](const auto& test) {
  const std::string name = test.param;
  return name.substr(0, name.find('.'));
});

}
}
