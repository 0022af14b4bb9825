#include "cxx/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

constexpr std::uint32_t invalid = 0xffffffff;

struct Character {
  std::uint32_t code;  ///< Unicode code point, or `invalid`
  std::size_t bytes;
};

/// Returns the first UTF-8 character of `text`, which must not be empty. Overlong encodings and surrogates are invalid.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t n) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[n])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xc0 || lead > 0xf7 || text.size() < bytes) return {invalid, 1};
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t n = 1; n < bytes; ++n) {
    if ((byte(n) & 0xc0U) != 0x80U) return {invalid, 1};
    code = code << 6 | (byte(n) & 0x3fU);
  }
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {invalid, 1};
  return {code, bytes};
}

/// Returns true for a character that is invisible, changes the display of its neighbours, or looks like a plain space.
bool acts(std::uint32_t code) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 14> ranges = {{{0x00, 0x1f},
                                                                               {0x7f, 0xa0},
                                                                               {0xad, 0xad},
                                                                               {0x61c, 0x61c},
                                                                               {0x115f, 0x1160},
                                                                               {0x1680, 0x1680},
                                                                               {0x180b, 0x180e},
                                                                               {0x2000, 0x200f},
                                                                               {0x2028, 0x202f},
                                                                               {0x205f, 0x206f},
                                                                               {0x3000, 0x3000},
                                                                               {0xfe00, 0xfe0f},
                                                                               {0xfeff, 0xfeff},
                                                                               {0xe0000, 0xe0fff}}};
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string escape(std::uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
  }
}

}

std::string printable(std::string_view text, std::size_t most) {
  std::string shown;
  std::size_t room = most;
  while (!text.empty()) {
    const auto [code, bytes] = first_of(text);
    std::string next(text.substr(0, bytes));
    if (code == invalid) next = escape(static_cast<unsigned char>(text[0]));
    if (code != invalid && acts(code)) next = escape(code);
    text.remove_prefix(bytes);
    const std::size_t width = next.size() == bytes ? 1 : next.size();
    if (width > room) return shown + "...";
    room -= width;
    shown += next;
  }
  return shown;
}

std::string printable_attribute(std::string_view text) {
  constexpr std::size_t most = 200;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::string single;
  std::unique_copy(text.begin(), text.end(), std::back_inserter(single),
                   [](char x, char y) { return x == ' ' && y == ' '; });
  return printable(single, most);
}

void expect_whole_path(const std::string& path) {
  if (path.find('\0') == std::string::npos) return;
  throw UsageError(
      fmt::format("The path \"{}\" contains a null character, at which the system would cut it; give the "
                  "path without it.",
                  printable(path)));
}

}
