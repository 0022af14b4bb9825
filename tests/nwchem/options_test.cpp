#include "fortran_iface/nwchem_options.hpp"

#include <gtest/gtest.h>

#include "cxx/base/error.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::testing {
namespace {

using nwchem::Device;
using nwchem::read_options;

void expect_refused(const std::string& lines, const std::string& part) {
  expect_failure<UsageError>([&] { read_options(lines); }, part);
}

/// The tests themselves run with a device chosen in the environment.
class NwchemOptions : public ::testing::Test {
  const EnvironmentVariable device_{"TRIFUSE_NWCHEM_DEVICE", nullptr};
};

TEST_F(NwchemOptions, HaveDefaults) {
  const auto options = read_options("");
  EXPECT_EQ(options.device, Device::automatic);
  EXPECT_EQ(options.omega2, std::vector<double>{0.0});
  EXPECT_FALSE(options.formulation || options.memory || options.tile_size || options.target_error);
  EXPECT_EQ(options.precision, Precision::fp64);
}

TEST_F(NwchemOptions, ComeFromTheInput) {
  const auto options = read_options(
      "device=cuda\nomega2=0.0,1.0000000000000001E-001,2\nform=spin-orbital\nmemory=1.5GiB\ntile_size=24\n"
      "precision=mixed\ntarget_error=1e-06\n");
  EXPECT_EQ(options.device, Device::cuda);
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
  const auto options = read_options("device=cuda\nomega2=0.5\nform=nonsense\nmemory=1G\ntile_size=24\n");
  EXPECT_EQ(options.device, Device::cpu);
  EXPECT_EQ(read_options("").device, Device::cpu);
  EXPECT_EQ(options.omega2, std::vector<double>{0.3});
  EXPECT_EQ(options.formulation, SpinFormulation::spin_adapted);
  EXPECT_EQ(options.memory, 20'000'000'000);
  EXPECT_EQ(options.tile_size, 8);
}

TEST_F(NwchemOptions, AreCheckedAsWholes) {
  for (const char* value : {"", "CPU", "cpu ", "gpu", "cuda:0"}) {
    expect_refused(std::string("device=") + value, "The setting trifuse:device is \"" + std::string(value) + "\"");
    const EnvironmentVariable variable("TRIFUSE_NWCHEM_DEVICE", value);
    expect_refused("", "TRIFUSE_NWCHEM_DEVICE is \"" + std::string(value) + "\"; it may be auto, cpu or cuda");
  }
  for (const char* value : {"", "fp64", "Mixed"}) {
    expect_refused(std::string("precision=") + value, "it may be double or mixed");
  }
  for (const char* value : {"", "0", "-1e-6", "2", "nan", "1e-6 Eh"}) {
    expect_refused(std::string("target_error=") + value, "write more than 0 and at most 1, in hartree");
  }
  for (const char* value : {"", "0.1,", ",0.1", "0.1 0.2", "0.1x", "-0.1", "inf", "nan", "1e999"}) {
    expect_refused(std::string("omega2=") + value, "write one value or several with commas");
  }
  for (const char* value : {"", "rhf", "spin-adapted,", "Auto"})
    expect_refused(std::string("form=") + value, "auto, spin-orbital");
  for (const char* value : {"", "0", "-1G", "GiB", "12 GiB", "1 parsec"}) {
    expect_refused(std::string("memory=") + value, "an amount of memory");
  }
  for (const char* value : {"", "0", "-4", "4.5", "12a", "99999999999999999999"}) {
    expect_refused(std::string("tile_size=") + value, "a number of orbitals");
  }
  expect_refused("threads=4", "There is no setting trifuse:threads");
  expect_refused("device", "write name=value");
}

}  // namespace
}  // namespace trifuse::testing
