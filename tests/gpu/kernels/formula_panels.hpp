#pragma once

#include <cstdint>
#include <vector>

#include "cxx/cuda/runtime/panel_provider.hpp"
#include "tests/support/packed_panels.hpp"

namespace trifuse::gpu {

/// A source of panels that needs no host: it computes left and right panels on the device. The elements of a panel
/// follow from its name and from their offsets in the host's panel, in rows without gaps. It provides the formats Fp64,
/// Fp32 and TwoFloats.
class FormulaPanelProvider final : public PanelProvider {
 public:
  bool provides(const PanelName& name) const override { return name.key.kind != PanelKind::vvoo; }
  /// Returns 0: nothing comes from outside of the device.
  std::int64_t produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) override;

  /// The elements of the host's panel in rows without gaps, of which the packed panel is made.
  static std::vector<double> panel(const PanelKey& key, std::int64_t size);
};

}
