#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/sources/open_source.hpp"
#include "tests/fuzz/mistakes.hpp"
#include "tests/fuzz/right_numbers.hpp"
#include "tests/fuzz/trial.hpp"

/// The ways by which numbers come into the program, and what becomes of an input there.
namespace trifuse::testing {

/// A way into the program.
struct Door {
  std::string name;
  bool factors = false;  ///< the integrals are factors
  bool file = false;     ///< the numbers are in a dump without a seal
  bool weak = false;     ///< oovv, fock and the correlation energy are not passed
  std::string left{};    ///< the set of left amplitudes, which are changed; empty: the right ones are changed
};

inline std::ostream& operator<<(std::ostream& out, const Door& door) {
  return out << door.name;
}

inline const std::vector<Door>& doors() {
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

inline Input right_input(const RightNumbers& right, const Door& door) {
  Input input{right.info, door.factors ? right.factored : right.multiplied};
  if (door.weak) {
    input.info.correlation_energy.reset();
    input.info.fock_in_triples = FockInTriples::not_stated;
    const bool needs_fock = right.info.reference == Reference::rohf;  // for semicanonical orbitals
    std::erase_if(input.arrays, [&](const auto& item) {
      const std::string stem = ArrayName(item.first).stem;
      return stem == "oovv" || (stem == "fock" && !needs_fock);
    });
    input.info.convergence.reset();
  }
  return input;
}

inline Input left_input(const RightNumbers& right, const Door& door) {
  Input input{right.info, right.sets.at(door.left)};
  input.info.path = "left";
  input.info.correlation_energy =
      door.left == "left" ? std::optional(right.energies.at("left_correlation_energy")) : std::nullopt;
  input.info.fock_in_triples = FockInTriples::not_stated;
  input.info.amplitudes = door.left == "lambda" ? AmplitudeKind::lambda : AmplitudeKind::regularized_ccsd;
  if (door.left == "left") input.info.omega2 = 0.1;
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
                      {"omega2", input.info.omega2}};
    if (input.info.correlation_energy) raw.attributes["correlation_energy"] = *input.info.correlation_energy;
    if (input.info.fock_in_triples == FockInTriples::enters) raw.attributes["fock_in_triples"] = std::int64_t{1};
    if (input.info.convergence) raw.attributes["convergence"] = *input.info.convergence;
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
inline Trial try_numbers(const Input& right, const Input* left, bool file) {
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

}
