#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/moments/dressed_input.hpp"
#include "cxx/moments/tensors.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/triples/method.hpp"
#include "cxx/triples/problem.hpp"
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

/// Bare integrals, both dressed sides, and Lambda amplitudes.
struct Sources {
  FileArrays arrays;
  bool closed_shell;
  std::unique_ptr<TileSource> bare, right, left, lambda;

  explicit Sources(const char* file, bool antisymmetrised = false) : arrays(file), closed_shell(arrays.has("t2")) {
    DenseInput input;
    input.arrays = std::make_shared<Hdf5Arrays>(arrays.file());
    if (antisymmetrised) input.arrays = std::make_shared<AntisymmetrisedArrays>(file, input.arrays);
    input.header = header_of(*input.arrays, closed_shell);
    const auto open = [](std::shared_ptr<const DenseInput> of) { return open_dense(std::move(of), 3, 4); };
    bare = open(std::make_shared<DenseInput>(input));
    right = open(right_input(input, 1, contract_on_cores(1)));
    left = open(left_input(input, 1, contract_on_cores(1)));
    input.arrays = std::make_shared<LambdaArrays>(input.arrays);
    lambda = open(std::make_shared<DenseInput>(input));
  }
};

Energies sum(const Executor& executor, const Plan& plan) {
  const auto worker = executor.make_worker();
  std::vector<TaskEnergy> energy(1);
  Energies all;
  for (const Task& task : plan.tasks) {
    worker->execute({&task, 1}, energy);
    all += energy[0].same;
    all += energy[0].mixed;
  }
  return all;
}

/// Expects the energies of the reference evaluation and of the executor on cores to be these; NaN: any.
void expect_energies(const Problem& problem, double bracket, double paren) {
  const Plan plan = make_plan(problem.right->tiles().retiled(3, 4), problem.formulation);
  const Energies reference = sum(*make_reference_executor(problem, plan.tiles), plan),
                 on_cores = sum(*make_cpu_executor(problem, plan.tiles, {1, 1}), plan);
  for (const Energies& found : {reference, on_cores}) {
    if (!std::isnan(bracket)) {
      EXPECT_NEAR(found.e_bracket_t, bracket, 1e-12 * std::abs(bracket));
    }
    EXPECT_NEAR(found.e_paren_t, paren, 1e-12 * std::abs(paren));
  }
}

class MomentEnergiesOf : public ::testing::TestWithParam<const char*> {};

void expect_energies(const Sources& sources) {
  const auto expected = [&](const char* name) { return sources.arrays.attribute(name); };
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    if (formulation == SpinFormulation::spin_adapted && !sources.closed_shell) continue;
    SCOPED_TRACE(to_string(formulation));
    Problem problem;
    problem.formulation = formulation;
    problem.right = sources.right.get();
    problem.left_integrals = sources.bare.get();
    expect_energies(problem, expected("E[cT]"), expected("E(cT)"));
    problem.left = sources.lambda.get();
    problem.left_integrals = sources.left.get();
    problem.method = ccsd_t_with_fock;
    expect_energies(problem, std::nan(""), expected("E CR-CC(2,3)_A"));
  }
}

TEST_P(MomentEnergiesOf, AreThoseOfTheReference) {
  expect_energies(Sources(GetParam()));
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
