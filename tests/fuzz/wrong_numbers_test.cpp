#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/doors.hpp"
#include "tests/fuzz/mistakes.hpp"
#include "tests/fuzz/right_numbers.hpp"
#include "tests/fuzz/trial.hpp"

/// Right inputs with a plausible mistake, at every door by which numbers come in. Each must be refused, give a warning,
/// or give the right energy, except in the blind spots of a table.
///
/// TRIFUSE_MISTAKE_ROUNDS=n tries n mistakes of each class, door and molecule instead of the usual number.
/// TRIFUSE_MISTAKE_LIST=FILE adds a line to FILE for each wrong energy without a warning of its own. campaign.sh tries
/// some ten thousand mistakes and prints one table.
namespace trifuse::testing {
namespace {

constexpr double harmless_error = 1e-8;  ///< a smaller error of E(T) is harmless, hartree

/// Mistakes that no witness sees. Any other wrong energy without a warning is a failure.
struct BlindSpot {
  std::string_view of_class;  ///< name of the class of mistakes
  std::string_view door;      ///< name of the door; empty: all doors
  double largest;             ///< largest error of E(T), hartree
  std::string_view reason;
};
constexpr std::string_view below_convergence =
    "the number hardly changes the next t1: less than the stated convergence of the amplitudes permits";
constexpr std::string_view common_factor =
    "the Lambda equation without ladders holds for any common factor, which only a sum over the doubles tests";
constexpr BlindSpot blind_spots[] = {
    {"damaged element", "", 2e-7, below_convergence},
    {"factor", "lambda", 1e-4, common_factor},
};

const BlindSpot* blind_spot_of(std::string_view of_class, std::string_view door, double error) {
  const auto* found = std::find_if(std::begin(blind_spots), std::end(blind_spots), [&](const BlindSpot& spot) {
    return spot.of_class == of_class && (spot.door.empty() || spot.door == door) && error <= spot.largest;
  });
  return found != std::end(blind_spots) ? found : nullptr;
}

/// How often the mistakes of a class ended in each way.
struct Counts {
  std::size_t tried = 0, refused = 0, warned = 0, harmless = 0;
  std::size_t weak = 0;    ///< wrong energies whose only warning is that of every weak call
  std::size_t blind = 0;   ///< wrong energies in a blind spot of the table
  std::size_t silent = 0;  ///< other wrong energies without a warning
};

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t mistake_rounds = 1;
#else
constexpr std::uint64_t mistake_rounds = 3;
#endif

/// A mistake in the numbers of one molecule.
struct Made {
  const Mistake* mistake;
  std::uint64_t number;
  std::string what;
  Input input;
};

/// The numbers of one molecule at one door.
class Target {
 public:
  Target(const std::string& molecule, const Door& door) : right_(molecule), door_(door) {
    of_right_ = right_input(right_, door);
    if (!door.left.empty()) of_left_ = left_input(right_, door);
  }

  const Input& sound() const { return of_left_ ? *of_left_ : of_right_; }
  /// The same number gives the same mistake on every machine.
  Made make(const Mistake& mistake, std::uint64_t number) const {
    std::uint64_t seed = number;
    for (const char c : mistake.name + door_.name + right_.name) seed = seed * 31 + static_cast<unsigned char>(c);
    Mutation dice(seed * 0x9e3779b97f4a7c15u);
    Made made{&mistake, number, "", sound()};
    made.what = mistake.make(made.input, right_, dice);
    return made;
  }
  /// The first mistakes of each class that fit the input.
  std::vector<std::pair<const Mistake*, std::uint64_t>> fitting(std::uint64_t rounds) const {
    std::vector<std::pair<const Mistake*, std::uint64_t>> list;
    for (const Mistake& mistake : mistakes()) {
      for (std::uint64_t n = 0, found = 0; n < 4 * rounds && found < rounds; ++n) {
        if (make(mistake, n).what.empty()) continue;
        list.emplace_back(&mistake, n);
        ++found;
      }
    }
    return list;
  }
  Trial attempt(const Input& input) const {
    return of_left_ ? try_numbers(of_right_, &input, door_.file) : try_numbers(input, nullptr, door_.file);
  }

 private:
  RightNumbers right_;
  Door door_;
  Input of_right_;
  std::optional<Input> of_left_;
};

class WrongNumbers : public ::testing::TestWithParam<Door> {
 protected:
  /// Counts a mistake, and lists it if its energy is wrong without a warning of its own.
  void count(const std::string& molecule, const Made& made, const Trial& trial, const Trial& sound) {
    const std::string& name = made.mistake->name;
    Counts& counts = table_[name];
    ++counts.tried;
    EXPECT_EQ(describe(trial), "") << name << ", " << molecule << ": " << made.what;
    const double error = trial.energy[1] - sound.energy[1];
    if (trial.ending != computed) return void(++counts.refused);
    if (std::abs(error) <= harmless_error) return void(++counts.harmless);
    if (trial.message() != sound.message()) return void(++counts.warned);
    const bool weak = !sound.message().empty();
    const BlindSpot* spot = blind_spot_of(name, GetParam().name, std::abs(error));
    ++(weak ? counts.weak : spot != nullptr ? counts.blind : counts.silent);
    const std::string line =
        fmt::format("{} | {} | {} | {} | {:.1e} Eh", name, GetParam().name, molecule, made.what, error);
    if (!weak && spot == nullptr) ADD_FAILURE() << "accepted without a word: " << line;
    if (const char* list = std::getenv("TRIFUSE_MISTAKE_LIST")) {
      std::ofstream(list, std::ios::app) << line
                                         << (weak              ? " | weak\n"
                                             : spot != nullptr ? " | blind\n"
                                                               : " | silent\n");
    }
  }
  void print() const {
    for (const auto& [name, n] : table_) {
      fmt::print("mistakes | {:24} | {:29} | {:5} | {:5} | {:5} | {:5} | {:5} | {:5} | {:5}\n", name, GetParam().name,
                 n.tried, n.refused, n.warned, n.harmless, n.weak, n.blind, n.silent);
    }
  }

 private:
  std::map<std::string, Counts> table_;
};

TEST_P(WrongNumbers, AreNoticed) {
  const std::uint64_t rounds = number_from_environment("TRIFUSE_MISTAKE_ROUNDS", mistake_rounds);
  for (const char* molecule : {"water", "water_c2v", "hydroxyl", "hydroxyl_rohf"}) {
    const Target target(molecule, GetParam());
    Trial sound;
    run_trials(
        1, [&](std::size_t) { return target.attempt(target.sound()); },
        [&](std::size_t, const Trial& trial) { sound = trial; });
    ASSERT_EQ(sound.ending, computed) << molecule << ": " << describe(sound) << sound.message();
    EXPECT_EQ(sound.message().empty(), !GetParam().weak) << molecule << ": " << sound.message();
    const auto list = target.fitting(rounds);
    const auto made = [&](std::size_t n) { return target.make(*list[n].first, list[n].second); };
    run_trials(
        list.size(), [&](std::size_t n) { return target.attempt(made(n).input); },
        [&](std::size_t n, const Trial& trial) { count(molecule, made(n), trial, sound); });
  }
  print();
}

INSTANTIATE_TEST_SUITE_P(At, WrongNumbers, ::testing::ValuesIn(doors()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}
}
