#include "cxx/report/report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cxx/base/blas.hpp"
#include "cxx/base/byte_amount.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/base/operation_amount.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/option_table.hpp"
#include "cxx/calculation/result_check.hpp"
#include "cxx/plan/executor_report.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/strata.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/device_report.hpp"
#include "cxx/report/json_values.hpp"
#include "cxx/report/precision_report.hpp"
#include "tce_tiles/tiles/factor_source.hpp"
#include "trifuse_config.hpp"

namespace trifuse {

namespace {

constexpr const char* operation_convention =
    "floating-point operations of matrix products, a multiply and an add counted as two; singles and energies not "
    "counted";

struct OrbitalNumbers {
  std::int64_t occupied_alpha, occupied_beta, virtual_alpha, virtual_beta;
};
OrbitalNumbers orbital_numbers(const TileSpace& space) {
  return {space.orbitals(OrbitalClass::hole_alpha), space.orbitals(OrbitalClass::hole_beta),
          space.orbitals(OrbitalClass::particle_alpha), space.orbitals(OrbitalClass::particle_beta)};
}

int irreps_used(const TileSpace& space) {
  int count = 0;
  for (int irrep = 0; irrep < 8; ++irrep) {
    bool used = false;
    for (const OrbitalClass c : orbital_classes) used = used || space.range(c, irrep).size > 0;
    count += used ? 1 : 0;
  }
  return count;
}

std::string bytes(std::int64_t count) {
  return format_bytes(static_cast<double>(count));
}

double rate_of(const CalculationResult& result) {
  return result.seconds_tasks > 0.0 ? result.operations / result.seconds_tasks : 0.0;
}

/// Returns the methods of a run, in the words of the option.
nlohmann::ordered_json json_methods(const CalculationOptions& options) {
  const CalculationOption& option = *find_option(Door::library, "method");
  nlohmann::ordered_json words = nlohmann::ordered_json::array();
  for (const double each : option.get(options).numbers)
    words.push_back(option.values.words[static_cast<std::size_t>(each)]);
  return words;
}

/// Returns one column for each energy.
std::string columns_of(const Energies& energies) {
  std::string text;
  for (const double value : energies.values()) text += fmt::format("  {:21.15f}", value);
  return text;
}

/// What the user of a slow BLAS should do. Returns an empty text if the BLAS is not known to be slow.
std::string blas_advice() {
  const std::string kernels = better_openblas_kernels();
  if (kernels.empty()) return kernels;
  return fmt::format(
      "OpenBLAS does not know this processor and uses slow kernels; set OPENBLAS_CORETYPE={} before the program starts",
      kernels);
}

}

std::string describe_source(const TileSource& source) {
  const SourceInfo& info = source.info();
  const auto [oa, ob, va, vb] = orbital_numbers(source.tiles());
  std::string text = fmt::format("Input        {}\n             {}\n", printable(info.path), printable(info.format));
  for (const auto& [name, value] : info.provenance)
    text += fmt::format("             {}: {}\n", printable_attribute(name), printable_attribute(value));
  text += fmt::format("Reference    {}; occupied {} alpha, {} beta; virtual {} alpha, {} beta; {} irrep{}\n",
                      to_string(info.reference), oa, ob, va, vb, irreps_used(source.tiles()),
                      irreps_used(source.tiles()) == 1 ? "" : "s");
  return text;
}

std::optional<double> total_ccsd_energy(const SourceInfo& info, std::optional<double> correlation) {
  if (!correlation) correlation = info.correlation_energy;
  if (!correlation || !info.scf_energy || info.amplitudes != AmplitudeKind::ccsd) return {};
  return *info.scf_energy + *correlation;
}

std::string describe_ccsd(const SourceInfo& info, std::optional<double> correlation) {
  std::string text;
  if (correlation) {
    text += fmt::format("CCSD         correlation energy of these amplitudes {:.15f} Eh\n", *correlation);
  }
  if (const auto total = total_ccsd_energy(info, correlation)) {
    text += fmt::format("             E(SCF) {:.12f} Eh, E(CCSD) {:.12f} Eh\n", *info.scf_energy, *total);
  }
  return text;
}

std::string describe_plan(const Calculation& calculation) {
  const Plan& plan = calculation.plan();
  std::string text;
  if (const std::string note = calculation.reference_note(); !note.empty())
    text += fmt::format("             {}\n", note);
  std::string sources;
  if (calculation.memory().dressed > 0)
    sources += fmt::format(", {} of dressed integrals", bytes(calculation.memory().dressed));
  if (calculation.memory().sums > 0)
    sources += fmt::format(", {} of sums of derivatives", bytes(calculation.memory().sums));
  if (calculation.memory().rotated > 0)
    sources += fmt::format(" and {} of rotated amplitudes and integrals", bytes(calculation.memory().rotated));
  text += fmt::format("Plan         {} form, {} tiles of at most {} orbitals, {} tasks, {}\n",
                      to_string(plan.formulation), plan.tiles.size(), plan.tiles.largest_tile(), plan.tasks.size(),
                      format_operations(plan.total_operations));
  if (!calculation.devices().empty()) {
    const CalculationOptions& options = calculation.options();
    text += fmt::format("Devices      {}{}{}\n", names_of(calculation.devices()),
                        options.kernel.empty() ? "" : "; kernel ", options.kernel);
    if (const std::string advice = precision_advice(calculation); !advice.empty())
      text += fmt::format("             {}\n", advice);
    return text + fmt::format("Memory       {} of operands{} {}, {} on each device\n",
                              bytes(calculation.memory().operands), sources,
                              calculation.memory().shared ? "on all hosts" : "on the host",
                              options.memory ? "at most " + bytes(*options.memory) : "all free memory");
  }
  const std::string made = calculation.memory().made() > 0 ? fmt::format(", at most {} of panels made from factors",
                                                                         bytes(calculation.memory().made()))
                                                           : "";
  text += fmt::format("Memory       {} of operands{}{}, {} of scratch for {} thread{}{}\n",
                      bytes(calculation.memory().operands), sources, calculation.memory().shared ? " in all" : "",
                      bytes(calculation.memory().scratch()), calculation.memory().threads,
                      calculation.memory().threads == 1 ? "" : "s", made);
  return text;
}

std::string describe_slow_blas() {
  const std::string advice = blas_advice();
  return advice.empty() ? advice : fmt::format("BLAS         {}\n", advice);
}

/// Describes shared operands: how many bytes a rank stores, and how many bytes moved between ranks. `factors`: true if
/// panels are made from factors.
std::string describe_traffic(const std::vector<OperandTraffic>& ranks, bool factors) {
  OperandTraffic most, sum;
  for (const OperandTraffic& rank : ranks) {
    most.own_bytes = std::max(most.own_bytes, rank.own_bytes);
    most.cache_bytes = std::max(most.cache_bytes, rank.cache_bytes);
    most.fetched_bytes = std::max(most.fetched_bytes, rank.fetched_bytes);
    sum.fetched_bytes += rank.fetched_bytes;
    sum.peer_bytes += rank.peer_bytes;
    sum.panels_wanted += rank.panels_wanted;
    sum.panels_hit += rank.panels_hit;
  }
  std::string text = fmt::format(
      "Operands     shared by the ranks: at most {} in a rank, and a cache of {} for panels of other ranks{}\n"
      "Fetched      {} from other ranks, at most {} by one rank; {:.1f} % cache hits\n",
      bytes(most.own_bytes), bytes(most.cache_bytes), factors ? " and made panels" : "", bytes(sum.fetched_bytes),
      bytes(most.fetched_bytes),
      100.0 * static_cast<double>(sum.panels_hit) / static_cast<double>(std::max<std::int64_t>(1, sum.panels_wanted)));
  if (sum.peer_bytes > 0) text += fmt::format("             {} from GPU to GPU\n", bytes(sum.peer_bytes));
  return text;
}

std::string describe_result(const Calculation& calculation, const CalculationResult& result, const RunTimes& times,
                            const SourceInfo& info, std::optional<double> correlation) {
  const std::string correction = Energies::names.back();
  std::string text = fmt::format("\n{:>8}", "omega2");
  for (const char* name : Energies::names) text += fmt::format("  {:>21}", fmt::format("{} / Eh", name));
  text += "  method\n";
  for (const TriplesEnergy& energy : result.energies) {
    text += fmt::format("{:8g}{}  {}\n", energy.omega2, columns_of(energy.total), energy.method);
    for (std::size_t s = 0; s < 4; ++s) {
      text += fmt::format("{:>8}{}\n", spin_case_names[s], columns_of(energy.spin_cases[s]));
    }
    if (energy.overlap)
      text += fmt::format("{:>8}{}  by which sums are divided\n", "overlap", columns_of(*energy.overlap));
    if (energy.has_tables && std::isfinite(energy.smallest_denominator))
      text += fmt::format("{:>8}  {:.6f} Eh is the smallest absolute denominator\n", "", energy.smallest_denominator);
    for (std::size_t n = 0; n < energy.fragments.size(); ++n) {
      text += fmt::format("{:>8}{}  fragment\n", n, columns_of(energy.fragments[n].energy));
    }
  }
  const TriplesEnergy* const comparable = comparable_energy(calculation.problem(), calculation.options(), result);
  if (info.printed_triples && comparable != nullptr) {
    const auto [e_bracket_t, e_paren_t] = *info.printed_triples;
    text += fmt::format("{:>8}  {:21.15f}  {:21.15f}  printed by the program that made the amplitudes\n", "",
                        e_bracket_t, e_paren_t);
    text += fmt::format("{:>8}  {:21.1e}  {:21.1e}  difference\n", "", comparable->total.e_bracket_t - e_bracket_t,
                        comparable->total.e_paren_t - e_paren_t);
  }
  if (const auto ccsd = total_ccsd_energy(info, correlation)) {
    text += "\n";
    for (const TriplesEnergy& energy : result.energies) {
      text += fmt::format("{:8g}  {:21.12f}  E(CCSD) + {} / Eh\n", energy.omega2, *ccsd + energy.total.values().back(),
                          correction);
    }
  }
  text += describe_precision(calculation, result);
  text +=
      fmt::format("\nTime         {:.2f} s checking the input, {:.2f} s planning, ", times.checking, times.planning);
  if (!calculation.options().journal.empty())
    text += fmt::format("{:.2f} s opening the journal, ", result.seconds_journal);
  text += fmt::format("{:.2f} s reading operands, {:.2f} s in {} tasks", result.seconds_loading, result.seconds_tasks,
                      result.tasks - result.tasks_from_journal);
  if (result.tasks_from_journal > 0) text += fmt::format(" ({} more came from the journal)", result.tasks_from_journal);
  if (result.operations > 0.0) text += fmt::format(", {:.1f} GF/s", rate_of(result) * 1e-9);
  if (times.fragments > 0.0) text += fmt::format(";\n             {:.2f} s for fragments", times.fragments);
  text += fmt::format("\n             {:.2f} s in total, from opening the input to the energies\n", times.whole);
  text += fmt::format("Peak         {} of the host's memory", bytes(result.peak_bytes));
  if (result.device_report && result.device_report->peak_bytes > 0)
    text += fmt::format(", {} of a GPU", bytes(result.device_report->peak_bytes));
  text += "\n";
  text += describe_sample(result);
  if (!result.traffic.empty()) text += describe_traffic(result.traffic, calculation.memory().made() > 0);
  if (result.tasks_from_other_kind > 0) {
    text += fmt::format(
        "Journal      another kind of device computed {} of its tasks: energies agree {}, not to the last bit\n",
        result.tasks_from_other_kind,
        calculation.options().precision == Precision::mixed ? "within the error bar" : "to 1e-12");
  }
  return text + describe_devices(calculation, result);
}

std::string report_text(const std::string& command, const nlohmann::ordered_json& content) {
  // This number grows if readers of the old format would misunderstand the new one.
  constexpr int schema_version = 1;
  nlohmann::ordered_json report = {
      {"program", "trifuse"}, {"report", command}, {"schema_version", schema_version}, {"version", version}};
  report.update(content);
  // Only ASCII. Otherwise control characters in paths and comments could act on a terminal that shows the report.
  constexpr bool ascii = true;
  return report.dump(2, ' ', ascii, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

nlohmann::ordered_json json_machine() {
  nlohmann::ordered_json machine = {
      {"host", host_of_this_process()}, {"processor", processor_name()}, {"blas", blas_name()}};
  if (std::string advice = blas_advice(); !advice.empty()) machine["blas_advice"] = std::move(advice);
  return machine;
}

nlohmann::ordered_json json_source(const TileSource& source) {
  const SourceInfo& info = source.info();
  const auto [oa, ob, va, vb] = orbital_numbers(source.tiles());
  nlohmann::ordered_json json = {{"path", info.path},
                                 {"format", info.format},
                                 {"sealed", info.sealed},
                                 {"reference", to_string(info.reference)},
                                 {"amplitudes", to_string(info.amplitudes)},
                                 {"occupied", {oa, ob}},
                                 {"virtual", {va, vb}},
                                 {"irreps", irreps_used(source.tiles())}};
  if (source.factors() != nullptr) json["auxiliary"] = source.factors()->auxiliary();
  if (info.amplitudes == AmplitudeKind::regularized_ccsd) json["omega2"] = info.omega2;
  for (const auto& [name, value] : info.provenance) json["provenance"][name] = value;
  if (info.correlation_energy) json["printed"]["CCSD correlation"] = *info.correlation_energy;
  if (info.printed_triples) {
    json["printed"]["E[T]"] = info.printed_triples->first;
    json["printed"]["E(T)"] = info.printed_triples->second;
  }
  return json;
}

nlohmann::ordered_json json_plan(const Calculation& calculation) {
  const Plan& plan = calculation.plan();
  nlohmann::ordered_json tiles = nlohmann::ordered_json::array();
  for (const Tile& tile : plan.tiles.tiles()) {
    tiles.push_back({{"class", to_string(tile.orbital_class)},
                     {"irrep", tile.irrep},
                     {"size", tile.size},
                     {"offset", tile.offset}});
  }
  return {{"form", to_string(plan.formulation)},
          {"tasks", plan.tasks.size()},
          {"operations", plan.total_operations},
          {"operation_convention", operation_convention},
          {"largest_denominator",
           json_if(std::isfinite(calculation.largest_denominator()), calculation.largest_denominator())},
          {"memory",
           {{"operand_bytes", calculation.memory().operands},
            {"made_bytes", calculation.memory().made()},
            {"scratch_bytes", calculation.memory().scratch()}}},
          {"threads", calculation.memory().threads},
          {"tiles", tiles}};
}

nlohmann::ordered_json json_report(const Calculation& calculation, const CalculationResult& result,
                                   const RunTimes& times, const TileSource& right, const TileSource* left,
                                   const CheckReport& right_check, const CheckReport* left_check) {
  const std::optional<double> ccsd_energy = right_check.ccsd_energy;
  const CalculationOptions& options = calculation.options();
  nlohmann::ordered_json json;
  json["method"] = result.energies.front().method;
  if (const std::string note = calculation.reference_note(); !note.empty()) json["reference_note"] = note;
  json["units"] = "hartree";
  const std::optional<double> total = total_ccsd_energy(right.info(), ccsd_energy);
  for (const TriplesEnergy& energy : result.energies) {
    nlohmann::ordered_json entry = {{"omega2", energy.omega2}};
    entry.update(json_energies(energy.total));
    entry["ccsd_t_energy"] = json_if(total.has_value(), total.value_or(0.0) + energy.total.values().back());
    entry["method"] = energy.method;
    if (energy.overlap) entry["overlap"] = json_energies(*energy.overlap);
    entry["smallest_denominator"] = json_if(std::isfinite(energy.smallest_denominator), energy.smallest_denominator);
    for (std::size_t s = 0; s < 4; ++s) entry["spin_cases"][spin_case_names[s]] = json_energies(energy.spin_cases[s]);
    for (const FragmentEnergy& fragment : energy.fragments)
      entry["fragments"].push_back(json_energies(fragment.energy));
    json["energies"].push_back(entry);
  }
  if (ccsd_energy) json["ccsd_correlation_energy"] = *ccsd_energy;
  json["scf_energy"] = json_or_null(right.info().scf_energy);
  json["ccsd_energy"] = json_or_null(total);
  json["input"] = json_source(right);
  if (left != nullptr) json["left"] = json_source(*left);
  json["settings"] = {
      {"method", json_methods(options)},
      {"form", to_string(calculation.plan().formulation)},
      {"omega2", options.omega2},
      {"rohf", options.rohf == RohfOrbitals::semicanonical ? "semicanonical" : "given"},
      {"executor", to_string(options.executor)},
      {"tile_size", options.tile_size ? nlohmann::ordered_json(*options.tile_size) : nlohmann::ordered_json("auto")},
      {"threads", calculation.memory().threads},
      {"memory_bytes", options.memory ? nlohmann::ordered_json(*options.memory) : nlohmann::ordered_json("auto")},
      {"journal", json_if(!options.journal.empty(), options.journal)}};
  if (options.derivatives != Derivatives::none)
    json["settings"]["derivatives"] = options.derivatives == Derivatives::all ? "all" : "t";
  json["plan"] = json_plan(calculation);
  json["tasks"] = {{"total", result.tasks},
                   {"from_journal", result.tasks_from_journal},
                   {"from_other_kind", result.tasks_from_other_kind}};
  add_precision(calculation, result, json);
  json["warnings"] = result.warnings;
  json["operations"] = {
      {"executed", result.operations}, {"per_second", rate_of(result)}, {"convention", operation_convention}};
  json["timings"] = {{"check_seconds", times.checking},           {"plan_seconds", times.planning},
                     {"journal_seconds", result.seconds_journal}, {"load_seconds", result.seconds_loading},
                     {"task_seconds", result.seconds_tasks},      {"whole_seconds", times.whole}};
  if (!result.energies.front().fragments.empty()) json["timings"]["fragment_seconds"] = times.fragments;
  json["memory"] = {{"operand_bytes", calculation.memory().operands},  {"rotated_bytes", calculation.memory().rotated},
                    {"dressed_bytes", calculation.memory().dressed},   {"sum_bytes", result.sum_bytes},
                    {"gpu_sum_bytes", result.gpu_sum_bytes},           {"made_bytes", calculation.memory().made()},
                    {"scratch_bytes", calculation.memory().scratch()}, {"peak_bytes", result.peak_bytes}};
  if (result.device_report)
    json["cuda"] = json_devices(calculation, *result.device_report, rate_without_sample(result));
  json["machine"] = json_machine();
  json["checks"] = json_checks(right_check, left_check);
  for (const std::string& warning : check_warnings(right_check, left_check)) json["warnings"].push_back(warning);
  return json;
}

}
