#pragma once

#include <exception>
#include <stdexcept>
#include <string>

/// Errors inside Trifuse are exceptions. Each carries one sentence for the user that says what is wrong, where, and
/// what to do about it. The driver turns the kind into an exit code, the C interface into a status.
namespace trifuse {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user's files do not hold what they should: absent, truncated, inconsistent, not finite, wrong symmetry.
class InputError : public Error {
 public:
  using Error::Error;
};

/// An option or argument that cannot be honoured.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The machine refused something: no space, no memory, an unwritable file.
class SystemError : public Error {
 public:
  using Error::Error;
};

/// A GPU that does not work: it refuses a call, or gives wrong numbers. Others, and cores, can do what it had to do.
class DeviceError : public SystemError {
 public:
  using SystemError::SystemError;
};

/// A GPU that works and has less memory free than it was asked for.
class DeviceMemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// The run was asked to stop (signal); what was finished is in the journal.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// What anything that was thrown means to those who cannot catch it by its type: other ranks, C programs, a shell.
/// Numbers that travel among the ranks of one job; nobody else may rely on them.
enum class ErrorKind {
  none,         ///< nothing was thrown
  input,        ///< InputError
  usage,        ///< UsageError
  system,       ///< SystemError, no memory, and whatever else the machine refused
  interrupted,  ///< Interrupted
  internal,     ///< everything else
};
ErrorKind kind_of(const std::exception_ptr& failure);

/// The sentence of anything that was thrown.
std::string sentence_of(const std::exception_ptr& failure);

/// Throws an error of this kind.
[[noreturn]] void throw_error(ErrorKind kind, const std::string& sentence);

}  // namespace trifuse
