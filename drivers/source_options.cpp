#include "drivers/source_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
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

std::int64_t parse_memory(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (bytes) return *bytes;
  throw UsageError(fmt::format("--memory {} is not an amount of memory; write for example 512MiB or 2GiB.", text));
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

void CalculationFlags::add_to(CLI::App& command) {
  command.add_option("--left", left, "Left-hand amplitudes: regularised (Reg-CCSD(T)) or Lambda (Lambda-CCSD(T))");
  command
      .add_option("--omega2", options.omega2,
                  "Values of omega2 in hartree, for example 0,0.1,0.2; default: that of --left, else 0")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--form", formulation, "Spin formulation of the energy")
      ->check(CLI::IsMember({"auto", "spin-orbital", "spin-adapted"}))
      ->capture_default_str();
  command
      .add_option("--rohf", rohf, "(T) of an ROHF reference: as in the program of the amplitudes, or the standard one")
      ->check(CLI::IsMember({"nwchem", "semicanonical"}))
      ->capture_default_str();
  command
      .add_option("--precision", precision,
                  "double, or mixed: GPUs compute faster and give an error bar (CPU: slow test)")
      ->check(CLI::IsMember(std::vector<std::string>(precision_names.begin(), precision_names.end())))
      ->capture_default_str();
  command.add_option("--target-error", options.target_error,
                     "Error bar in hartree that --precision mixed must reach; default: 7e-9 of the energy");
  command.add_option("--tile-size", options.tile_size, "Largest tile in orbitals; default: chosen for the device")
      ->check(CLI::Range(std::int64_t{1}, largest_tile_size));
  command.add_option("--threads", options.threads, "Threads of each process; default: all cores that it may use")
      ->check(CLI::Range(1, max_threads));
  command.add_option("--memory", memory, "Memory of each GPU, or on CPU cores of each process, for example 8GiB");
  command
      .add_option("--device", device, "Where to compute; auto: on GPUs if there are any and the work is large enough")
      ->check(CLI::IsMember({"auto", "cuda", "cpu"}))
      ->capture_default_str();
  command.add_option("--devices", options.devices, "GPUs to use, for example 0,1; default: all; implies --device cuda")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, static_cast<int>(max_devices) - 1));
  command.add_option("--kernel", options.kernel,
                     "Kernel configuration for --device cuda; default: the best for the GPU");
  command.add_option("--executor", executor, "cpu, the same as --device cpu, or the slow reference executor")
      ->check(CLI::IsMember({"cpu", "reference"}));
}

bool CalculationFlags::asks_for_cuda() const {
  return device == "cuda" || !options.devices.empty();
}

CalculationOptions CalculationFlags::resolve() const {
  CalculationOptions resolved = options;
  if (formulation == "spin-orbital") resolved.formulation = SpinFormulation::spin_orbital;
  if (formulation == "spin-adapted") resolved.formulation = SpinFormulation::spin_adapted;
  resolved.rohf = rohf == "semicanonical" ? RohfOrbitals::semicanonical : RohfOrbitals::nwchem;
  resolved.precision = precision == precision_names[1] ? Precision::mixed : Precision::fp64;
  if (!memory.empty()) resolved.memory = parse_memory(memory);
  resolved.executor = executor == "reference" ? ExecutorKind::reference : ExecutorKind::cpu;
  if (!options.devices.empty() && device == "cpu") {
    throw UsageError("--devices names GPUs, but --device cpu uses none; leave one of them out.");
  }
  if (!asks_for_cuda()) {
    if (!options.kernel.empty()) throw UsageError("--kernel needs --device cuda or --devices.");
    return resolved;
  }
  if (!executor.empty()) {
    throw UsageError(
        fmt::format("--executor {} uses no GPU; leave out --executor, or the options that ask for GPUs.", executor));
  }
  // Checked here, before anything is read.
  choose_devices(visible_devices(), options.devices);
  resolved.executor = ExecutorKind::cuda;
  resolved.devices_required = true;
  return resolved;
}

bool CalculationFlags::chooses_executor() const {
  return device == "auto" && executor.empty() && !asks_for_cuda();
}

CalculationOptions CalculationFlags::resolve(const TileSource& right) const {
  CalculationOptions resolved = resolve();
  if (!chooses_executor()) return resolved;
  resolved.executor = choose_executor(right.tiles(), resolved.formulation, resolved.precision);
  return resolved;
}

}
