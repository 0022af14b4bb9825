#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/tiles/factor_source.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

/// Orbitals and arrays of an input with the arrays of a Trifuse dump: a dump, or arrays of a caller. See
/// tce_tiles/docs/dump-format.md. A function throws InputError with a sentence in the words of the arrays' origin.
namespace trifuse {

/// Returns the index of a spin in an array by spin: 0 for alpha, 1 for beta.
constexpr std::size_t spin_index(Spin spin) {
  return spin == Spin::alpha ? 0 : 1;
}

/// The contents of an input besides its arrays. For a restricted reference the beta classes repeat the alpha classes.
struct DenseHeader {
  SourceInfo info;
  bool restricted = true;
  std::array<std::vector<double>, 4> energies;  ///< orbital energies in hartree, by orbital class
  std::array<std::vector<int>, 4> irreps;       ///< irrep of each orbital, by orbital class; 0 without symmetry
  bool symmetry = false;                        ///< true if more than one irrep occurs

  /// Returns the number of orbitals of a class.
  std::int64_t size(OrbitalClass c) const {
    return static_cast<std::int64_t>(energies[static_cast<std::size_t>(c)].size());
  }
  /// Returns the number of elements of an array. An array without elements may be absent from the file.
  std::int64_t size(const ArraySpec& spec) const;
  /// Returns the shape of an array.
  std::vector<std::int64_t> shape(const ArraySpec& spec) const;
  /// Returns the orbital ranges: consecutive orbitals of one class and one irrep.
  std::vector<OrbitalRange> ranges() const;
};

/// The checksums of an input. They ensure that a run uses the numbers that the check has read.
class InputSeal {
 public:
  virtual ~InputSeal() = default;
  /// Returns true if the input itself contains checksums.
  virtual bool sealed() const = 0;
  /// Returns this process's part of the checksums of these arrays, as numbers whose sums over all processes are
  /// complete.
  virtual std::vector<double> compute(const std::vector<std::string>& arrays, int part, int parts, int threads) = 0;
  /// Takes the sums over all parts.
  virtual void accept(const std::vector<std::string>& arrays, std::span<const double> sums) = 0;
};

/// An input whose arrays are open.
struct DenseInput {
  DenseInput() = default;
  DenseInput(const DenseInput&) = default;
  DenseInput(DenseInput&&) = default;
  DenseInput& operator=(const DenseInput&) = default;
  DenseInput& operator=(DenseInput&&) = default;
  virtual ~DenseInput() = default;

  std::shared_ptr<const DenseArrays> arrays;
  DenseHeader header;
  std::vector<std::string> factors;  ///< names of the factors from which `arrays` compute the integrals; may be empty
  std::shared_ptr<const FactorSource> factor_source;  ///< source of these factors; null if there are none

  /// Returns the names of the stored non-empty arrays of the amplitudes and, if `integrals` is set, of the integrals
  /// (or their factors) and the Fock matrix.
  std::vector<std::string> datasets(bool integrals) const;
  /// See TileSource::digest().
  virtual std::optional<SourceDigest> digest() const { return std::nullopt; }
  /// Returns the checksums; null if the input has none. They must not outlive the input.
  virtual std::unique_ptr<InputSeal> input_seal() const { return nullptr; }
};

/// Reads the orbital energies and the irreps, and returns the header. Throws InputError if they are not valid. `info`:
/// the other contents of the header.
DenseHeader read_dense_header(const DenseArrays& arrays, SourceInfo info);
/// Opens an array. Throws InputError if its shape differs from the numbers of orbitals in `header`.
std::shared_ptr<const DenseArray> open_array(const DenseArrays& arrays, const DenseHeader& header,
                                             const ArraySpec& spec);
/// Opens the Fock matrix of a spin. Returns null if there is none. Throws InputError if its shape is wrong.
std::shared_ptr<const DenseArray> open_fock(const DenseArrays& arrays, const DenseHeader& header, Spin spin);
/// Returns the non-empty integral arrays, each plain or antisymmetrised. Returns nullopt if there are no integrals (a
/// left-hand input). Throws InputError if only some of the integral arrays are present, or if an array is present in
/// both forms.
std::optional<std::vector<ArraySpec>> present_integrals(const DenseArrays& arrays, const DenseHeader& header);

/// Returns the non-empty arrays of (ij|ab) that are present, each plain or antisymmetrised. Throws InputError if an
/// array is present in both forms.
std::vector<ArraySpec> present_exchange(const DenseArrays& arrays, const DenseHeader& header);
/// Returns the same of the arrays that only dressed moments need.
std::vector<ArraySpec> present_for_moments(const DenseArrays& arrays, const DenseHeader& header);

/// Returns the largest absolute value of `values`, which come from `array`. Throws InputError if a value is not finite.
double largest_magnitude(std::span<const double> values, const ArrayLabel& array);
/// Throws InputError if a value is not finite. `values` come from `array`.
void check_finite(std::span<const double> values, const ArrayLabel& array);

}
