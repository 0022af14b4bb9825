#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/attacks.hpp"
#include "tests/fuzz/right_numbers.hpp"
#include "tests/fuzz/trial.hpp"

/// Right inputs with a plausible mistake, at every door by which numbers come in. Each must be refused, give a warning,
/// or give the right energy.
///
/// TRIFUSE_ATTACK_ROUNDS=n tries n mistakes of each class, door and molecule instead of the usual number.
/// TRIFUSE_ATTACK_LIST=FILE adds a line to FILE for each wrong energy without a warning of its own. campaign.sh tries
/// some ten thousand mistakes.
namespace trifuse::testing {
namespace {

constexpr double harmless_error = 1e-8;  ///< a smaller error of E(T) is harmless, hartree
constexpr double convergence = 1e-9;     ///< of all amplitudes in data/numbers

/// A way into the program.
struct Door {
  std::string name;
  bool factors = false;  ///< the integrals are factors
  bool file = false;     ///< the numbers are in a dump without a seal
  bool weak = false;     ///< oovv, fock and the correlation energy are not passed
  std::string left{};    ///< the set of left amplitudes, which are attacked; empty: the right ones are attacked
};

std::ostream& operator<<(std::ostream& out, const Door& door) {
  return out << door.name;
}

const std::vector<Door>& doors() {
  static const std::vector<Door> all = {
      {.name = "arrays"},
      {.name = "weak arrays", .weak = true},
      {.name = "dump", .file = true},
      {.name = "factors", .factors = true},
      {.name = "lambda", .left = "lambda"},
      {.name = "lambda with factors", .factors = true, .left = "lambda"},
      {.name = "regularised left", .left = "left"},
      {.name = "regularised left with factors", .factors = true, .left = "left"},
  };
  return all;
}

/// States how far the amplitudes are converged, if sources know this.
template <typename Info>
void state_convergence(Info& info) {
  if constexpr (requires { info.convergence = convergence; }) info.convergence = convergence;
}

Input right_input(const RightNumbers& right, const Door& door) {
  Input input{right.info, door.factors ? right.factored : right.multiplied};
  if (door.weak) {
    input.info.correlation_energy.reset();
    input.info.fock_in_triples = false;
    const bool needs_fock = right.info.reference == Reference::rohf;  // for semicanonical orbitals
    std::erase_if(input.arrays, [&](const auto& item) {
      const std::string stem = ArrayName(item.first).stem;
      return stem == "oovv" || (stem == "fock" && !needs_fock);
    });
  } else {
    state_convergence(input.info);
  }
  return input;
}

Input left_input(const RightNumbers& right, const Door& door) {
  Input input{right.info, right.sets.at(door.left)};
  input.info.path = "left";
  input.info.correlation_energy.reset();
  input.info.fock_in_triples = false;
  input.info.amplitudes = door.left == "lambda" ? AmplitudeKind::lambda : AmplitudeKind::regularized_ccsd;
  if (door.left == "left") input.info.omega2 = 0.1;
  state_convergence(input.info);
  for (const auto& [name, data] : right.factored) {
    if (name.starts_with("eps") || name.starts_with("irrep")) input.arrays[name] = data;
  }
  return input;
}

/// A source of the numbers, and the memory or the file that it reads.
class OpenInput {
 public:
  OpenInput(const Input& input, bool file) {
    RawDump raw;
    raw.datasets = input.arrays;
    if (!file) {
      held_ = std::make_unique<HeldArrays>(raw, HeldArrays::Layout::c_order);
      source = held_->open(input.info);
      return;
    }
    const bool factors = std::any_of(input.arrays.begin(), input.arrays.end(),
                                     [](const auto& item) { return ArrayName(item.first).factors(); });
    raw.attributes = {{"format", std::string("trifuse-dump")},
                      {"version", std::int64_t{factors ? 2 : 1}},
                      {"reference", to_string(input.info.reference)},
                      {"amplitudes", to_string(input.info.amplitudes)},
                      {"fock_in_triples", std::int64_t{input.info.fock_in_triples}},
                      {"omega2", input.info.omega2}};
    if (input.info.correlation_energy) raw.attributes["correlation_energy"] = *input.info.correlation_energy;
    raw.attributes["convergence"] = convergence;
    folder_ = std::make_unique<TemporaryFolder>();
    NwchemLocation location;
    location.prefix = (folder_->path() / "dump.h5").string();
    raw.write(location.prefix);
    source = open_source(location);
  }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<HeldArrays> held_;

