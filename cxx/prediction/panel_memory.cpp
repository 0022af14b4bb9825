#include "cxx/prediction/panel_memory.hpp"

#include <algorithm>

namespace trifuse {

bool PanelMemory::use(std::uint32_t panel, double bytes) {
  if (panels_.use(panel) != nullptr) return true;
  while (held_ + bytes > capacity_) {
    const std::uint32_t* const oldest = panels_.oldest();
    if (oldest == nullptr) break;
    held_ -= static_cast<double>(panels_.remove(*oldest));
    ++dropped_;
  }
  held_ += static_cast<double>(panels_.add(panel, static_cast<float>(bytes)));
  max_held_ = std::max(max_held_, held_);
  return false;
}

}
