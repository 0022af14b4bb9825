#include "cxx/triples/method.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tce_tiles/tiles/tile_source.hpp"
#include "tests/support/other_methods.hpp"

/// The description of a method: names, text for journals, and the order of its sums.
namespace trifuse {
namespace {

using namespace trifuse::testing;

TEST(AMethod, HasAsManySetsAsItIsGiven) {
  EXPECT_EQ(ccsd_t.sets().size(), 1u);
  EXPECT_FALSE(ccsd_t.needs_fock());
  EXPECT_EQ(ccsd_t_with_fock.sets().size(), 2u);
  EXPECT_TRUE(ccsd_t_with_fock.needs_fock());
  EXPECT_EQ(half_disconnected.sets()[0], (DisconnectedSet{OvTensor::t1, VvooTensor::v2, 0.5}));
  const DisconnectedSet set{OvTensor::t1, VvooTensor::v2};
  EXPECT_THROW(Method("none", "none", {}), std::logic_error);
  EXPECT_THROW(Method("three", "three", {set, set, set}), std::logic_error);
}

TEST(AMethod, IsNamedAfterItsAmplitudesAndOmega2) {
  SourceInfo right, left;
  EXPECT_EQ(name_of(half_disconnected, right, nullptr, 0.0), "half-CCSD(T)");
  EXPECT_EQ(name_of(half_disconnected, right, nullptr, 0.1), "denominator-shifted half-CCSD(T)");
  EXPECT_EQ(name_of(half_disconnected, right, &left, 0.0), "two-sided half-CCSD(T)");
  left.amplitudes = AmplitudeKind::lambda;
  EXPECT_EQ(name_of(half_disconnected, right, &left, 0.0), "Lambda-half-CCSD(T)");
  left.amplitudes = AmplitudeKind::regularized_ccsd;
  left.omega2 = 0.1;
  EXPECT_EQ(name_of(half_disconnected, right, &left, 0.1), "Reg-half-CCSD(T)");
  EXPECT_EQ(name_of(half_disconnected, right, &left, 0.0),
            "two-sided half-(T) with left amplitudes regularised at omega2 = 0.1");
  right.amplitudes = AmplitudeKind::made_up;
  EXPECT_EQ(name_of(ccsd_t, right, nullptr, 0.0), "CCSD(T) of " + to_string(AmplitudeKind::made_up) + " amplitudes");
}

// The fingerprints of journals of earlier versions contain these two texts.
TEST(AMethod, KeepsTheTextOfOldJournals) {
  EXPECT_EQ(journal_text(ccsd_t), "fock in singles false");
  EXPECT_EQ(journal_text(ccsd_t_with_fock), "fock in singles true");
}

TEST(AMethod, HasItsOwnTextForJournals) {
  std::vector<Method> methods = {ccsd_t, ccsd_t_with_fock};
  methods.insert(methods.end(), std::begin(other_methods), std::end(other_methods));
  methods.push_back({"close", "close", {{OvTensor::t1, VvooTensor::v2, 1.0 + 1e-15}}});
  methods.push_back({"t1t2 twice", "twice", {{OvTensor::t1, VvooTensor::t2}, {OvTensor::t1, VvooTensor::t2}}});
  std::set<std::string> texts;
  for (const Method& method : methods) texts.insert(journal_text(method));
  EXPECT_EQ(texts.size(), methods.size());
}

TEST(SumsOfATask, BecomeItsEnergiesBySpin) {
  const double sums[] = {7.0, 11.0, 1.0, 2.0};  // E[T], E(T), and their parts with three equal spins
  TaskEnergy energy;
  add_energy_sums(SpinFormulation::spin_adapted, SpinCase::aab, sums, energy);
  EXPECT_EQ(energy.as_numbers(), (std::array{1.0, 2.0, 6.0, 9.0}));
  for (const SpinCase spin_case : {SpinCase::aaa, SpinCase::bbb}) {
    TaskEnergy same;
    add_energy_sums(SpinFormulation::spin_orbital, spin_case, std::span(sums).first(2), same);
    EXPECT_EQ(same.as_numbers(), (std::array{7.0, 11.0, 0.0, 0.0}));
  }
  for (const SpinCase spin_case : {SpinCase::aab, SpinCase::abb}) {
    TaskEnergy mixed;
    add_energy_sums(SpinFormulation::spin_orbital, spin_case, std::span(sums).first(2), mixed);
    add_energy_sums(SpinFormulation::spin_orbital, spin_case, std::span(sums).first(2), mixed);
    EXPECT_EQ(mixed.as_numbers(), (std::array{0.0, 0.0, 14.0, 22.0}));
  }
}

}
}
