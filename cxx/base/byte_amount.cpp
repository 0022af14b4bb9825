#include "cxx/base/byte_amount.hpp"

#include <exception>
#include <utility>

namespace trifuse {

std::optional<std::int64_t> parse_bytes(const std::string& text) {
  static constexpr std::pair<const char*, double> units[] = {
      {"", 1.0},     {"K", 0x1p10},   {"KiB", 0x1p10}, {"KB", 1e3},   {"M", 0x1p20},   {"MiB", 0x1p20}, {"MB", 1e6},
      {"G", 0x1p30}, {"GiB", 0x1p30}, {"GB", 1e9},     {"T", 0x1p40}, {"TiB", 0x1p40}, {"TB", 1e12}};
  std::size_t used = 0;
  double number = -1.0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  for (const auto& [name, factor] : units) {
    if (text.substr(used) == name && number * factor >= 1.0 && number * factor < 0x1p62) {
      return static_cast<std::int64_t>(number * factor);
    }
  }
  return std::nullopt;
}

}  // namespace trifuse
