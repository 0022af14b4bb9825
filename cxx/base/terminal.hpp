#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace trifuse {

/// Text for the user. None of these functions throws: what cannot be shown, because a disk is full or nobody reads any
/// more, must not keep the program from finishing its work.

/// Writes to standard output. A failure is kept by the stream, where `finish_output` of the program finds it.
void write_output(std::string_view text) noexcept;
void flush_output() noexcept;

/// Writes to standard error at once.
void write_error(std::string_view text) noexcept;

template <typename... Arguments>
void print_output(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_output(fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <typename... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Gives standard input, output and error a place if the program was started without one. Otherwise the next file that
/// is opened would get its number, and what is printed would be written into that file. Writing to a stream that was
/// closed stays an error.
void occupy_standard_streams() noexcept;

}  // namespace trifuse
