#include "cxx/base/byte_amount.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace trifuse {

std::optional<std::int64_t> parse_bytes(const std::string& text) {
  static constexpr std::pair<const char*, double> units[] = {
      {"", 1.0},       {"B", 1.0},   {"K", 0x1p10}, {"KiB", 0x1p10}, {"KB", 1e3}, {"M", 0x1p20},
      {"MiB", 0x1p20}, {"MB", 1e6},  {"G", 0x1p30}, {"GiB", 0x1p30}, {"GB", 1e9}, {"T", 0x1p40},
      {"TiB", 0x1p40}, {"TB", 1e12}, {"P", 0x1p50}, {"PiB", 0x1p50}, {"PB", 1e15}};
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

std::string format_bytes(double bytes) {
  if (bytes >= 100 * 0x1p30) return fmt::format("{:.0f} GiB", bytes / 0x1p30);
  if (bytes >= 0x1p30) return fmt::format("{:.2f} GiB", bytes / 0x1p30);
  if (bytes >= 0x1p20) return fmt::format("{:.1f} MiB", bytes / 0x1p20);
  return fmt::format("{:.1f} KiB", bytes / 0x1p10);
}

}
