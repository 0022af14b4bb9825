#include "fortran_iface/nwchem_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/environment_settings.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/nearest_name.hpp"
#include "cxx/calculation/calculation.hpp"

namespace trifuse::nwchem {

namespace {

/// The name of a setting in the input and in the environment.
struct Name {
  const char* setting;
  const char* variable;  ///< null: the environment has none
};
constexpr Name device_name{"device", variables::nwchem_device}, omega2_name{"omega2", variables::omega2},
    form_name{"form", variables::form}, precision_name{"precision", variables::precision},
    target_error_name{"target_error", variables::target_error}, memory_name{"memory", variables::memory},
    tile_size_name{"tile_size", variables::tile_size}, trust_input_name{"trust_input", nullptr};
constexpr std::array<Name, 8> names = {device_name,       omega2_name, form_name,      precision_name,
                                       target_error_name, memory_name, tile_size_name, trust_input_name};

/// A value and its origin, for messages.
struct Choice {
  std::string origin, value;
};

/// Converts a text to a number; nullopt if the text is not a number.
template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The value of a setting as a user would write it. NWChem's real numbers have 17 digits: 2.4000000000000000E+001.
std::string shown(const std::string& value) {
  if (value.find('E') == std::string::npos) return value;
  std::string text;
  std::istringstream words(value);
  for (std::string word; std::getline(words, word, ',');) {
    const auto real = word.find('E') != std::string::npos ? number<double>(word) : std::nullopt;
    text += (text.empty() ? "" : ",") + (real ? fmt::format("{}", *real) : word);
  }
  return text;
}

[[noreturn]] void refuse(const Choice& choice, const std::string& what) {
  throw UsageError(fmt::format("{} is \"{}\"; {}.", choice.origin, shown(choice.value), what));
}

/// Throws UsageError about a name that is not a setting. `name`: as in the line, without trifuse: in front.
[[noreturn]] void refuse_name(const std::string& name) {
  constexpr std::string_view prefix = "trifuse:";
  std::string word = name;
  for (char& letter : word) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const bool whole = word.starts_with("trifuse");  // an entry that begins otherwise than a setting, as trifuse_omega2
  if (whole) word.erase(0, prefix.size());
  const std::string entry = whole ? name : std::string(prefix) + name;
  std::vector<std::string> known;
  for (const Name& one : names) known.push_back(std::string(prefix) + one.setting);
  std::vector<std::string> ends;
  for (const Name& one : names) ends.emplace_back(one.setting);
  const std::string nearest = nearest_name(word, ends);
  throw UsageError(
      fmt::format("NWChem's input has set {}, which is not a setting of Trifuse{} If an earlier input has stored it in "
                  "the run-time database, unset {} removes it.",
                  entry,
                  nearest.empty() ? fmt::format("; the settings are {}.", fmt::join(known, ", "))
                                  : fmt::format("; did you mean {}{}?", prefix, nearest),
                  entry));
}

Device parse_device(const Choice& choice) {
  if (choice.value == "auto") return Device::automatic;
  if (choice.value == "cpu") return Device::cpu;
  if (choice.value == "cuda") return Device::cuda;
  refuse(choice, "it may be auto, cpu or cuda");
}

std::optional<SpinFormulation> parse_formulation(const Choice& choice) {
  if (choice.value == "auto") return std::nullopt;
  if (choice.value == "spin-orbital") return SpinFormulation::spin_orbital;
  if (choice.value == "spin-adapted") return SpinFormulation::spin_adapted;
  refuse(choice, "it may be auto, spin-orbital or spin-adapted");
}

std::vector<double> parse_omega2(const Choice& choice) {
  std::vector<double> values;
  for (std::size_t begin = 0; begin <= choice.value.size();) {
    const std::size_t end = std::min(choice.value.find(',', begin), choice.value.size());
    const auto value = number<double>(std::string_view(choice.value).substr(begin, end - begin));
    if (!value || !std::isfinite(*value) || *value < 0.0 || *value > largest_omega2 || values.size() >= max_omega2) {
      refuse(choice, "write one value or several with commas between them, in hartree and not negative, as 0,0.1,0.2");
    }
    values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

Precision parse_precision(const Choice& choice) {
  if (choice.value == precision_names[0]) return Precision::fp64;
  if (choice.value == precision_names[1]) return Precision::mixed;
  refuse(choice, fmt::format("it may be {} or {}", precision_names[0], precision_names[1]));
}

double parse_target_error(const Choice& choice) {
  const auto error = number<double>(choice.value);
  if (!error || !(*error > 0.0 && *error <= largest_target_error)) {
    refuse(choice, fmt::format("write more than 0 and at most {:g}, in hartree", largest_target_error));
  }
  return *error;
}

std::int64_t parse_memory(const Choice& choice) {
  const auto bytes = parse_bytes(choice.value);
  if (!bytes || *bytes > max_memory) refuse(choice, "write an amount of memory, as 512MiB or 20GiB");
  return *bytes;
}

std::int64_t parse_tile_size(const Choice& choice) {
  const auto size = number<std::int64_t>(choice.value);
  if (!size || *size < 1 || *size > largest_tile_size) {
    refuse(choice, fmt::format("write a number of orbitals, 1 to {}", largest_tile_size));
  }
  return *size;
}

bool parse_trust(const Choice& choice) {
  if (choice.value == "true") return true;
  if (choice.value == "false") return false;
  refuse(choice, "it may be .true. or .false.");
}

/// The settings of the input. The last line of a name counts.
class Lines {
 public:
  explicit Lines(const std::string& lines) {
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
      if (line.empty()) continue;
      const std::size_t sign = line.find('=');
      if (sign == std::string::npos) throw UsageError(fmt::format("\"{}\" is not a setting; write name=value.", line));
      settings_.push_back({line.substr(0, sign), line.substr(sign + 1)});
    }
    for (const Choice& setting : settings_) {
      const auto is = [&](const Name& one) { return setting.origin == one.setting; };
      if (std::none_of(names.begin(), names.end(), is)) refuse_name(setting.origin);
    }
  }

  /// The value of a setting: from the environment, else from the input, else nullopt.
  std::optional<Choice> find(const Name& name) const {
    if (const char* value = name.variable != nullptr ? std::getenv(name.variable) : nullptr)
      return Choice{name.variable, value};
    for (auto setting = settings_.rbegin(); setting != settings_.rend(); ++setting) {
      if (setting->origin == name.setting)
        return Choice{fmt::format("The setting trifuse:{}", name.setting), setting->value};
    }
    return std::nullopt;
  }

 private:
  std::vector<Choice> settings_;
};

}

Options read_options(Door door, const std::string& text) {
  refuse_settings_of_other_doors(door);
  const Lines lines(text);
  Options options;
  if (const auto choice = lines.find(device_name)) options.device = parse_device(*choice);
  if (const auto choice = lines.find(omega2_name)) options.omega2 = parse_omega2(*choice);
  if (const auto choice = lines.find(form_name)) options.formulation = parse_formulation(*choice);
  if (const auto choice = lines.find(precision_name)) options.precision = parse_precision(*choice);
  if (const auto choice = lines.find(target_error_name)) options.target_error = parse_target_error(*choice);
  if (const auto choice = lines.find(memory_name)) options.memory = parse_memory(*choice);
  if (const auto choice = lines.find(tile_size_name)) options.tile_size = parse_tile_size(*choice);
  if (const auto choice = lines.find(trust_input_name)) options.trust_input = parse_trust(*choice);
  if (options.target_error && options.precision != Precision::mixed) {
    throw UsageError(
        "trifuse:target_error is for mixed precision; write set trifuse:precision mixed, or leave trifuse:target_error "
        "out.");
  }
  return options;
}

void expect_only_defaults(const std::string& lines) {
  const Options options = read_options(Door::nwchem_routine, lines);
  const auto refuse = [](const std::string& setting) {
    throw UsageError(fmt::format(
        "NWChem's CPU code would compute (T), because Trifuse reads only memory, and it does not follow {}; use io ga, "
        "and 2emet 1, or for 2eorb not 9 or 12, or leave {} out.",
        setting, setting));
  };
  if (options.omega2 != std::vector<double>{0.0}) refuse("trifuse:omega2");
  if (options.precision != Precision::fp64) refuse("trifuse:precision");
  if (options.device == Device::cuda) refuse("trifuse:device");
}

std::string in_words_of_input(std::string sentence) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = sentence.find(from, at)) != std::string::npos; at += to.size()) {
      sentence.replace(at, from.size(), to);
    }
  };
  for (const Name& name : names) {
    std::string option = fmt::format("--{}", name.setting);
    std::replace(option.begin(), option.end(), '_', '-');
    replace(option + "s", option);  // --devices
    replace(option, fmt::format("trifuse:{}", name.setting));
  }
  replace("--threads", "OMP_NUM_THREADS");
  return sentence;
}

}
