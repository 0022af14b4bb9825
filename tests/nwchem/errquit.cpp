#include <utility>

#include "tests/nwchem/symbols.hpp"

namespace {
std::string failure;
}

/// Replaces NWChem's errquit, which ends the program. This function stores the message and returns.
extern "C" void errquit_(const char* text, const Integer*, const Integer*, std::size_t length) {
  failure.assign(text, length);
}

std::string trifuse::testing::take_failure() {
  return std::exchange(failure, {});
}
