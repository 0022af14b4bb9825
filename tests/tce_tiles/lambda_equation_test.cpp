#include "tce_tiles/lambda_equation.hpp"

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
#include "tce_tiles/dump_file.hpp"
#include "tce_tiles/dump_slabs.hpp"
#include "tce_tiles/dump_source.hpp"
#include "tce_tiles/lambda_check.hpp"
#include "tce_tiles/source_check.hpp"

/// The Lambda amplitudes of PySCF satisfy the Lambda equation of the single excitations. Changed amplitudes do not.
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

/// A molecule with its right and its Lambda amplitudes.
struct Molecule {
  explicit Molecule(const std::string& name)
      : right(DumpFile::open(path_of(name))),
        left(DumpFile::open(path_of(name + "_lambda"))),
        right_slabs(*right.arrays, *right.arrays, right.header),
        left_slabs(*left.arrays, *right.arrays, left.header),
        problem(read_lambda_problem(left, right)) {}

  LambdaResidual residual(const LambdaProblem& changed, const SinglesSlabs& lambda2, int parts = 1, int threads = 2,
                          std::int64_t most_doubles = 1 << 20) const {
    std::vector<std::unique_ptr<LambdaEquation>> equations;
    std::vector<double> sums;
    for (int part = 0; part < parts; ++part) {
      equations.push_back(
          std::make_unique<LambdaEquation>(changed, right_slabs, lambda2, *right.factor_source, most_doubles));
      const std::vector<double> found = equations.back()->run(part, parts, threads, nullptr);
      sums.resize(found.size(), 0.0);
      for (std::size_t k = 0; k < found.size(); ++k) sums[k] += found[k];
    }
    return equations.back()->residual(sums, threads, nullptr);
  }
  /// The largest step after a change of lambda1 and of lambda2.
  double step(const std::function<void(LambdaProblem&)>& singles, ChangedSlabs::Change doubles) const {
    LambdaProblem changed = problem;
    singles(changed);
    return residual(changed, ChangedSlabs(left_slabs, problem.virtuals, std::move(doubles))).step;
  }

  DumpFile right, left;
  DumpSlabs right_slabs, left_slabs;
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
  EXPECT_LT(molecule.residual(molecule.problem, molecule.left_slabs).step, 2e-9);
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
  EXPECT_GT(molecule.step(singles(-1.0), doubles(-1.0)), limit);
  EXPECT_GT(molecule.step(singles(0.0), doubles(0.0)), limit);
  EXPECT_GT(molecule.step(singles(1.0), doubles(-1.0)), limit);
  EXPECT_GT(molecule.step(singles(-1.0), nullptr), limit);
  EXPECT_GT(molecule.step(singles(0.0), nullptr), limit);
  EXPECT_GT(molecule.step(singles(1.0), doubles(0.9)), limit);
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

/// Right amplitudes as Lambda doubles, and the spin-adapted combination 2 l - l^T.
TEST(LambdaEquation, FailsForOtherDoubles) {
  const Molecule molecule("lih_631g_rhf_df");
  EXPECT_GT(molecule.residual(molecule.problem, molecule.right_slabs).step, limit);
  const auto adapted = [](std::int64_t, std::int64_t v, std::span<double> slab) {
    const std::vector<double> whole(slab.begin(), slab.end());
    for (std::size_t k = 0; k < slab.size(); ++k) {
      const auto n = static_cast<std::int64_t>(k), page = n / (v * v), f = n / v % v, e = n % v;
      slab[k] = 2.0 * whole[k] - whole[static_cast<std::size_t>((page * v + e) * v + f)];
    }
  };
  EXPECT_GT(molecule.step([](LambdaProblem&) {}, adapted), limit);
  const auto one_row = [](std::int64_t n, std::int64_t v, std::span<double> slab) {
    for (std::int64_t e = 0; n == 1 && e < v; ++e) slab[static_cast<std::size_t>((v + 1) * v + e)] += 0.01;
  };
  EXPECT_GT(molecule.step([](LambdaProblem&) {}, one_row), limit);
}

TEST_P(LambdaEquationOf, IsAWitnessOfLeftAmplitudes) {
  const auto right = open_dump(path_of(GetParam()), 2, 3), left = open_dump(path_of(GetParam() + "_lambda"), 2, 3);
  const CheckReport report = check_source(*left, *right);
  const auto found = std::find_if(report.witnesses.begin(), report.witnesses.end(),
                                  [](const Witness& each) { return each.name == "Lambda singles equation"; });
  ASSERT_NE(found, report.witnesses.end());
  EXPECT_EQ(found->status, WitnessStatus::passed) << found->note;
  EXPECT_LT(found->value.value(), 2e-9);
}

INSTANTIATE_TEST_SUITE_P(Pyscf, LambdaEquationOf,
                         ::testing::Values("lih_631g_rhf_df", "beh_sto3g_uhf_df", "beh_sto3g_rohf_df"),
                         [](const auto& dump) { return dump.param; });

/// Lambda amplitudes of other orbitals of the same molecule.
TEST(LambdaEquation, FailsForOtherOrbitals) {
  const auto right = open_dump(path_of("beh_sto3g_uhf_df"), 2, 3),
             left = open_dump(path_of("beh_sto3g_rohf_df_lambda"), 2, 3);
  const CheckReport report = check_source(*left, *right);
  EXPECT_TRUE(std::any_of(report.witnesses.begin(), report.witnesses.end(), [](const Witness& each) {
    return each.name == "Lambda singles equation" && each.status == WitnessStatus::failed &&
           each.note.find("Lambda equation") != std::string::npos;
  }));
}

}  // namespace
}  // namespace trifuse::testing
