#include "drivers/contraction_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/free_memory.hpp"
#include "cxx/base/median.hpp"
#include "cxx/contraction/description.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/contraction/tccg.hpp"

namespace trifuse::cli {

namespace {

using namespace contraction;

/// Returns positive numbers between 0.5 and 1.5, so that no sum cancels.
std::vector<double> operand_of(const Contraction& contraction, Tensor tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(elements(contraction, tensor)));
  std::uint64_t state = tensor + 1;
  for (double& number : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = 0.5 + static_cast<double>(state >> 11U) * 0x1p-53;
  }
  return numbers;
}

/// Returns the largest relative error of some hundred random elements of C.
double error_of(const Contraction& contraction, const std::vector<double>& a, const std::vector<double>& b,
                const std::vector<double>& c) {
  constexpr int checked = 300;
  std::mt19937_64 random(1);
  const Contraction sum{contraction.of_class(IndexClass::contracted)};
  double largest = 0.0;
  for (int n = 0; n < checked; ++n) {
    std::array<std::int64_t, 3> offset{};
    for (const Index& index : contraction.indices) {
      if (index.index_class == IndexClass::contracted) continue;
      const auto value = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(index.extent));
      for (const Tensor t : {A, B, C}) offset[t] += value * index.stride[t];
    }
    double expected = 0.0;
    contract_by_loops(sum, 1.0, a.data() + offset[A], b.data() + offset[B], 0.0, &expected);
    const double error = std::abs(c[static_cast<std::size_t>(offset[C])] / expected - 1.0);
    largest = error >= 0.0 ? std::max(largest, error) : std::numeric_limits<double>::infinity();
  }
  return largest;
}

void expect_memory(const ContractionSet& set, const NumberedContraction& which, double needed) {
  if (needed <= free_memory()) return;
  throw SystemError(
      fmt::format("The tensors of contraction {} take {}, but only {} of memory are free; give a smaller --{}.",
                  which.number, format_bytes(needed), format_bytes(free_memory()), set.size_of));
}

void expect_right(const MeasuredContraction& measured) {
  constexpr double rounding = 4e-16;
  double terms = 1.0;
  for (const Index& index : measured.which.contraction.of_class(IndexClass::contracted))
    terms *= static_cast<double>(index.extent);
  if (measured.error <= rounding * (terms + 10.0)) return;
  throw Error(fmt::format("The result of contraction {}, {}, has a relative error of {:.1e} ({}); please report this.",
                          measured.which.number, measured.which.expression, measured.error, measured.plan));
}

/// `group`: null for all contractions.
double geometric_mean(const std::vector<MeasuredContraction>& measured, const std::string* group) {
  double sum = 0.0;
  int count = 0;
  for (const MeasuredContraction& each : measured) {
    if (group != nullptr && each.which.group != *group) continue;
    sum += std::log(each.share_of_bound());
    ++count;
  }
  return std::exp(sum / count);
}

/// How good the first choices of the model are.
struct FirstChoices {
  int count = 0;          ///< of tuned contractions
  int good = 0;           ///< those that take at most 10 % longer than the best plan
  double mean = 1.0;      ///< geometric mean of the ratios of both times
  std::size_t plans = 0;  ///< measured plans
};

FirstChoices first_choices(const std::vector<MeasuredContraction>& measured) {
  constexpr double good = 1.1;
  FirstChoices all;
  double sum = 0.0;
  for (const MeasuredContraction& each : measured) {
    if (!each.tuning) continue;
    const double ratio = each.tuning->first_to_best();
    ++all.count;
    if (ratio <= good) ++all.good;
    sum += std::log(ratio);
    all.plans += each.tuning->measured;
  }
  if (all.count > 0) all.mean = std::exp(sum / all.count);
  return all;
}

/// Returns pairs of a name and the geometric mean of the shares of the bound: the groups, and all.
std::vector<std::pair<std::string, double>> means_of(const std::vector<MeasuredContraction>& measured) {
  std::vector<std::pair<std::string, double>> means;
  for (const MeasuredContraction& each : measured) {
    const std::string& group = each.which.group;
    if (means.empty() || means.back().first != group) means.emplace_back(group, geometric_mean(measured, &group));
  }
  means.emplace_back("all", geometric_mean(measured, nullptr));
  return means;
}

}

