#include "drivers/command_line_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cxx/base/nearest_name.hpp"

namespace trifuse::cli {

namespace {

/// Returns the sentence about an argument that the command does not take.
std::string unknown_argument(const CLI::App& command, const std::string& words,
                             const std::vector<std::string>& unknown) {
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const auto option = std::find_if(unknown.begin(), unknown.end(), is_option);
  if (option == unknown.end())
    return fmt::format("`{0}` does not take the argument {1}; `{0} --help` lists what it takes.", words,
                       unknown.front());
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& each : known->get_lnames()) names.push_back("--" + each);
  }
  const std::string nearest = nearest_name(name, names);
  return fmt::format("`{}` has no option {}; {}", words, name,
                     nearest.empty() ? fmt::format("`{} --help` lists its options.", words)
                                     : fmt::format("did you mean {}?", nearest));
}

}

std::string command_line_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.front();
  const std::string words = parsed.empty() ? "trifuse" : "trifuse " + command.get_name(), what = error.what();
  const bool lacks_something = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (const std::vector<std::string> unknown = command.remaining(); !unknown.empty())
    return unknown_argument(command, words, unknown);
  if (lacks_something && parsed.empty()) return "A command is missing; `trifuse --help` lists the commands.";
  if (lacks_something)
    return fmt::format("`{0}` needs {1}; `{0} --help` explains it.", words, what.substr(0, what.find(' ')));
  const std::string option = what.substr(0, what.find(": "));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return what.ends_with("missing")
               ? fmt::format("{} has no value; `{} --help` lists the possible ones.", option, words)
               : fmt::format("{} has too many values; give it once, with one value.", option);
  }
  return fmt::format("{}; `{} --help` lists the possible values.", what, words);
}

}
