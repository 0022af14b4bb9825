#include "tce_tiles/checks/consistency.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "nwchem_test_data.hpp"
#include "tce_tiles/checks/source_check.hpp"

namespace trifuse::testing {
namespace {

/// Passes on the blocks of another source and changes them. Records which classes of V2 blocks were read.
class Altered final : public TileSource {
 public:
  using Change = std::function<void(const std::vector<int>& tiles, std::span<double> block)>;

  explicit Altered(const TileSource& source) : source_(source), info_(source.info()) {}

  Change fock, t1, t2, v2;
  bool integrals = true;
  mutable std::set<std::string> classes;
  SourceInfo& edit() { return info_; }

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return source_.orbital_energies(); }
  bool has_integrals() const override { return integrals; }
  bool has_fock() const override { return integrals; }
  void read_fock(int g6, int g5, std::span<double> block) const override {
    source_.read_fock(g6, g5, block);
    if (fock) fock({g6, g5}, block);
  }
  void read_t1(int p, int h, std::span<double> block) const override {
    source_.read_t1(p, h, block);
    if (t1) t1({p, h}, block);
  }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    source_.read_t2(p1, p2, h3, h4, block);
    if (t2) t2({p1, p2, h3, h4}, block);
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    std::string name;
    for (const int t : {g3, g4, g1, g2}) name += tiles()[t].space() == Space::hole ? 'h' : 'p';
    classes.insert(name);
    source_.read_v2(g3, g4, g1, g2, block);
    if (v2) v2({g3, g4, g1, g2}, block);
  }

 private:
  const TileSource& source_;
  SourceInfo info_;
};

class Consistency : public ::testing::Test {
 protected:
  Consistency() : source_(open_dump_of("h2o_631g_c2v_rhf_t3_2eorb")), altered_(*source_) {}
  void expect_refused(const std::vector<std::string>& parts) {
    expect_refusal([&] { check_consistency(altered_, altered_); }, parts);
  }
  void expect_failed_witness(const std::vector<std::string>& parts) {
    expect_refusal([&] { verify_source(altered_, altered_); }, parts);
    EXPECT_NO_THROW(verify_source(altered_, altered_, true));
  }
  bool alpha(int tile) const { return source_->tiles()[tile].spin() == Spin::alpha; }

  std::unique_ptr<TileSource> source_;
  Altered altered_;
};

TEST_F(Consistency, IsFoundInGoodData) {
  const ConsistencyReport report = check_consistency(altered_, altered_);
  ASSERT_TRUE(report.measured.ccsd_energy);
  EXPECT_NEAR(*report.measured.ccsd_energy, *source_->info().correlation_energy, 1e-13);
  EXPECT_GT(report.measured.largest_t1, 1e-3);
  EXPECT_GT(report.measured.largest_t2, 1e-2);
  EXPECT_GT(report.largest_v2, 0.1);
  EXPECT_GT(report.doubles_read, 0);
  // The check reads only blocks that the triples need.
  EXPECT_EQ(altered_.classes, (std::set<std::string>{"pphh", "hphh", "pphp"}));
}

TEST_F(Consistency, NeedsFiniteNumbers) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  altered_.t1 = [](const auto&, std::span<double> block) { block.back() = nan; };
  expect_refused({"T1 block (", source_->info().path, "not finite"});
  altered_.t1 = nullptr;
  altered_.t2 = [](const auto&, std::span<double> block) { block.front() = nan; };
  expect_refused({"T2 block (", source_->info().path, "not finite"});
  altered_.t2 = nullptr;
  altered_.v2 = [](const auto&, std::span<double> block) { block.front() = -std::numeric_limits<double>::infinity(); };
  expect_refused({"V2 block (", source_->info().path, "not finite"});
  altered_.v2 = nullptr;
  altered_.fock = [](const auto&, std::span<double> block) { block.front() = nan; };
  expect_refused({"F1 block (", source_->info().path, "not finite"});
}

TEST_F(Consistency, NeedsReasonableNumbers) {
  altered_.t1 = [](const auto&, std::span<double> block) { block.front() = 1e200; };
  expect_refused({"T1 block (", "reasonable"});
}

TEST_F(Consistency, NeedsAntisymmetricAmplitudes) {
  const int p = source_->tiles().hole_tiles();
  altered_.t2 = [p](const std::vector<int>& tiles, std::span<double> block) {
    if (tiles == std::vector<int>{p, p, 0, 0}) block[1] += 1e-6;
  };
  expect_refused({"T2 block (", "not antisymmetric"});
}

TEST_F(Consistency, NeedsAntisymmetricIntegralsOfEachClass) {
  const int holes = source_->tiles().hole_tiles();
  // <h p||h h>, <p p||h p> and <p p||h h>, each with a pair of equal tiles.
  for (const int which : {0, 1, 2}) {
    altered_.v2 = [=](const std::vector<int>& t, std::span<double> block) {
      const bool class_hphh = t[0] < holes;
      const bool class_pphp = t[3] >= holes;
      if (which == 0 && class_hphh && t[2] == t[3]) block[0] += 1e-6;
      if (which == 1 && class_pphp && t[0] == t[1]) block[0] += 1e-6;
      if (which == 2 && !class_hphh && !class_pphp && t[0] == t[1]) block[0] += 1e-6;
    };
    expect_refused({"V2 block (", "not antisymmetric"});
  }
}