ContractionSet tccg_set(double share) {
  // The parser takes "nan" for a number in any range.
  if (std::isnan(share)) throw UsageError("--share is not a number; give a part of the size, 1e-6 to 1.");
  ContractionSet set{fmt::format("TCCG, {:g} of the size", share), "share", share, false, {}};
  for (const TccgContraction& which : tccg_contractions()) {
    const TccgLayouts layouts = layouts_of(which, share);
    set.contractions.push_back({which.number, std::string(name_of(which.group)), which.expression,
                                describe(which.expression, layouts[A], layouts[B], layouts[C])});
  }
  return set;
}

ContractionSet batched_set(std::int64_t products, bool beside_cublas) {
  ContractionSet set{fmt::format("Batches of {} products", products), "batched", products, beside_cublas, {}};
  int number = 0;
  for (const std::int64_t n : {2, 4, 8, 16, 24, 32}) {
    const Layout matrix{{n, n}, {}}, batch{{products, n, n}, {}};
    const auto add = [&](const char* expression, const Layout& a) {
      set.contractions.push_back(
          {++number, fmt::format("n = {}", n), expression, describe(expression, a, batch, batch)});
    };
    add("xik,xkj->xij", batch);
    add("ik,xkj->xij", matrix);
  }
  return set;
}

std::vector<MeasuredContraction> measure_contractions(ContractionDevice& device, const ContractionSet& set, int repeats,
                                                      bool tune,
                                                      const std::function<void(const MeasuredContraction&)>& each) {
  // The speed of machines drifts, so the rates are measured again from time to time.
  constexpr int contractions_of_rates = 12;
  std::vector<MeasuredContraction> all;
  DeviceRates rates{};
  for (const NumberedContraction& which : set.contractions) {
    const Contraction& contraction = which.contraction;
    constexpr double copies_of_c = 2.0;  // one more for the check
    expect_memory(set, which, copies_of_c * bytes(contraction, false));
    if ((which.number - 1) % contractions_of_rates == 0) rates = device.rates();
    const std::vector<double> a = operand_of(contraction, A), b = operand_of(contraction, B);
    device.prepare(contraction, a, b);
    std::optional<Tuning> tuning;
    if (tune) tuning = device.tune();
    std::vector<double> seconds, of_cublas;
    for (int r = 0; r < repeats; ++r) {
      seconds.push_back(device.run());
      of_cublas.push_back(set.beside_cublas ? device.run_cublas() : 0.0);
    }
    all.push_back({which, device.plan(), operations(contraction), bytes(contraction, false), median(seconds), rates,
                   bound(contraction, false, rates.dgemm, rates.copy), error_of(contraction, a, b, device.result()),
                   median(of_cublas), std::move(tuning)});
    expect_right(all.back());
    if (all.back().tuning) device.store_tuned_plan(*all.back().tuning);
    each(all.back());
  }
  return all;
}

std::string contraction_table_head(const ContractionSet& set, bool tune) {
  return fmt::format("{:>2} {:<18} {:<19} {:>9} {:>9} {:>9} {:>6} {:>7}{}{}\n", "no", "contraction", "group", "ms",
                     "GF/s", "bound", "share", "error",
                     set.beside_cublas ? fmt::format(" {:>9} {:>6}", "cuBLAS ms", "ratio") : "",
                     tune ? fmt::format(" {:>5} {:>10}", "plans", "first/best") : "");
}

std::string contraction_table_line(const MeasuredContraction& measured) {
  const double cublas = measured.cublas_seconds;
  const std::optional<Tuning>& tuning = measured.tuning;
  return fmt::format("{:>2} {:<18} {:<19} {:>9.3f} {:>9.2f} {:>9.2f} {:>6.3f} {:>7.0e}{}{}\n", measured.which.number,
                     measured.which.expression, measured.which.group, measured.seconds * 1e3, measured.rate() * 1e-9,
                     measured.bound * 1e-9, measured.share_of_bound(), measured.error,
                     cublas > 0.0 ? fmt::format(" {:>9.3f} {:>6.2f}", cublas * 1e3, measured.ratio_to_cublas()) : "",
                     tuning ? fmt::format(" {:>5} {:>10.3f}", tuning->measured, tuning->first_to_best()) : "");
}

std::string contraction_means(const std::vector<MeasuredContraction>& measured) {
  std::string text = "\nGeometric means of the shares:\n";
  for (const auto& [name, mean] : means_of(measured)) text += fmt::format("{:<20} {:.3f}\n", name, mean);
  return text;
}

