#pragma once

#include <span>
#include <vector>

#include "tce_tiles/doubles_sums.hpp"
#include "tce_tiles/dump_layout.hpp"

/// The check of the arrays of an input that are in memory as a whole. All functions throw InputError.
namespace trifuse {

/// Checks t1, the array `spec`: sizes, finite values, and zeros that the irreps require. `values`: its elements.
void check_t1(const DenseArrays& arrays, const DumpHeader& header, const ArraySpec& spec,
              std::span<const double> values);
/// Adds t1, the array `spec`, with elements `left`, and the same array of the right amplitudes to `sums`.
void add_overlap_of_t1(const DenseArrays& right, const DumpHeader& header, const ArraySpec& spec,
                       std::span<const double> left, AmplitudeOverlap& sums);
/// Reads a Fock matrix, [o+v,o+v], in hartree. Checks that its values are finite and not too large.
std::vector<double> read_checked_fock(const DenseArrays& arrays, const DumpHeader& header, Spin spin);
/// Checks a Fock matrix: sizes, finite values, symmetry, and zeros that the irreps require.
void check_fock(const DenseArrays& arrays, const DumpHeader& header, Spin spin);

}  // namespace trifuse
