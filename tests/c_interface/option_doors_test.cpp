#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/option_table.hpp"
#include "cxx/job/same_settings.hpp"
#include "drivers/source_options.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/nwchem_options.hpp"
#include "tests/c_interface/c_interface_test_support.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Each option of the table, set through each door.
namespace trifuse::testing {
namespace {

/// A value that is not the default.
std::string other_value(const CalculationOption& option) {
  switch (option.kind) {
    case CalculationOption::Kind::word:
      return option.values.words[1];
    case CalculationOption::Kind::flag:
      return option.text_in(default_options()) == "true" ? "false" : "true";
    case CalculationOption::Kind::bytes:
      return "3MiB";
    case CalculationOption::Kind::text:
      return "sample";
    case CalculationOption::Kind::integer:
    case CalculationOption::Kind::real:
      break;
  }
  return option.values.most_values > 1 ? "0,1" : "1";
}

/// Options that allow all others.
CalculationOptions mixed_options() {
  CalculationOptions options = default_options();
  options.precision = Precision::mixed;
  return options;
}

/// The text of the option after it was set in a table.
std::string expected_text(const CalculationOption& option) {
  CalculationOptions options = mixed_options();
  option.set_text(options, other_value(option), option.name);
  const std::string text = option.text_in(options);
  EXPECT_NE(text, option.text_in(default_options())) << option.name;
  return text;
}

TEST(OptionDoors, CommandLine) {
  for (const CalculationOption& option : option_table()) {
    const std::string name = option.name_at(Door::program);
    CLI::App run;
    cli::CalculationFlags flags;
    flags.add_to(run, true);
    const CLI::Option* const added = run.get_option_no_throw(name);
    ASSERT_EQ(added != nullptr, option.is_at(Door::program)) << name;
    if (!option.is_at(Door::program)) continue;
    EXPECT_EQ(added->get_description(), option.sentence);
    CLI::App other;
    cli::TableOptions table;
    table.add_to(other, name);
    other.parse(option.kind == CalculationOption::Kind::flag ? name : name + " " + other_value(option));
    CalculationOptions options = mixed_options();
    table.set(options);
    EXPECT_EQ(option.text_in(options), expected_text(option)) << name;
    if (option.kind == CalculationOption::Kind::text || option.kind == CalculationOption::Kind::flag) continue;
    CLI::App wrong;
    cli::TableOptions refusing;
    refusing.add_to(wrong, name);
    wrong.parse(name + " x");
    expect_failure<UsageError>([&] { refusing.set(options); },
                               name + " is \"x\"; it must be " + option.possible_values());
  }
}

TEST(OptionDoors, C) {
  OpenCalculation open((nwchem_data() / "h2o_sto3g_c2v_rhf_two_tasks_t2" / "c").string());
  for (const CalculationOption& option : option_table()) {
    const std::string name = option.name_at(Door::library);
    trifuse_set_option(&open.status, open.calculation, "precision", "mixed");
    expect_success(open.status);
    trifuse_set_option(&open.status, open.calculation, name.c_str(), other_value(option).c_str());
    if (name == "gpus" && open.status.code != TRIFUSE_SUCCESS) continue;  // they are not here
    expect_success(open.status);
    EXPECT_EQ(option.text_in(c_interface::checked(open.calculation)->options), expected_text(option)) << name;
    if (option.kind == CalculationOption::Kind::text) continue;
    trifuse_set_option(&open.status, open.calculation, name.c_str(), "x");
    expect_status(open.status, TRIFUSE_BAD_USAGE, name + " is \"x\"; it must be " + option.possible_values());
  }
  trifuse_set_option(&open.status, open.calculation, "tilesize", "4");
  expect_status(open.status, TRIFUSE_BAD_USAGE, "There is no option tilesize; the nearest name is tile_size.");
  trifuse_set_option(&open.status, open.calculation, "devices", "0");
  expect_status(open.status, TRIFUSE_BAD_USAGE, "There is no option devices");
  trifuse_set_option(&open.status, open.calculation, "colour", "red");
  expect_status(open.status, TRIFUSE_BAD_USAGE, "There is no option colour; the names are method, omega2,");
  trifuse_set_option(&open.status, open.calculation, nullptr, "4");
  expect_status(open.status, TRIFUSE_BAD_USAGE, "is null");
  trifuse_set_option(&open.status, open.calculation, "tile_size", nullptr);
  expect_status(open.status, TRIFUSE_BAD_USAGE, "is null");
}

// One door sets the device first, another one the GPUs.
TEST(OptionDoors, NamedGpusStayWithAnyDeviceThatHasGpus) {
  const CalculationOption &device = *find_option(Door::library, "device"), &gpus = *find_option(Door::library, "gpus");
  for (const std::string name : {"auto", "cuda"}) {
    for (const bool device_last : {false, true}) {
      CalculationOptions options;
      if (!device_last) device.set_text(options, name, "device");
      gpus.set_text(options, "1", "gpus");
      if (device_last) device.set_text(options, name, "device");
      EXPECT_EQ(options.devices, std::vector<int>{1}) << name << ' ' << device_last;
      EXPECT_EQ(options.choose_executor, device_last && name == "auto");
    }
  }
  CalculationOptions options;
  gpus.set_text(options, "1", "gpus");
  device.set_text(options, "cpu", "device");
  EXPECT_TRUE(options.devices.empty());
}

TEST(OptionDoors, Nwchem) {
  const EnvironmentVariable none("TRIFUSE_NWCHEM_DEVICE", nullptr);
  for (const CalculationOption& option : option_table()) {
    const std::string name = option.name, line = name + "=" + other_value(option);
    const auto read = [&](const std::string& lines) { return nwchem::read_options(Door::nwchem_routine, lines); };
    if (!option.is_at(Door::nwchem_routine)) {
      expect_failure<UsageError>([&] { read(line); }, "trifuse:" + name + ", which is not a setting of Trifuse");
      continue;
    }
    EXPECT_EQ(option.text_in(read("precision=mixed\n" + line)), expected_text(option)) << name;
    expect_failure<UsageError>([&] { read(name + "=x"); },
                               "The setting trifuse:" + name + " is \"x\"; it must be " + option.possible_values());
    const std::string variable = option.variable();
    const EnvironmentVariable set(variable.c_str(), other_value(option).c_str());
    EXPECT_EQ(option.text_in(read("precision=mixed")), expected_text(option)) << variable;
  }
}

TEST(OptionDoors, RanksCompare) {
  for (const Door door : {Door::program, Door::library, Door::nwchem_routine}) {
    for (const CalculationOption& option : option_table()) {
      const auto failures = failures_of_ranks(2, [&](Communicator& ranks) {
        JobOptions job;
        job.door = door;
        job.calculation = mixed_options();
        if (ranks.rank() == 1) option.set_text(job.calculation, other_value(option), option.name);
        if (option.name == std::string("precision") && ranks.rank() == 0) job.calculation.precision = Precision::fp64;
        expect_same_options(ranks, job, false);
      });
      for (const std::string& failure : failures) {
        EXPECT_EQ(failure.empty(), !option.same_on_ranks()) << option.name << ": " << failure;
        if (failure.empty()) continue;
        EXPECT_NE(failure.find("the same " + option.name_at(door) + ";"), std::string::npos) << failure;
      }
    }
  }
}

}
}
