#include "tce_tiles/checks/witnesses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <tuple>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/support/expected_energies.hpp"
#include "tests/support/held_arrays.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Wrong numbers that only the witnesses of left amplitudes, of zeros, of shifts and of the stated convergence see, and
/// warnings about inputs that lack the data for them.
namespace trifuse::testing {
namespace {

using Change = std::function<void(RawDump&)>;

/// Arrays of a caller with the facts that it states.
struct Input {
  RawDump arrays;
  SourceInfo info;

  std::unique_ptr<TileSource> open() {
    held = std::make_shared<HeldArrays>(arrays, HeldArrays::Layout::c_order);
    return held->open(info);
  }
  std::shared_ptr<HeldArrays> held = nullptr;  ///< the arrays of the last source
};

/// Water, converged to 1e-10, with all arrays: oovv, fock and the correlation energy.
Input converged_water() {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "water.h5").string();
  const auto files = open_dump_of("h2o_631g_c1_rhf_t5_2eorb");
  write_dump(*files, path);
  Input input{read_raw_dump(path), {}, {}};
  input.info.path = "the program";
  input.info.correlation_energy = files->info().correlation_energy;
  return input;
}

/// The CCSD amplitudes of water in a dump of PySCF, and its Lambda amplitudes.
Input water_of_pyscf(const std::string& file, AmplitudeKind kind) {
  const auto dump = open_dump((pyscf_data() / file).string(), 4, 8);
  Input input{read_raw_dump((pyscf_data() / file).string()), dump->info(), {}};
  input.info.files.clear();
  input.info.amplitudes = kind;
  return input;
}

void scale(RawDump& dump, const std::string& name, double factor) {
  for (double& x : dump.datasets.at(name).values) x *= factor;
}

/// The sentence of the failed check, or "" if the check passes. `warnings`: set to the warnings of the check.
std::string refusal(const TileSource& amplitudes, const TileSource& integrals, std::vector<std::string>& warnings) {
  try {
    warnings = verify_source(amplitudes, integrals).warnings;
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// Expects that the check of changed amplitudes fails with a sentence that matches `sentence`.
void expect_refused(Input input, const Change& change, const std::string& sentence) {
  change(input.arrays);
  const auto source = input.open();
  std::vector<std::string> warnings;
  EXPECT_TRUE(std::regex_search(refusal(*source, *source, warnings), std::regex(sentence)))
      << refusal(*source, *source, warnings);
}

std::vector<std::string> warnings_of(Input input) {
  const auto source = input.open();
  std::vector<std::string> warnings;
  EXPECT_EQ(refusal(*source, *source, warnings), "");
  return warnings;
}

bool any_matches(const std::vector<std::string>& sentences, const std::string& pattern) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& each) { return std::regex_search(each, std::regex(pattern)); });
}

TEST(WitnessesOfZeros, AmplitudesThatWereNeverComputedAreRefused) {
  const Change no_t2 = [](RawDump& dump) { scale(dump, "t2", 0.0); };
  const Change nothing = [](RawDump& dump) { scale(dump, "t1", 0.0), scale(dump, "t2", 0.0); };
  const Change no_t1 = [](RawDump& dump) { scale(dump, "t1", 0.0); };
  Input few = converged_water();
  few.info.correlation_energy.reset();
  for (const char* name : {"oovv", "fock"}) few.arrays.datasets.erase(name);
  Input all = converged_water();
  all.info.correlation_energy.reset();
  for (const Input& input : {all, few}) {
    expect_refused(input, nothing, "all amplitudes t2 are zero, but the integrals .* are not");
    expect_refused(input, no_t2, "t2 are zero|single excitations");
    // Without t1 the equation needs no oovv.
    expect_refused(input, no_t1, "single excitations.*would change t1");
  }
  Input empty = few;
  for (auto& [name, data] : empty.arrays.datasets) {
    if (!name.starts_with("eps")) std::fill(data.values.begin(), data.values.end(), 0.0);
  }
  EXPECT_TRUE(any_matches(warnings_of(empty), "only weakly"));
}

