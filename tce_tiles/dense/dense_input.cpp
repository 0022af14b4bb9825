#include "tce_tiles/dense/dense_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/shape_text.hpp"

namespace trifuse {
namespace {

/// With more orbitals, the keys of blocks could overflow: they are four-digit numbers with the number of tiles as base.
/// No memory can hold a dump of so many orbitals.
constexpr std::int64_t max_orbitals = 10000;

/// Throws InputError unless an array has the expected shape. `symbols`: of the shape. `axes`: the classes whose numbers
/// of orbitals the symbols contain.
void check_shape(const DenseHeader& header, const DenseArray& array, std::span<const OrbitalClass> axes,
                 const std::vector<std::int64_t>& expected, const std::string& symbols) {
  if (std::ranges::equal(expected, array.shape())) return;
  std::vector<std::string> sources;
  for (const OrbitalClass c : axes) {
    std::string text = fmt::format("{} = {} from '{}'", orbital_count_name(c, header.restricted), header.size(c),
                                   class_dataset("eps", c, header.restricted));
    if (std::find(sources.begin(), sources.end(), text) == sources.end()) sources.push_back(std::move(text));
  }
  throw InputError(
      fmt::format("{} has shape {}, but [{}] with {} is {}; {} all arrays from one calculation, with their indices in "
                  "the order of the format page.",
                  array.label().text(), array.text_of_shape(), symbols, fmt::join(sources, ", "), shape_text(expected),
                  array.label().words.write));
}

std::shared_ptr<const DenseArray> open_required(const DenseArrays& arrays, const std::string& name) {
  if (arrays.has(name)) return arrays.array(name);
  const ArrayLabel label = arrays.label(name);
  throw InputError(
      fmt::format("{} is missing; {} the {} again with it.", label.text(), label.words.write, label.words.all));
}

std::vector<double> read_vector(const DenseArray& array, const std::string& what) {
  const ArrayLabel& label = array.label();
  if (array.shape().size() != 1) {
    throw InputError(
        fmt::format("{} has shape {}, but it must be a vector of {}.", label.text(), array.text_of_shape(), what));
  }
  if (array.size() > max_orbitals) {
    throw InputError(
        fmt::format("{} holds {} numbers, but no more than {} orbitals are possible; check that it is a vector of {}.",
                    label.text(), array.size(), max_orbitals, what));
  }
  std::vector<double> values(static_cast<std::size_t>(array.size()));
  array.read_all(values);
  check_finite(values, label);
  return values;
}

void read_energies(const DenseArrays& arrays, DenseHeader& header) {
  for (const OrbitalClass c : orbital_classes) {
    header.energies[static_cast<std::size_t>(c)] =
        header.restricted && spin_of(c) == Spin::beta
            ? header.energies[static_cast<std::size_t>(c) - 1]
            : read_vector(*open_required(arrays, class_dataset("eps", c, header.restricted)), "orbital energies");
  }
  for (const Space space : {Space::hole, Space::particle}) {
    std::int64_t n = 0;
    for (const OrbitalClass c : orbital_classes) n += space_of(c) == space ? header.size(c) : 0;
    if (n > 0) continue;
    const bool holes = space == Space::hole;
    throw InputError(fmt::format(
        "{}: there are no active {} orbitals ('{}' is empty); triples need at least one.", arrays.path(),
        holes ? "occupied" : "virtual",
        class_dataset("eps", holes ? OrbitalClass::hole_alpha : OrbitalClass::particle_alpha, header.restricted)));
  }
}

std::vector<int> read_irreps(const DenseArrays& arrays, const DenseHeader& header, OrbitalClass c) {
  const auto array = open_required(arrays, class_dataset("irrep", c, header.restricted));
  const ArrayLabel& label = array->label();
  if (!array->is_integer()) {
    throw InputError(
        fmt::format("{} holds floating-point numbers; {} irreps as integers.", label.text(), label.words.write));
  }
  const std::vector<double> values = read_vector(*array, "irreps");
  if (static_cast<std::int64_t>(values.size()) != header.size(c)) {
    throw InputError(fmt::format("{} has {} entries, but '{}' has {}; {} one irrep for each orbital.", label.text(),
                                 values.size(), class_dataset("eps", c, header.restricted), header.size(c),
                                 label.words.write));
  }
  for (const double value : values) {
    if (value < 0 || value > 7) {
      throw InputError(
          fmt::format("{} holds the irrep {}, but irreps are numbered 0 to 7, so that the product of two is their "
                      "bitwise exclusive or.",
                      label.text(), value));
    }
  }
  if (!std::is_sorted(values.begin(), values.end())) {
    throw InputError(
        fmt::format("{0}: the irreps in {1} '{2}' do not ascend; sort the orbitals (and every array) irrep by irrep, "
                    "or leave the irrep {1}s out.",
                    label.path, label.words.array, label.name));
  }
  return {values.begin(), values.end()};
}

void read_all_irreps(const DenseArrays& arrays, DenseHeader& header) {
  std::vector<std::string> present;
  std::vector<std::string> absent;
  for (const OrbitalClass c : orbital_classes) {
    if (header.restricted && spin_of(c) == Spin::beta) continue;
    const std::string name = class_dataset("irrep", c, header.restricted);
    (arrays.has(name) ? present : absent).push_back(name);
  }
  if (!present.empty() && !absent.empty()) {
    const ArrayLabel label = arrays.label(absent.front());
    throw InputError(fmt::format("{} is missing although '{}' is present; {} all irrep {}s or none.", label.text(),
                                 present.front(), label.words.write, label.words.array));
  }
  unsigned seen = 0;
  for (const OrbitalClass c : orbital_classes) {
    auto& irreps = header.irreps[static_cast<std::size_t>(c)];
    if (present.empty()) {
      irreps.assign(static_cast<std::size_t>(header.size(c)), 0);
    } else if (header.restricted && spin_of(c) == Spin::beta) {
      irreps = header.irreps[static_cast<std::size_t>(c) - 1];
    } else {
      irreps = read_irreps(arrays, header, c);
    }
    for (const int irrep : irreps) seen |= 1U << irrep;
  }
  header.symmetry = (seen & (seen - 1)) != 0;
}

/// Returns the plain or the antisymmetrised array, whichever is present; nullopt if neither is. Throws InputError if
/// both are present.
std::optional<ArraySpec> present_form(const DenseArrays& arrays, const ArraySpec& spec) {
  const auto alternative = antisymmetrised_alternative(spec);
  const bool plain = arrays.has(spec.name);
  if (!alternative || !arrays.has(alternative->name)) return plain ? std::optional(spec) : std::nullopt;
  if (!plain) return alternative;
  throw InputError(fmt::format("{}: both '{}' and '{}' are present; {} only one of them.", arrays.path(), spec.name,
                               alternative->name, arrays.words().write));
}

/// Returns the present forms of those optional arrays that have elements.
std::vector<ArraySpec> present_of(const std::vector<ArraySpec>& optional, const DenseArrays& arrays,
                                  const DenseHeader& header) {
  std::vector<ArraySpec> present;
  for (const ArraySpec& spec : optional) {
    if (header.size(spec) == 0) continue;
    if (const auto found = present_form(arrays, spec)) present.push_back(*found);
  }
  return present;
}

}

std::int64_t DenseHeader::size(const ArraySpec& spec) const {
  std::int64_t n = std::max<std::int64_t>(spec.matrices, 1);
  for (const OrbitalClass c : spec.axes) n *= size(c);
  return n;
}

std::vector<std::int64_t> DenseHeader::shape(const ArraySpec& spec) const {
  std::vector<std::int64_t> shape;
  if (spec.matrices > 0) shape.push_back(spec.matrices);
  for (const OrbitalClass c : spec.axes) shape.push_back(size(c));
  return shape;
}

std::vector<OrbitalRange> DenseHeader::ranges() const {
  std::vector<OrbitalRange> ranges;
  for (const OrbitalClass c : orbital_classes) {
    for (const int irrep : irreps[static_cast<std::size_t>(c)]) {
      if (ranges.empty() || ranges.back().orbital_class != c || ranges.back().irrep != irrep)
        ranges.push_back({c, irrep, 0});
      ++ranges.back().size;
    }
  }
  return ranges;
}

DenseHeader read_dense_header(const DenseArrays& arrays, SourceInfo info) {
  DenseHeader header;
  header.restricted = info.reference == Reference::rhf;
  header.info = std::move(info);
  read_energies(arrays, header);
  read_all_irreps(arrays, header);
  return header;
}

std::vector<std::string> DenseInput::datasets(bool integrals) const {
  std::vector<std::string> names;
  for (const ArraySpec& spec : amplitude_arrays(header.restricted)) {
    if (header.size(spec) > 0) names.push_back(spec.name);
  }
  if (!integrals) return names;
  if (!factors.empty()) {
    names.insert(names.end(), factors.begin(), factors.end());
  } else {
    if (const auto present = present_integrals(*arrays, header)) {
      for (const ArraySpec& spec : *present) names.push_back(spec.name);
    }
    for (const auto& present : {present_exchange(*arrays, header), present_for_moments(*arrays, header)}) {
      for (const ArraySpec& spec : present) names.push_back(spec.name);
    }
  }
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    if (spin == Spin::beta && header.restricted) break;
    for (const std::string& name : {fock_dataset(spin, header.restricted), fragments_dataset(spin, header.restricted)})
      if (arrays->has(name)) names.push_back(name);
  }
  return names;
}

