#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cxx/base/terminal.hpp"
#include "drivers/commands.hpp"
#include "trifuse_config.hpp"

/// The hidden command `describe` prints the completion for shells and the man page, made from the options of the
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

std::string man_page(const CLI::App& app) {
  const auto roff = [](const std::string& plain) {
    std::string text = escaped(escaped(plain, "\\", "\\e\\&"), "-", "\\");
    return text.empty() || (text.front() != '.' && text.front() != '\'') ? text : "\\&" + text;
  };
  std::string page = fmt::format(
      ".TH TRIFUSE 1 \"\" \"trifuse {}\" \"User Commands\"\n.SH NAME\ntrifuse \\- {}\n.SH SYNOPSIS\n.B trifuse\n"
      "COMMAND [OPTIONS]\n.SH COMMANDS\n",
      version, roff("the triples correction of CCSD(T) and Reg-CCSD(T) from converged amplitudes"));
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format(".SS trifuse {}\n{}.\n", command->get_name(), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      const std::vector<std::string> names = names_of(*option);
      const std::string name = names.empty() ? option->get_name() : fmt::format("{}", fmt::join(names, ", "));
      const std::string by_default = option->get_default_str();
      page += fmt::format(".TP\n\\fB{}\\fR{}\n{}.{}\n", roff(name), roff(argument_of(*option)),
                          roff(option->get_description()),
                          by_default.empty() ? "" : fmt::format(" Default: {}.", roff(by_default)));
    }
  }
  return page + fmt::format(".SH EXIT STATUS\n.nf\n{}\n.fi\n", roff(app.get_footer()));
}

}

void add_describe(CLI::App& app) {
  CLI::App* describe = app.add_subcommand("describe", "Print the man page or a completion for a shell")->group("");
  const auto form = std::make_shared<std::string>();
  describe->add_option("FORM", *form)->required()->check(CLI::IsMember({"bash", "zsh", "man"}));
  describe->callback([&app, form] {
    write_output(*form == "bash" ? bash_completion(app) : *form == "zsh" ? zsh_completion(app) : man_page(app));
  });
}

}
