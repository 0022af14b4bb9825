#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/dump_arrays.hpp"
#include "tce_tiles/hdf5_file.hpp"
#include "tce_tiles/tile_source.hpp"

/// The header and the arrays of a Trifuse dump. See tce_tiles/docs/dump-format.md.
namespace trifuse {

/// The newest format version that this program can read.
inline constexpr std::int64_t dump_version = 1;

/// The contents of a dump besides its arrays. For a restricted reference the beta classes repeat the alpha classes.
struct DumpHeader {
  SourceInfo info;
  bool restricted = true;
  std::array<std::vector<double>, 4> energies;  ///< orbital energies in hartree, by orbital class
  std::array<std::vector<int>, 4> irreps;       ///< irrep of each orbital, by orbital class; 0 without symmetry
  bool symmetry = false;                        ///< true if more than one irrep occurs

  /// Number of orbitals of a class.
  std::int64_t size(OrbitalClass c) const {
    return static_cast<std::int64_t>(energies[static_cast<std::size_t>(c)].size());
  }
  /// Number of elements of an array. An array without elements may be absent from the file.
  std::int64_t size(const ArraySpec& spec) const;
  /// The runs of consecutive orbitals of equal class and irrep.
  std::vector<OrbitalRun> runs() const;
};

/// Throws InputError unless the file is a dump of a version that this program can read.
void expect_dump(const Hdf5File& file);
/// Reads and checks the attributes, orbital energies and irreps. Throws InputError if they are not valid.
DumpHeader read_dump_header(const Hdf5File& file);
/// Opens an array of a dump. Throws InputError if its shape differs from the numbers of orbitals in `header`.
Hdf5Dataset open_array(const Hdf5File& file, const DumpHeader& header, const ArraySpec& spec);
/// Opens the Fock matrix of a spin. Returns nullopt if the dump has none. Throws InputError if its shape is wrong.
std::optional<Hdf5Dataset> open_fock(const Hdf5File& file, const DumpHeader& header, Spin spin);
/// The non-empty integral arrays of the dump, each plain or antisymmetrised. Returns nullopt if the dump has no
/// integrals (a left-hand dump). Throws InputError if only some of the integral arrays are present, or if an array is
/// present in both forms.
std::optional<std::vector<ArraySpec>> present_integrals(const Hdf5File& file, const DumpHeader& header);

/// The non-empty arrays of (ij|ab) that the dump has, each plain or antisymmetrised. Throws InputError if an array is
/// present in both forms.
std::vector<ArraySpec> present_exchange(const Hdf5File& file, const DumpHeader& header);

/// The largest absolute value of `values`. Throws InputError if a value is not finite. `path` and `dataset` name the
/// array in the error message.
double largest_magnitude(std::span<const double> values, const std::string& path, const std::string& dataset);
/// Throws InputError if a value is not finite. `path` and `dataset` name the array in the error message.
void check_finite(std::span<const double> values, const std::string& path, const std::string& dataset);

}  // namespace trifuse
