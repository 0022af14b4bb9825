#pragma once

#include <array>
#include <span>
#include <vector>

#include "tce_tiles/dense/dense_input.hpp"

/// Checks of the arrays of an input that are in memory as a whole. All functions throw InputError.
namespace trifuse {

/// Checks t1, the array `spec`: sizes, finite values, and zeros that the irreps require. `values`: its elements.
void check_t1(const DenseArrays& arrays, const DenseHeader& header, const ArraySpec& spec,
              std::span<const double> values);
/// Reads t1[o,v] of each spin, unchecked. Element 1 is empty for a restricted reference.
std::array<std::vector<double>, 2> read_t1(const DenseArrays& arrays, const DenseHeader& header);
/// Reads a Fock matrix, [o+v,o+v], in hartree; empty if there is none. Checks that its values are finite and not too
/// large.
std::vector<double> read_checked_fock(const DenseArrays& arrays, const DenseHeader& header, Spin spin);
/// Returns the Fock matrix of canonical orbitals, [o+v,o+v], from their energies [o] and [v], hartree.
std::vector<double> diagonal_matrix(std::span<const double> occupied, std::span<const double> virtuals);
/// Returns the Fock matrix of canonical orbitals of a spin, [o+v,o+v]: the orbital energies on its diagonal, hartree.
std::vector<double> diagonal_fock(const DenseHeader& header, Spin spin);
/// Checks a Fock matrix: sizes, finite values, symmetry, and zeros that the irreps require.
void check_fock(const DenseArrays& arrays, const DenseHeader& header, Spin spin);
/// Checks the numbers (aa|bb) and (ab|ab), the array `spec`: its shape, sizes, finite values, and the symmetry of each
/// matrix of equal spins. Those of semicanonical orbitals have the sums of those of the orbitals of the input.
void check_diagonals(const DenseArrays& arrays, const DenseHeader& header, const ArraySpec& spec);

}
