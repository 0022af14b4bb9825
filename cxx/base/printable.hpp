#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace trifuse {

/// Converts text of unknown origin to one line that a terminal can show safely.
///
/// Visible escapes replace control characters (\n, \x1b), line separators (\u2028), characters that have no width or
/// change the direction of writing (\u202e), and bytes that are not UTF-8 (\xff). The result has at most `most`
/// characters. If the text is longer, "..." follows. Without `most` there is no limit.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

/// Converts the value of an attribute for display behind the attribute's name, as `printable` does, to at most 200
/// characters. Removes leading spaces, and replaces several spaces by one. Otherwise a value could fill the line with
/// spaces and pretend to be the next line of the output.
std::string printable_attribute(std::string_view text);

/// Throws UsageError if a path contains a null character. The system would open another file, whose name ends at the
/// null character.
void expect_whole_path(const std::string& path);

}

#pragma GCC visibility pop
