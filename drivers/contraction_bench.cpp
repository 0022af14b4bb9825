#include "drivers/contraction_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/free_memory.hpp"
#include "cxx/base/median.hpp"
#include "cxx/contraction/description.hpp"
#include "cxx/contraction/reference.hpp"

namespace trifuse::cli {

namespace {

using namespace contraction;

Contraction description_of(const TccgContraction& which, double share) {
  const TccgLayouts layouts = layouts_of(which, share);
  return describe(which.expression, layouts[A], layouts[B], layouts[C]);
}

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

/// Returns the largest relative error of some hundred random elements of C. `sum`: indices of the sum.
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

void expect_memory(const TccgContraction& which, double needed) {
  if (needed <= free_memory()) return;
  throw SystemError(
      fmt::format("The tensors of contraction {} take {}, but only {} of memory are free; give a smaller "
                  "--share.",
                  which.number, format_bytes(needed), format_bytes(free_memory())));
}

void expect_right(const TccgContraction& which, const Contraction& contraction, const MeasuredContraction& measured) {
  constexpr double rounding = 4e-16;
  double terms = 1.0;
  for (const Index& index : contraction.of_class(IndexClass::contracted)) terms *= static_cast<double>(index.extent);
  if (measured.error <= rounding * (terms + 10.0)) return;
  throw Error(fmt::format("The result of contraction {}, {}, has a relative error of {:.1e} ({}); please report this.",
                          which.number, which.expression, measured.error, measured.plan));
}

double geometric_mean(const std::vector<MeasuredContraction>& measured, const TccgGroup* group) {
  double sum = 0.0;
  int count = 0;
  for (const MeasuredContraction& each : measured) {
    if (group != nullptr && each.which->group != *group) continue;
    sum += std::log(each.share_of_bound());
    ++count;
  }
  return std::exp(sum / count);
}

/// Returns pairs of a name and the geometric mean of the shares of the bound: the groups, and all.
std::vector<std::pair<std::string, double>> means_of(const std::vector<MeasuredContraction>& measured) {
  std::vector<std::pair<std::string, double>> means;
  for (const TccgGroup group :
       {TccgGroup::tensor_times_matrix, TccgGroup::ao_to_mo, TccgGroup::ccsd_products, TccgGroup::triples_products})
    means.emplace_back(name_of(group), geometric_mean(measured, &group));
  means.emplace_back("all", geometric_mean(measured, nullptr));
  return means;
}

}

std::vector<MeasuredContraction> measure_contractions(ContractionDevice& device, double share, int repeats,
                                                      const std::function<void(const MeasuredContraction&)>& each) {
  // The speed of machines drifts, so the rates are measured again from time to time.
  constexpr int contractions_of_rates = 12;
  std::vector<MeasuredContraction> all;
  DeviceRates rates{};
  for (const TccgContraction& which : tccg_contractions()) {
    const Contraction contraction = description_of(which, share);
    constexpr double copies_of_c = 2.0;  // one more for the check
    expect_memory(which, copies_of_c * bytes(contraction, false));
    if ((which.number - 1) % contractions_of_rates == 0) rates = device.rates();
    const std::vector<double> a = operand_of(contraction, A), b = operand_of(contraction, B);
    device.prepare(contraction, a, b);
    std::vector<double> seconds;
    for (int r = 0; r < repeats; ++r) seconds.push_back(device.run());
    all.push_back({&which, device.plan(), operations(contraction), bytes(contraction, false), median(seconds), rates,
                   bound(contraction, false, rates.dgemm, rates.copy), error_of(contraction, a, b, device.result())});
    expect_right(which, contraction, all.back());
    each(all.back());
  }
  return all;
}

std::string contraction_table_head() {
  return fmt::format("{:>2} {:<18} {:<19} {:>9} {:>9} {:>9} {:>6} {:>7}\n", "no", "contraction", "group", "ms", "GF/s",
                     "bound", "share", "error");
}

std::string contraction_table_line(const MeasuredContraction& measured) {
  return fmt::format("{:>2} {:<18} {:<19} {:>9.3f} {:>9.2f} {:>9.2f} {:>6.3f} {:>7.0e}\n", measured.which->number,
                     measured.which->expression, name_of(measured.which->group), measured.seconds * 1e3,
                     measured.rate() * 1e-9, measured.bound * 1e-9, measured.share_of_bound(), measured.error);
}

std::string contraction_means(const std::vector<MeasuredContraction>& measured) {
  std::string text = "\nGeometric means of the shares:\n";
  for (const auto& [name, mean] : means_of(measured)) text += fmt::format("{:<20} {:.3f}\n", name, mean);
  return text;
}

const std::string contraction_csv_head =
    "number,contraction,group,operations,bytes,seconds,flops_per_second,dgemm_flops_per_second,copy_bytes_per_second,"
    "bound_flops_per_second,share_of_bound,error\n";

std::string contraction_csv(const std::vector<MeasuredContraction>& measured) {
  std::string text = contraction_csv_head;
  for (const MeasuredContraction& each : measured) {
    text += fmt::format("{},\"{}\",{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.2g}\n", each.which->number,
                        each.which->expression, name_of(each.which->group), each.operations, each.bytes, each.seconds,
                        each.rate(), each.rates.dgemm, each.rates.copy, each.bound, each.share_of_bound(), each.error);
  }
  return text;
}

nlohmann::ordered_json json_contractions(const ContractionDevice& device, double share,
                                         const std::vector<MeasuredContraction>& measured) {
  nlohmann::ordered_json json = {{"device", device.name()}, {"share", share}};
  for (const auto& [name, mean] : means_of(measured)) json["mean_share_of_bound"][name] = mean;
  for (const MeasuredContraction& each : measured) {
    json["results"].push_back({{"number", each.which->number},
                               {"contraction", each.which->expression},
                               {"group", name_of(each.which->group)},
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
  }
  return json;
}

std::string explain_contraction(const ContractionDevice& device, int number, double share) {
  constexpr std::size_t most = 20;
  const TccgContraction& which = tccg_contractions()[static_cast<std::size_t>(number - 1)];
  const Contraction contraction = description_of(which, share);
  std::string text = fmt::format("Contraction {}, {}: {} with", number, name_of(which.group), which.expression);
  for (const Index& index : contraction.indices) text += fmt::format(" {}={}", index.name, index.extent);
  const std::vector<std::string> candidates = device.candidates(canonical_form(contraction));
  text += fmt::format("\n{} plans for {}, the fastest by the model first:\n", candidates.size(), device.name());
  for (std::size_t n = 0; n < std::min(most, candidates.size()); ++n)
    text += fmt::format("{:>3} {}\n", n + 1, candidates[n]);
  return text;
}

}
