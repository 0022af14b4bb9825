#include "drivers/command_environment.hpp"

#include <string>
#include <vector>

#include "cxx/calculation/environment_settings.hpp"

namespace trifuse::cli {

void refuse_other_environment(const CLI::App& command) {
  std::vector<std::string> options, given;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      options.push_back(name);
      if (option->count() > 0) given.push_back(name);
    }
  }
  refuse_settings_of_other_doors(Door::program, command.get_name(), options, given);
  static_cast<void>(silence_seconds());
}

}
