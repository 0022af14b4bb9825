#include "tce_tiles/checks/lambda_equation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nwchem_test_data.hpp"
#include "tce_tiles/checks/dense_slabs.hpp"
#include "tce_tiles/checks/lambda_check.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_file.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"

/// The Lambda amplitudes of PySCF satisfy the Lambda equations: that of the single excitations with factors, that
/// without ladders with other integrals. Changed amplitudes do not.
namespace trifuse::testing {
namespace {

std::string path_of(const std::string& name) {
  return (test_data() / "dumps" / (name + ".h5")).string();
}

/// The amplitudes of a dump, changed by a function of a slab [i,f,e] with v virtual orbitals f and as many e.
class ChangedSlabs final : public SinglesSlabs {
 public:
  using Change = std::function<void(std::int64_t n, std::int64_t v, std::span<double> slab)>;
  ChangedSlabs(const SinglesSlabs& slabs, std::array<std::int64_t, 2> virtuals, Change change)
      : slabs_(slabs), virtuals_(virtuals), change_(std::move(change)) {}

  void read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
               std::span<double> out) const override {
    slabs_.read_t2(u, s, n, first, count, out);
    if (change_) change_(n, virtuals_[static_cast<std::size_t>(s)], out);
  }
  void read_ovov(int, int, std::int64_t, std::span<double>) const override {}
  void read_ovoo(int, int, std::int64_t, std::span<double>) const override {}
  void read_oovv(int, std::int64_t, std::span<double>) const override {}

 private:
  const SinglesSlabs& slabs_;
  const std::array<std::int64_t, 2> virtuals_;
  const Change change_;
};

/// One equation for each part.
template <typename Make>
auto of_parts(int parts, Make make) {
  std::vector<decltype(make())> equations;
  for (int part = 0; part < parts; ++part) equations.push_back(make());
  return equations;
}

/// The sum of what the parts return.
template <typename Equations, typename Run>
std::vector<double> sum_of(const Equations& equations, Run run) {
  std::vector<double> sums;
  for (std::size_t part = 0; part < equations.size(); ++part) {
    const std::vector<double> found = run(*equations[part], static_cast<int>(part));
    sums.resize(found.size(), 0.0);
    for (std::size_t k = 0; k < found.size(); ++k) sums[k] += found[k];
  }
  return sums;
}

/// A molecule with its right and its Lambda amplitudes.
struct Molecule {
  Molecule(const std::string& name, const std::string& of_lambda)
      : right(DumpFile::open(path_of(name))),
        left(DumpFile::open(path_of(of_lambda + "_lambda"))),
        right_slabs(*right.arrays, *right.arrays, right.header),
        left_slabs(*left.arrays, *right.arrays, left.header),
        problem(read_lambda_problem(left, right)) {
    right_slabs.describe(problem);
  }
  explicit Molecule(const std::string& name) : Molecule(name, name) {}

  bool has_factors() const { return right.factor_source != nullptr; }
  LambdaResidual residual(const LambdaProblem& changed, const SinglesSlabs& lambda2, int parts = 1, int threads = 2,
                          std::int64_t most_doubles = 1 << 20) const {
    if (has_factors()) {
      const auto make = [&] {
        return std::make_unique<LambdaEquation>(changed, right_slabs, lambda2, *right.factor_source, most_doubles);
      };
      const auto equations = of_parts(parts, make);
      return equations.back()->residual(
          sum_of(equations, [&](auto& each, int part) { return each.run(part, parts, threads, nullptr); }), threads,
          nullptr);
    }
    const auto make = [&] { return std::make_unique<LambdaLadderFree>(changed, right_slabs, lambda2, most_doubles); };
    const auto equations = of_parts(parts, make);
    for (int pass = 0; pass < LambdaLadderFree::passes; ++pass) {
      const std::vector<double> sums =
          sum_of(equations, [&](auto& each, int part) { return each.run(pass, part, parts, threads, nullptr); });
      for (const auto& each : equations) each->accept(pass, sums);
    }
    return equations.back()->residual();
  }
  /// The largest step after a change of lambda1 and of lambda2.
  double step(const std::function<void(LambdaProblem&)>& singles, ChangedSlabs::Change doubles) const {
    LambdaProblem changed = problem;
    if (singles) singles(changed);
    return residual(changed, ChangedSlabs(left_slabs, problem.virtuals, std::move(doubles))).step;
  }