std::string tuning_summary(const std::vector<MeasuredContraction>& measured) {
  const FirstChoices all = first_choices(measured);
  if (all.count == 0) return {};
  return fmt::format(
      "\nFor {} of {} contractions the first choice of the model takes at most 10 % longer than the best plan.\n"
      "Time of the first choice divided by that of the best of {} plans, geometric mean: {:.3f}\n",
      all.good, all.count, all.plans, all.mean);
}

const std::string contraction_csv_beginning =
    "number,contraction,group,operations,bytes,seconds,flops_per_second,dgemm_flops_per_second,copy_bytes_per_second,"
    "bound_flops_per_second,share_of_bound,error";

std::string contraction_csv(const ContractionSet& set, const std::vector<MeasuredContraction>& measured) {
  const bool tuned = first_choices(measured).count > 0;
  std::string text = contraction_csv_beginning + (set.beside_cublas ? ",cublas_seconds,ratio_to_cublas" : "") +
                     (tuned ? ",plans_measured,first_choice_seconds,best_seconds,first_choice_to_best\n" : "\n");
  for (const MeasuredContraction& each : measured) {
    text += fmt::format("{},\"{}\",{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.2g}", each.which.number,
                        each.which.expression, each.which.group, each.operations, each.bytes, each.seconds, each.rate(),
                        each.rates.dgemm, each.rates.copy, each.bound, each.share_of_bound(), each.error);
    if (set.beside_cublas) text += fmt::format(",{:.6g},{:.6g}", each.cublas_seconds, each.ratio_to_cublas());
    if (const std::optional<Tuning>& tuning = each.tuning) {
      text += fmt::format(",{},{:.6g},{:.6g},{:.6g}", tuning->measured, tuning->first_seconds, tuning->best_seconds,
                          tuning->first_to_best());
    } else if (tuned) {
      text += ",,,,";
    }
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json json_contractions(const ContractionDevice& device, const ContractionSet& set,
                                         const std::vector<MeasuredContraction>& measured) {
  nlohmann::ordered_json json = {{"device", device.name()}, {set.size_of, set.size}};
  if (const TunedPlans plans = device.tuned_plans(); plans.count > 0)
    json["tuned_plans"] = {{"file", plans.file}, {"count", plans.count}};
  if (const FirstChoices all = first_choices(measured); all.count > 0)
    json["first_choices"] = {{"contractions", all.count}, {"within_10_percent", all.good}, {"mean_to_best", all.mean}};
  for (const auto& [name, mean] : means_of(measured)) json["mean_share_of_bound"][name] = mean;
  for (const MeasuredContraction& each : measured) {
    json["results"].push_back({{"number", each.which.number},
                               {"contraction", each.which.expression},
                               {"group", each.which.group},
                               {"plan", each.plan},
                               {"operations", each.operations},
                               {"bytes", each.bytes},
                               {"seconds", each.seconds},
                               {"flops_per_second", each.rate()},
                               {"dgemm_flops_per_second", each.rates.dgemm},
                               {"copy_bytes_per_second", each.rates.copy},
                               {"bound_flops_per_second", each.bound},
                               {"share_of_bound", each.share_of_bound()},
                               {"error", each.error}});
    if (each.cublas_seconds > 0.0)
      json["results"].back().update(
          {{"cublas_seconds", each.cublas_seconds}, {"ratio_to_cublas", each.ratio_to_cublas()}});
    if (each.tuning)
      json["results"].back().update({{"plans_measured", each.tuning->measured},
                                     {"first_choice_seconds", each.tuning->first_seconds},
                                     {"best_seconds", each.tuning->best_seconds},
                                     {"first_choice_to_best", each.tuning->first_to_best()}});
  }
  return json;
}

std::string explain_contraction(const ContractionDevice& device, const NumberedContraction& which) {
  constexpr std::size_t most = 20;
  std::string text = fmt::format("Contraction {}, {}: {} with", which.number, which.group, which.expression);
  for (const Index& index : which.contraction.indices) text += fmt::format(" {}={}", index.name, index.extent);
  const std::vector<std::string> candidates = device.candidates(canonical_form(which.contraction));
  text += fmt::format("\n{} plans for {}, the fastest by the model first:\n", candidates.size(), device.name());
  for (std::size_t n = 0; n < std::min(most, candidates.size()); ++n)
    text += fmt::format("{:>3} {}\n", n + 1, candidates[n]);
  return text;
}

}
