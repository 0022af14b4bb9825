#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/moments/denominator_tables.hpp"
#include "cxx/moments/dressed_input.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/triples/method.hpp"
#include "cxx/triples/problem.hpp"
#include "cxx/triples/quotient.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/dense/dense_tiles.hpp"
#include "tce_tiles/dump_files/hdf5_arrays.hpp"
#include "tce_tiles/sources/array_source.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"
#include "tce_tiles/tiles/tile_source.hpp"
#include "tests/moments/molecule.hpp"

/// Energies with moments: sources of dressed integrals, and executors that know nothing of moments.
namespace trifuse::moments {
namespace {

/// Arrays of Lambda amplitudes, with the names of amplitudes.
class LambdaArrays final : public DenseArrays {
 public:
  explicit LambdaArrays(std::shared_ptr<const DenseArrays> arrays) : arrays_(std::move(arrays)) {}
  const std::string& path() const override { return arrays_->path(); }
  ArrayWords words() const override { return arrays_->words(); }
  bool has(const std::string& name) const override { return arrays_->has(renamed(name)); }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    return arrays_->array(renamed(name));
  }

 private:
  static std::string renamed(const std::string& name) { return name[0] == 't' ? "lambda" + name.substr(1) : name; }
  std::shared_ptr<const DenseArrays> arrays_;
};

/// The same arrays with antisymmetrised integrals of equal spins.
class AntisymmetrisedArrays final : public DenseArrays {
 public:
  AntisymmetrisedArrays(const char* file, std::shared_ptr<const DenseArrays> arrays)
      : molecule_(file), plain_(std::move(arrays)) {
    molecule_.antisymmetrised_inputs();
    std::vector<CallerArray> described;
    for (const auto& [name, array] : molecule_.antisymmetrised) {
      CallerArray& description = described.emplace_back();
      description.name = "asym_" + name;
      description.data = array.view().first;
      description.shape = array.view().extents;
    }
    asym_ = std::make_unique<CallerArrays>("arrays", std::move(described));
  }
  const std::string& path() const override { return plain_->path(); }
  ArrayWords words() const override { return plain_->words(); }
  bool has(const std::string& name) const override {
    return asym_->has(name) || (plain_->has(name) && !molecule_.antisymmetrised.contains(name));
  }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    return asym_->has(name) ? asym_->array(name) : plain_->array(name);
  }

 private:
  Molecule molecule_;
  std::shared_ptr<const DenseArrays> plain_;
  std::unique_ptr<CallerArrays> asym_;
};

/// Bare integrals, both dressed sides, Lambda amplitudes, C3, and tables.
struct Sources {
  FileArrays arrays;
  bool closed_shell;
  std::unique_ptr<TileSource> bare, right, left, lambda, disconnected;
  std::unique_ptr<DenominatorTables> tables;
  double overlap = 0.0;

  explicit Sources(const char* file, bool antisymmetrised = false) : arrays(file), closed_shell(arrays.has("t2")) {
    Molecule molecule(file);
    const MomentOperands operands(antisymmetrised ? molecule.antisymmetrised_inputs() : molecule.inputs(), 1);
    tables = std::make_unique<DenominatorTables>(operands);
    overlap = operands.overlap();
    DenseInput input;
    input.arrays = std::make_shared<Hdf5Arrays>(arrays.file());
    if (antisymmetrised) input.arrays = std::make_shared<AntisymmetrisedArrays>(file, input.arrays);
    input.header = header_of(*input.arrays, closed_shell);
    const auto open = [](std::shared_ptr<const DenseInput> of) { return open_dense(std::move(of), 3, 4); };
    bare = open(std::make_shared<DenseInput>(input));
    right = open(right_input(input, 1, contract_on_cores(1)));
    left = open(left_input(input, 1, contract_on_cores(1)));
    disconnected = open(disconnected_input(input, 1, contract_on_cores(1)));
    input.arrays = std::make_shared<LambdaArrays>(input.arrays);
    lambda = open(std::make_shared<DenseInput>(input));
  }
};

