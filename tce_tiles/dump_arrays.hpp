#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/tile_space.hpp"

/// Names and axes of the arrays of the Trifuse dump; its page is tce_tiles/docs/dump-format.md.
namespace trifuse {

OrbitalClass hole_class(Spin s);
OrbitalClass particle_class(Spin s);
/// The number of orbitals of a class as the format page calls it: `o`, `v`, `oa`, `vb`, ...
std::string orbital_count_name(OrbitalClass c, bool restricted);

enum class ArrayKind : std::uint8_t { t1, t2, ovvv, ovoo, ovov, oovv };

/// One dense array of a dump. The first spin is that of the first pair of indices, the second that of the other pair.
struct ArraySpec {
  ArrayKind kind;
  Spin first;
  Spin second;
  bool antisymmetrised;  ///< same-spin integrals of the `asym_` arrays
  std::string name;
  std::vector<OrbitalClass> axes;
};

ArraySpec array_spec(ArrayKind kind, bool restricted, Spin first, Spin second, bool antisymmetrised = false);
std::vector<ArraySpec> amplitude_arrays(bool restricted);
/// Never antisymmetrised ones; `antisymmetrised_alternative` turns a same-spin array into its `asym_` counterpart.
std::vector<ArraySpec> integral_arrays(bool restricted);
std::optional<ArraySpec> antisymmetrised_alternative(const ArraySpec& spec);
/// (ij|ab), optional: triples do not need them, but the equation of the single excitations does. Same-spin arrays only.
std::vector<ArraySpec> exchange_arrays(bool restricted);

/// `eps_occ`, `irrep_vir_b`, ...
std::string class_dataset(const std::string& stem, OrbitalClass c, bool restricted);
/// `fock`, `fock_a`, `fock_b`.
std::string fock_dataset(Spin spin, bool restricted);

}  // namespace trifuse
