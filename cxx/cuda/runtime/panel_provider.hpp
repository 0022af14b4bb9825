#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/panel_source.hpp"

namespace trifuse::gpu {

/// A source of packed panels that writes them to the memory of a device.
class PanelProvider : public PanelSource {
 public:
  /// Puts work on `stream` that writes the packed panel to `to`. Called by one worker at a time, only for panels that
  /// this source provides.
  ///
  /// `packing`: the packing of the whole panel. Its strides are those of packing_of() for rows of one double; see
  /// with_row_stride(). `to`: memory of the current device for the packed panel. Returns the number of bytes that come
  /// from outside the device.
  virtual std::int64_t produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) = 0;
};

}
