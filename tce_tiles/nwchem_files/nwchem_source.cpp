#include "tce_tiles/nwchem_files/nwchem_source.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_energies.hpp"
#include "tce_tiles/nwchem_files/nwchem_files.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"
#include "tce_tiles/nwchem_files/nwchem_payload.hpp"
#include "tce_tiles/nwchem_files/nwchem_table.hpp"
#include "tce_tiles/nwchem_files/nwchem_tensor_source.hpp"

namespace trifuse {

namespace {

ChosenEnergies find_energies(const NwchemTensors& files, const NwchemTable& table, NwchemOrbitals& orbitals) {
  std::vector<double> fock;
  if (files.f1) fock = energies_from_fock(table.space, table.reference, *files.f1);
  const bool listed = energies_from_list(table.space, table.calculation).has_value();
  const NwchemMovecs* movecs = listed ? orbitals.known() : orbitals.get();
  return choose_energies(table.space,
                         {&table.calculation, table.output, movecs, fock, files.f1 ? files.f1->path() : ""});
}

SourceInfo describe(const NwchemLocation& location, const NwchemTensors& files, const NwchemTable& table,
                    const NwchemMovecs* movecs, const std::string& energies_origin) {
  SourceInfo info;
  info.path = location.prefix;
  info.files = files_of_nwchem(files.prefix);
  if (location.output) info.files.push_back(*location.output);
  if (location.movecs) info.files.push_back(*location.movecs);
  if (!table.output.empty()) info.files.push_back(table.output);
  info.format = "NWChem files";
  if (files.v2) {
    const bool spatial = files.storage(table.space) == V2Storage::spatial;
    info.format += spatial ? " (2eorb)" : " (spin-orbital integrals)";
  }
  info.reference = table.reference;
  info.fock_in_triples = FockInTriples::left_out;
  info.scf_energy = table.calculation.scf_energy;
  info.correlation_energy = table.calculation.correlation_energy;
  if (table.calculation.bracket_triples && table.calculation.triples) {
    info.printed_triples = {*table.calculation.bracket_triples, *table.calculation.triples};
  }

  // Provenance has file names without their folders, because converted dumps are copied to other machines.
  const auto note = [&](const char* key, std::string value) { info.provenance.emplace_back(key, std::move(value)); };
  const auto name_of = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  const auto without_folder = [&](std::string text) {
    const std::string folder = std::filesystem::path(files.t1.path()).parent_path().string() + "/";
    if (const auto at = text.find(folder); folder != "/" && at != std::string::npos) text.erase(at, folder.size());
    return text;
  };
  note("program", "NWChem TCE");
  if (movecs != nullptr && !movecs->title.empty()) note("title", movecs->title);
  note("tile table", without_folder(table.origin));
  note("orbital energies", without_folder(energies_origin));
  std::string names = name_of(files.t1.path()) + ", " + name_of(files.t2.path());
  if (files.f1) names += ", " + name_of(files.f1->path());
  if (files.v2) names += ", " + name_of(files.v2->path());
  note("files", std::move(names));
  if (table.calculation.scf_energy) note("SCF energy", fmt::format("{:.12f}", *table.calculation.scf_energy));
  return info;
}

}

std::unique_ptr<TileSource> open_nwchem(const NwchemLocation& location) {
  NwchemTensors files = open_tensors(location);
  NwchemOrbitals orbitals(location, files.prefix);
  NwchemTable table = find_table(location, files, orbitals);
  ChosenEnergies chosen = find_energies(files, table, orbitals);
  SourceInfo info = describe(location, files, table, orbitals.known(), chosen.origin);
  NwchemVectors vectors;
  const auto take = [](NwchemPayload& payload) { return std::make_unique<NwchemPayload>(std::move(payload)); };
  if (files.f1) vectors.f1 = take(*files.f1);
  vectors.t1 = take(files.t1);
  vectors.t2 = take(files.t2);
  if (files.v2) {
    vectors.storage = files.storage(table.space);
    vectors.v2 = take(*files.v2);
  }
  return std::make_unique<NwchemTensorSource>(std::move(info), std::move(table.space), std::move(chosen.energies),
                                              std::move(vectors));
}

}
