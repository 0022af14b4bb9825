#include "fortran_iface/nwchem_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cxx/base/error.hpp"
#include "cxx/calculation/environment_settings.hpp"

namespace trifuse::nwchem {

namespace {

/// A value and its origin, for messages.
struct Choice {
  std::string origin, value;
};

/// Returns the value of a setting as a user would write it. NWChem's real numbers have 17 digits:
/// 2.4000000000000000E+001.
std::string shown(const std::string& value) {
  std::string text;
  std::istringstream words(value);
  for (std::string word; std::getline(words, word, ',');) {
    double real = 0.0;
    const char* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, real);
    const bool is_real = word.find('E') != std::string::npos && error == std::errc{} && end == last;
    text += (text.empty() ? "" : ",") + (is_real ? fmt::format("{}", real) : word);
  }
  return value.find('E') == std::string::npos ? value : text;
}

/// Throws UsageError about a name that is not a setting. `name`: the name in the line, without trifuse: in front.
[[noreturn]] void refuse_name(const std::string& name) {
  constexpr std::string_view prefix = "trifuse:";
  std::string word = name;
  for (char& letter : word) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const bool whole = word.starts_with("trifuse");  // e.g. trifuse_omega2, not a setting
  if (whole) word.erase(0, prefix.size());
  const std::string entry = whole ? name : std::string(prefix) + name;
  throw UsageError(fmt::format(
      "NWChem's input has set {}, which is not a setting of Trifuse; {} If an earlier input has stored it in "
      "the run-time database, unset {} removes it.",
      entry, other_names(Door::nwchem_routine, word), entry));
}

/// The settings of the input. If a name has several lines, the last one counts.
class Lines {
 public:
  explicit Lines(const std::string& lines) {
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
      if (line.empty()) continue;
      const std::size_t sign = line.find('=');
      if (sign == std::string::npos) throw UsageError(fmt::format("\"{}\" is not a setting; write name=value.", line));
      settings_.push_back({line.substr(0, sign), shown(line.substr(sign + 1))});
    }
    for (const Choice& setting : settings_) {
      if (find_option(Door::nwchem_routine, "trifuse:" + setting.origin) == nullptr) refuse_name(setting.origin);
    }
  }

  /// Returns the value of a setting: from the environment, else from the input, else nullopt.
  std::optional<Choice> find(const CalculationOption& option) const {
    if (const char* value = std::getenv(option.variable().c_str())) return Choice{option.variable(), value};
    for (auto setting = settings_.rbegin(); setting != settings_.rend(); ++setting) {
      if (setting->origin == option.name)
        return Choice{"The setting " + option.name_at(Door::nwchem_routine), setting->value};
    }
    return std::nullopt;
  }

 private:
  std::vector<Choice> settings_;
};

}

CalculationOptions read_options(Door door, const std::string& text) {
  refuse_settings_of_other_doors(door);
  const Lines lines(text);
  CalculationOptions options = default_options();
  for (const CalculationOption& option : option_table()) {
    const auto choice = option.is_at(Door::nwchem_routine) ? lines.find(option) : std::nullopt;
    if (choice) option.set_text(options, choice->value, choice->origin);
  }
  try {
    check_options(options);
  } catch (const UsageError& error) {
    throw UsageError(in_words_of(door, error.what()));
  }
  return options;
}

void expect_only_defaults(const std::string& lines) {
  const CalculationOptions options = read_options(Door::nwchem_routine, lines);
  const auto refuse = [](const std::string& setting) {
    throw UsageError(fmt::format(
        "NWChem's CPU code would compute (T), because Trifuse reads only memory, and it does not follow {}; use io ga, "
        "and 2emet 1, or for 2eorb not 9 or 12, or leave {} out.",
        setting, setting));
  };
  const auto regularised = [](double omega2) { return omega2 != 0.0; };
  if (std::any_of(options.omega2.begin(), options.omega2.end(), regularised)) refuse("trifuse:omega2");
  if (options.precision != Precision::fp64) refuse("trifuse:precision");
  if (options.executor == ExecutorKind::cuda) refuse("trifuse:device");
}

bool asks_for_cores(const CalculationOptions& options) {
  return !options.choose_executor && options.executor == ExecutorKind::cpu;
}

}
