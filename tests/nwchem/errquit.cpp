#include <utility>

#include "tests/nwchem/symbols.hpp"

namespace {
std::string failure;
}

/// NWChem's ends the program; this one remembers and goes on.
extern "C" void errquit_(const char* text, const Integer*, const Integer*, std::size_t length) {
  failure.assign(text, length);
}

std::string trifuse::testing::take_failure() {
  return std::exchange(failure, {});
}
