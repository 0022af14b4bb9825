#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/scale_groups.hpp"
#include "cxx/cuda/schedule/split_half.hpp"

/// Packed panels in tests: their elements, and whole panels on the host.
namespace trifuse::gpu {

/// An element of a packed panel, and where its number comes from.
struct PackedElement {
  std::int64_t packed;  ///< offset in the packed panel
  std::int64_t raw;     ///< offset in the source; -1: the element is zero, or it is part of a scale
  int slice;            ///< number of the slice of the number at `raw`
};

/// Returns the element that packed_indices(p, n) describes, with its offset in the source of `p`. For host and device
/// code.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE PackedElement packed_element(const Packing& p, std::int64_t n) {
  const PackedIndices indices = packed_indices<Precision>(p, n);
  return {indices.packed, indices.inside ? raw_offset(p, indices) : -1, indices.slice};
}

/// Returns the FP16 number with these bits.
constexpr double number_of(SplitHalf::Operand bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const double magnitude = exponent == 0 ? fraction * SplitHalf::power_of_two(-24)
                                         : (1024 + fraction) * SplitHalf::power_of_two(exponent - 25);
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

/// Returns the scale 2^-shift whose elements begin at `elements`, without the correction for truncation.
constexpr double scale_of(const SplitHalf::Operand* elements) {
  return SplitHalf::power_of_two((elements[1] >> 7) - 127);
}

/// Packs a panel on the host and returns the elements of the packed panel in their order. `source`: the source of
/// `packing`. `Precision`: Fp64 for a vvoo block.
template <typename Precision>
std::vector<typename Precision::Operand> packed_panel(const Packing& packing, const double* source) {
  std::vector<typename Precision::Operand> packed(static_cast<std::size_t>(packed_size<Precision>(packing)));
  if constexpr (Precision::scale_elements > 0) {
    const auto read = [&](const PackedIndices& indices) { return source[raw_offset(packing, indices)]; };
    for (std::int64_t n = 0; n < scale_groups_of_part<Precision>(packing); ++n) {
      pack_scale_group<Precision>(packing, n, 0, 1, packed.data(), read, [](double x) { return x; });
    }
  } else {
    for (std::int64_t n = 0; n < packed_size_of_part<Precision>(packing); ++n) {
      const PackedElement element = packed_element<Precision>(packing, n);
      if (element.raw < 0) continue;
      packed[static_cast<std::size_t>(element.packed)] = Precision::slice_of(source[element.raw], element.slice);
    }
  }
  return packed;
}

/// Unpacks a panel and returns its source, as `packing` describes it: sums of slices, and zeros between rows. Scales
/// count without the correction for truncation.
template <typename Precision>
std::vector<double> unpacked_panel(const Packing& packing, const std::vector<typename Precision::Operand>& packed) {
  std::int64_t size = packing.contracted;
  for (int q = 0; q < (packing.kind == PanelKind::vvoo ? 4 : 3); ++q) {
    size += (packing.extent[q] - 1) * packing.stride[q];
  }
  std::vector<double> source(static_cast<std::size_t>(size), 0.0);
  for (std::int64_t n = 0; n < packed_size<Precision>(packing); ++n) {
    const PackedElement element = packed_element<Precision>(packing, n);
    if (element.raw < 0) continue;
    const auto& number = packed[static_cast<std::size_t>(element.packed)];
    double& sum = source[static_cast<std::size_t>(element.raw)];
    if constexpr (Precision::scale_elements > 0) {
      const std::int64_t k_tile = packing.kind == PanelKind::left ? Precision::a_k_tile : Precision::b_k_tile;
      const std::int64_t scale = (element.packed / k_tile + 1) * k_tile - Precision::scale_elements;
      sum += number_of(number) * scale_of(packed.data() + scale);
    } else {
      sum += static_cast<double>(number);
    }
  }
  return source;
}

}
