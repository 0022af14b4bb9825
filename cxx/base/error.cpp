#include "cxx/base/error.hpp"

#include <new>
#include <system_error>

namespace trifuse {

ErrorKind kind_of(const std::exception_ptr& failure) {
  if (!failure) return ErrorKind::none;
  try {
    std::rethrow_exception(failure);
  } catch (const InputError&) {
    return ErrorKind::input;
  } catch (const UsageError&) {
    return ErrorKind::usage;
  } catch (const SystemError&) {
    return ErrorKind::system;
  } catch (const Interrupted&) {
    return ErrorKind::interrupted;
  } catch (const std::bad_alloc&) {
    return ErrorKind::system;
  } catch (const std::system_error&) {
    return ErrorKind::system;
  } catch (...) {
    return ErrorKind::internal;
  }
}

std::string sentence_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "There is not enough memory for the amplitudes and integrals; `trifuse info` shows what a run needs.";
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) return error.what();
    return "A thread could not be started; allow this user more processes (ulimit -u), or this process more memory "
           "(ulimit -v).";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "An unknown error occurred.";
  }
}

void throw_error(ErrorKind kind, const std::string& sentence) {
  switch (kind) {
    case ErrorKind::input:
      throw InputError(sentence);
    case ErrorKind::usage:
      throw UsageError(sentence);
    case ErrorKind::system:
      throw SystemError(sentence);
    case ErrorKind::interrupted:
      throw Interrupted(sentence);
    case ErrorKind::none:
    case ErrorKind::internal:
      break;
  }
  throw Error(sentence);
}

}
