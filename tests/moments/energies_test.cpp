#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/sources/array_source.hpp"
#include "tests/moments/molecule.hpp"

/// Energies with moments: sources of bare and of dressed arrays, and executors that know nothing of moments.
namespace trifuse::moments {
namespace {

/// A source with the names of a dump, made of arrays of a file and of arrays that replace some of them.
class Source {
 public:
  explicit Source(Molecule& molecule) : molecule_(molecule), names_(molecule.names) {
    for_spins([&](Spin s) {
      for (const char* const name : {"eps_occ", "eps_vir", "fock", "t1"}) from_file(names_.of_spin(name, s));
    });
    if (names_.closed_shell) {
      for (const char* const name : {"t2", "ovvv", "ovoo", "ovov"}) from_file(name);
      return;
    }
    for (const auto& [s, t] : {std::pair(alpha, alpha), std::pair(alpha, beta), std::pair(beta, beta)}) {
      from_file(names_.of_spins("t2", s, t));
      from_file(names_.of_pairs("ovov", s, t));
    }
    molecule_.for_operands([&](Spin s, Spin t) {
      from_file(names_.of_pairs("ovvv", s, t));
      from_file(names_.of_pairs("ovoo", s, t));
    });
  }

  /// Puts a dressed array in the place of a bare one.
  template <typename Make>
  void dress(const std::string& name, Spin s, Spin t, const Make& make) {
    const std::string bare = names_.of_pairs(name, s, t), dressed = names_.of_operand(name, s, t);
    auto entry = arrays_.extract(bare);
    entry.key() = dressed;
    make(entry.mapped().numbers.data());
    arrays_.insert(std::move(entry));
  }
  std::vector<double>& numbers(const std::string& name) { return arrays_.at(name).numbers; }

  const TileSource& open() {
    SourceInfo info;
    info.path = "arrays";
    info.reference = names_.closed_shell ? Reference::rhf : Reference::uhf;
    std::vector<CallerArray> arrays;
    for (const auto& [name, array] : arrays_) {
      CallerArray of_caller;
      of_caller.name = name;
      of_caller.data = array.numbers.data();
      of_caller.shape = array.shape;
      arrays.push_back(std::move(of_caller));
    }
    source_ = open_arrays(info, std::move(arrays));
    return *source_;
  }

  template <typename Body>
  void for_spins(const Body& body) const {
    for (const Spin s : both_spins) {
      if (s == alpha || !names_.closed_shell) body(s);
    }
  }

 private:
  struct Array {
    std::vector<double> numbers;
    std::vector<std::int64_t> shape;
  };

  void from_file(const std::string& name) {
    arrays_[name] = {molecule_.arrays.numbers(name), molecule_.arrays.shape(name)};
  }

  Molecule& molecule_;
  Names names_;
  std::map<std::string, Array> arrays_;
  std::unique_ptr<TileSource> source_;
};

/// Bare integrals, and both dressed sides.
struct Sources {
  Molecule molecule;
  Source bare, right, left;

  explicit Sources(const char* file) : molecule(file), bare(molecule), right(molecule), left(molecule) {
    const MomentInputs inputs = molecule.inputs();
    MomentOperands operands(inputs, 1);
    molecule.for_operands([&](Spin s, Spin t) {
      right.dress("ovvv", s, t, [&](double* v) { operands.right_ovvv(s, t, v); });
      right.dress("ovoo", s, t, [&](double* o) { operands.right_ovoo(s, t, o); });
      left.dress("ovvv", s, t, [&](double* v) { operands.left_ovvv(s, t, v); });
      left.dress("ovoo", s, t, [&](double* o) { operands.left_ovoo(s, t, o); });
    });
    left.for_spins([&](Spin s) { use_lambda(operands, inputs, s); });
    if (molecule.names.closed_shell) {
      left.numbers("t2") = molecule.arrays.numbers("lambda2");
    } else {
      for (const char* const spins : {"_aa", "_ab", "_bb"})
        left.numbers(std::string("t2") + spins) = molecule.arrays.numbers(std::string("lambda2") + spins);
    }
  }

 private:
  /// Lambda1 in the place of t1, and F in that of f_ov.
  void use_lambda(const MomentOperands& operands, const MomentInputs& inputs, Spin s) {
    const Names& names = molecule.names;
    left.numbers(names.of_spin("t1", s)) = molecule.arrays.numbers(names.of_spin("lambda1", s));
    const auto holes = static_cast<std::size_t>(inputs.holes[s]),
               particles = static_cast<std::size_t>(inputs.particles[s]);
    std::vector<double> f(holes * particles);
    operands.hbar_fov(s, f.data());
    std::vector<double>& fock = left.numbers(names.of_spin("fock", s));
    for (std::size_t i = 0; i < holes; ++i) {
      for (std::size_t a = 0; a < particles; ++a) {
        const std::size_t orbitals = holes + particles, p = holes + a;
        fock[i * orbitals + p] = fock[p * orbitals + i] = f[i * particles + a];
      }
    }
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

TEST_P(MomentEnergiesOf, AreThoseOfTheReference) {
  Sources sources(GetParam());
  const auto expected = [&](const char* name) { return sources.molecule.arrays.attribute(name); };
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    if (formulation == SpinFormulation::spin_adapted && !sources.molecule.names.closed_shell) continue;
    SCOPED_TRACE(to_string(formulation));
    Problem problem;
    problem.formulation = formulation;
    problem.right = &sources.right.open();
    problem.left_integrals = &sources.bare.open();
    expect_energies(problem, expected("E[cT]"), expected("E(cT)"));
    problem.left = problem.left_integrals = &sources.left.open();
    problem.method = ccsd_t_with_fock;
    expect_energies(problem, std::nan(""), expected("E CR-CC(2,3)_A"));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, MomentEnergiesOf, ::testing::Values("h2o_631g_rhf.h5", "random_uhf.h5"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(0, name.find('.'));
                         });

}
}
