#include <gtest/gtest.h>

#include <string>

#include "cxx/base/error.hpp"
#include "cxx/base/output_file.hpp"
#include "cxx/base/printable.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::testing {
namespace {

TEST(Path, HasNoNullCharacter) {
  expect_whole_path("");
  expect_whole_path("folder/file.h5");
  const std::string cut("file.h5\0.old", 12);
  expect_failure<UsageError>(
      [&] { expect_whole_path(cut); },
      "The path \"file.h5\\x00.old\" contains a null character, at which the system would cut it");
  expect_failure<UsageError>([&] { OutputFile(cut, {}); }, "contains a null character");
}

}
}
