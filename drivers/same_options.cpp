#include "drivers/same_options.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "trifuse_config.hpp"

namespace trifuse::cli {

namespace {

/// Options that may differ between ranks, and options that name files.
const std::set<std::string> of_each_rank = {"--threads", "--memory", "--device", "--devices", "--kernel"};
const std::set<std::string> names_of_files = {"PATH", "--left", "--nwchem-output", "--nwchem-movecs"};

/// A hash of the text that a double holds exactly.
double number_of(const std::string& text) {
  constexpr std::size_t bits = (std::size_t{1} << 50) - 1;
  return static_cast<double>(std::hash<std::string>{}(text)&bits);
}

/// The options of a command line that must be the same on all ranks.
struct Given {
  std::vector<std::string> names;
  std::vector<double> values;  ///< a hash of the value; 0 for an option that was not given
};

Given given(const CLI::App& command) {
  Given options;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (of_each_rank.contains(name)) continue;
    options.names.push_back(name);
    std::string text = "given";
    for (const std::string& value : option->results()) text += names_of_files.contains(name) ? "" : "\n" + value;
    options.values.push_back(option->count() > 0 ? number_of(text) : 0.0);
  }
  return options;
}

/// The first rank whose numbers differ from those of rank 0; 0 if there is none. `all`: numbers as [rank, n]. `which`
/// becomes the n that differs.
std::size_t first_other(const std::vector<double>& all, std::size_t numbers_of_each, std::size_t& which) {
  for (std::size_t n = 0; n < all.size(); ++n) {
    which = n % numbers_of_each;
    if (all[n] != all[which]) return n / numbers_of_each;
  }
  return 0;
}

/// What a rank is asked to do. Ranks compare it before they compare options.
enum class Wish { compute, help };

void expect_same_wish(Communicator& communicator, Wish wish, const Given& options) {
  // If the command line of a rank cannot be read, all ranks end here.
  propagate_failure(communicator, nullptr);
  std::string program = version;
  for (const std::string& name : options.names) program += "\n" + name;
  const std::array<double, 2> mine = {static_cast<double>(wish), wish == Wish::help ? 0.0 : number_of(program)};
  std::size_t which = 0;
  const std::size_t rank = first_other(allgather(communicator, mine), mine.size(), which);
  if (rank == 0) return;
  throw UsageError(
      which == 0
          ? fmt::format("Only one of ranks 0 and {} was given --help.", rank)
          : fmt::format("Ranks 0 and {} run different versions of this program; start the same version on all ranks.",
                        rank));
}

}  // namespace

void expect_same_options(Communicator& communicator, const CLI::App& command) {
  const Given mine = given(command);
  expect_same_wish(communicator, Wish::compute, mine);
  std::size_t which = 0;
  const std::size_t rank = first_other(allgather(communicator, mine.values), mine.values.size(), which);
  if (rank == 0) return;
  throw UsageError(
      fmt::format("Ranks 0 and {} were not given the same {}; give it to all ranks or to none (only --threads, "
                  "--memory, --device, --devices and --kernel may differ between ranks).",
                  rank, mine.names[which]));
}

void expect_all_ask_for_help(Communicator& communicator) {
  expect_same_wish(communicator, Wish::help, {});
}

}  // namespace trifuse::cli
