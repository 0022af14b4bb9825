#include "cxx/calculation/environment_settings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cxx/base/error.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::testing {
namespace {

void expect_program_refuses(const std::string& part) {
  expect_failure<UsageError>(
      [] {
        refuse_settings_of_other_doors(Door::program, "run", {"omega2", "tile-size", "threads", "journal"}, {});
      },
      part);
}

TEST(EnvironmentSettings, OfNwchemAreRefusedByTheProgram) {
  const EnvironmentVariable omega2("TRIFUSE_OMEGA2", "0.1");
  expect_program_refuses("TRIFUSE_OMEGA2 is set, but `trifuse run` does not follow it; give --omega2, and unset");
  // Also if the option is given: the variable may have been meant.
  EXPECT_THROW(refuse_settings_of_other_doors(Door::program, "run", {"omega2"}, {"omega2"}), UsageError);
  expect_failure<UsageError>([] { refuse_settings_of_other_doors(Door::program, "plan"); },
                             "TRIFUSE_OMEGA2 is set, but `trifuse plan` has no such setting; unset the variable.");
  expect_failure<UsageError>([] { refuse_settings_of_other_doors(Door::library); }, "pass the setting to the call");
  refuse_settings_of_other_doors(Door::nwchem_routine);
}

TEST(EnvironmentSettings, WithNamesOfOptionsAreRefused) {
  const EnvironmentVariable threads("TRIFUSE_THREADS", "2");
  expect_program_refuses("TRIFUSE_THREADS is set, but `trifuse run` does not follow it; give --threads");
  // A script that passes its own variable on.
  refuse_settings_of_other_doors(Door::program, "run", {"threads"}, {"threads"});
  refuse_settings_of_other_doors(Door::library);
}

TEST(EnvironmentSettings, WithSlipsInTheirNamesAreRefused) {
  for (const char* name : {"TRIFUSE_OMEGA", "TRIFUSE_OMGEA2", "TRIFUSE_TILESIZE", "TRIFUSE_PRECISON"}) {
    const EnvironmentVariable slip(name, "1");
    expect_program_refuses(std::string(name) +
                           " is set, but Trifuse has no setting of this name; did you mean TRIFUSE_");
    EXPECT_THROW(refuse_settings_of_other_doors(Door::nwchem_routine), UsageError);
  }
}

TEST(EnvironmentSettings, OfScriptsAndModulesAreNotLookedAt) {
  for (const char* name :
       {"TRIFUSE", "TRIFUSE_ROOT", "TRIFUSE_DIR", "TRIFUSE_HOME", "TRIFUSE_VERSION", "TRIFUSE_LIBRARY",
        "TRIFUSE_PYTHON", "TRIFUSE_FETCH", "TRIFUSE_TEST_DATA", "TRIFUSE_NWCHEM_DEVICE"}) {
    const EnvironmentVariable other(name, "x");
    refuse_settings_of_other_doors(Door::program, "run", {"omega2", "tile-size"}, {});
    refuse_settings_of_other_doors(Door::library);
    refuse_settings_of_other_doors(Door::nwchem_symbols);
  }
}

TEST(EnvironmentSettings, OfTheCacheAreAllowedAtEveryDoor) {
  const EnvironmentVariable cache("TRIFUSE_CACHE", "/somewhere");
  for (const Door door : {Door::program, Door::library, Door::nwchem_routine, Door::nwchem_symbols})
    refuse_settings_of_other_doors(door, "bench");
  const EnvironmentVariable slip("TRIFUSE_CACH", "/somewhere");
  expect_program_refuses("did you mean TRIFUSE_CACHE?");
}

TEST(EnvironmentSettings, SilenceIsANumberOfSeconds) {
  EXPECT_EQ(silence_seconds(), 120.0);
  for (const auto& [text, seconds] : {std::pair{"0", 0.0}, {"2.5", 2.5}, {"1e9", 1e6}}) {
    const EnvironmentVariable variable("TRIFUSE_SILENCE_SECONDS", text);
    EXPECT_EQ(silence_seconds(), seconds);
  }
  for (const char* text : {"", "x", "2 minutes", "-1", "nan", "inf", "3s"}) {
    const EnvironmentVariable variable("TRIFUSE_SILENCE_SECONDS", text);
    expect_failure<UsageError>([] { silence_seconds(); },
                               "TRIFUSE_SILENCE_SECONDS is \"" + std::string(text) + "\"; write a number of seconds");
  }
}

}
}
