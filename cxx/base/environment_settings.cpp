#include "cxx/base/environment_settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "cxx/base/error.hpp"
#include "cxx/base/nearest_name.hpp"
#include "cxx/base/printable.hpp"

namespace trifuse {

namespace {

/// What a door does with a variable. `ignored`: the name of the variable says that it is for another door.
enum class Use { followed, refused, ignored };

/// One variable, and what each door does with it.
struct Row {
  const char* variable;
  Use program, library, routine, symbols;
  Use of(Door door) const {
    return door == Door::program          ? program
           : door == Door::library        ? library
           : door == Door::nwchem_routine ? routine
                                          : symbols;
  }
};

/// All variables. The page running.md shows the same table.
constexpr std::array<Row, 8> rows = {{
    // variable                  program        library        routine        symbols
    {variables::omega2, Use::refused, Use::refused, Use::followed, Use::refused},
    {variables::form, Use::refused, Use::refused, Use::followed, Use::refused},
    {variables::precision, Use::refused, Use::refused, Use::followed, Use::refused},
    {variables::target_error, Use::refused, Use::refused, Use::followed, Use::refused},
    {variables::tile_size, Use::refused, Use::refused, Use::followed, Use::refused},
    {variables::memory, Use::refused, Use::refused, Use::followed, Use::followed},
    {variables::nwchem_device, Use::ignored, Use::ignored, Use::followed, Use::followed},
    {variables::silence_seconds, Use::followed, Use::ignored, Use::refused, Use::refused},
}};

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
  return fmt::format(
      "NWChem's symbols do not follow it, only {} and {}; unset the variable, or link NWChem with the routine, which "
      "has this setting",
      variables::memory, variables::nwchem_device);
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
  std::vector<std::string> settings;
  for (const Row& row : rows) settings.emplace_back(row.variable);
  for (const std::string& variable : set_variables()) {
    const auto names_it = [&](const std::string& option) { return variable_of(option) == variable; };
    const auto option = std::find_if(options.begin(), options.end(), names_it);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return variable == one.variable; });
    const auto refuse = [&] {
      throw UsageError(fmt::format("The environment variable {} is set, but {}.", printable(variable),
                                   advice(door, command, option != options.end() ? *option : "")));
    };
    if (row != rows.end()) {
      if (row->of(door) == Use::refused) refuse();
      continue;
    }
    if (option != options.end()) {
      if (std::none_of(given.begin(), given.end(), names_it)) refuse();
      continue;
    }
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
  const char* const text = std::getenv(variables::silence_seconds);
  if (text == nullptr) return usual;
  double seconds = 0.0;
  const char* const last = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, last, seconds);
  if (error != std::errc() || end != last || !std::isfinite(seconds) || seconds < 0.0) {
    throw UsageError(
        fmt::format("{} is \"{}\"; write a number of seconds, as 120, or 0 for no warnings about silent "
                    "ranks.",
                    variables::silence_seconds, printable(text)));
  }
  return std::min(seconds, longest);
}

}
