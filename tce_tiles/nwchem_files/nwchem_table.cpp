#include "tce_tiles/nwchem_files/nwchem_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_energies.hpp"
#include "tce_tiles/nwchem_files/nwchem_files.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"

namespace trifuse {

namespace {

/// Largest deviation in sums of printed energies, hartree. NWChem prints twelve digits or more.
constexpr double agreement_of_sums = 1e-9;

}

FoundSizes NwchemTensors::sizes() const {
  FoundSizes found;
  if (f1) found.f1 = f1->doubles();
  found.t1 = t1.doubles();
  found.t2 = t2.doubles();
  if (v2) found.v2 = v2->doubles();
  return found;
}

V2Storage NwchemTensors::storage(const TileSpace& space) const {
  return v2->doubles() != nwchem_sizes(space).v2_spin_orbital ? V2Storage::spatial : V2Storage::spin_orbital;
}

NwchemTensors open_tensors(const NwchemLocation& location) {
  NwchemTensors files;
  files.prefix = find_prefix(location.prefix);
  const auto amplitudes = [&](const std::string& numbered, const std::string& plain) {
    auto payload = open_tensor(files.prefix, numbered, plain);
    if (payload) return std::move(*payload);
    throw InputError(fmt::format("Neither {0}.{1}.000000 nor {0}.{2} exists; run NWChem with `set tce:writet T`.",
                                 files.prefix, numbered, plain));
  };
  files.t1 = amplitudes("t1amp", "t1_copy.40000");
  files.t2 = amplitudes("t2amp", "t2_copy.40000");
  files.f1 = open_tensor(files.prefix, "f1int", "f1_copy.10000");
  if (!files.f1 && location.integrals_needed) {
    throw InputError(fmt::format(
        "Neither {0}.f1int.000000 nor {0}.f1_copy.10000 exists; run NWChem with `set tce:writeint T`.", files.prefix));
  }
  // V2 comes from `writeint` only, because `save_integrals` does not write a usable V2.
  if (!first_numbered_file(files.prefix + ".v2int").empty()) {
    files.v2 = NwchemPayload::open_numbered(files.prefix + ".v2int");
  } else if (location.integrals_needed) {
    throw InputError(
        fmt::format("The file {}.v2int.000000 does not exist; run NWChem with `set tce:writeint T`, and with `2emet "
                    "13` if `2eorb` is used.",
                    files.prefix));
  }
  return files;
}

NwchemOrbitals::NwchemOrbitals(const NwchemLocation& location, const std::string& prefix)
    : path_(location.movecs ? *location.movecs : find_movecs(prefix)) {
  if (location.movecs) get();
}

const NwchemMovecs* NwchemOrbitals::get() {
  if (!movecs_ && !path_.empty()) movecs_ = read_nwchem_movecs(path_);
  return known();
}

namespace {

/// Returns a text about the sizes that differ between files and a tile table, or an empty string if all agree.
std::string disagreement(const NwchemTensors& files, const TileSpace& space, const std::string& table) {
  const NwchemSizes sizes = nwchem_sizes(space);
  struct Entry {
    const char* tensor;
    const NwchemPayload* payload;
    std::int64_t expected;
  };
  std::vector<Entry> wrong;
  std::size_t present = 2;
  if (files.t1.doubles() != sizes.t1) wrong.push_back({"T1", &files.t1, sizes.t1});
  if (files.t2.doubles() != sizes.t2) wrong.push_back({"T2", &files.t2, sizes.t2});
  if (files.f1) {
    ++present;
    if (files.f1->doubles() != sizes.f1) wrong.push_back({"F1", &*files.f1, sizes.f1});
  }
  if (files.v2) {
    ++present;
    const std::int64_t found = files.v2->doubles();
    if (found != sizes.v2_spin_orbital && found != sizes.v2_spatial) {
      // The message assumes the storage whose size is nearer.
      const std::int64_t spatial = sizes.v2_spatial.value_or(sizes.v2_spin_orbital);
      wrong.push_back(
          {"V2", &*files.v2, 2 * found < spatial + sizes.v2_spin_orbital ? spatial : sizes.v2_spin_orbital});
    }
  }
  if (wrong.empty()) return {};
  if (wrong.size() == present) {
    return fmt::format(
        "The tile table of {} does not fit any of the files {}.* (T2 should have {} doubles and has {}); it belongs to "
        "another calculation: name the right output with --nwchem-output FILE.",
        table, files.prefix, sizes.t2, files.t2.doubles());
  }
  if (wrong.size() >= 2 && wrong[0].payload->doubles() == wrong[1].expected &&
      wrong[1].payload->doubles() == wrong[0].expected) {
    return fmt::format("The files {} and {} are exchanged: each has the size of the other; rename them.",
                       wrong[0].payload->path(), wrong[1].payload->path());
  }
  std::vector<std::string> parts;
  for (const Entry& entry : wrong) {
    parts.push_back(fmt::format("{} with {} doubles instead of {} for {}", entry.payload->path(),
                                entry.payload->doubles(), entry.expected, entry.tensor));
  }
  return fmt::format(
      "By the tile table of {}, these files have a wrong size: {}; they are exchanged, incomplete or from another "
      "calculation: write them again, or name the right output with --nwchem-output FILE.",
      table, fmt::join(parts, ", "));
}

void refuse_unsuitable(const TceCalculation& calculation, const std::string& path) {
  if (calculation.kohn_sham) {
    throw InputError(fmt::format(
        "The calculation in {} has a Kohn-Sham reference, for which these triples are not defined; use `hf` in "
        "the tce block.",
        path));
  }
  if (!calculation.correlation_energy) {
    throw InputError(fmt::format("The CCSD calculation in {} {}; complete it before using its amplitudes.", path,
                                 calculation.out_of_iterations ? "did not converge (raise maxiter in the tce block)"
                                                               : "has not printed its energy"));
  }
  // In this case NWChem assigns wrong irreps to beta orbitals and drops integrals.
  if (calculation.reference == Reference::uhf && calculation.symmetry && calculation.orbitals &&
      calculation.ao_functions && *calculation.orbitals < *calculation.ao_functions) {
    throw InputError(fmt::format(
        "The calculation in {} is UHF with symmetry and with linearly dependent basis functions removed ({} of {}); in "
        "this case NWChem assigns wrong irreps to beta orbitals; repeat it with `symmetry c1`.",
        path, *calculation.ao_functions - *calculation.orbitals, *calculation.ao_functions));
  }
}

/// Throws InputError if printed energies are not the sums of other printed energies. Then the output was edited or
/// damaged.
void refuse_contradiction(const TceCalculation& calculation, const std::string& path) {
  using Number = std::optional<double>;
  const auto& c = calculation;
  const struct {
    const char* name;
    Number sum;
    std::array<Number, 2> parts;
  } sums[] = {{"CCSD total energy", c.total, {c.scf_energy, c.correlation_energy}},
              {"CCSD[T] correlation energy", c.bracket_correlation, {c.correlation_energy, c.bracket_triples}},
              {"CCSD[T] total energy", c.bracket_total, {c.total, c.bracket_triples}},
              {"CCSD(T) correlation energy", c.triples_correlation, {c.correlation_energy, c.triples}},
              {"CCSD(T) total energy", c.triples_total, {c.total, c.triples}}};
  for (const auto& [name, sum, parts] : sums) {
    if (!sum || !parts[0] || !parts[1]) continue;
    const double expected = *parts[0] + *parts[1];
    if (std::abs(*sum - expected) <= agreement_of_sums) continue;
    throw InputError(
        fmt::format("The output {} contradicts itself: it prints a {} of {:.12f} hartree, but the parts that it prints "
                    "add up to {:.12f}; use the output as NWChem wrote it.",
                    path, name, *sum, expected));
  }
}

void expect_possible_options(const NwchemLocation& location) {
  // No file of integrals could have been written for more orbitals.
  constexpr std::int64_t most = 100'000;
  const struct {
    const char* option;
    std::optional<std::int64_t> given;
    std::int64_t least;
  } numbers[] = {{"--nwchem-tile-size", location.tile_size, 1},
                 {"--frozen-core", location.frozen_core, 0},
                 {"--frozen-virtual", location.frozen_virtual, 0}};
  for (const auto& [option, given, least] : numbers) {
    if (!given || (*given >= least && *given <= most)) continue;
    throw UsageError(fmt::format("{} {} is not possible; give {} to {}.", option, *given, least, most));
  }
}

/// Throws InputError if an option of the user contradicts the table.
void expect_options_to_agree(const NwchemLocation& location, const NwchemTable& table) {
  const TceCalculation& calculation = table.calculation;
  // Counts frozen virtual orbitals, because NWChem prints only those that the input froze by number.
  std::optional<std::int64_t> frozen_virtual;
  if (calculation.orbitals && calculation.electrons[0]) {
    frozen_virtual =
        *calculation.orbitals - *calculation.electrons[0] - table.space.orbitals(OrbitalClass::particle_alpha);
  }
  const struct {
    const char* option;
    std::optional<std::int64_t> given, printed;
  } numbers[] = {{"--frozen-core", location.frozen_core, calculation.frozen_core[0]},
                 {"--frozen-virtual", location.frozen_virtual, frozen_virtual},
                 {"--nwchem-tile-size", location.tile_size, calculation.tile_size}};
  for (const auto& [option, given, printed] : numbers) {
    if (!given || !printed || *given == *printed) continue;
    throw UsageError(fmt::format("{} {} contradicts the output {}, which says {}; leave the option out.", option,
                                 *given, table.output, *printed));
  }
  if (location.tile_size && table.space.largest_tile() > *location.tile_size) {
    throw UsageError(fmt::format(
        "--nwchem-tile-size {} contradicts the output {}, whose tile table has tiles of {}; leave the option out.",
        *location.tile_size, table.output, table.space.largest_tile()));
  }
}

/// Returns the table of the last calculation in the output that fits the files, or nullopt if no calculation printed a
/// table. An output may hold several calculations, of one input or of restarts. Table and energies must come from one
/// calculation that fits as a whole.
std::optional<NwchemTable> table_from_output(const NwchemTensors& files, const NwchemOutput& output) {
  std::optional<NwchemTable> fitting;
  std::optional<std::string> trouble;
  for (const TceCalculation& calculation : output.calculations) {
    if (calculation.tiles.empty()) continue;
    try {
      NwchemTable table{tiles_of(calculation, output.path), *calculation.reference, calculation, output.path,
                        fmt::format("table in {}", output.path)};
      const std::string mismatch = disagreement(files, table.space, output.path);
      if (!mismatch.empty()) throw InputError(mismatch);
      if (files.f1 && !calculation.kohn_sham && energies_from_list(table.space, calculation)) {
        const auto fock = energies_from_fock(table.space, table.reference, *files.f1);
        choose_energies(table.space, {&calculation, output.path, nullptr, fock, files.f1->path()});
      }
      // A calculation that was stopped has written no amplitudes. One that ran out of iterations has.
      if (!fitting || calculation.correlation_energy || calculation.out_of_iterations) fitting = std::move(table);
    } catch (const InputError& error) {
      trouble = error.what();
    }
  }
  if (!fitting && trouble) throw InputError(*trouble);
  if (fitting) {
    refuse_unsuitable(fitting->calculation, output.path);
    refuse_contradiction(fitting->calculation, output.path);
  }
  return fitting;
}

NwchemTable rebuilt_table(const NwchemLocation& location, const NwchemTensors& files, NwchemOrbitals& orbitals,
                          const std::string& why) {
  const NwchemMovecs* movecs = orbitals.get();
  if (movecs == nullptr) {
    throw InputError(fmt::format(
        "{}, and there is no {}.movecs to rebuild the tile table from; name NWChem's output with --nwchem-output "
        "FILE or the orbitals with --nwchem-movecs FILE.",
        why, files.prefix));
  }
  const RebuildRequest request{*movecs,
                               files.sizes(),
                               location.tile_size,
                               location.frozen_core,
                               location.frozen_virtual,
                               files.prefix,
                               why,
                               [&](const TileSpace& space, Reference reference) {
                                 return files.f1 ? energies_from_fock(space, reference, *files.f1)
                                                 : std::vector<double>();
                               }};
  RebuiltTiles rebuilt = rebuild_tiles(request);
  NwchemTable table;
  table.space = std::move(rebuilt.space);
  table.reference = rebuilt.reference;
  table.origin = fmt::format("rebuilt from {} (tile size {}, {} frozen core and {} frozen virtual orbitals)",
                             movecs->path, rebuilt.tile_size, rebuilt.frozen_core, rebuilt.frozen_virtual);
  return table;
}

}

NwchemTable find_table(const NwchemLocation& location, const NwchemTensors& files, NwchemOrbitals& orbitals) {
  expect_possible_options(location);
  std::vector<std::string> paths;
  if (location.output)
    paths.push_back(*location.output);
  else
    paths = find_outputs(files.prefix);
  if (paths.size() > 1) {
    return rebuilt_table(
        location, files, orbitals,
        fmt::format("It is not clear which of the outputs {} belongs to {}.*", fmt::join(paths, ", "), files.prefix));
  }
  if (paths.empty()) {
    return rebuilt_table(location, files, orbitals, fmt::format("There is no NWChem output {}.out", files.prefix));
  }
  const NwchemOutput output = read_nwchem_output(paths[0]);
  if (output.calculations.empty()) {
    throw InputError(fmt::format(
        "The file {} is not an NWChem output with a TCE calculation; name the right output with --nwchem-output FILE.",
        paths[0]));
  }
  if (auto table = table_from_output(files, output)) {
    expect_options_to_agree(location, *table);
    if (!output.version.empty()) table->origin += fmt::format(" (NWChem {})", output.version);
    return std::move(*table);
  }
  NwchemTable table =
      rebuilt_table(location, files, orbitals,
                    fmt::format("The output {} has no tile table (run NWChem without `print low`)", paths[0]));
  table.calculation = output.calculations.back();
  refuse_unsuitable(table.calculation, paths[0]);
  refuse_contradiction(table.calculation, paths[0]);
  table.output = paths[0];
  expect_options_to_agree(location, table);
  return table;
}

}