TEST(WitnessesOfArrays, MissingDataAreNamed) {
  EXPECT_TRUE(warnings_of(converged_water()).empty());
  Input input = converged_water();
  input.arrays.datasets.erase("oovv");
  EXPECT_TRUE(any_matches(warnings_of(input), "^The arrays are checked only weakly: pass oovv\\.$"));
  input.arrays.datasets.erase("fock");
  input.info.correlation_energy.reset();
  EXPECT_TRUE(any_matches(warnings_of(input),
                          "^The arrays are checked only weakly: pass oovv, fock and correlation_energy\\.$"));
  // Ranks may share arrays whose user can add more. The user of a running program cannot.
  input.info.of_all_ranks = true;
  EXPECT_TRUE(any_matches(warnings_of(input), "only weakly"));
  input.info.nothing_to_add = true;
  EXPECT_TRUE(warnings_of(input).empty());
}

/// The witness `name` of arrays, or one without a status if there is none.
Witness witness_of(Input input, const std::string& name) {
  const auto source = input.open();
  for (const Witness& each : check_source(*source, *source).witnesses) {
    if (each.name == name) return each;
  }
  return {};
}

/// A witness with two limits says both values, or the value and the limit that decided.
TEST(WitnessesOfArrays, BothValuesAreSaid) {
  const std::string name = "singles equation without oovv";
  Input input = converged_water();
  input.arrays.datasets.erase("oovv");
  const Witness passed = witness_of(input, name);
  EXPECT_EQ(passed.status, WitnessStatus::passed);
  EXPECT_TRUE(std::regex_match(passed.note, std::regex("this is across t1; along t1 it is 0\\.\\d+, limits 0 and 3")))
      << passed.note;
  scale(input.arrays, "ovvv", -1.0);
  const Witness negative = witness_of(input, name);
  EXPECT_EQ(negative.status, WitnessStatus::failed);
  EXPECT_LT(negative.value, 0.0);
  EXPECT_EQ(negative.limit, 0.0);

  Input half = converged_water();
  scale(half.arrays, "t2", -1.0);
  EXPECT_EQ(witness_of(half, "first-order doubles").limit, 0.3);
}

/// A file needs its printed energy or oovv.
TEST(WitnessesOfArrays, AFileWithoutAnySharpWitnessIsNamed) {
  const TemporaryFolder folder;
  const auto warnings = [&](const RawDump& dump) {
    const std::string path = (folder.path() / "dump.h5").string();
    std::filesystem::remove(path);
    dump.write(path);
    const auto source = open_dump(path, 5, 8);
    return check_source(*source, *source).warnings;
  };
  RawDump dump = converged_water().arrays;
  dump.attributes = {
      {"format", std::string("trifuse-dump")}, {"version", std::int64_t{1}}, {"reference", std::string("RHF")}};
  EXPECT_TRUE(warnings(dump).empty());
  dump.datasets.erase("oovv");
  EXPECT_TRUE(any_matches(warnings(dump), "dump.h5 is checked only weakly: write oovv and correlation_energy\\.$"));
  dump.attributes["correlation_energy"] = *converged_water().info.correlation_energy;
  EXPECT_TRUE(warnings(dump).empty());
  dump.datasets.erase("fock");
  EXPECT_TRUE(any_matches(warnings(dump), "write oovv and fock\\.$"));
}

/// Mixes two occupied orbitals in all arrays of `dump`, which has no Fock matrix then: the lowest and the highest one.
void mix_occupied(RawDump& dump) {
  dump.datasets.erase("fock");
  const auto mix = [](double& x, double& y) { std::tie(x, y) = std::pair{0.6 * x + 0.8 * y, 0.6 * y - 0.8 * x}; };
  for (const auto& [name, axes] : std::map<std::string, std::vector<std::size_t>>{
           {"t1", {0}}, {"t2", {0, 1}}, {"ovvv", {0}}, {"ovoo", {0, 2, 3}}, {"ovov", {0, 2}}, {"oovv", {0, 1}}}) {
    RawDump::Dataset& data = dump.datasets.at(name);
    for (const std::size_t axis : axes) {
      std::size_t stride = 1;
      for (std::size_t d = axis + 1; d < data.shape.size(); ++d) stride *= static_cast<std::size_t>(data.shape[d]);
      const std::size_t last = (static_cast<std::size_t>(data.shape[axis]) - 1) * stride;
      for (std::size_t n = 0; n < data.values.size(); n += last + stride) {
        for (std::size_t k = n; k < n + stride; ++k) mix(data.values[k], data.values[k + last]);
      }
    }
  }
  std::vector<double>& energies = dump.datasets.at("eps_occ").values;
  double &low = energies.front(), &high = energies.back();
  std::tie(low, high) = std::pair{0.36 * low + 0.64 * high, 0.36 * high + 0.64 * low};
}

