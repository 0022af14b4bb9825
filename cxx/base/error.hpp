#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)

/// Errors inside Trifuse are exceptions. Each carries one sentence for the user. The sentence says what is wrong,
/// where, and what to do about it. The program turns the kind of an error into an exit code, the C interface into a
/// status.
namespace trifuse {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user's files are wrong: absent, truncated, inconsistent, not finite, or of the wrong symmetry.
class InputError : public Error {
 public:
  using Error::Error;
};

/// An option or argument is not allowed.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The machine refuses something, e.g. because disk space or memory is full or a file cannot be written.
class SystemError : public Error {
 public:
  using Error::Error;
};

/// A GPU does not work: it refuses a call or gives wrong numbers. Other GPUs or the CPU cores can do its work.
class DeviceError : public SystemError {
 public:
  using SystemError::SystemError;
};

/// A GPU works but has too little free memory for a request.
class DeviceMemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A signal asked the run to stop. The journal holds the finished tasks.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// The kind of an exception, for receivers that cannot catch it by its type: other ranks, C programs, a shell. Ranks of
/// one job send each other these numbers. No other program may rely on them.
enum class ErrorKind {
  none,         ///< no exception
  input,        ///< InputError
  usage,        ///< UsageError
  system,       ///< SystemError, std::bad_alloc, std::system_error
  interrupted,  ///< Interrupted
  internal,     ///< any other exception
};
/// Returns the kind of an exception; `failure` may be null.
ErrorKind kind_of(const std::exception_ptr& failure);

/// Returns the sentence for the user that describes an exception. `failure` must not be null.
std::string sentence_of(const std::exception_ptr& failure);

/// Throws an exception of this kind with this sentence. For ErrorKind::none and ErrorKind::internal it throws `Error`.
[[noreturn]] void throw_error(ErrorKind kind, const std::string& sentence);

}

#pragma GCC visibility pop
