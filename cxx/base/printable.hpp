#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trifuse {

/// Text of unknown origin as one line that a terminal shows as it is.
///
/// Characters that act instead of being shown are replaced by visible escapes: control characters (\n, \x1b), line
/// separators (\u2028), characters without width or with another direction (\u202e), and bytes that are no UTF-8
/// (\xff). Texts longer than `most` characters end with "...".
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

/// The same for text of several lines, which stay.
std::string printable_lines(std::string_view text);

/// The value of an attribute, to be shown behind its name: `printable`, at most 200 characters, and without spaces in
/// front and runs of spaces, with which it could fill lines of a terminal and go on as if it were another line of the
/// output.
std::string printable_attribute(std::string_view text);

}  // namespace trifuse
