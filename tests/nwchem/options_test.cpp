#include "fortran_iface/nwchem_options.hpp"

#include <gtest/gtest.h>

#include "cxx/base/error.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::testing {
namespace {

using nwchem::read_options;

CalculationOptions read_routine(const std::string& lines) {
  return read_options(Door::nwchem_routine, lines);
}

void expect_refused(const std::string& lines, const std::string& part) {
  expect_failure<UsageError>([&] { read_options(Door::nwchem_routine, lines); }, part);
}

/// The tests themselves run with a device chosen in the environment.
class NwchemOptions : public ::testing::Test {
  const EnvironmentVariable device_{"TRIFUSE_NWCHEM_DEVICE", nullptr};
};

TEST_F(NwchemOptions, HaveDefaults) {
  const auto options = read_routine("");
  EXPECT_TRUE(options.choose_executor);
  EXPECT_TRUE(options.omega2.empty());
  EXPECT_FALSE(options.formulation || options.memory || options.tile_size || options.target_error);
  EXPECT_EQ(options.precision, Precision::fp64);
}

TEST_F(NwchemOptions, ComeFromTheInput) {
  const auto options = read_routine(
      "device=cuda\nomega2=0.0,1.0000000000000001E-001,2\nform=spin-orbital\nmemory=1.5GiB\ntile_size=24\n"
      "precision=mixed\ntarget_error=1e-06\n");
  EXPECT_EQ(options.executor, ExecutorKind::cuda);
  EXPECT_FALSE(options.choose_executor);
  EXPECT_EQ(options.omega2, (std::vector<double>{0.0, 0.1, 2.0}));
  EXPECT_EQ(options.formulation, SpinFormulation::spin_orbital);
  EXPECT_EQ(options.memory, std::int64_t{3} << 29);
  EXPECT_EQ(options.tile_size, 24);
  EXPECT_EQ(options.precision, Precision::mixed);
  EXPECT_EQ(options.target_error, 1e-6);
}

TEST_F(NwchemOptions, OfTheEnvironmentOverrule) {
  const EnvironmentVariable device("TRIFUSE_NWCHEM_DEVICE", "cpu"), omega2("TRIFUSE_OMEGA2", "0.3"),
      formulation("TRIFUSE_FORM", "spin-adapted"), memory("TRIFUSE_MEMORY", "20GB"), size("TRIFUSE_TILE_SIZE", "8");
  const auto options = read_routine("device=cuda\nomega2=0.5\nform=nonsense\nmemory=1G\ntile_size=24\n");
  EXPECT_TRUE(nwchem::asks_for_cores(options));
  EXPECT_TRUE(nwchem::asks_for_cores(read_routine("")));
  EXPECT_EQ(options.omega2, std::vector<double>{0.3});
  EXPECT_EQ(options.formulation, SpinFormulation::spin_adapted);
  EXPECT_EQ(options.memory, 20'000'000'000);
  EXPECT_EQ(options.tile_size, 8);
}

TEST_F(NwchemOptions, AreCheckedAsWholes) {
  for (const char* value : {"", "CPU", "cpu ", "gpu", "cuda:0"}) {
    expect_refused(std::string("device=") + value, "The setting trifuse:device is \"" + std::string(value) + "\"");
    const EnvironmentVariable variable("TRIFUSE_NWCHEM_DEVICE", value);
    expect_refused("", "TRIFUSE_NWCHEM_DEVICE is \"" + std::string(value) + "\"; it must be auto, cpu or cuda");
  }
  for (const char* value : {"", "fp64", "Mixed"}) {
    expect_refused(std::string("precision=") + value, "it must be double or mixed");
  }
  for (const char* value : {"", "0", "-1e-6", "2", "nan", "1e-6 Eh"}) {
    expect_refused(std::string("target_error=") + value,
                   "it must be an error bar in hartree, more than 0 and at most 1");
  }
  for (const char* value : {"", "0.1,", ",0.1", "0.1 0.2", "0.1x", "-0.1", "inf", "nan", "1e999"}) {
    expect_refused(std::string("omega2=") + value,
                   "it must be values in hartree, 0 to 1000000, with commas between them");
  }
  for (const char* value : {"", "rhf", "spin-adapted,", "Auto"})
    expect_refused(std::string("form=") + value, "auto, spin-orbital");
  for (const char* value : {"", "0", "-1G", "GiB", "12 GiB", "1 parsec"}) {
    expect_refused(std::string("memory=") + value, "an amount of memory");
  }
  for (const char* value : {"", "0", "-4", "4.5", "12a", "99999999999999999999"}) {
    expect_refused(std::string("tile_size=") + value, "it must be a number of orbitals, 1 to 1048576");
  }
  expect_refused("target_error=1e-6",
                 "A target error is for mixed precision; give trifuse:precision mixed, or leave it out");
  expect_refused("device", "write name=value");
}

TEST_F(NwchemOptions, AreRefusedByTheirNames) {
  expect_refused("threads=4",
                 "NWChem's input has set trifuse:threads, which is not a setting of Trifuse; the names are "
                 "trifuse:omega2, trifuse:form");
  expect_refused("omega=0.1", "trifuse:omega, which is not a setting of Trifuse; the nearest name is trifuse:omega2.");
  expect_refused("tilesize=4", "the nearest name is trifuse:tile_size.");
  expect_refused("trifuse_form=auto",
                 "set trifuse_form, which is not a setting of Trifuse; the nearest name is trifuse:form.");
  expect_refused("TRIFUSE:omega2=0.1", "set TRIFUSE:omega2, which is not a setting of Trifuse");
  expect_refused("trifuse=1", "set trifuse, which");
}

TEST_F(NwchemOptions, ShowValuesAsAUserWritesThem) {
  expect_refused("tile_size=2.4500000000000000E+001", "The setting trifuse:tile_size is \"24.5\"; it must be a number");
  EXPECT_EQ(read_routine("tile_size=2.4000000000000000E+001").tile_size, 24);
  expect_refused("precision=true", "The setting trifuse:precision is \"true\"; it must be double or mixed");
  expect_refused("tile_size=3,4", "The setting trifuse:tile_size is \"3,4\"");
  EXPECT_EQ(read_routine("omega2=1,2").omega2, (std::vector<double>{1.0, 2.0}));
}

TEST_F(NwchemOptions, ThatADoorDoesNotFollowAreRefused) {
  for (const char* name : {"TRIFUSE_OMEGA2", "TRIFUSE_PRECISION", "TRIFUSE_FORM", "TRIFUSE_TILE_SIZE",
                           "TRIFUSE_TARGET_ERROR", "TRIFUSE_TRUST_INPUT", "TRIFUSE_SILENCE_SECONDS"}) {
    const EnvironmentVariable variable(name, "1");
    expect_failure<UsageError>([] { read_options(Door::nwchem_symbols, ""); },
                               "The environment variable " + std::string(name) + " is set, but NWChem's symbols");
  }
  const EnvironmentVariable memory("TRIFUSE_MEMORY", "1GiB");
  EXPECT_EQ(read_options(Door::nwchem_symbols, "").memory, std::int64_t{1} << 30);
  const EnvironmentVariable slip("TRIFUSE_OMEGA", "0.1"), folder("TRIFUSE_ROOT", "/opt");
  for (const Door door : {Door::nwchem_symbols, Door::nwchem_routine}) {
    expect_failure<UsageError>([&] { read_options(door, ""); }, "did you mean TRIFUSE_OMEGA2?");
  }
}

TEST_F(NwchemOptions, MustBeTheDefaultsForTheCodeOfNwchem) {
  nwchem::expect_only_defaults("omega2=0.0\nmemory=1GiB\ntile_size=4\ndevice=cpu\nprecision=double\n");
  for (const char* lines : {"omega2=0.1", "omega2=0,0.1", "precision=mixed", "device=cuda"}) {
    expect_failure<UsageError>([&] { nwchem::expect_only_defaults(lines); },
                               "NWChem's CPU code would compute (T), because Trifuse reads only memory");
  }
  const EnvironmentVariable omega2("TRIFUSE_OMEGA2", "0.1");
  expect_failure<UsageError>([] { nwchem::expect_only_defaults(""); }, "does not follow trifuse:omega2");
}

TEST_F(NwchemOptions, AreNamedInTheWordsOfTheInput) {
  EXPECT_EQ(in_words_of(Door::nwchem_routine, "use a larger --tile-size, or with --precision mixed fewer --threads."),
            "use a larger trifuse:tile_size, or with trifuse:precision mixed fewer OMP_NUM_THREADS.");
  EXPECT_EQ(in_words_of(Door::nwchem_routine, "--devices names GPU 0 twice; leave --left out."),
            "trifuse:device names GPU 0 twice; leave --left out.");
  EXPECT_EQ(in_words_of(Door::library, "--memory allows 1 KiB; give --memory 2KiB, or the other side (--left)."),
            "memory allows 1 KiB; give memory 2KiB, or the other side (left).");
  for (const std::string same : {"There is no file --dump.h5; trifuse --version and trifuse --journal print it.",
                                 "x--memory 1, --memory=2, --memory_3 -- and \"--memory\" stay.", "--"}) {
    EXPECT_EQ(in_words_of(Door::library, same), same);
  }
  EXPECT_EQ(in_words_of(Door::program, "give --memory 2KiB."), "give --memory 2KiB.");
}

}
}
