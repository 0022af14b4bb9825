#include "drivers/measured_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/median.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/nwchem_files/nwchem_file.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse::cli {

namespace {

using Json = nlohmann::json;

/// Returns the tiles of the plan in a report. The report gives the orbital class of a tile by its name.
TileSpace tiles_of(const Json& plan, bool restricted) {
  std::vector<Tile> tiles;
  for (const Json& entry : plan.at("tiles")) {
    const std::string name = entry.at("class");
    const auto found = std::find_if(orbital_classes.begin(), orbital_classes.end(),
                                    [&](OrbitalClass each) { return to_string(each) == name; });
    if (found == orbital_classes.end()) throw InputError(fmt::format("There is no class of orbitals \"{}\".", name));
    constexpr std::int64_t largest = 1 << 16;
    const std::int64_t size = entry.at("size");
    if (size > largest) throw InputError(fmt::format("A tile of {} orbitals is not possible.", size));
    tiles.push_back({*found, entry.at("irrep"), size, 0, 0});
  }
  return TileSpace(std::move(tiles), restricted);
}

void read_cuda(const Json& cuda, MeasuredRun& run) {
  run.gpus = static_cast<int>(cuda.at("devices").size());
  run.memory_budget = cuda.value("memory_budget_bytes", 0.0);
  run.peak_gpu = cuda.value("peak_bytes", 0.0);
  if (cuda.contains("bytes_sent")) {
    run.bytes_sent = cuda.at("bytes_sent").get<double>() + cuda.value("bytes_from_other_gpus", 0.0);
  }
}

void read_ranks(const Json& ranks, MeasuredRun& run) {
  std::set<std::string> gpus, hosts;
  for (const Json& rank : ranks) {
    hosts.insert(rank.at("host"));
    run.shared_operands = run.shared_operands || rank.contains("operands");
    if (rank.at("gpu").is_null()) continue;
    // A rank names all its GPUs, e.g. "0,1".
    std::istringstream names(rank.at("gpu").get<std::string>());
    for (std::string name; std::getline(names, name, ',');) {
      gpus.insert(rank.at("host").get<std::string>() + " " + name);
    }
  }
  run.ranks = static_cast<int>(ranks.size());
  run.gpus = static_cast<int>(gpus.size());
  run.nodes = static_cast<int>(hosts.size());
}

SpinFormulation formulation_of(const Json& name) {
  return name == to_string(SpinFormulation::spin_adapted) ? SpinFormulation::spin_adapted
                                                          : SpinFormulation::spin_orbital;
}

/// Returns the precision that `object`, a part of a report, states. Reports of older versions do not state it.
Precision precision_of(const Json& object) {
  return object.value("precision", precision_names[0]) == precision_names[1] ? Precision::mixed : Precision::fp64;
}

std::vector<MeasuredRun> runs_of(const Json& report, const std::string& path) {
  MeasuredRun run;
  run.path = path;
  const Json& input = report.at("input");
  run.restricted = input.at("reference") == to_string(Reference::rhf);
  run.occupied = input.at("occupied");
  run.virtuals = input.at("virtual");
  run.irreps = input.at("irreps");
  run.auxiliary = input.value("auxiliary", std::int64_t{0});
  if (report.contains("results")) {  // a report of `trifuse bench`
    std::vector<MeasuredRun> runs;
    for (const Json& result : report.at("results")) {
      if (!result.contains("cuda")) continue;
      MeasuredRun each = run;
      each.formulation = formulation_of(result.at("form"));
      each.precision = precision_of(result);
      auto seconds = result.at("seconds").get<std::vector<double>>();
      if (seconds.empty()) throw InputError("the report has no times");
      each.seconds_tasks = median(std::move(seconds));
      each.seconds_loading = result.at("load_seconds");
      read_cuda(result.at("cuda"), each);
      if (each.bytes_sent) *each.bytes_sent /= static_cast<double>(result.at("seconds").size());
      runs.push_back(std::move(each));
    }
    return runs;
  }
  run.formulation = formulation_of(report.at("plan").at("form"));
  if (report.contains("settings")) run.precision = precision_of(report.at("settings"));
  run.tiles = tiles_of(report.at("plan"), run.restricted);
  run.seconds_tasks = report.at("timings").at("task_seconds");
  run.seconds_loading = report.at("timings").at("load_seconds");
  if (report.contains("memory")) run.peak_host = report.at("memory").value("peak_bytes", 0.0);
  if (report.contains("cuda")) {
    read_cuda(report.at("cuda"), run);
  } else if (report.contains("ranks")) {
    run.gpus = 0;
  } else {
    return {};
  }
  if (report.contains("ranks")) read_ranks(report.at("ranks"), run);
  if (run.gpus == 0) return {};
  return {std::move(run)};
}

/// Returns the text of a report. The report of a job with many ranks has some megabytes.
std::string text_of(const std::string& path) {
  constexpr std::int64_t max_bytes = std::int64_t{1} << 28;
  const InputFile file(path);
  if (file.size() > max_bytes) throw InputError(fmt::format("--measured {} is too large to be a report.", path));
  std::string text(static_cast<std::size_t>(file.size()), ' ');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// Throws InputError if the run has numbers that no real run has. No prediction can be compared with such numbers.
void expect_possible(const MeasuredRun& run) {
  constexpr int most = 200000;  // largest number of GPUs and of ranks, as for `trifuse plan`
  constexpr double shortest = 1e-9, longest = 1e12, max_bytes = 1e24;
  const auto time = [](double seconds) { return seconds >= 0.0 && seconds < longest; };
  if (run.gpus < 1 || run.gpus > most || run.ranks < 0 || run.ranks > most || run.nodes < 0 || run.nodes > most) {
    throw InputError("its numbers of GPUs, ranks or hosts are not possible");
  }
  if (!time(run.seconds_tasks) || run.seconds_tasks < shortest || !time(run.seconds_loading)) {
    throw InputError("its times are not possible");
  }
  if (run.auxiliary < 0 || run.auxiliary > max_auxiliary) throw InputError("its auxiliary functions are not possible");
  if (!(std::abs(run.peak_host) < max_bytes && std::abs(run.peak_gpu) < max_bytes) ||
      !(std::abs(run.bytes_sent.value_or(0.0)) < max_bytes))
    throw InputError("its bytes are not possible");
}

}

std::unique_ptr<TileSource> MeasuredRun::molecule() const {
  SyntheticMolecule made_up{restricted ? Reference::rhf : Reference::uhf,
                            occupied[0],
                            occupied[1],
                            virtuals[0],
                            virtuals[1],
                            irreps,
                            std::int64_t{1} << 20,
                            std::int64_t{1} << 20,
                            1};
  made_up.auxiliary = auxiliary;
  return make_synthetic_source(made_up);
}

std::vector<MeasuredRun> read_measured_runs(const std::vector<std::string>& paths) {
  std::vector<MeasuredRun> all;
  for (const std::string& path : paths) {
    const std::string text = text_of(path);
    std::vector<MeasuredRun> runs;
    try {
      runs = runs_of(Json::parse(text), path);
      for (const MeasuredRun& run : runs) {
        expect_possible(run);
        static_cast<void>(run.molecule());
      }
    } catch (const Json::exception&) {  // from the parser, or about a missing entry
      throw InputError(
          fmt::format("--measured {} is not a report of `trifuse run --json` or `trifuse bench --json`.", path));
    } catch (const std::exception& error) {  // also about unsuitable tiles
      throw InputError(fmt::format(
          "--measured {} is not a report of `trifuse run --json` or `trifuse bench --json` ({}).", path, error.what()));
    }
    if (runs.empty()) {
      throw InputError(fmt::format("--measured {} holds no run on GPUs, and only those are predicted.", path));
    }
    all.insert(all.end(), std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()));
  }
  return all;
}

}
