#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/terminal.hpp"
#include "drivers/commands.hpp"
#include "trifuse_config.hpp"

/// The hidden command `describe` prints the completion for shells and the man pages, made from the options of the
/// program. The build runs it and installs its output.
namespace trifuse::cli {

namespace {

/// Puts each character of `special` behind `escape`.
std::string escaped(const std::string& text, const std::string& special, const std::string& escape) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) result += escape;
    result += c;
  }
  return result;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

/// Returns the values of an option with a fixed list of values, separated by blanks; an empty text for other options.
std::string values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::string values = type.substr(begin + 1, end - begin - 1);
  std::replace(values.begin(), values.end(), ',', ' ');
  return values;
}

bool has_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

/// Returns the text behind the name of an option, in roman type: its values, or their type and limits, as in the help.
std::string argument_of(const CLI::Option& option) {
  if (!has_value(option) || option.get_positional()) return {};
  const std::string type = option.get_type_name();
  const std::string argument =
      values_of(option).empty() ? type.substr(type.find(':') + 1) : type.substr(type.find('{'));
  return " " + argument + (option.get_items_expected_max() > 1 ? " ..." : "");
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string options, values;
  for (const CLI::App* command : commands_of(app)) {
    commands.push_back(command->get_name());
    std::vector<std::string> names;
    for (const CLI::Option* option : command->get_options()) {
      const std::vector<std::string> own = names_of(*option);
      names.insert(names.end(), own.begin(), own.end());
      if (own.empty() || values_of(*option).empty()) continue;
      values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                            fmt::format("{}\\ {}", command->get_name(), own.back()), values_of(*option));
    }
    options += fmt::format("    {}) options='{}' ;;\n", command->get_name(), fmt::join(names, " "));
  }
  return fmt::format(
      "# Completion of trifuse for bash.\n"
      "_trifuse() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options=''\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{} --help --help-all --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}} $before\" in\n{}  esac\n"
      "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
      "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); fi\n"
      "}}\n"
      "complete -o default -F _trifuse trifuse\n",
      fmt::join(commands, " "), values, options);
}

std::string zsh_completion(const CLI::App& app) {
  const auto text = [](const std::string& plain) { return escaped(escaped(plain, "[]:", "\\"), "'", "'\\'"); };
  std::string commands, options;
  for (const CLI::App* command : commands_of(app)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), text(command->get_description()));
    options += fmt::format("    {})\n      _arguments", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      const std::string values = values_of(*option);
      for (const std::string& name : names_of(*option)) {
        const std::string value = !has_value(*option) ? ""
                                  : values.empty()    ? ":value:_files"
                                                      : fmt::format(":value:({})", values);
        options += fmt::format(" \\\n        '{}[{}]{}'", name, text(option->get_description()), value);
      }
    }
    options += " \\\n        '*:file:_files'\n      ;;\n";
  }
  return fmt::format(
      "#compdef trifuse\n"
      "local -a commands\n"
      "if ((CURRENT == 2)); then\n"
      "  commands=(\n{}  )\n"
      "  _describe command commands\n"
      "else\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n{}  esac\n"
      "fi\n",
      commands, options);
}

/// Returns a text as roff. A line that begins with a dot or an apostrophe stays text.
std::string roff(const std::string& plain) {
  std::string text;
  std::istringstream lines(escaped(escaped(plain, "\\", "\\e\\&"), "-", "\\"));
  for (std::string line; std::getline(lines, line);) {
    if (!text.empty()) text += '\n';
    if (line.starts_with('.') || line.starts_with('\'')) text += "\\&";
    text += line;
  }
  return text;
}

std::string head_of_page(const std::string& name, const std::string& description) {
  std::string capitals = name;
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(".TH {} 1 \"\" \"trifuse {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", roff(capitals), version,
                     roff(name), roff(description));
}

std::string lines_as_they_are(const std::string& title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n.nf\n{}\n.fi\n", title, roff(text));
}

