#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/panel_provider.hpp"
#include "cxx/cuda/schedule/array_panels.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse::gpu {

/// Packs panels from dense arrays on the device. Arrays of the host are sent once, each as a whole. Arrays on the
/// device are read in place. So the host stores no panels.
class ArrayPanelProvider final : public PanelProvider {
 public:
  /// Returns the bytes of device memory that the arrays of a problem take on GPU `device`. Returns nullopt if the
  /// panels cannot be packed from arrays. The problem must be one with has_array_panels(), and its sources must
  /// have whole arrays.
  static std::optional<std::int64_t> device_bytes(const Problem& problem, int device);

  /// Sends the arrays to GPU `device`, the current one. `problem`: a problem for which device_bytes() has a value.
  /// `layout`: the layout of its panels; it must stay valid. Throws InputError if a number that is sent is not finite.
  ArrayPanelProvider(const Problem& problem, const PanelLayout& layout, int device);

  bool provides(const PanelName& name) const override { return layout_.find(name.key) != nullptr; }
  std::int64_t produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) override;
  /// Returns the number of bytes that the constructor sent to the device.
  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  const PanelLayout& layout_;
  /// The set of a vvoo block: its tensor, and the array of this tensor.
  struct SetArrays {
    VvooTensor tensor;
    PanelArrays arrays;
  };
  std::vector<DeviceArray<double>> copies_;     ///< arrays that were sent
  std::array<PanelArrays, max_sides> sides_{};  ///< [Side]
  std::vector<SetArrays> sets_;                 ///< [set]
  std::int64_t bytes_sent_ = 0;
};

}