TEST_F(Consistency, NeedsSingletAmplitudesForRestrictedReferences) {
  // An element t(aA bB, iA jB) whose equal element t(bA aB, jA iB) is in another block.
  altered_.t2 = [this](const std::vector<int>& t, std::span<double> block) {
    const TileSpace& space = source_->tiles();
    if (!alpha(t[1]) && t[0] < space[t[1]].partner) block[0] += 1e-6;
  };
  expect_refused({"T2 block (", "spin symmetry"});
  // Alpha-alpha amplitudes that differ from the antisymmetrised alpha-beta amplitudes.
  altered_.t2 = [this](const std::vector<int>& t, std::span<double> block) {
    if (alpha(t[1])) {
      for (double& x : block) x *= 1.0 + 1e-6;
    }
  };
  expect_refused({"T2 block (", "spin symmetry"});
}

/// If NWChem stores integrals by spin, its file contains all blocks of this list. No witness of a closed shell reads
/// any of them.
TEST(ConsistencyOfSpinCases, IsNeededOfIntegralsOfRestrictedReferences) {
  const auto source = open_dump_of("h2o_631g_c2v_rhf_t10");
  const TileSpace& space = source->tiles();
  const auto is = [&](const std::vector<int>& tiles, const std::string& spaces, const std::string& spins) {
    for (std::size_t k = 0; k < 4; ++k) {
      const Tile& tile = space[tiles[k]];
      if ((tile.space() == Space::hole) != (spaces[k] == 'h') || (tile.spin() == Spin::alpha) != (spins[k] == 'a')) {
        return false;
      }
    }
    return true;
  };
  EXPECT_LT(check_consistency(*source, *source).v2_spin_symmetry, 1e-11);
  for (const auto& [spaces, spins] : {std::pair{"hphh", "aaaa"},
                                      {"hphh", "baab"},
                                      {"hphh", "abab"},
                                      {"pphp", "aaaa"},
                                      {"pphp", "abba"},
                                      {"pphp", "abab"},
                                      {"pphh", "aaaa"},
                                      {"pphh", "abab"}}) {
    SCOPED_TRACE(std::string(spaces) + " " + spins);
    Altered altered(*source);
    std::vector<int> damaged;  // the first block of this kind
    altered.v2 = [&, spaces = spaces, spins = spins](const std::vector<int>& tiles, std::span<double> block) {
      // Blocks with equal tiles would break antisymmetry first.
      if (tiles[0] == tiles[1] || tiles[2] == tiles[3] || block.size() < 2 || !is(tiles, spaces, spins)) return;
      if (damaged.empty()) damaged = tiles;
      if (tiles == damaged) block[1] += 1e-6;  // not block[0]: (ia|ia) has no equal element
    };
    expect_refusal([&] { check_consistency(altered, altered); }, {"V2 block (", "spin symmetry"});
    EXPECT_FALSE(damaged.empty());
  }
}

TEST_F(Consistency, NeedsTheEnergyThatWasPrinted) {
  altered_.t1 = [](const auto&, std::span<double> block) {
    for (double& x : block) x *= 1.001;
  };
  expect_failed_witness({"-0.1353978789", "do not belong together: one of them is of another run"});
  altered_.t1 = nullptr;
  altered_.edit().correlation_energy = -0.1353;
  expect_failed_witness({"-0.1353978789", "-0.135300000000"});
  altered_.edit().correlation_energy.reset();
  EXPECT_TRUE(check_consistency(altered_, altered_).measured.ccsd_energy);
}

TEST_F(Consistency, LeavesLeftHandAmplitudesWithoutEnergy) {
  altered_.edit().amplitudes = AmplitudeKind::lambda;
  altered_.edit().correlation_energy = -1.0;
  EXPECT_FALSE(check_consistency(altered_, *source_).measured.ccsd_energy);
  altered_.edit().amplitudes = AmplitudeKind::ccsd;
  altered_.integrals = false;
  EXPECT_FALSE(check_consistency(altered_, altered_).measured.ccsd_energy);
  EXPECT_TRUE(altered_.classes.empty());
}

TEST_F(Consistency, NeedsTheSameTiles) {
  const auto other = open_dump_of("h2o_631g_c2v_rhf_t10");
  expect_refusal([&] { check_consistency(*source_, *other); }, {source_->info().path, other->info().path, "tiles"});
}

TEST_F(Consistency, TakesIntegralsFromAnotherSource) {
  const ConsistencyReport report = check_consistency(altered_, *source_);
  EXPECT_NEAR(*report.measured.ccsd_energy, *source_->info().correlation_energy, 1e-13);
}

}
}
