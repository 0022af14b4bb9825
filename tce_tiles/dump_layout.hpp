#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/hdf5_file.hpp"
#include "tce_tiles/tile_source.hpp"

/// Names, shapes, symmetries and header of the Trifuse dump; its page is tce_tiles/docs/dump-format.md.
namespace trifuse {

inline constexpr std::int64_t dump_version = 1;

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

/// What a dump says besides its arrays. Of a restricted reference the beta classes repeat the alpha ones.
struct DumpHeader {
  SourceInfo info;
  bool restricted = true;
  std::array<std::vector<double>, 4> energies;  ///< by orbital class
  std::array<std::vector<int>, 4> irreps;       ///< by orbital class; zeros without symmetry
  bool symmetry = false;                        ///< more than one irrep occurs

  std::int64_t size(OrbitalClass c) const {
    return static_cast<std::int64_t>(energies[static_cast<std::size_t>(c)].size());
  }
  /// Number of elements of an array. Arrays without elements may be absent from the file.
  std::int64_t size(const ArraySpec& spec) const;
  std::vector<OrbitalRun> runs() const;
};

/// Throws InputError unless the file says that it is a dump of a version that is known here.
void expect_dump(const Hdf5File& file);
/// Reads and checks the attributes, orbital energies and irreps.
DumpHeader read_dump_header(const Hdf5File& file);
/// Opens an array and checks that its shape is the one that the orbital energies ask for.
Hdf5Dataset open_array(const Hdf5File& file, const DumpHeader& header, const ArraySpec& spec);
/// Nothing when the dump has no Fock matrix of this spin.
std::optional<Hdf5Dataset> open_fock(const Hdf5File& file, const DumpHeader& header, Spin spin);
/// The integral arrays of the dump that are not empty, plain or antisymmetrised; nothing when it has no integrals at
/// all (a left-hand dump).
std::optional<std::vector<ArraySpec>> present_integrals(const Hdf5File& file, const DumpHeader& header);

/// The arrays of (ij|ab) that are there, plain or antisymmetrised.
std::vector<ArraySpec> present_exchange(const Hdf5File& file, const DumpHeader& header);

/// The largest absolute value; throws InputError where one is not finite.
double largest_magnitude(std::span<const double> values, const std::string& path, const std::string& dataset);
void check_finite(std::span<const double> values, const std::string& path, const std::string& dataset);

}  // namespace trifuse
