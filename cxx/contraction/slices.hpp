#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cxx/contraction/description.hpp"

/// Contractions in slices: for tensors that are larger than the memory of a device, or than the reach of 32-bit
/// offsets.
namespace trifuse::contraction {

/// A part of a contraction: a range of the values of some indices, all values of the other ones.
struct Slice {
  Contraction contraction;             ///< of these values
  std::array<std::int64_t, 3> offset;  ///< [Tensor]: elements from offset 0 of the tensor to offset 0 of the slice
  /// True if an earlier slice has the same elements of C. Then this slice adds to them, with beta = 1.
  bool accumulates;
};

/// All slices of a contraction. The slices that have the same elements of C are a series. They differ in the values of
/// contracted indices, and must follow each other on one device. Different series are independent.
class Slices {
 public:
  /// A division of the values of an index.
  struct Cut {
    std::size_t index;  ///< position in Contraction::indices
    std::int64_t step;  ///< values in a slice, at least 1; the last slice may have fewer
  };
  /// `cuts`: the slowest one first, those of contracted indices last.
  explicit Slices(Contraction contraction, std::vector<Cut> cuts = {});

  const Contraction& contraction() const { return contraction_; }
  const std::vector<Cut>& cuts() const { return cuts_; }
  std::int64_t series() const { return series_; }
  /// Number of slices of each series.
  std::int64_t length() const { return length_; }
  /// Returns slice `n` of a series. The first slice of the first series is as large as any other one.
  Slice slice(std::int64_t series, std::int64_t n) const;
  /// Returns true if a tensor has an index that is cut.
  bool cuts_tensor(Tensor tensor) const;
  /// Describes the cuts in a few words.
  std::string text() const;

 private:
  Contraction contraction_;
  std::vector<Cut> cuts_;
  std::int64_t series_ = 1, length_ = 1;
};

/// Returns slices in which the elements of each tensor are less than `most` apart and a sum has at most `most` terms,
/// in the order in which one device may execute them. The list has one slice, the contraction itself, if that suffices.
/// Throws UsageError if more than a million slices are needed.
std::vector<Slice> slice_to_reach(const Contraction& contraction, std::int64_t most);

/// Returns the slices of a contraction of tensors in the memory of the host, for devices that have `memory` bytes for
/// two slices: one is copied while the other one is computed. A tensor that has no index that is cut has room on the
/// device once.
///
/// External and batch indices are cut such that few bytes move, contracted indices only if otherwise the slices do
/// not fit or more than twice as many bytes move. Large tensors are cut into up to about 32 slices of 64 MiB even if
/// they fit, so that copies and computing overlap and several devices have work. The slices depend on `memory` but not
/// on the number of devices.
///
/// `contraction`: in the canonical form. Throws UsageError if `memory` is too small.
Slices slices_for_memory(const Contraction& contraction, std::int64_t memory);

/// Returns the bytes of device memory that slices_for_memory() counts.
double bytes_on_device(const Slices& slices);

}
