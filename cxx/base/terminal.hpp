#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#pragma GCC visibility push(default)

/// Text for the user. None of these functions throws. If text cannot be shown, because a disk is full or the reader has
/// closed a pipe, the program still finishes its work.
namespace trifuse {

/// Writes to standard output. A failure is remembered for `output_error`; `finish_output` of the program reports it.
void write_output(std::string_view text) noexcept;
void flush_output() noexcept;
/// Flushes standard output. Returns errno of the first failure to write there; 0 if everything was written.
int output_error() noexcept;

/// Writes to standard error without a buffer.
void write_error(std::string_view text) noexcept;

template <typename... Arguments>
void print_output(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_output(fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <typename... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Opens standard input, output and error if the program was started without one of them. Otherwise the next file that
/// is opened would get the number of the missing stream, and printed text would go into that file. Writing to such a
/// stream stays an error.
void occupy_standard_streams() noexcept;

}

#pragma GCC visibility pop
