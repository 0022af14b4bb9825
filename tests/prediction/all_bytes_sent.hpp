#pragma once

#include <cstdint>

#include "cxx/prediction/inspector.hpp"

namespace trifuse::testing {

/// Returns the bytes that are sent if each panel and each slab of factors is sent once.
inline double all_bytes_sent(const Inspection& inspection) {
  double bytes = 0.0;
  for (std::uint32_t panel = 0; panel < inspection.panel_count(); ++panel) bytes += inspection.bytes_sent(panel);
  for (std::uint32_t slab = 0; slab < inspection.slab_count(); ++slab) bytes += inspection.slab_bytes(slab);
  return bytes;
}

}
