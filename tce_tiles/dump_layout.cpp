#include "tce_tiles/dump_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

/// Keys of blocks are four-digit numbers with the number of tiles as base. No memory can hold a dump of so many
/// orbitals.
constexpr std::int64_t max_orbitals = 10000;

[[noreturn]] void wrong_shape(const Hdf5File& file, const DumpHeader& header, const Hdf5Dataset& dataset,
                              std::span<const OrbitalClass> axes, const std::vector<std::int64_t>& expected,
                              const std::string& symbols) {
  std::vector<std::string> sources;
  for (const OrbitalClass c : axes) {
    std::string text = fmt::format("{} = {} from '{}'", orbital_count_name(c, header.restricted), header.size(c),
                                   class_dataset("eps", c, header.restricted));
    if (std::find(sources.begin(), sources.end(), text) == sources.end()) sources.push_back(std::move(text));
  }
  throw InputError(
      fmt::format("{}: dataset '{}' has shape {}, but [{}] with {} is {}; write all arrays from one calculation, with "
                  "their indices in "
                  "the order of the format page.",
                  file.path(), dataset.name(), shape_text(dataset.shape()), symbols, fmt::join(sources, ", "),
                  shape_text(expected)));
}

Hdf5Dataset open_required(const Hdf5File& file, const std::string& name) {
  if (!file.has(name)) {
    throw InputError(fmt::format("{}: dataset '{}' is missing; write the dump again with it.", file.path(), name));
  }
  return file.dataset(name);
}

std::vector<double> read_vector(const Hdf5File& file, const std::string& name, const std::string& what) {
  const Hdf5Dataset dataset = open_required(file, name);
  if (dataset.shape().size() != 1) {
    throw InputError(fmt::format("{}: dataset '{}' has shape {}, but it must be a vector of {}.", file.path(), name,
                                 shape_text(dataset.shape()), what));
  }
  if (dataset.size() > max_orbitals) {
    throw InputError(
        fmt::format("{}: dataset '{}' holds {} numbers, but no more than {} orbitals are possible; check that "
                    "it is a vector of {}.",
                    file.path(), name, dataset.size(), max_orbitals, what));
  }
  std::vector<double> values(static_cast<std::size_t>(dataset.size()));
  dataset.read_all(values);
  check_finite(values, file.path(), name);
  return values;
}

void read_energies(const Hdf5File& file, DumpHeader& header) {
  for (const OrbitalClass c : orbital_classes) {
    header.energies[static_cast<std::size_t>(c)] =
        header.restricted && spin_of(c) == Spin::beta
            ? header.energies[static_cast<std::size_t>(c) - 1]
            : read_vector(file, class_dataset("eps", c, header.restricted), "orbital energies");
  }
  for (const Space space : {Space::hole, Space::particle}) {
    std::int64_t n = 0;
    for (const OrbitalClass c : orbital_classes) n += space_of(c) == space ? header.size(c) : 0;
    if (n > 0) continue;
    const bool holes = space == Space::hole;
    throw InputError(fmt::format(
        "{}: there are no active {} orbitals ('{}' is empty); triples need at least one.", file.path(),
        holes ? "occupied" : "virtual",
        class_dataset("eps", holes ? OrbitalClass::hole_alpha : OrbitalClass::particle_alpha, header.restricted)));
  }
}

std::vector<int> read_irreps(const Hdf5File& file, const DumpHeader& header, OrbitalClass c) {
  const std::string name = class_dataset("irrep", c, header.restricted);
  if (!open_required(file, name).is_integer()) {
    throw InputError(
        fmt::format("{}: dataset '{}' holds floating-point numbers; write irreps as integers.", file.path(), name));
  }
  const std::vector<double> values = read_vector(file, name, "irreps");
  if (static_cast<std::int64_t>(values.size()) != header.size(c)) {
    throw InputError(fmt::format("{}: dataset '{}' has {} entries, but '{}' has {}; write one irrep for each orbital.",
                                 file.path(), name, values.size(), class_dataset("eps", c, header.restricted),
                                 header.size(c)));
  }
  for (const double value : values) {
    if (value < 0 || value > 7) {
      throw InputError(
          fmt::format("{}: dataset '{}' holds the irrep {}, but irreps are numbered 0 to 7, so that the product "
                      "of two is their bitwise exclusive or.",
                      file.path(), name, value));
    }
  }
  if (!std::is_sorted(values.begin(), values.end())) {
    throw InputError(
        fmt::format("{}: the irreps in dataset '{}' do not ascend; sort the orbitals (and every array) irrep by "
                    "irrep, or leave the irrep datasets out.",
                    file.path(), name));
  }
  return {values.begin(), values.end()};
}

