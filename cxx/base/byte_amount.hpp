#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trifuse {

/// Converts "512MiB", "2GiB", "1.5G" or "4000000000" to bytes. Returns nullopt if the text is not a positive amount of
/// memory.
std::optional<std::int64_t> parse_bytes(const std::string& text);

}  // namespace trifuse
