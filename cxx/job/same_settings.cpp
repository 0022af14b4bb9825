#include "cxx/job/same_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <vector>

#include "cxx/base/error.hpp"

namespace trifuse {

double number_of_text(const std::string& text) {
  constexpr std::size_t bits = (std::size_t{1} << 50) - 1;
  return static_cast<double>(std::hash<std::string>{}(text)&bits);
}

void expect_same_settings(Communicator& ranks, std::span<const Setting> settings, const std::string& may_differ) {
  std::vector<double> mine;
  for (const Setting& setting : settings) mine.push_back(setting.value.empty() ? 0.0 : number_of_text(setting.value));
  const std::vector<double> all = allgather(ranks, mine);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] == all[n % mine.size()]) continue;
    throw UsageError(
        fmt::format("Ranks 0 and {} were not given the same {}; give it to all ranks or to none (only {} may differ "
                    "between ranks).",
                    n / mine.size(), settings[n % mine.size()].name, may_differ));
  }
}

void expect_same_options(Communicator& ranks, const JobOptions& options, bool two_sided) {
  const CalculationOptions& of = options.calculation;
  const auto flag = [](bool set) { return std::string(set ? "yes" : ""); };
  const auto name = [&](const char* option) { return options.option_prefix + option; };
  const std::vector<Setting> settings = {
      {name("omega2"), fmt::format("{}", fmt::join(of.omega2, " "))},
      {name("form"), of.formulation ? fmt::format("{}", static_cast<int>(*of.formulation)) : ""},
      {name("rohf"), fmt::format("{}", static_cast<int>(of.rohf))},
      {name("precision"), fmt::format("{}", static_cast<int>(of.precision))},
      {name("target_error"), of.target_error ? fmt::format("{}", *of.target_error) : ""},
      {name("tile_size"), of.tile_size ? fmt::format("{}", *of.tile_size) : ""},
      {name("journal"), flag(!of.journal.empty())},
      {name("trust_input"), flag(of.trust_input)},
      {name("check"), flag(options.check)},
      {"left amplitudes", flag(two_sided)}};
  expect_same_settings(ranks, settings, "threads, memory and devices");
}

}