constexpr const char* about_pages =
    "Pages such as drivers/docs/running.md are in the folder share/trifuse of the installation. "
    "`trifuse COMMAND --help` prints their whole paths.";

std::string man_page(const CLI::App& app) {
  std::string page = head_of_page("trifuse", "the triples correction of CCSD(T) and Reg-CCSD(T)") +
                     ".SH SYNOPSIS\n.B trifuse\nCOMMAND [OPTIONS]\n.SH COMMANDS\n";
  std::string others;
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format(".TP\n\\fBtrifuse {}\\fR\n{}.\n", command->get_name(), roff(command->get_description()));
    others += fmt::format("{}\\fBtrifuse\\-{}\\fR(1)", others.empty() ? "" : ",\n", command->get_name());
  }
  return page + lines_as_they_are("EXIT STATUS", app.get_footer()) + ".SH PAGES\n" + roff(about_pages) +
         "\n.SH SEE ALSO\n" + others + "\n";
}

std::string man_option(const CLI::Option& option) {
  const std::vector<std::string> names = names_of(option);
  const std::string name = names.empty() ? option.get_name() : fmt::format("{}", fmt::join(names, ", "));
  const std::string by_default = option.get_default_str();
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}.{}\n", roff(name), roff(argument_of(option)),
                     roff(option.get_description()),
                     by_default.empty() ? "" : fmt::format(" Default: {}.", roff(by_default)));
}

/// Returns the man page of a command: its options by their groups, and the examples and the pages of its footer.
std::string man_page_of(const CLI::App& command, const CLI::App& app) {
  std::string page = head_of_page("trifuse-" + command.get_name(), command.get_description()) +
                     fmt::format(".SH SYNOPSIS\n.B trifuse {}\n[OPTIONS]", command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = roff(option->get_name());
    page += option->get_required() ? " " + name : " [" + name + "]";
  }
  page += "\n.SH OPTIONS\n";
  for (const std::string& group : command.get_groups()) {
    const auto options = command.get_options([&](const CLI::Option* option) { return option->get_group() == group; });
    if (!options.empty() && group != "Options") page += fmt::format(".SS {}\n", roff(group));
    for (const CLI::Option* option : options) page += man_option(*option);
  }
  const std::string footer = command.get_footer(), details = "Details: ";
  const auto begin = footer.find('\n') + 1, end = footer.find(details);
  std::string pages = footer.substr(end + details.size());
  if (const auto second = pages.find('\n'); second != std::string::npos)  // its page stands under the first one
    pages.erase(second + 1, pages.find_first_not_of(' ', second + 1) - second - 1);
  page += lines_as_they_are("EXAMPLES", footer.substr(begin, end - begin)) + lines_as_they_are("PAGES", pages) +
          ".PP\n" + roff(about_pages) + "\n";
  return page + lines_as_they_are("EXIT STATUS", app.get_footer()) + ".SH SEE ALSO\n\\fBtrifuse\\fR(1)\n";
}

}

void add_describe(CLI::App& app) {
  CLI::App* describe = app.add_subcommand("describe", "Print a man page or a completion for a shell")->group("");
  const auto form = std::make_shared<std::string>(), command = std::make_shared<std::string>();
  describe->add_option("FORM", *form)->required()->check(CLI::IsMember({"bash", "zsh", "man"}));
  describe->add_option("COMMAND", *command, "man: the page of this command");
  describe->callback([&app, form, command] {
    if (command->empty()) {
      write_output(*form == "bash" ? bash_completion(app) : *form == "zsh" ? zsh_completion(app) : man_page(app));
      return;
    }
    const std::vector<const CLI::App*> commands = commands_of(app);
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* each) { return each->get_name() == *command; });
    if (*form != "man" || found == commands.end())
      throw UsageError("Only commands of `trifuse --help` have a page of their own, and only as a man page.");
    write_output(man_page_of(**found, app));
  });
}

}
