#include "cxx/base/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace trifuse {

namespace {

/// errno of the first failure of standard output; 0 if there was none.
std::atomic<int> first_output_error{0};

void note_output_error() noexcept {
  int none = 0;
  first_output_error.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

}

void write_output(std::string_view text) noexcept {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) note_output_error();
}

void flush_output() noexcept {
  errno = 0;
  if (std::fflush(stdout) != 0) note_output_error();
}

int output_error() noexcept {
  flush_output();
  if (std::ferror(stdout) != 0) note_output_error();
  return first_output_error;
}

void write_error(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void occupy_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The new descriptor gets the lowest free number, which is the number of the stream. It is read-only, so that
    // writing fails.
    if (::open("/dev/null", O_RDONLY) < 0) static_cast<void>(::open("/", O_RDONLY | O_DIRECTORY));
  }
}

}
