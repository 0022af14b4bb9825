#include "tce_tiles/dump_file.hpp"

#include <fmt/format.h>

namespace trifuse {

DumpFile DumpFile::open(const std::string& path) {
  DumpFile dump;
  dump.file = Hdf5File::open(path);
  expect_dump(dump.file);
  dump.seal = DumpSeal::open(dump.file);
  dump.header = read_dump_header(dump.file);
  SourceInfo& info = dump.header.info;
  info.sealed = dump.seal->sealed();
  info.format = fmt::format("Trifuse dump, version {}.{}, {}", dump_version, dump.seal->minor_version(),
                            info.sealed ? "sealed" : "unsealed");
  return dump;
}

SourceDigest DumpFile::digest() const {
  const SourceInfo& info = header.info;
  const double absent = 0.0;
  return seal->digest(fmt::format("{} {} {:a} {} {:a} {:a}", to_string(info.reference), to_string(info.amplitudes),
                                  info.omega2, info.fock_in_triples, info.correlation_energy.value_or(absent),
                                  info.scf_energy.value_or(absent)));
}

std::vector<std::string> DumpFile::datasets(bool integrals) const {
  std::vector<std::string> names;
  for (const ArraySpec& spec : amplitude_arrays(header.restricted)) {
    if (header.size(spec) > 0) names.push_back(spec.name);
  }
  if (!integrals) return names;
  if (const auto present = present_integrals(file, header)) {
    for (const ArraySpec& spec : *present) names.push_back(spec.name);
  }
  for (const ArraySpec& spec : present_exchange(file, header)) names.push_back(spec.name);
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    const std::string name = fock_dataset(spin, header.restricted);
    if (file.has(name) && (spin == Spin::alpha || !header.restricted)) names.push_back(name);
  }
  return names;
}

}  // namespace trifuse