std::shared_ptr<const DenseArray> open_array(const DenseArrays& arrays, const DenseHeader& header,
                                             const ArraySpec& spec) {
  auto array = open_required(arrays, spec.name);
  std::vector<std::string> symbols;
  if (spec.matrices > 0) symbols.push_back(std::to_string(spec.matrices));
  for (const OrbitalClass c : spec.axes) symbols.push_back(orbital_count_name(c, header.restricted));
  check_shape(header, *array, spec.axes, header.shape(spec), fmt::format("{}", fmt::join(symbols, ",")));
  return array;
}

std::shared_ptr<const DenseArray> open_fock(const DenseArrays& arrays, const DenseHeader& header, Spin spin) {
  const std::string name = fock_dataset(spin, header.restricted);
  if (!arrays.has(name)) return nullptr;
  auto array = arrays.array(name);
  const std::array<OrbitalClass, 2> axes = {hole_class(spin), particle_class(spin)};
  const std::int64_t n = header.size(axes[0]) + header.size(axes[1]);
  const std::string sum =
      orbital_count_name(axes[0], header.restricted) + "+" + orbital_count_name(axes[1], header.restricted);
  check_shape(header, *array, axes, {n, n}, sum + "," + sum);
  return array;
}

std::optional<std::vector<ArraySpec>> present_integrals(const DenseArrays& arrays, const DenseHeader& header) {
  std::vector<ArraySpec> present;
  std::vector<ArraySpec> absent;
  for (const ArraySpec& spec : integral_arrays(header.restricted)) {
    if (header.size(spec) == 0) continue;
    const auto found = present_form(arrays, spec);
    (found ? present : absent).push_back(found.value_or(spec));
  }
  if (absent.empty()) return present;
  if (present.empty()) return std::nullopt;
  const auto alternative = antisymmetrised_alternative(absent.front());
  const ArrayLabel label = arrays.label(absent.front().name);
  throw InputError(fmt::format("{}{} is missing although '{}' is present; {} all integrals, or none in a left-hand {}.",
                               label.text(), alternative ? " (or '" + alternative->name + "')" : "",
                               present.front().name, label.words.write, label.words.all));
}

std::vector<ArraySpec> present_exchange(const DenseArrays& arrays, const DenseHeader& header) {
  return present_of(exchange_arrays(header.restricted), arrays, header);
}

std::vector<ArraySpec> present_for_moments(const DenseArrays& arrays, const DenseHeader& header) {
  return present_of(moment_arrays(header.restricted), arrays, header);
}

double largest_magnitude(std::span<const double> values, const ArrayLabel& array) {
  // 0 * x is 0 for a finite x and NaN otherwise. So the sum says whether all values are finite, without a branch in the
  // loop.
  double sum = 0.0, largest = 0.0;
#pragma omp simd reduction(+ : sum) reduction(max : largest)
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double size = std::abs(values[k]);
    sum += 0.0 * size;
    largest = largest < size ? size : largest;
  }
  if (sum == 0.0) return largest;
  throw InputError(fmt::format(
      "{} holds a value that is not finite (NaN or infinite); {} the {} again from a converged calculation.",
      array.text(), array.words.write, array.words.all));
}

void check_finite(std::span<const double> values, const ArrayLabel& array) {
  static_cast<void>(largest_magnitude(values, array));
}

}