std::vector<Energies> sums(const Executor& executor, const Plan& plan, std::size_t quotients) {
  const auto worker = executor.make_worker();
  std::vector<TaskEnergy> energies(quotients);
  std::vector<Energies> all(quotients);
  for (const Task& task : plan.tasks) {
    worker->execute({&task, 1}, energies);
    for (std::size_t n = 0; n < quotients; ++n) all[n] += energies[n].same + energies[n].mixed;
  }
  return all;
}

/// Calls `expect` with the energies of the reference evaluation and of the executor on cores.
template <typename Expect>
void for_both_executors(const Problem& problem, const Expect& expect) {
  const Plan plan = make_plan(problem.right->tiles().retiled(3, 4), problem.formulation);
  const std::size_t quotients = problem.quotients.size();
  expect(sums(*make_reference_executor(problem, plan.tiles), plan, quotients));
  for (const CpuTiles tiles : {CpuTiles{1, 1}, CpuTiles{2, 3}})
    expect(sums(*make_cpu_executor(problem, plan.tiles, tiles), plan, quotients));
}

class MomentEnergiesOf : public ::testing::TestWithParam<const char*> {};

void expect_energies(const Sources& sources) {
  const auto expect = [&](const char* name, double found) {
    const double expected = sources.arrays.attribute(name);
    EXPECT_NEAR(found, expected, 1e-12 * std::abs(expected)) << name;
  };
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    if (formulation == SpinFormulation::spin_adapted && !sources.closed_shell) continue;
    SCOPED_TRACE(to_string(formulation));
    Problem problem;
    problem.formulation = formulation;
    problem.right = sources.right.get();
    problem.left_integrals = sources.bare.get();
    problem.disconnected = sources.disconnected.get();
    problem.quotients = {0.0, {Denominator::orbital_energies, RightFactor::disconnected}};
    for_both_executors(problem, [&](const std::vector<Energies>& found) {
      const auto& [moments, overlap] = std::pair(found[0], found[1]);
      expect("E[cT]", moments.e_bracket_t);
      expect("E(cT)", moments.e_paren_t);
      expect("overlap [T]", overlap.e_bracket_t);
      expect("overlap (T)", overlap.e_paren_t);
      expect("E CR-CCSD[T]", moments.e_bracket_t / (1.0 + sources.overlap + overlap.e_bracket_t));
      expect("E CR-CCSD(T)", moments.e_paren_t / (1.0 + sources.overlap + overlap.e_paren_t));
    });
    const TripleDenominators denominators = sources.tables->sorted(formulation);
    problem.left = sources.lambda.get();
    problem.left_integrals = sources.left.get();
    problem.method = ccsd_t_with_fock;
    problem.disconnected = nullptr;
    problem.denominators = &denominators;
    problem.quotients = {0.0, Denominator::one_body, Denominator::two_body, Denominator::three_body};
    for_both_executors(problem, [&](const std::vector<Energies>& found) {
      expect("E CR-CC(2,3)_A", found[0].e_paren_t);
      expect("E CR-CC(2,3)_B", found[1].e_paren_t);
      expect("E CR-CC(2,3)_C", found[2].e_paren_t);
      expect("E CR-CC(2,3)_D", found[3].e_paren_t);
    });
  }
}

TEST_P(MomentEnergiesOf, AreThoseOfTheReference) {
  expect_energies(Sources(GetParam()));
}

TEST(MomentEnergies, OfSpinAdaptedTablesNeedAClosedShell) {
  const Sources sources("random_uhf.h5");
  EXPECT_THROW(sources.tables->sorted(SpinFormulation::spin_adapted), std::logic_error);
}

TEST(MomentEnergies, OfAntisymmetrisedIntegralsAreTheSame) {
  expect_energies(Sources("random_uhf.h5", true));
}

INSTANTIATE_TEST_SUITE_P(Of, MomentEnergiesOf, ::testing::Values("h2o_631g_rhf.h5", "random_uhf.h5"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(0, name.find('.'));
                         });

}
}