/// Without the Fock matrix, orbitals that are not canonical are one of the causes that the refusal names.
TEST(WitnessesOfOrbitals, WithoutFockTheRefusalNamesOrbitalsThatAreNotCanonical) {
  const std::string cause = ", or the orbitals are not canonical: ";
  expect_refused(converged_water(), mix_occupied, "would change t1.*converged" + cause + "pass fock\\.$");
  Input input = converged_water();
  mix_occupied(input.arrays);
  std::vector<std::string> warnings;
  const auto arrays = input.open(), blocks = copy_in_tiles(*arrays, 2, 3);
  EXPECT_TRUE(std::regex_search(refusal(*blocks, *blocks, warnings), std::regex(cause + "pass the Fock matrix\\.$")));

  input.arrays.attributes = {
      {"format", std::string("trifuse-dump")}, {"version", std::int64_t{1}}, {"reference", std::string("RHF")}};
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "dump.h5").string();
  input.arrays.write(path);
  const auto file = open_dump(path, 5, 8);
  EXPECT_TRUE(std::regex_search(refusal(*file, *file, warnings), std::regex(cause + "write fock\\.$")));
  input.arrays.datasets.erase("oovv");
  expect_refused(
      input, [](RawDump&) {}, "without \\(ij\\|ab\\).*another calculation" + cause + "pass fock\\.$");

  // The Fock matrix excludes this cause.
  expect_refused(
      converged_water(), [](RawDump& dump) { scale(dump, "ovvv", 1.1); }, "amplitudes are not converged\\.$");
}

TEST(WitnessesOfConvergence, SmallErrorsAreSeenIfTheConvergenceIsStated) {
  Input input = converged_water();
  scale(input.arrays, "ovvv", 1.0001);
  EXPECT_TRUE(any_matches(warnings_of(input), "loosely converged, .*state their convergence\\.$"));
  input.info.convergence = 1e-6;
  EXPECT_TRUE(warnings_of(input).empty());
  input.info.convergence = 1e-9;
  EXPECT_TRUE(any_matches(warnings_of(input), "not converged to 1e-09 as stated, or some numbers are damaged"));
  Input sound = converged_water();
  sound.info.convergence = 1e-9;
  EXPECT_TRUE(warnings_of(sound).empty());
  // Without a Fock matrix, the gradient of the SCF is in the residual.
  input.arrays.datasets.erase("fock");
  EXPECT_FALSE(any_matches(warnings_of(input), "as stated"));
}

TEST(WitnessesOfShifts, AResidualAlongT1IsAShift) {
  const Change shift = [](RawDump& dump) {
    for (double& each : dump.datasets.at("eps_vir").values) each += 1e-5;
    dump.datasets.erase("fock");
  };
  expect_refused(converged_water(), shift, "shifted by -1e-05 hartree; the orbital energies have a level shift");
  Input regularized = converged_water();
  regularized.info.amplitudes = AmplitudeKind::regularized_ccsd;
  regularized.info.omega2 = 1e-5;
  expect_refused(
      regularized, [](RawDump&) {}, "the stated omega2 is 1e-05, but these amplitudes have omega2 = ");
}

TEST(WitnessesOfKinds, AKindWithoutEquationsIsNotSilent) {
  Input input = converged_water();
  input.info.amplitudes = AmplitudeKind::lambda;
  expect_refused(
      input, [](RawDump&) {}, "Lambda amplitudes, which can only be on the left-hand side");
  input.info.amplitudes = AmplitudeKind::made_up;
  EXPECT_TRUE(any_matches(warnings_of(input), "said to be made up, so no witness tests them"));
}

/// Left amplitudes that are said to be CCSD amplitudes but are Lambda or regularised ones: if the integrals suffice,
/// they are refused, else there is a warning, and both name the kind.
TEST(WitnessesOfKinds, LeftAmplitudesOfAnotherKindThanStatedAreNoticed) {
  Input right = water_of_pyscf("h2o_631g_rhf.h5", AmplitudeKind::ccsd);
  const auto right_source = right.open();
  for (const char* file : {"h2o_631g_lambda.h5", "h2o_631g_left_0.1.h5"}) {
    Input left = water_of_pyscf(file, AmplitudeKind::ccsd);
    left.info.omega2 = 0.0;
    const auto source = left.open();
    std::vector<std::string> warnings;
    EXPECT_EQ(refusal(*source, *right_source, warnings), "") << file;
    EXPECT_TRUE(any_matches(warnings, "said to be CCSD amplitudes, but .* state their kind \\(lambda, or reg-ccsd"));
  }
  std::vector<std::string> warnings;
  Input same = water_of_pyscf("h2o_631g_rhf.h5", AmplitudeKind::ccsd);
  EXPECT_EQ(refusal(*same.open(), *right_source, warnings), "");
  EXPECT_FALSE(any_matches(warnings, "state their kind"));

  Input sharp = converged_water(), left = converged_water();
  const auto sharp_source = sharp.open();
  left.info.correlation_energy.reset();
  scale(left.arrays, "t2", 1.1);
  EXPECT_TRUE(
      std::regex_search(refusal(*left.open(), *sharp_source, warnings),
                        std::regex("converged, or the left amplitudes are Lambda or .*: state their kind\\.$")));
}

