#pragma once

#include <cstdint>
#include <optional>
#include <string>

#pragma GCC visibility push(default)

namespace trifuse {

/// Converts "512MiB", "2GiB", "1.5G" or "4000000000" to bytes. Returns nullopt if the text is not a positive amount of
/// memory.
std::optional<std::int64_t> parse_bytes(const std::string& text);

/// Returns an amount of memory for people, e.g. "12.5 KiB", "3.0 MiB", "1.25 GiB" or "400 GiB".
std::string format_bytes(double bytes);

}

#pragma GCC visibility pop