 public:
  std::unique_ptr<TileSource> source;
};

/// Checks and computes as a run does. The text of the trial has the warnings or the refusal.
Trial try_numbers(const Input& right, const Input* left, bool file) {
  Trial trial;
  std::string text;
  try {
    const OpenInput of_right(right, file);
    const TileSource& source = *of_right.source;
    std::vector<std::string> warnings = verify_source(source, source).warnings;
    std::optional<OpenInput> of_left;
    if (left != nullptr) {
      of_left.emplace(*left, file);
      const CheckReport report = verify_source(*of_left->source, source);
      warnings.insert(warnings.end(), report.warnings.begin(), report.warnings.end());
    }
    CalculationOptions options = options_for();
    if (source.info().reference == Reference::rohf) options.rohf = RohfOrbitals::semicanonical;
    const CalculationResult result = calculate(source, options, of_left ? of_left->source.get() : nullptr);
    warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
    trial.energy = {result.energies[0].total.values()[0], result.energies[0].total.values()[1]};
    trial.ending = std::isfinite(trial.energy[1]) ? computed : not_finite;
    text = fmt::format("{}", fmt::join(warnings, "\n"));
  } catch (const Error& error) {
    text = error.what();
    trial.ending = text.empty() || text.find('\n') != std::string::npos ? no_sentence : refused;
  } catch (const std::exception& error) {
    text = error.what();
    trial.ending = strange_error;
  }
  std::snprintf(trial.text.data(), trial.text.size(), "%s", text.c_str());
  return trial;
}

/// How often the attacks of a class ended in each way.
struct Counts {
  std::size_t tried = 0, refused = 0, warned = 0, harmless = 0, standing = 0, silent = 0;
  double worst = 0.0;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t attack_rounds = 1;
#else
constexpr std::uint64_t attack_rounds = 2;
#endif

class WrongNumbers : public ::testing::TestWithParam<Door> {
 protected:
  static void count(const Trial& trial, const Trial& sound, Counts& counts) {
    ++counts.tried;
    const double off = std::abs(trial.energy[1] - sound.energy[1]);
    if (trial.ending == refused) {
      ++counts.refused;
    } else if (off <= harmless_error) {
      ++counts.harmless;
    } else if (trial.message() != sound.message()) {
      ++counts.warned;
    } else if (!sound.message().empty()) {
      ++counts.standing;
    } else {
      ++counts.silent;
    }
  }
};

TEST_P(WrongNumbers, AreNoticed) {
  const Door& door = GetParam();
  const std::uint64_t rounds = number_from_environment("TRIFUSE_ATTACK_ROUNDS", attack_rounds);
  const auto of_door = static_cast<std::uint64_t>(
      std::find_if(doors().begin(), doors().end(), [&](const Door& other) { return other.name == door.name; }) -
      doors().begin());
  std::map<std::string, Counts> table;
  for (const char* molecule : {"water", "water_c2v", "hydroxyl", "hydroxyl_rohf"}) {
    const RightNumbers right(molecule);
    const Input of_right = right_input(right, door);
    std::optional<Input> of_left;
    if (!door.left.empty()) of_left = left_input(right, door);
    struct Made {
      std::string of_class, what;
      Input input;
    };
    const auto make = [&](const Attack& attack, std::uint64_t n) {
      const auto of_class = static_cast<std::uint64_t>(&attack - attacks().data());
      Mutation dice((((n * 64 + of_class) * 64 + of_door) * 64 + right.name.size()) * 0x9e3779b97f4a7c15u);
      Made made{attack.name, "", of_left ? *of_left : of_right};
      made.what = attack.make(made.input, right, dice);
      return made;
    };
    const auto attempt = [&](const Input& input) {
      return of_left ? try_numbers(of_right, &input, door.file) : try_numbers(input, nullptr, door.file);
    };
    Trial sound;
    run_trials(
        1, [&](std::size_t) { return attempt(of_left ? *of_left : of_right); },
        [&](std::size_t, const Trial& trial) { sound = trial; });
    ASSERT_EQ(sound.ending, computed) << molecule << ": " << describe(sound) << sound.message();
    std::vector<std::pair<const Attack*, std::uint64_t>> fitting;
    for (const Attack& attack : attacks()) {
      for (std::uint64_t n = 0, found = 0; n < 4 * rounds && found < rounds; ++n) {
        if (make(attack, n).what.empty()) continue;
        fitting.emplace_back(&attack, n);
        ++found;
      }
    }
    run_trials(
        fitting.size(), [&](std::size_t n) { return attempt(make(*fitting[n].first, fitting[n].second).input); },
        [&](std::size_t n, const Trial& trial) {
          Counts& counts = table[fitting[n].first->name];
          const Counts before = counts;
          count(trial, sound, counts);
          EXPECT_EQ(describe(trial), "");
          if (counts.silent == before.silent && counts.standing == before.standing) return;
          if (const char* list = std::getenv("TRIFUSE_ATTACK_LIST")) {
            std::ofstream(list, std::ios::app)
                << fmt::format("{} | {} | {} | {} | {:.1e} | {}\n", fitting[n].first->name, door.name, molecule,
                               make(*fitting[n].first, fitting[n].second).what, trial.energy[1] - sound.energy[1],
                               counts.silent != before.silent ? "silent" : "standing warning only");
          }
        });
  }
  for (const auto& [name, counts] : table) {
    fmt::print("attack | {:24} | {:29} | {:5} {:5} {:5} {:5} {:5} {:5}\n", name, door.name, counts.tried,
               counts.refused, counts.warned, counts.harmless, counts.standing, counts.silent);
  }
}

INSTANTIATE_TEST_SUITE_P(At, WrongNumbers, ::testing::ValuesIn(doors()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace trifuse::testing
