#include "tce_tiles/checks/small_arrays_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/checked_array.hpp"
#include "tce_tiles/checks/consistency.hpp"
#include "tce_tiles/checks/small_operations.hpp"

namespace trifuse {
namespace {

/// Tolerance of the symmetry of a matrix; relative for values above 1.
constexpr double matrix_tolerance = 1e-7;

/// Throws InputError for two elements of an array that should be equal.
[[noreturn]] void throw_unequal(const ArrayLabel& array, std::span<const std::size_t> element, double value,
                                std::span<const std::size_t> partner, double other) {
  throw InputError(fmt::format("{} is not symmetric, element [{}] is {:.10g} and [{}] is {:.10g}; {} this {} again.",
                               array.text(), fmt::join(element, ","), value, fmt::join(partner, ","), other,
                               array.words.write, array.words.array));
}

/// Throws InputError unless each matrix [a,b] of an array is symmetric.
void check_symmetric_matrices(const DenseHeader& header, const ArraySpec& spec, std::span<const double> values,
                              const ArrayLabel& label) {
  const std::size_t v = at(header.size(spec.axes[0]));
  for (std::size_t n = 0; n < at(spec.matrices); ++n) {
    for (std::size_t a = 0; a < v; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double value = values[(n * v + a) * v + b], other = values[(n * v + b) * v + a];
        if (std::abs(value - other) <= matrix_tolerance * std::max(1.0, std::abs(value))) continue;
        throw_unequal(label, std::array{n, a, b}, value, std::array{n, b, a}, other);
      }
    }
  }
}

const std::vector<int>& irreps(const DenseHeader& header, OrbitalClass c) {
  return header.irreps[static_cast<std::size_t>(c)];
}

}

void check_t1(const DenseArrays& arrays, const DenseHeader& header, const ArraySpec& spec,
              std::span<const double> values) {
  const ArrayLabel label = arrays.label(spec.name);
  check_size(largest_magnitude(values, label), largest_amplitude, label);
  const std::vector<int>&i_irreps = irreps(header, spec.axes[0]), &a_irreps = irreps(header, spec.axes[1]);
  auto value = values.begin();
  for (std::size_t i = 0; i < i_irreps.size(); ++i) {
    for (std::size_t a = 0; a < a_irreps.size(); ++a, ++value) {
      if (i_irreps[i] == a_irreps[a] || std::abs(*value) <= irrep_tolerance) continue;
      throw_forbidden(label, std::array{std::int64_t(i), std::int64_t(a)}, *value);
    }
  }
}

std::array<std::vector<double>, 2> read_t1(const DenseArrays& arrays, const DenseHeader& header) {
  std::array<std::vector<double>, 2> result;
  for (const ArraySpec& spec : amplitude_arrays(header.restricted)) {
    if (spec.kind != ArrayKind::t1 || header.size(spec) == 0) continue;
    const auto array = open_array(arrays, header, spec);
    std::vector<double>& values = result[spin_index(spec.first)];
    values.resize(static_cast<std::size_t>(array->size()));
    array->read_all(values);
  }
  return result;
}

std::vector<double> diagonal_matrix(std::span<const double> occupied, std::span<const double> virtuals) {
  std::vector<double> diagonal(occupied.begin(), occupied.end());
  diagonal.insert(diagonal.end(), virtuals.begin(), virtuals.end());
  std::vector<double> matrix(diagonal.size() * diagonal.size(), 0.0);
  for (std::size_t p = 0; p < diagonal.size(); ++p) matrix[p * (diagonal.size() + 1)] = diagonal[p];
  return matrix;
}

std::vector<double> diagonal_fock(const DenseHeader& header, Spin spin) {
  return diagonal_matrix(header.energies[static_cast<std::size_t>(hole_class(spin))],
                         header.energies[static_cast<std::size_t>(particle_class(spin))]);
}

std::vector<double> read_checked_fock(const DenseArrays& arrays, const DenseHeader& header, Spin spin) {
  const auto array = open_fock(arrays, header, spin);
  if (array == nullptr) return {};
  std::vector<double> values(static_cast<std::size_t>(array->size()));
  array->read_all(values);
  check_size(largest_magnitude(values, array->label()), largest_integral, array->label());
  return values;
}

void check_fock(const DenseArrays& arrays, const DenseHeader& header, Spin spin) {
  const std::vector<double> values = read_checked_fock(arrays, header, spin);
  const ArrayLabel label = arrays.label(fock_dataset(spin, header.restricted));
  std::vector<int> irrep = irreps(header, hole_class(spin));
  const std::vector<int>& particles = irreps(header, particle_class(spin));
  irrep.insert(irrep.end(), particles.begin(), particles.end());
  const std::size_t n = irrep.size();
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t q = 0; q < n; ++q) {
      const double value = values[p * n + q], other = values[q * n + p];
      if (irrep[p] != irrep[q] && std::abs(value) > irrep_tolerance) {
        throw_forbidden(label, std::array{std::int64_t(p), std::int64_t(q)}, value);
      }
      if (std::abs(value - other) > matrix_tolerance * std::max(1.0, std::abs(value))) {
        throw_unequal(label, std::array{p, q}, value, std::array{q, p}, other);
      }
    }
  }
}

void check_diagonals(const DenseArrays& arrays, const DenseHeader& header, const ArraySpec& spec) {
  const auto array = open_array(arrays, header, spec);
  const ArrayLabel& label = array->label();
  std::vector<double> values(at(array->size()));
  array->read_all(values);
  check_size(largest_magnitude(values, label), largest_integral, label);
  if (spec.matrices > 1) check_symmetric_matrices(header, spec, values, label);
  const ArraySpec plain = array_spec(ArrayKind::vvvv_diag, header.restricted, spec.first, spec.second);
  if (spec.kind == plain.kind || !arrays.has(plain.name)) return;
  std::vector<double> of_input(values.size());
  open_array(arrays, header, plain)->read_all(of_input);
  const std::size_t size = values.size() / at(spec.matrices);
  for (std::size_t n = 0; n < at(spec.matrices); ++n) {
    const auto sum_of = [&](const std::vector<double>& x) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(n * size);
      return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(size), 0.0);
    };
    const double sum = sum_of(values), other = sum_of(of_input);
    if (std::abs(sum - other) <= matrix_tolerance * std::max(1.0, std::abs(other))) continue;
    throw InputError(
        fmt::format("{} is of other integrals than '{}': the sums of the matrices [{}] are {:.10g} and {:.10g}, but no "
                    "rotation of orbitals changes them; {} both {}s of one calculation.",
                    label.text(), plain.name, n, sum, other, label.words.write, label.words.array));
  }
}

}
