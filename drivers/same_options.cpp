#include "drivers/same_options.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/job/same_settings.hpp"
#include "trifuse_config.hpp"

namespace trifuse::cli {

namespace {

/// Options that name files.
const std::set<std::string> names_of_files = {"PATH", "--left", "--nwchem-output", "--nwchem-movecs"};

/// Returns the options of a command line that must be the same on all ranks. Those of the option table are compared by
/// run_job().
std::vector<Setting> given(const CLI::App& command) {
  std::vector<Setting> options;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    std::string text = option->count() > 0 && find_option(Door::program, name) == nullptr ? "given" : "";
    for (const std::string& value : option->results())
      text += text.empty() || names_of_files.contains(name) ? "" : "\n" + value;
    options.push_back({name, text});
  }
  return options;
}

/// The task that a command line gives to a rank. Ranks compare these tasks before they compare options.
enum class Wish { compute, help };

void expect_same_wish(Communicator& communicator, Wish wish, const std::vector<Setting>& options) {
  // If the command line of a rank cannot be read, all ranks end here.
  propagate_failure(communicator, nullptr);
  std::string program = version;
  for (const Setting& option : options) program += "\n" + option.name;
  const std::array<double, 2> mine = {static_cast<double>(wish), wish == Wish::help ? 0.0 : number_of_text(program)};
  const std::vector<double> all = allgather(communicator, mine);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const std::size_t which = n % mine.size(), rank = n / mine.size();
    if (all[n] == all[which]) continue;
    throw UsageError(
        which == 0
            ? fmt::format("Only one of ranks 0 and {} was given --help.", rank)
            : fmt::format("Ranks 0 and {} run different versions of this program; start the same version on all ranks.",
                          rank));
  }
}

}

void expect_same_options(Communicator& communicator, const CLI::App& command) {
  const std::vector<Setting> options = given(command);
  expect_same_wish(communicator, Wish::compute, options);
  expect_same_settings(communicator, options, names_of_each_rank(Door::program));
}

void expect_all_ask_for_help(Communicator& communicator) {
  expect_same_wish(communicator, Wish::help, {});
}

}
