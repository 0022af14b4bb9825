#include "tce_tiles/dump_files/dump_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/dump_files/hdf5_arrays.hpp"
#include "tce_tiles/factors/factor_arrays.hpp"

namespace trifuse {
namespace {

std::string required_string(const Hdf5File& file, const std::string& name) {
  const auto value = file.attributes().string(name);
  if (!value) {
    throw InputError(fmt::format("{}: attribute '{}' of the root group is missing; write it as the format page says.",
                                 file.path(), name));
  }
  return *value;
}

std::optional<double> finite_attribute(const Hdf5File& file, const std::string& name) {
  const auto value = file.attributes().real(name);
  if (value && !std::isfinite(*value)) {
    throw InputError(
        fmt::format("{}: attribute '{}' is not a finite number; write its value or leave it out.", file.path(), name));
  }
  return value;
}

/// Returns the element of `choices` with the name `value`. Throws InputError if there is none. `name`: name of the
/// attribute.
template <typename Choice>
Choice read_choice(const Hdf5File& file, const std::string& name, const std::string& value,
                   std::initializer_list<Choice> choices) {
  std::vector<std::string> names;
  for (const Choice choice : choices) {
    if (to_string(choice) == value) return choice;
    names.push_back("'" + to_string(choice) + "'");
  }
  throw InputError(fmt::format("{}: attribute '{}' is '{}', but it must be one of {}.", file.path(), name, value,
                               fmt::join(names, ", ")));
}

void read_amplitude_kind(const Hdf5File& file, SourceInfo& info) {
  info.amplitudes = read_choice(
      file, "amplitudes", file.attributes().string("amplitudes").value_or("ccsd"),
      {AmplitudeKind::ccsd, AmplitudeKind::regularized_ccsd, AmplitudeKind::lambda, AmplitudeKind::made_up});
  const bool regularized = info.amplitudes == AmplitudeKind::regularized_ccsd;
  const auto omega2 = finite_attribute(file, "omega2");
  if (regularized && !omega2) {
    throw InputError(fmt::format(
        "{}: the amplitudes are 'reg-ccsd', but attribute 'omega2' is missing; write the omega^2 in hartree "
        "that they were made with.",
        file.path()));
  }
  info.omega2 = omega2.value_or(0.0);
  if (info.omega2 < 0.0 || (info.omega2 != 0.0 && !regularized)) {
    throw InputError(
        fmt::format("{}: attribute 'omega2' is {}, but it must be at least 0, and 0 or absent unless "
                    "'amplitudes' is 'reg-ccsd'.",
                    file.path(), info.omega2));
  }
}

/// Returns the version of a dump. Throws InputError if the file is no dump or has a version that this program cannot
/// read.
std::int64_t version_of(const Hdf5File& file) {
  const auto format = file.attributes().string("format");
  if (!format || *format != "trifuse-dump") {
    throw InputError(
        fmt::format("{}: this HDF5 file is not a Trifuse dump: attribute 'format' of the root group is {} instead of "
                    "'trifuse-dump'; name a Trifuse dump.",
                    file.path(), format ? "'" + *format + "'" : "absent"));
  }
  const auto version = file.attributes().integer("version");
  if (!version || *version < 1) {
    throw InputError(fmt::format(
        "{}: attribute 'version' of the root group is {} instead of {} or {}; write the dump again.", file.path(),
        version ? fmt::to_string(*version) : "absent", stored_integrals_version, dump_version));
  }
  if (*version > dump_version) {
    throw InputError(
        fmt::format("{}: this dump was written by a newer program (dump version {}, known here up to {}); use a "
                    "newer Trifuse.",
                    file.path(), *version, dump_version));
  }
  return *version;
}

/// Returns the facts that the attributes of the root group contain.
SourceInfo read_attributes(const Hdf5File& file) {
  SourceInfo info;
  info.path = file.path();
  info.files = {file.path()};
  info.reference = read_choice(file, "reference", required_string(file, "reference"),
                               {Reference::rhf, Reference::uhf, Reference::rohf});
  read_amplitude_kind(file, info);
  info.correlation_energy = finite_attribute(file, "correlation_energy");
  info.scf_energy = finite_attribute(file, "scf_energy");
  info.convergence = finite_attribute(file, "convergence");
  if (info.convergence && *info.convergence <= 0.0) {
    throw InputError(
        fmt::format("{}: attribute 'convergence' is {}, but it must be above 0; write the threshold of the norm of the "
                    "change of the amplitudes, or leave it out.",
                    file.path(), *info.convergence));
  }
  if (const auto stated = file.attributes().integer("fock_in_triples")) {
    if (*stated != 0 && *stated != 1) {
      throw InputError(
          fmt::format("{}: attribute 'fock_in_triples' of the root group is {}; write 0 or 1, or leave it out.",
                      file.path(), *stated));
    }
    info.fock_in_triples = *stated == 1 ? FockInTriples::enters : FockInTriples::left_out;
  }
  for (const char* name : {"program", "molecule", "basis", "factorization", "auxiliary_basis", "comment"}) {
    if (auto value = file.attributes().string(name)) info.provenance.emplace_back(name, std::move(*value));
  }
  return info;
}

}

DumpFile DumpFile::open(const std::string& path) {
  DumpFile dump;
  dump.file = Hdf5File::open(path);
  const std::int64_t version = version_of(dump.file);
  dump.seal = DumpSeal::open(dump.file);
  dump.arrays = std::make_shared<Hdf5Arrays>(dump.file);
  dump.header = read_dense_header(*dump.arrays, read_attributes(dump.file));
  use_factors(dump);
  if (!dump.factors.empty() && version == stored_integrals_version) {
    throw InputError(fmt::format("{}: attribute 'version' of the root group is {}, but the dump has factors; write 2.",
                                 path, version));
  }
  SourceInfo& info = dump.header.info;
  info.sealed = dump.seal->sealed();
  info.format = fmt::format("Trifuse dump, version {}.{}, {}", version, dump.seal->minor_version(),
                            info.sealed ? "sealed" : "unsealed");
  return dump;
}

std::unique_ptr<InputSeal> DumpFile::input_seal() const {
  class Seal final : public InputSeal {
   public:
    explicit Seal(const DumpFile& dump) : dump_(dump) {}
    bool sealed() const override { return dump_.seal->sealed(); }
    std::vector<double> compute(const std::vector<std::string>& arrays, int part, int parts, int threads) override {
      return dump_.seal->compute(dump_.file, arrays, part, parts, threads);
    }
    void accept(const std::vector<std::string>& arrays, std::span<const double> sums) override {
      dump_.seal->accept(arrays, sums);
    }

   private:
    const DumpFile& dump_;
  };
  return std::make_unique<Seal>(*this);
}

std::optional<SourceDigest> DumpFile::digest() const {
  const SourceInfo& info = header.info;
  const double absent = 0.0;
  return seal->digest(fmt::format("{} {} {:a} {} {:a} {:a}", to_string(info.reference), to_string(info.amplitudes),
                                  info.omega2, static_cast<int>(info.fock_in_triples),
                                  info.correlation_energy.value_or(absent), info.scf_energy.value_or(absent)));
}

}
