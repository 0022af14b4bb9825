#include "fortran_iface/nwchem_options.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"

namespace trifuse::nwchem {

namespace {

/// The name of a setting in the input and in the environment.
struct Name {
  const char* setting;
  const char* variable;
};
constexpr Name device_name{"device", "TRIFUSE_NWCHEM_DEVICE"}, omega2_name{"omega2", "TRIFUSE_OMEGA2"},
    form_name{"form", "TRIFUSE_FORM"}, precision_name{"precision", "TRIFUSE_PRECISION"},
    target_error_name{"target_error", "TRIFUSE_TARGET_ERROR"}, memory_name{"memory", "TRIFUSE_MEMORY"},
    tile_size_name{"tile_size", "TRIFUSE_TILE_SIZE"};

/// A value and its origin, for messages.
struct Choice {
  std::string origin, value;
};

[[noreturn]] void refuse(const Choice& choice, const std::string& what) {
  throw UsageError(fmt::format("{} is \"{}\"; {}.", choice.origin, choice.value, what));
}

/// Converts a text to a number; nullopt if the text is not a number.
template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
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
    for (const auto& [name, value] : settings_) {
      bool known = false;
      for (const Name& one :
           {device_name, omega2_name, form_name, precision_name, target_error_name, memory_name, tile_size_name}) {
        known = known || name == one.setting;
      }
      if (!known) {
        throw UsageError(
            fmt::format("There is no setting trifuse:{}; the settings are device, omega2, form, precision, "
                        "target_error, memory and tile_size.",
                        name));
      }
    }
  }

  /// The value of a setting: from the environment, else from the input, else nullopt.
  std::optional<Choice> find(const Name& name) const {
    if (const char* value = std::getenv(name.variable)) return Choice{name.variable, value};
    for (auto setting = settings_.rbegin(); setting != settings_.rend(); ++setting) {
      if (setting->origin == name.setting)
        return Choice{fmt::format("The setting trifuse:{}", name.setting), setting->value};
    }
    return std::nullopt;
  }

 private:
  std::vector<Choice> settings_;
};

}  // namespace

Options read_options(const std::string& text) {
  const Lines lines(text);
  Options options;
  if (const auto choice = lines.find(device_name)) options.device = parse_device(*choice);
  if (const auto choice = lines.find(omega2_name)) options.omega2 = parse_omega2(*choice);
  if (const auto choice = lines.find(form_name)) options.formulation = parse_formulation(*choice);
  if (const auto choice = lines.find(precision_name)) options.precision = parse_precision(*choice);
  if (const auto choice = lines.find(target_error_name)) options.target_error = parse_target_error(*choice);
  if (const auto choice = lines.find(memory_name)) options.memory = parse_memory(*choice);
  if (const auto choice = lines.find(tile_size_name)) options.tile_size = parse_tile_size(*choice);
  return options;
}

}  // namespace trifuse::nwchem
