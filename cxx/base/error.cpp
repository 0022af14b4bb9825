#include "cxx/base/error.hpp"

#include <new>

namespace trifuse {

std::string sentence_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "There is not enough memory.";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "An unknown error occurred.";
  }
}

}  // namespace trifuse
