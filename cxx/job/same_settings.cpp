#include "cxx/job/same_settings.hpp"

#include <fmt/format.h>

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
  std::vector<Setting> settings = {{"left amplitudes", two_sided ? "given" : ""}};
  for (const CalculationOption& option : option_table()) {
    if (option.same_on_ranks()) settings.push_back({option.name_at(options.door), option.text_in(options.calculation)});
  }
  expect_same_settings(ranks, settings, names_of_each_rank(options.door));
}

}
