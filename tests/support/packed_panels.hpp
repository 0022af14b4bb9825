#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/layout.hpp"

/// Packed panels on the host.
namespace trifuse::gpu {

/// Packs a panel on the host: the elements of the packed panel in their order. `source`: as `packing` says.
/// `Precision`: Fp64 for a vvoo block.
template <typename Precision>
std::vector<typename Precision::Operand> packed_panel(const Packing& packing, const double* source) {
  std::vector<typename Precision::Operand> packed(static_cast<std::size_t>(packed_size<Precision>(packing)));
  for (std::int64_t n = 0; n < packed_size_of_part<Precision>(packing); ++n) {
    const PackedElement element = packed_element<Precision>(packing, n);
    packed[static_cast<std::size_t>(element.packed)] = packed_value<Precision>(element, source);
  }
  return packed;
}

/// The source of a packed panel, as `packing` says: sums of slices, and zeros between rows.
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
    source[static_cast<std::size_t>(element.raw)] +=
        static_cast<double>(packed[static_cast<std::size_t>(element.packed)]);
  }
  return source;
}

}  // namespace trifuse::gpu