/// t2[i,j,a,b] of `dump` becomes what `formula` makes of it and of its transpose t2[i,j,b,a].
void change_t2(RawDump& dump, const std::function<double(double, double)>& formula) {
  RawDump::Dataset& t2 = dump.datasets.at("t2");
  const std::vector<double> old = t2.values;
  const auto v = static_cast<std::size_t>(t2.shape[3]);
  for (std::size_t n = 0; n < old.size(); ++n) {
    const std::size_t page = n - n % (v * v), a = n % (v * v) / v, b = n % v;
    t2.values[n] = formula(old[n], old[page + b * v + a]);
  }
}

/// The virtual orbitals of t2 in reverse order.
void reverse_virtuals(RawDump& dump) {
  RawDump::Dataset& t2 = dump.datasets.at("t2");
  const auto page = static_cast<std::ptrdiff_t>(t2.shape[2] * t2.shape[3]);
  for (auto at = t2.values.begin(); at != t2.values.end(); at += page) std::reverse(at, at + page);
}

TEST(WitnessesOfLambda, WrongLeftAmplitudesAreRefused) {
  Input right = water_of_pyscf("h2o_631g_rhf.h5", AmplitudeKind::ccsd);
  const Input lambda = water_of_pyscf("h2o_631g_lambda.h5", AmplitudeKind::lambda);
  const auto right_source = right.open();
  const auto check = [&](const Change& change, const std::string& sentence) {
    Input left = lambda;
    change(left.arrays);
    const auto source = left.open();
    // The same with other tiles, so that blocks are compared.
    const auto blocks = copy_in_tiles(*source, 2, 3), other = copy_in_tiles(*right_source, 2, 3);
    for (const auto& [amplitudes, integrals] :
         {std::pair{source.get(), right_source.get()}, {blocks.get(), other.get()}}) {
      std::vector<std::string> warnings;
      const std::string found = refusal(*amplitudes, *integrals, warnings);
      EXPECT_TRUE(sentence.empty() ? found.empty() : std::regex_search(found, std::regex(sentence))) << found;
      // This dump lacks oovv, and blocks have no Lambda equation at all.
      if (!found.empty()) continue;
      ASSERT_EQ(warnings.size(), 1);
      EXPECT_TRUE(
          any_matches(warnings, "Lambda amplitudes are checked only weakly, by sums over them: .*(oovv|blocks)"));
    }
  };
  check([](RawDump&) {}, "");
  check([](RawDump& dump) { scale(dump, "t2", -1.0); }, "<l t>/<t t> = -0.9.*another sign");
  check([](RawDump& dump) { scale(dump, "t2", 0.0); }, "<l t>/<t t> = 0,.*are zero");
  for (const double factor : {0.5, 0.8, 1.2, 2.0}) {
    check([&](RawDump& dump) { scale(dump, "t2", factor); }, "another sign or factor");
  }
  check([](RawDump& dump) { change_t2(dump, [](double t, double other) { return 2.0 * t - other; }); },
        "another direction than t2.*another combination of spins|<l t>/<t t> = 1");
  check([](RawDump& dump) { scale(dump, "t1", -1.0); }, "left singles l and right singles t give <l t>/<t t> = -0");
  check([](RawDump& dump) { scale(dump, "t1", 0.0); }, "left singles.*are zero");
  check([&](RawDump& dump) { dump.datasets.at("t1") = right.arrays.datasets.at("t1"); }, "are the same numbers");
  check(reverse_virtuals, "another direction|<l t>/<t t>");
  check([&](RawDump& dump) { dump.datasets.at("t2") = right.arrays.datasets.at("t2"); },
        "said to be Lambda amplitudes, but they are the right amplitudes t2");
}

}
}