void read_all_irreps(const Hdf5File& file, DumpHeader& header) {
  std::vector<std::string> present;
  std::vector<std::string> absent;
  for (const OrbitalClass c : orbital_classes) {
    if (header.restricted && spin_of(c) == Spin::beta) continue;
    const std::string name = class_dataset("irrep", c, header.restricted);
    (file.has(name) ? present : absent).push_back(name);
  }
  if (!present.empty() && !absent.empty()) {
    throw InputError(
        fmt::format("{}: dataset '{}' is missing although '{}' is present; write all irrep datasets or none.",
                    file.path(), absent.front(), present.front()));
  }
  unsigned seen = 0;
  for (const OrbitalClass c : orbital_classes) {
    auto& irreps = header.irreps[static_cast<std::size_t>(c)];
    if (present.empty()) {
      irreps.assign(static_cast<std::size_t>(header.size(c)), 0);
    } else if (header.restricted && spin_of(c) == Spin::beta) {
      irreps = header.irreps[static_cast<std::size_t>(c) - 1];
    } else {
      irreps = read_irreps(file, header, c);
    }
    for (const int irrep : irreps) seen |= 1U << irrep;
  }
  header.symmetry = (seen & (seen - 1)) != 0;
}

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

/// The element of `choices` with the name `value`. Throws InputError if there is none. `name`: name of the attribute.
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

/// The array, plain or antisymmetrised, that the file has; nullopt if it has none. Throws InputError if it has both.
std::optional<ArraySpec> present_form(const Hdf5File& file, const ArraySpec& spec) {
  const auto alternative = antisymmetrised_alternative(spec);
  const bool plain = file.has(spec.name);
  if (!alternative || !file.has(alternative->name)) return plain ? std::optional(spec) : std::nullopt;
  if (!plain) return alternative;
  throw InputError(fmt::format("{}: both '{}' and '{}' are present; write only one of them.", file.path(), spec.name,
                               alternative->name));
}

}  // namespace

std::int64_t DumpHeader::size(const ArraySpec& spec) const {
  std::int64_t n = 1;
  for (const OrbitalClass c : spec.axes) n *= size(c);
  return n;
}

std::vector<OrbitalRun> DumpHeader::runs() const {
  std::vector<OrbitalRun> runs;
  for (const OrbitalClass c : orbital_classes) {
    for (const int irrep : irreps[static_cast<std::size_t>(c)]) {
      if (runs.empty() || runs.back().orbital_class != c || runs.back().irrep != irrep) runs.push_back({c, irrep, 0});
      ++runs.back().size;
    }
  }
  return runs;
}

void expect_dump(const Hdf5File& file) {
  const auto format = file.attributes().string("format");
  if (!format || *format != "trifuse-dump") {
    throw InputError(
        fmt::format("{}: this HDF5 file is not a Trifuse dump: attribute 'format' of the root group is {} instead of "
                    "'trifuse-dump'; name a Trifuse dump.",
                    file.path(), format ? "'" + *format + "'" : "absent"));
  }
  const auto version = file.attributes().integer("version");
  if (!version || *version < 1) {
    throw InputError(fmt::format("{}: attribute 'version' of the root group is {} instead of {}; write the dump again.",
                                 file.path(), version ? fmt::to_string(*version) : "absent", dump_version));
  }
  if (*version > dump_version) {
    throw InputError(
        fmt::format("{}: this dump was written by a newer program (dump version {}, known here up to {}); use a "
                    "newer Trifuse.",
                    file.path(), *version, dump_version));
  }
}

