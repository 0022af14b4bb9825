#include "cxx/base/operation_amount.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace trifuse {

std::string format_operations(double operations) {
  constexpr std::array units = {"F", "kF", "MF", "GF", "TF", "PF", "EF"};
  std::size_t unit = 0;
  for (; operations >= 999.5 && unit + 1 < units.size(); ++unit) operations *= 1e-3;
  return fmt::format("{:.3g} {}", operations, units[unit]);
}

}