  DumpFile right, left;
  DenseSlabs right_slabs, left_slabs;
  LambdaProblem problem;
};

void scale(std::span<double> values, double factor) {
  for (double& value : values) value *= factor;
}

/// The witness fails above this step. See lambda_witness.cpp.
constexpr double limit = 1e-4;

class LambdaEquationOf : public ::testing::TestWithParam<std::string> {};

TEST_P(LambdaEquationOf, HoldsForAnyPartsThreadsAndSteps) {
  const Molecule molecule(GetParam());
  EXPECT_LT(molecule.residual(molecule.problem, molecule.left_slabs).step, molecule.has_factors() ? 2e-9 : 2e-11);
  // A changed input has a large residual, of which all digits must agree.
  LambdaProblem changed = molecule.problem;
  for (std::vector<double>& l1 : changed.l1) scale(l1, 0.5);
  const LambdaResidual whole = molecule.residual(changed, molecule.right_slabs);
  for (const int parts : {2, 5}) {
    const LambdaResidual found = molecule.residual(changed, molecule.right_slabs, parts, 1, 50);
    EXPECT_NEAR(found.step, whole.step, 1e-13);
    EXPECT_EQ(found.spin, whole.spin);
    EXPECT_EQ(found.a, whole.a);
  }
}

TEST_P(LambdaEquationOf, FailsForOtherAmplitudes) {
  const Molecule molecule(GetParam());
  const auto singles = [](double factor) {
    return [factor](LambdaProblem& problem) {
      for (std::vector<double>& l1 : problem.l1) scale(l1, factor);
    };
  };
  const auto doubles = [](double factor) {
    return [factor](std::int64_t, std::int64_t, std::span<double> slab) { scale(slab, factor); };
  };
  // Only the equation of the single excitations, or f_ia, has a term without Lambda.
  if (molecule.has_factors()) {
    EXPECT_GT(molecule.step(singles(-1.0), doubles(-1.0)), limit);
    EXPECT_GT(molecule.step(singles(0.0), doubles(0.0)), limit);
  } else if (molecule.right.header.info.reference != Reference::rohf) {
    EXPECT_LT(molecule.step(singles(-1.0), doubles(-1.0)), 1e-9);
  }
  EXPECT_GT(molecule.step(nullptr, doubles(-1.0)), limit);
  EXPECT_GT(molecule.step(singles(-1.0), nullptr), limit);
  EXPECT_GT(molecule.step(singles(0.0), nullptr), limit);
  EXPECT_GT(molecule.step(nullptr, doubles(0.9)), limit);
  EXPECT_GT(molecule.residual(molecule.problem, molecule.right_slabs).step, limit);
  const auto one_row = [](std::int64_t n, std::int64_t v, std::span<double> slab) {
    for (std::int64_t e = 0; n == 1 && e < v; ++e) slab[static_cast<std::size_t>((v + 1) * v + e)] += 0.01;
  };
  EXPECT_GT(molecule.step(nullptr, one_row), limit);
  const auto right_singles = [](LambdaProblem& problem) { problem.l1 = problem.t1; };
  EXPECT_GT(molecule.step(right_singles, nullptr), limit);
  const auto exchanged_virtuals = [&](LambdaProblem& problem) {
    for (std::size_t s = 0; s < 2; ++s) {
      for (std::int64_t i = 0; i < problem.occupied[s]; ++i) {
        double* const row = problem.l1[s].data() + i * problem.virtuals[s];
        std::reverse(row, row + problem.virtuals[s]);
      }
    }
  };
  EXPECT_GT(molecule.step(exchanged_virtuals, nullptr), limit);
}

/// Each occupied orbital counts: with a single k, the equation would hardly see other rows.
TEST_P(LambdaEquationOf, SeesEachRow) {
  const Molecule molecule(GetParam());
  for (std::size_t s = 0; s < (molecule.problem.restricted ? 1 : 2); ++s) {
    for (std::int64_t i = 0; i < molecule.problem.occupied[s]; ++i) {
      const auto row = [&](LambdaProblem& problem) {
        for (std::int64_t a = 0; a < problem.virtuals[s]; ++a) {
          problem.l1[s][static_cast<std::size_t>(i * problem.virtuals[s] + a)] += 1e-3;
        }
      };
      EXPECT_GT(molecule.step(row, nullptr), limit) << s << " " << i;
    }
  }
}

/// The combination 2 l - l^T.
TEST(LambdaEquation, FailsForSpinAdaptedDoubles) {
  const auto adapted = [](std::int64_t, std::int64_t v, std::span<double> slab) {
    const std::vector<double> whole(slab.begin(), slab.end());
    for (std::size_t k = 0; k < slab.size(); ++k) {
      const auto n = static_cast<std::int64_t>(k), page = n / (v * v), f = n / v % v, e = n % v;
      slab[k] = 2.0 * whole[k] - whole[static_cast<std::size_t>((page * v + e) * v + f)];
    }
  };
  for (const char* name : {"lih_631g_rhf_df", "hf_160_631g_rhf"}) {
    EXPECT_GT(Molecule(name).step(nullptr, adapted), limit) << name;
  }
}

TEST(LambdaEquation, HasTheSameResidualWithAntisymmetrisedIntegrals) {
  const std::string name = "beh_180_sto3g_uhf";
  const Molecule plain(name), asym(name + "_asym", name);
  LambdaProblem changed = plain.problem, changed_asym = asym.problem;
  for (LambdaProblem* each : {&changed, &changed_asym}) {
    for (std::vector<double>& l1 : each->l1) scale(l1, -3.0);
  }
  const LambdaResidual expected = plain.residual(changed, plain.right_slabs);
  EXPECT_GT(expected.step, limit);
  EXPECT_NEAR(asym.residual(changed_asym, asym.right_slabs).step, expected.step, 1e-13);
  EXPECT_LT(asym.residual(asym.problem, asym.left_slabs).step, 2e-11);
}

TEST_P(LambdaEquationOf, IsAWitnessOfLeftAmplitudes) {
  const auto right = open_dump(path_of(GetParam()), 2, 3), left = open_dump(path_of(GetParam() + "_lambda"), 2, 3);
  const CheckReport report = check_source(*left, *right);
  const auto found = std::find_if(report.witnesses.begin(), report.witnesses.end(),
                                  [](const Witness& each) { return each.name == "Lambda equation"; });
  ASSERT_NE(found, report.witnesses.end());
  EXPECT_EQ(found->status, WitnessStatus::passed) << found->note;
  EXPECT_LT(found->value.value(), 2e-9);
}

INSTANTIATE_TEST_SUITE_P(Pyscf, LambdaEquationOf,
                         ::testing::Values("lih_631g_rhf_df", "beh_sto3g_uhf_df", "beh_sto3g_rohf_df",
                                           "hf_160_631g_rhf", "beh_180_sto3g_uhf", "beh_180_sto3g_rohf"),
                         [](const auto& dump) { return dump.param; });

/// Lambda amplitudes of other orbitals of the same molecule.
TEST(LambdaEquation, FailsForOtherOrbitals) {
  for (const std::string kind : {"beh_sto3g_{}_df", "beh_180_sto3g_{}"}) {
    const auto right = open_dump(path_of(fmt::format(fmt::runtime(kind), "uhf")), 2, 3),
               left = open_dump(path_of(fmt::format(fmt::runtime(kind), "rohf") + "_lambda"), 2, 3);
    const CheckReport report = check_source(*left, *right);
    EXPECT_TRUE(std::any_of(report.witnesses.begin(), report.witnesses.end(), [](const Witness& each) {
      return each.name == "Lambda equation" && each.status == WitnessStatus::failed &&
             each.note.find("CCSD Lambda equations") != std::string::npos;
    })) << kind;
  }
}

}
}