DumpHeader read_dump_header(const Hdf5File& file) {
  expect_dump(file);
  DumpHeader header;
  SourceInfo& info = header.info;
  info.path = file.path();
  info.files = {file.path()};
  info.reference = read_choice(file, "reference", required_string(file, "reference"),
                               {Reference::rhf, Reference::uhf, Reference::rohf});
  header.restricted = info.reference == Reference::rhf;
  read_amplitude_kind(file, info);
  info.correlation_energy = finite_attribute(file, "correlation_energy");
  info.scf_energy = finite_attribute(file, "scf_energy");
  const std::int64_t fock_in_triples = file.attributes().integer("fock_in_triples").value_or(0);
  if (fock_in_triples != 0 && fock_in_triples != 1) {
    throw InputError(fmt::format("{}: attribute 'fock_in_triples' of the root group is {}; write 0 or 1.", file.path(),
                                 fock_in_triples));
  }
  info.fock_in_triples = fock_in_triples == 1;
  for (const char* name : {"program", "molecule", "basis", "comment"}) {
    if (auto value = file.attributes().string(name)) info.provenance.emplace_back(name, std::move(*value));
  }
  read_energies(file, header);
  read_all_irreps(file, header);
  return header;
}

Hdf5Dataset open_array(const Hdf5File& file, const DumpHeader& header, const ArraySpec& spec) {
  Hdf5Dataset dataset = open_required(file, spec.name);
  std::vector<std::int64_t> expected;
  std::vector<std::string> symbols;
  for (const OrbitalClass c : spec.axes) {
    expected.push_back(header.size(c));
    symbols.push_back(orbital_count_name(c, header.restricted));
  }
  if (!std::equal(expected.begin(), expected.end(), dataset.shape().begin(), dataset.shape().end())) {
    wrong_shape(file, header, dataset, spec.axes, expected, fmt::format("{}", fmt::join(symbols, ",")));
  }
  return dataset;
}

std::optional<Hdf5Dataset> open_fock(const Hdf5File& file, const DumpHeader& header, Spin spin) {
  const std::string name = fock_dataset(spin, header.restricted);
  if (!file.has(name)) return std::nullopt;
  Hdf5Dataset dataset = file.dataset(name);
  const std::array<OrbitalClass, 2> axes = {hole_class(spin), particle_class(spin)};
  const std::int64_t n = header.size(axes[0]) + header.size(axes[1]);
  const std::vector<std::int64_t> expected = {n, n};
  if (!std::equal(expected.begin(), expected.end(), dataset.shape().begin(), dataset.shape().end())) {
    const std::string sum =
        orbital_count_name(axes[0], header.restricted) + "+" + orbital_count_name(axes[1], header.restricted);
    wrong_shape(file, header, dataset, axes, expected, sum + "," + sum);
  }
  return dataset;
}

std::optional<std::vector<ArraySpec>> present_integrals(const Hdf5File& file, const DumpHeader& header) {
  std::vector<ArraySpec> present;
  std::vector<ArraySpec> absent;
  for (const ArraySpec& spec : integral_arrays(header.restricted)) {
    if (header.size(spec) == 0) continue;
    const auto found = present_form(file, spec);
    (found ? present : absent).push_back(found.value_or(spec));
  }
  if (absent.empty()) return present;
  if (present.empty()) return std::nullopt;
  const auto alternative = antisymmetrised_alternative(absent.front());
  throw InputError(fmt::format(
      "{}: dataset '{}'{} is missing although '{}' is present; write all integrals, or none in a left-hand dump.",
      file.path(), absent.front().name, alternative ? " (or '" + alternative->name + "')" : "", present.front().name));
}

std::vector<ArraySpec> present_exchange(const Hdf5File& file, const DumpHeader& header) {
  std::vector<ArraySpec> present;
  for (const ArraySpec& spec : exchange_arrays(header.restricted)) {
    if (header.size(spec) == 0) continue;
    if (const auto found = present_form(file, spec)) present.push_back(*found);
  }
  return present;
}

double largest_magnitude(std::span<const double> values, const std::string& path, const std::string& dataset) {
  // 0 * x is 0 for a finite x and NaN otherwise. So the sum tells whether all values are finite, without a branch in
  // the loop.
  double sum = 0.0, largest = 0.0;
#pragma omp simd reduction(+ : sum) reduction(max : largest)
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double size = std::abs(values[k]);
    sum += 0.0 * size;
    largest = largest < size ? size : largest;
  }
  if (sum == 0.0) return largest;
  throw InputError(
      fmt::format("{}: dataset '{}' holds a value that is not finite (NaN or infinite); write the dump again "
                  "from a converged calculation.",
                  path, dataset));
}

void check_finite(std::span<const double> values, const std::string& path, const std::string& dataset) {
  static_cast<void>(largest_magnitude(values, path, dataset));
}

}  // namespace trifuse
