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

/// The run was asked to stop (signal); what was finished is in the journal.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// The sentence of anything that was thrown.
std::string sentence_of(const std::exception_ptr& failure);

}  // namespace trifuse
