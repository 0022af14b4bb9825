#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/tiles/tile_space.hpp"

/// Names and axes of the arrays of the Trifuse dump. See tce_tiles/docs/dump-format.md. In all functions `restricted`
/// is true if the reference of the dump is restricted.
namespace trifuse {

/// The name that the format page uses for the number of orbitals of a class: `o`, `v`, `oa`, `vb`, ...
std::string orbital_count_name(OrbitalClass c, bool restricted);

/// The kind of an array: amplitudes, integrals by the spaces of their four indices (o: occupied, v: virtual), or
/// integrals of virtual orbitals multiplied with amplitudes: kvvv[k,c,b,d] = sum_e t_k^e (ce|bd), and
/// ladder[i,j,a,b] = sum_cd (ac|bd) t_ij^cd. vvvv_diag: the numbers (aa|bb) and (ab|ab); vvvv_diag_semicanonical: the
/// same of semicanonical orbitals.
enum class ArrayKind : std::uint8_t {
  t1,
  t2,
  ovvv,
  ovoo,
  ovov,
  oovv,
  oooo,
  kvvv,
  ladder,
  vvvv_diag,
  vvvv_diag_semicanonical,
};
/// Returns true for the arrays of numbers (aa|bb) and (ab|ab).
constexpr bool are_diagonals(ArrayKind kind) {
  return kind == ArrayKind::vvvv_diag || kind == ArrayKind::vvvv_diag_semicanonical;
}

/// Whether integrals are those of a molecule, or dressed with amplitudes. Bare ones are equal under exchange of their
/// last two indices: (ia|bc), (ia|jk) and factors B[Q,p,q] of one space can be packed. Dressed ones are not.
enum class Dressing : std::uint8_t { bare, dressed };

/// One dense array of a dump, in C order.
struct ArraySpec {
  ArrayKind kind;
  Spin first;                      ///< spin of the first electron, e.g. of i and a in t2[i,j,a,b]
  Spin second;                     ///< spin of the second electron, e.g. of j and b in t2[i,j,a,b]
  bool antisymmetrised;            ///< true for the `asym_` arrays of same-spin integrals
  std::string name;                ///< name of the dataset
  std::vector<OrbitalClass> axes;  ///< class of the orbitals along each axis
  Dressing dressing = Dressing::bare;
  std::int64_t matrices = 0;  ///< number of matrices: the length of an axis before `axes`; 0: there is no such axis
};

/// Returns the array of a kind. `first`, `second`: spins of the two electrons; t1 uses only `first`. A restricted dump
/// has an array only for `first` = alpha and `second` = beta; t1 has alpha for both. `antisymmetrised`: true for the
/// `asym_` array, which exists only for integrals of equal spins in an unrestricted dump.
ArraySpec array_spec(ArrayKind kind, bool restricted, Spin first, Spin second, bool antisymmetrised = false);
/// Returns all arrays of amplitudes.
std::vector<ArraySpec> amplitude_arrays(bool restricted);
/// Returns all arrays of the integrals that triples need, not antisymmetrised.
std::vector<ArraySpec> integral_arrays(bool restricted);
/// Returns the `asym_` array that may replace `spec`, or nullopt if there is none.
std::optional<ArraySpec> antisymmetrised_alternative(const ArraySpec& spec);
/// Returns the arrays of (ij|ab), not antisymmetrised. An unrestricted dump has them for equal spins only. A dump may
/// omit them. Triples do not need them; the equation of the single excitations does.
std::vector<ArraySpec> exchange_arrays(bool restricted);
/// Returns the arrays that only dressed moments need, not antisymmetrised. A dump may omit each of them.
std::vector<ArraySpec> moment_arrays(bool restricted);

/// Returns the name of a dataset of one class, e.g. `eps_occ` or `irrep_vir_b`. `stem` is its first part, e.g. `eps`.
std::string class_dataset(const std::string& stem, OrbitalClass c, bool restricted);
/// Returns the name of the Fock matrix of a spin: `fock`, `fock_a` or `fock_b`.
std::string fock_dataset(Spin spin, bool restricted);
/// Returns the name of the projectors of fragments of a spin: `fragments`, `fragments_a` or `fragments_b`.
std::string fragments_dataset(Spin spin, bool restricted);

/// Largest number of auxiliary functions of factors. Factors with more functions do not fit into any memory.
inline constexpr std::int64_t max_auxiliary = 1000000;

/// The factors of one pair of spaces: B[Q,p,q], or packed B[Q,p(p+1)/2+q] with p >= q if they are symmetric.
struct FactorSpec {
  std::string name;   ///< name of the dataset, e.g. factors_ov or factors_vv_b
  OrbitalClass p, q;  ///< classes of the orbitals
  Dressing dressing = Dressing::bare;
  /// True if B[Q,p,q] is B[Q,q,p].
  bool symmetric() const { return p == q && dressing == Dressing::bare; }
};
/// Returns the factors that a dump may have instead of integrals.
std::vector<FactorSpec> factor_arrays(bool restricted);

/// Returns the names of all arrays that a dump may have, optional arrays included.
std::vector<std::string> array_names(bool restricted);

}
