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

/// The header of the Trifuse dump, and its arrays; the page is tce_tiles/docs/dump-format.md.
namespace trifuse {

inline constexpr std::int64_t dump_version = 1;

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
