#include "drivers/source_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"

namespace trifuse::cli {

void SourceOptions::add_to(CLI::App& command, bool required) {
  command.add_option("PATH", path, "Amplitudes: a Trifuse dump (HDF5), or prefix or directory of NWChem's files")
      ->required(required);
  const std::string group = "NWChem files (if Trifuse does not find them)";
  command.add_option("--nwchem-output", nwchem_output, "NWChem's output file")->group(group);
  command.add_option("--nwchem-movecs", nwchem_movecs, "NWChem's movecs file")->group(group);
  command.add_option("--nwchem-tile-size", nwchem_tile_size, "Tile size that NWChem used")->group(group);
  command.add_option("--frozen-core", frozen_core, "Number of frozen core orbitals")->group(group);
  command.add_option("--frozen-virtual", frozen_virtual, "Number of frozen virtual orbitals")->group(group);
}

namespace {

NwchemLocation location(const SourceOptions& options, const std::string& path) {
  NwchemLocation where;
  where.prefix = path;
  if (!options.nwchem_output.empty()) where.output = options.nwchem_output;
  if (!options.nwchem_movecs.empty()) where.movecs = options.nwchem_movecs;
  where.tile_size = options.nwchem_tile_size;
  where.frozen_core = options.frozen_core;
  where.frozen_virtual = options.frozen_virtual;
  return where;
}

}

void add_overwrite(CLI::App& command, bool& overwrite) {
  command.add_flag("--overwrite", overwrite, "Replace any existing output file; never an input or a journal");
}

void SourceOptions::protect_in(Outputs& outputs) const {
  for (const std::string& file : {path, nwchem_output, nwchem_movecs}) outputs.protect_input(file);
}

void SourceOptions::expect_nwchem_files(const std::string& left_path) const {
  if (!is_hdf5(path) || !(left_path.empty() || is_hdf5(left_path))) return;
  const std::pair<const char*, bool> options[] = {{"--nwchem-output", !nwchem_output.empty()},
                                                  {"--nwchem-movecs", !nwchem_movecs.empty()},
                                                  {"--nwchem-tile-size", nwchem_tile_size.has_value()},
                                                  {"--frozen-core", frozen_core.has_value()},
                                                  {"--frozen-virtual", frozen_virtual.has_value()}};
  for (const auto& [option, given] : options) {
    if (!given) continue;
    throw UsageError(
        fmt::format("{} is for NWChem's files, but {} is an HDF5 file; leave the option out.", option, path));
  }
}

std::unique_ptr<TileSource> SourceOptions::open(const std::string& left_path) const {
  expect_nwchem_files(left_path);
  return open_source(location(*this, path));
}

std::unique_ptr<TileSource> SourceOptions::open_left(const std::string& left_path) const {
  NwchemLocation where = location(*this, left_path);
  where.integrals_needed = false;
  return open_source(where);
}

void TableOptions::add_to(CLI::App& command, const std::string& name, std::string sentence, std::string flag) {
  const CalculationOption& option = *find_option(Door::program, name);
  const PossibleValues& values = option.values;
  if (sentence.empty()) sentence = option.sentence;
  if (flag.empty()) flag = name;
  if (option.kind == CalculationOption::Kind::flag) {
    added_.emplace_back(&option, command.add_flag(flag, std::as_const(sentence)));
    return;
  }
  // The table checks the values. The command line shows them.
  CLI::Option* const added = command.add_option(
      flag, [](const CLI::results_t&) { return true; }, sentence);
  added_.emplace_back(&option, added);
  added->type_name(option.kind == CalculationOption::Kind::real ? "FLOAT" : "TEXT");
  if (option.kind == CalculationOption::Kind::integer)
    added->type_name(fmt::format("INT:INT in [{} - {}]", values.least, values.most));
  if (option.kind == CalculationOption::Kind::word)
    added->type_name(fmt::format("TEXT:{{{}}}", fmt::join(values.words, ",")))->default_str(values.words.front());
  if (values.most_values > 1)
    added->expected(1, CLI::detail::expected_max_vector_size)->delimiter(',')->allow_extra_args(false);
}

void TableOptions::set(CalculationOptions& options) const {
  for (const auto& [option, added] : added_) {
    if (added->count() > 0)
      option->set_text(options, fmt::format("{}", fmt::join(added->reduced_results(), ",")), added->get_name());
  }
}

void CalculationFlags::add_to(CLI::App& command, bool journal) {
  command_ = &command;
  command.add_option("--left", left, "Left-hand amplitudes: regularised (Reg-CCSD(T)) or Lambda (Lambda-CCSD(T))");
  for (const CalculationOption& option : option_table()) {
    const std::string name = option.name_at(Door::program);
    if (option.is_at(Door::program) && (journal || name != "--journal")) table_.add_to(command, name);
  }
  command.add_option("--executor", executor_, "cpu, the same as --device cpu, or the slow reference executor")
      ->check(CLI::IsMember({"cpu", "reference"}));
}

CalculationOptions CalculationFlags::resolve() const {
  CalculationOptions options = default_options();
  table_.set(options);
  const CLI::results_t device = command_->get_option("--device")->results();
  if (!options.devices.empty() && device == CLI::results_t{"cpu"}) {
    throw UsageError("--devices names GPUs, but --device cpu uses none; leave one of them out.");
  }
  const bool asks_for_cuda = options.executor == ExecutorKind::cuda;
  if (asks_for_cuda && !executor_.empty()) {
    throw UsageError(
        fmt::format("--executor {} uses no GPU; leave out --executor, or the options that ask for GPUs.", executor_));
  }
  if (!asks_for_cuda && !options.kernel.empty()) throw UsageError("--kernel needs --device cuda or --devices.");
  if (asks_for_cuda) choose_devices(visible_devices(), options.devices);
  if (!executor_.empty()) {
    options.choose_executor = false;
    options.executor = executor_ == "reference" ? ExecutorKind::reference : ExecutorKind::cpu;
  }
  check_options(options);
  return options;
}

}
