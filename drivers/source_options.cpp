#include "drivers/source_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "tce_tiles/hdf5_file.hpp"

namespace trifuse::cli {

void SourceOptions::add_to(CLI::App& command, bool required) {
  command.add_option("PATH", path, "Amplitudes: a Trifuse dump (HDF5), or the prefix or directory of NWChem's files")
      ->required(required);
  const std::string group = "NWChem files (only where they cannot be found or deduced)";
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

}  // namespace

std::int64_t parse_memory(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (bytes) return *bytes;
  throw UsageError(fmt::format("--memory {} is not an amount of memory; write for example 512MiB or 2GiB.", text));
}

void add_overwrite(CLI::App& command, bool& overwrite) {
  command.add_flag("--overwrite", overwrite,
                   "Replace existing files that are no earlier output; never an input or a journal");
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
    throw UsageError(fmt::format(
        "{} is for NWChem's files, but {} is an HDF5 file, in which it changes nothing; leave it out.", option, path));
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
  command.add_option("--left", left,
                     "Amplitudes that stand on the left: regularised ones for Reg-CCSD(T), Lambda for Lambda-CCSD(T)");
  command
      .add_option(
          "--omega2", options.omega2,
          "Values of omega2 in hartree, e.g. 0,0.1,0.2; all come from one pass. With --left the default is that of its "
          "regularised amplitudes, else 0. Without --left only the denominators are shifted")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--form", formulation, "How the energy is written")
      ->check(CLI::IsMember({"auto", "spin-orbital", "spin-adapted"}))
      ->capture_default_str();
  command
      .add_option("--rohf", rohf,
                  "Which (T) an ROHF reference gets: as in the program that made the amplitudes, or the standard one")
      ->check(CLI::IsMember({"nwchem", "semicanonical"}))
      ->capture_default_str();
  command.add_option("--tile-size", options.tile_size, "Largest tile; default: chosen for caches, or for the devices")
      ->check(CLI::Range(std::int64_t{1}, largest_tile_size));
  command
      .add_option("--threads", options.threads,
                  "Threads; default: as many as the process may use. With CUDA they only read operands")
      ->check(CLI::Range(1, most_threads));
  command.add_option(
      "--memory", memory,
      "Scratch memory beyond amplitudes and integrals, default 2GiB. With CUDA the memory of each device, "
      "default what is free there. Under mpirun, where processes on cores share amplitudes and integrals: all that "
      "each "
      "of them keeps, default its part of what the host has free");
  command
      .add_option(
          "--device", device,
          "Where to compute. auto: on the GPUs if CUDA sees any and the work is worth it, else on CPU cores. With "
          "cuda a GPU that fails its self-test ends the run; with auto, and later, cores do what it should have")
      ->check(CLI::IsMember({"auto", "cuda", "cpu"}))
      ->capture_default_str();
  command
      .add_option("--devices", options.devices,
                  "Numbers of the GPUs to use, e.g. 0,1 (`trifuse --version` lists them); default: all. Means --device "
                  "cuda. Under mpirun: which the processes of each host take in turn, one each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, static_cast<int>(most_devices) - 1));
  command.add_option("--kernel", options.kernel,
                     "Kernel configuration for --device cuda; default: the best for the device");
  command.add_option("--executor", executor, "cpu, as --device cpu, or the plain and slow reference evaluation")
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
  if (!memory.empty()) resolved.memory = parse_memory(memory);
  resolved.executor = executor == "reference" ? ExecutorKind::reference : ExecutorKind::cpu;
  if (!options.devices.empty() && device == "cpu") {
    throw UsageError("--devices names GPUs, but --device cpu uses none; leave one of them out.");
  }
  if (!asks_for_cuda()) {
    if (!options.kernel.empty()) throw UsageError("--kernel goes with --device cuda or --devices.");
    return resolved;
  }
  if (!executor.empty()) {
    throw UsageError(fmt::format("--executor {} uses no GPU; leave it or the request for one out.", executor));
  }
  // Checked here, before anything is read.
  choose_devices(visible_devices(), options.devices);
  resolved.executor = ExecutorKind::cuda;
  resolved.devices_required = true;
  return resolved;
}

CalculationOptions CalculationFlags::resolve(const TileSource& right) const {
  CalculationOptions resolved = resolve();
  if (device != "auto" || !executor.empty() || resolved.executor == ExecutorKind::cuda) return resolved;
  resolved.executor = choose_executor(right.tiles(), resolved.formulation);
  return resolved;
}

}  // namespace trifuse::cli
