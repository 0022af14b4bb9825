#include "cxx/calculation/environment_settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <system_error>

#include "cxx/base/error.hpp"
#include "cxx/base/nearest_name.hpp"
#include "cxx/base/printable.hpp"

namespace trifuse {

namespace {

constexpr const char* silence_variable = "TRIFUSE_SILENCE_SECONDS";

/// Returns the variables that set something, each with true if this door refuses it. The page running.md shows them. A
/// door that neither follows nor refuses a variable ignores it, because its name says that it is for another door.
std::map<std::string, bool> refused_variables(Door door) {
  const bool in_nwchem = door == Door::nwchem_routine || door == Door::nwchem_symbols;
  std::map<std::string, bool> refused = {{silence_variable, in_nwchem}, {"TRIFUSE_CACHE", false}};
  for (const CalculationOption& option : option_table()) {
    if (!option.is_at(Door::nwchem_routine)) continue;
    const std::string variable = option.variable();
    refused[variable] = in_nwchem ? !option.is_at(door) : !variable.starts_with("TRIFUSE_NWCHEM_");
  }
  return refused;
}

constexpr std::string_view prefix = "TRIFUSE_";

/// Returns the names of the variables TRIFUSE_... in the environment.
std::vector<std::string> set_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view whole = *entry;
    std::string name(whole.substr(0, whole.find('=')));
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());  // so that all ranks name the same variable
  return names;
}

/// Returns the variable that would have the name of an option: TRIFUSE_TILE_SIZE for tile-size.
std::string variable_of(const std::string& option) {
  std::string name(prefix);
  for (const char letter : option) {
    name += letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return name;
}

/// Returns a sentence on what the user can do instead of setting a variable that a door refuses. `option`: the option
/// of the program with the name of the variable; empty if there is none.
std::string advice(Door door, const std::string& command, const std::string& option) {
  switch (door) {
    case Door::program:
      return option.empty()
                 ? fmt::format("`trifuse {}` has no such setting; unset the variable", command)
                 : fmt::format("`trifuse {}` does not follow it; give --{}, and unset the variable", command, option);
    case Door::library:
      return "calls of the library do not follow it; pass the setting to the call, and unset the variable";
    case Door::nwchem_routine:
      return "NWChem's routine does not follow it; unset the variable";
    case Door::nwchem_symbols:
      break;
  }
  return "NWChem's symbols do not follow it, only TRIFUSE_MEMORY and TRIFUSE_NWCHEM_DEVICE; unset the variable, or "
         "link NWChem with the routine, which has this setting";
}

/// Returns the name among `names` that resembles `variable`. Compares the names without the prefix that all have.
std::string nearest_variable(const std::string& variable, const std::vector<std::string>& names) {
  std::vector<std::string> ends;
  for (const std::string& name : names) ends.push_back(name.substr(prefix.size()));
  const std::string nearest = nearest_name(variable.substr(prefix.size()), ends);
  return nearest.empty() ? nearest : std::string(prefix) + nearest;
}

}

void refuse_settings_of_other_doors(Door door, const std::string& command, const std::vector<std::string>& options,
                                    const std::vector<std::string>& given) {
  const std::map<std::string, bool> refused = refused_variables(door);
  std::vector<std::string> settings;
  for (const auto& setting : refused) settings.push_back(setting.first);
  for (const std::string& variable : set_variables()) {
    const auto names_it = [&](const std::string& option) { return variable_of(option) == variable; };
    const auto option = std::find_if(options.begin(), options.end(), names_it);
    const auto known = refused.find(variable);
    const bool is_given = std::any_of(given.begin(), given.end(), names_it);
    if (known != refused.end() ? known->second : option != options.end() && !is_given) {
      throw UsageError(fmt::format("The environment variable {} is set, but {}.", printable(variable),
                                   advice(door, command, option != options.end() ? *option : "")));
    }
    if (known != refused.end() || option != options.end()) continue;
    if (const std::string nearest = nearest_variable(variable, settings); !nearest.empty()) {
      throw UsageError(
          fmt::format("The environment variable {} is set, but Trifuse has no setting of this name; did you mean {}? "
                      "Rename or unset it.",
                      printable(variable), nearest));
    }
  }
}

double silence_seconds() {
  constexpr double usual = 120.0, longest = 1e6;
  const char* const text = std::getenv(silence_variable);
  if (text == nullptr) return usual;
  double seconds = 0.0;
  const char* const last = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, last, seconds);
  if (error != std::errc() || end != last || !std::isfinite(seconds) || seconds < 0.0) {
    throw UsageError(
        fmt::format("{} is \"{}\"; write a number of seconds, as 120, or 0 for no warnings about silent "
                    "ranks.",
                    silence_variable, printable(text)));
  }
  return std::min(seconds, longest);
}

}
