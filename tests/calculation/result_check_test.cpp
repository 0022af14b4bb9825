#include "cxx/calculation/result_check.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

/// The same source with another description.
class Described : public TileSource {
 public:
  explicit Described(std::unique_ptr<TileSource> source) : source_(std::move(source)), info_(source_->info()) {
    info_.path = "scratch/c";
    info_.correlation_energy.reset();
  }

  SourceInfo& description() { return info_; }
  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return source_->tiles(); }
  std::span<const double> orbital_energies() const override { return source_->orbital_energies(); }
  bool has_integrals() const override { return source_->has_integrals(); }
  bool has_fock() const override { return source_->has_fock(); }
  void read_fock(int g6, int g5, std::span<double> block) const override { source_->read_fock(g6, g5, block); }
  void read_t1(int p, int h, std::span<double> block) const override { source_->read_t1(p, h, block); }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    source_->read_t2(p1, p2, h3, h4, block);
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    source_->read_v2(g3, g4, g1, g2, block);
  }

 private:
  std::unique_ptr<TileSource> source_;
  SourceInfo info_;
};

class PrintedEnergies : public ::testing::Test {
 protected:
  PrintedEnergies() { found_ = calculate(source_).energies.front().total; }

  void print(double bracket_off, double paren_off) {
    source_.description().printed_triples = {found_.e_bracket_t + bracket_off, found_.e_paren_t + paren_off};
  }

  Described source_{make_synthetic_source(closed_shell(3, 4))};
  Energies found_;
};

TEST_F(PrintedEnergies, AreThoseThatComeOut) {
  print(1e-10, -1e-10);
  EXPECT_TRUE(calculate(source_).warnings.empty());
}

TEST_F(PrintedEnergies, ThatDifferALittleAreToldOf) {
  for (const double off : {2e-9, -9e-7}) {
    print(0.0, off);
    const CalculationResult result = calculate(source_);
    ASSERT_EQ(result.warnings.size(), 1u);
    EXPECT_NE(result.warnings.front().find("scratch/c: E(T) is "), std::string::npos) << result.warnings.front();
    print(off, 0.0);
    ASSERT_EQ(calculate(source_).warnings.size(), 1u);
  }
}

TEST_F(PrintedEnergies, ThatDifferAreEnforced) {
  print(0.0, 2e-6);
  expect_failure<InputError>([&] { calculate(source_); }, "scratch/c: E(T) is ");
  print(-0.1, 0.0);
  expect_failure<InputError>([&] { calculate(source_); }, "scratch/c: E[T] is ");
}

TEST_F(PrintedEnergies, ThatDifferAreToldOfWhereTheInputIsTrusted) {
  print(0.0, 1.0);
  CalculationOptions options = options_for();
  options.trust_input = true;
  const CalculationResult result = calculate(source_, options);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings.front().find("trusted"), std::string::npos) << result.warnings.front();
}

TEST_F(PrintedEnergies, SayNothingOfOtherQuantities) {
  print(1.0, 1.0);
  CalculationOptions shifted = options_for();
  shifted.omega2 = {0.1, 0.2};
  EXPECT_TRUE(calculate(source_, shifted).warnings.empty());
  const auto left = make_synthetic_source(closed_shell(3, 4));
  EXPECT_TRUE(calculate(source_, options_for(), left.get()).warnings.empty());
  // Only one value of the list gives the plain correction.
  shifted.omega2 = {0.1, 0.0};
  expect_failure<InputError>([&] { calculate(source_, shifted); }, "E(T)");
}

TEST_F(PrintedEnergies, SayNothingOfSemicanonicalOrbitals) {
  Described carbene(make_synthetic_source(open_shell(Reference::rohf, {3, 2, 4, 5})));
  carbene.description().printed_triples = {1.0, 1.0};
  EXPECT_THROW(calculate(carbene), InputError);
  CalculationOptions options = options_for();
  options.rohf = RohfOrbitals::semicanonical;
  EXPECT_TRUE(calculate(carbene, options).warnings.empty());
}

TEST_F(PrintedEnergies, AreEnforcedByAllRanks) {
  print(0.0, 1.0);
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    Calculation calculation(source_, nullptr, options_for());
    calculation.join(communicator, {});
    calculation.run();
  });
  for (const std::string& failure : failures) EXPECT_NE(failure.find("E(T) is "), std::string::npos) << failure;
}

TEST(TriplesBeyondDoubles, AreToldOf) {
  Described source(make_synthetic_source(closed_shell(3, 4)));
  const double triples = calculate(source).energies.front().total.e_paren_t;
  for (const double ccsd : {2.0 * triples, -2.0 * triples}) {
    source.description().correlation_energy = ccsd;
    EXPECT_TRUE(calculate(source).warnings.empty());
  }
  source.description().correlation_energy = 0.5 * triples;
  std::vector<std::string> told;
  const CalculationResult result =
      Calculation(source, nullptr, options_for()).run(nullptr, {}, [&](const std::string& warning) {
        told.push_back(warning);
      });
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_EQ(told, result.warnings);
  EXPECT_NE(told.front().find("larger than the CCSD correlation energy"), std::string::npos) << told.front();
  // The recomputed energy has precedence over the printed one.
  CalculationOptions options = options_for();
  options.ccsd_energy = 2.0 * triples;
  EXPECT_TRUE(calculate(source, options).warnings.empty());
}

}
}
