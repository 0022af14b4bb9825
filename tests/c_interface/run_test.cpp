#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cxx/base/blas.hpp"
#include "tests/c_interface/c_interface_test_support.hpp"
#include "tests/c_interface/dense_arrays.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

const std::string water = (nwchem_data() / "h2o_sto3g_c2v_rhf_two_tasks_t2" / "c").string();

std::string report_of(trifuse_calculation calculation) {
  trifuse_status status;
  const std::int64_t size = trifuse_get_report(&status, calculation, 0, nullptr);
  expect_success(status);
  std::string text(static_cast<std::size_t>(size), 'x');
  EXPECT_EQ(trifuse_get_report(&status, calculation, size, text.data()), size);
  expect_success(status);
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  return text;
}

TEST(Run, ResultsOfARun) {
  OpenCalculation calculation(water);
  trifuse_status status;
  trifuse_get_report(&status, calculation.calculation, 0, nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, "There is no report; run the calculation first.");
  const double energy = calculation.energy();
  double bracket = 0.0, paren = 0.0, sum = 0.0;
  for (const std::int32_t spin_case : {TRIFUSE_AAA, TRIFUSE_AAB, TRIFUSE_ABB, TRIFUSE_BBB}) {
    trifuse_get_spin_case(&status, calculation.calculation, 0, spin_case, &bracket, &paren);
    expect_success(status);
    sum += paren;
  }
  EXPECT_NEAR(sum, energy, 1e-16);
  trifuse_get_spin_case(&status, calculation.calculation, 0, 4, &bracket, &paren);
  expect_status(status, TRIFUSE_BAD_USAGE, "trifuse_spin_case");
  char method[TRIFUSE_MESSAGE_LENGTH];
  trifuse_get_method(&status, calculation.calculation, 0, method);
  expect_success(status);
  EXPECT_STREQ(method, "CCSD(T)");
  const double total = trifuse_get_total_energy(&status, calculation.calculation, 0);
  expect_success(status);
  trifuse_get_total_energy(&status, calculation.calculation, 1);
  expect_status(status, TRIFUSE_BAD_USAGE, "The last run has 1 energies, and none with this number");

  const nlohmann::json report = nlohmann::json::parse(report_of(calculation.calculation));
  EXPECT_EQ(report["report"], "run");
  EXPECT_EQ(report["energies"][0]["E(T)"].get<double>(), energy);
  EXPECT_EQ(report["energies"][0]["ccsd_t_energy"].get<double>(), total);
  EXPECT_EQ(report["ccsd_energy"].get<double>() + energy, total);
  EXPECT_EQ(report["checks"][0]["name"], "CCSD energy");
  EXPECT_EQ(report["checks"][0]["status"], "passed");
  EXPECT_TRUE(report["warnings"].empty());
  char beginning[6];
  EXPECT_GT(trifuse_get_report(&status, calculation.calculation, sizeof beginning, beginning), 100);
  EXPECT_EQ(std::string(beginning), report_of(calculation.calculation).substr(0, 5));
  trifuse_get_report(&status, calculation.calculation, 10, nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, "null");
}

TEST(Run, MixedPrecisionHasErrorBars) {
  OpenCalculation open((nwchem_data() / "ch2_631g_c1_uhf_t3" / "c").string());
  trifuse_status status;
  double bracket = 1.0, paren = 1.0;
  trifuse_set_tile_size(&status, open.calculation, 2);
  const double exact = open.energy();
  trifuse_get_error_bar(&status, open.calculation, 0, &bracket, &paren);
  expect_success(status);
  EXPECT_EQ(bracket, 0.0);
  EXPECT_EQ(paren, 0.0);
  trifuse_get_uncorrected_energy(&status, open.calculation, 0, nullptr, &paren);
  EXPECT_EQ(paren, exact);
  trifuse_set_target_error(&status, open.calculation, 1e-9);
  expect_status(status, TRIFUSE_BAD_USAGE, "A target error is for mixed precision");
  trifuse_set_precision(&status, open.calculation, 2);
  expect_status(status, TRIFUSE_BAD_USAGE, "trifuse_precision");

  trifuse_set_precision(&status, open.calculation, TRIFUSE_PRECISION_MIXED);
  expect_success(status);
  trifuse_set_target_error(&status, open.calculation, 1e-9);
  expect_success(status);
  const double mixed = open.energy();
  EXPECT_NE(mixed, exact);
  EXPECT_NEAR(mixed, exact, 1e-9);
  trifuse_get_error_bar(&status, open.calculation, 0, &bracket, &paren);
  for (const double bar : {bracket, paren}) {
    EXPECT_GT(bar, 0.0);
    EXPECT_LE(bar, 1e-9);
  }
  trifuse_get_uncorrected_energy(&status, open.calculation, 0, &bracket, &paren);
  expect_success(status);
  EXPECT_GT(std::abs(paren - exact), std::abs(mixed - exact));
  const nlohmann::json report = nlohmann::json::parse(report_of(open.calculation));
  EXPECT_EQ(report["settings"]["precision"], "mixed");
  EXPECT_EQ(report["energies"][0]["uncorrected"]["E(T)"].get<double>(), paren);
  trifuse_get_error_bar(&status, open.calculation, 1, nullptr, nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, "The last run has 1 energies, and none with this number");
  // Double precision removes the target error.
  trifuse_set_precision(&status, open.calculation, TRIFUSE_PRECISION_DOUBLE);
  expect_success(status);
  EXPECT_EQ(open.energy(), exact);
}

TEST(Run, TotalEnergiesThatAreNotKnown) {
  trifuse_status status;
  trifuse_amplitudes file = trifuse_open_amplitudes(&status, water.c_str());
  const Description description(file);
  trifuse_amplitudes blocks = trifuse_new_amplitudes(&status, &description.all, read_from, file);
  OpenCalculation calculation(blocks);
  calculation.energy();
  EXPECT_TRUE(std::isnan(trifuse_get_total_energy(&status, calculation.calculation, 0)));
  expect_success(status);
  trifuse_delete_amplitudes(&blocks);
  trifuse_delete_amplitudes(&file);
}

struct Messages {
  std::vector<std::string> information, warnings;
};
void keep(void* context, std::int32_t level, const char* line) {
  auto& messages = *static_cast<Messages*>(context);
  (level == TRIFUSE_LOG_WARNING ? messages.warnings : messages.information).emplace_back(line);
}

TEST(Run, MessagesOfARun) {
  OpenCalculation calculation(water);
  trifuse_status status;
  Messages messages;
  trifuse_set_log(&status, calculation.calculation, keep, &messages);
  expect_success(status);
  calculation.energy();
  EXPECT_TRUE(messages.warnings.empty());
  ASSERT_GE(messages.information.size(), 5u);
  EXPECT_TRUE(messages.information[0].starts_with("Input ")) << messages.information[0];
  for (const std::string& line : messages.information) EXPECT_EQ(line.find('\n'), std::string::npos);
  // The advice depends on the processor.
  const bool advice = messages.information.back().find("set OPENBLAS_CORETYPE=") != std::string::npos;
  EXPECT_EQ(advice, !better_openblas_kernels().empty());
  std::string report(static_cast<std::size_t>(trifuse_get_report(&status, calculation.calculation, 0, nullptr)), '\0');
  trifuse_get_report(&status, calculation.calculation, std::ssize(report), report.data());
  EXPECT_EQ(report.find("\"blas_advice\"") != std::string::npos, advice);
  const std::size_t lines = messages.information.size();
  trifuse_set_log(&status, calculation.calculation, nullptr, nullptr);
  calculation.energy();
  EXPECT_EQ(messages.information.size(), lines);
}

TEST(Run, WithoutACheckTheResultSaysSo) {
  OpenCalculation good(water);
  const double expected = good.energy();
  trifuse_status status;
  Description description(good.amplitudes);
  description.all.correlation_energy = -0.125;  // that of another run
  trifuse_amplitudes blocks = trifuse_new_amplitudes(&status, &description.all, read_from, good.amplitudes);
  OpenCalculation calculation(blocks);
  trifuse_run(&status, calculation.calculation);
  expect_status(status, TRIFUSE_BAD_INPUT, "CCSD correlation energy");
  trifuse_set_check(&status, calculation.calculation, 2);
  expect_status(status, TRIFUSE_BAD_USAGE, "check must be 0 or 1");
  trifuse_set_check(&status, calculation.calculation, 0);
  Messages messages;
  trifuse_set_log(&status, calculation.calculation, keep, &messages);
  EXPECT_EQ(calculation.energy(), expected);
  const std::string sentence =
      "the calling program: the numbers were not checked, as the calling program asked; wrong numbers give wrong "
      "energies.";
  ASSERT_EQ(trifuse_warning_count(&status, calculation.calculation), 1);
  char warning[TRIFUSE_MESSAGE_LENGTH];
  trifuse_get_warning(&status, calculation.calculation, 0, warning);
  EXPECT_EQ(warning, sentence);
  EXPECT_EQ(messages.warnings, std::vector{sentence});
  const nlohmann::json report = nlohmann::json::parse(report_of(calculation.calculation));
  EXPECT_EQ(report["warnings"], nlohmann::json::array({sentence}));
  EXPECT_TRUE(report["checks"].empty());
  trifuse_set_check(&status, calculation.calculation, 1);
  trifuse_run(&status, calculation.calculation);
  expect_status(status, TRIFUSE_BAD_INPUT, "CCSD correlation energy");
  trifuse_delete_amplitudes(&blocks);
}

/// What a progress function has seen, and when it cancels.
struct Follower {
  double cancel_after = std::numeric_limits<double>::infinity();  ///< seconds after the first task has ended
  Clock::time_point tasks_begun{};
  double done_at_cancellation = -1.0;
  std::vector<std::pair<double, double>> seen;
};
std::int32_t follow(void* context, double done, double total) {
  auto& follower = *static_cast<Follower*>(context);
  if (done > 0.0 && follower.tasks_begun == Clock::time_point{}) follower.tasks_begun = Clock::now();
  follower.seen.emplace_back(done, total);
  const bool cancel =
      follower.cancel_after < 0.0 || (done > 0.0 && seconds_since(follower.tasks_begun) >= follower.cancel_after);
  if (cancel && follower.done_at_cancellation < 0.0) follower.done_at_cancellation = done;
  return cancel ? 1 : 0;
}

TEST(Run, ProgressBeginsAtZeroAndEndsWithAllOperations) {
  OpenCalculation calculation(water);
  trifuse_status status;
  Follower follower;
  trifuse_set_progress(&status, calculation.calculation, follow, &follower);
  expect_success(status);
  calculation.energy();
  ASSERT_GE(follower.seen.size(), 2u);
  EXPECT_EQ(follower.seen.front(), std::pair(0.0, 0.0));
  EXPECT_GT(follower.seen.back().second, 0.0);
  EXPECT_DOUBLE_EQ(follower.seen.back().first, follower.seen.back().second);
  EXPECT_TRUE(std::is_sorted(follower.seen.begin(), follower.seen.end()));
}

/// A progress function that uses its own calculation.
struct Meddler {
  trifuse_calculation calculation = nullptr;
  std::vector<trifuse_status> seen;
};
std::int32_t meddle(void* context, double, double) {
  auto& meddler = *static_cast<Meddler*>(context);
  const double omega2 = 0.1;
  for (int call = 0; call < 3; ++call) {
    trifuse_status& status = meddler.seen.emplace_back();
    if (call == 0) trifuse_run(&status, meddler.calculation);
    if (call == 1) trifuse_set_omega2(&status, meddler.calculation, 1, &omega2);
    if (call == 2) trifuse_energy_count(&status, meddler.calculation);
  }
  return 0;
}

TEST(Run, ItsProgressFunctionCannotUseTheCalculation) {
  OpenCalculation calculation(water);
  const double expected = calculation.energy();
  trifuse_status status;
  Meddler meddler{calculation.calculation, {}};
  trifuse_set_progress(&status, calculation.calculation, meddle, &meddler);
  EXPECT_EQ(calculation.energy(), expected);
  ASSERT_GE(meddler.seen.size(), 6u);
  for (const trifuse_status& seen : meddler.seen) {
    expect_status(seen, TRIFUSE_BAD_USAGE, "This calculation is running; its progress function");
  }
}

TEST(Run, RefusesSettingsOfTheEnvironmentThatTheLibraryDoesNotFollow) {
  const EnvironmentVariable variable("TRIFUSE_OMEGA2", "0.1");
  OpenCalculation calculation(water);
  trifuse_status status;
  trifuse_run(&status, calculation.calculation);
  expect_status(status, TRIFUSE_BAD_USAGE, "TRIFUSE_OMEGA2 is set, but calls of the library do not follow it");
}

TEST(Run, ACancelledRunCanRunAgain) {
  OpenCalculation calculation(water);
  const double expected = calculation.energy();
  trifuse_status status;
  Follower follower;
  follower.cancel_after = -1.0;
  trifuse_set_progress(&status, calculation.calculation, follow, &follower);
  trifuse_run(&status, calculation.calculation);
  expect_status(status, TRIFUSE_CANCELLED, "The calling program cancelled the run");
  EXPECT_EQ(trifuse_energy_count(&status, calculation.calculation), 0);
  trifuse_set_progress(&status, calculation.calculation, nullptr, nullptr);
  EXPECT_EQ(calculation.energy(), expected);
}

/// A progress function in C++ that throws when all is done.
std::int32_t throw_at_the_end(void*, double done, double total) {
  if (done == total && total > 0.0) throw std::runtime_error("The window was closed.");
  return 0;
}

TEST(Run, ThatItsProgressFunctionEndsByAnExceptionHasNoResults) {
  OpenCalculation calculation(water);
  const double expected = calculation.energy();
  trifuse_status status;
  trifuse_set_progress(&status, calculation.calculation, throw_at_the_end, nullptr);
  trifuse_run(&status, calculation.calculation);
  expect_status(status, TRIFUSE_FAILED, "The window was closed");
  EXPECT_EQ(trifuse_energy_count(&status, calculation.calculation), 0);
  trifuse_get_report(&status, calculation.calculation, 0, nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, "There is no report");
  trifuse_set_progress(&status, calculation.calculation, nullptr, nullptr);
  EXPECT_EQ(calculation.energy(), expected);
}

/// A molecule of made-up numbers that takes many seconds. Its energy is zero, because its integrals are.
RawDump long_run() {
  constexpr std::int64_t o = 12, v = 96;
  RawDump dump;
  const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape) size *= extent;
    dump.datasets[name] = {std::move(shape), std::vector<double>(static_cast<std::size_t>(size), 0.0)};
  };
  add("eps_occ", {o});
  add("eps_vir", {v});
  for (double& x : dump.datasets["eps_occ"].values) x = -1.0;
  for (double& x : dump.datasets["eps_vir"].values) x = 1.0;
  add("t1", {o, v});
  add("t2", {o, o, v, v});
  add("ovvv", {o, v, v, v});
  add("ovoo", {o, v, o, o});
  add("ovov", {o, v, o, v});
  return dump;
}

TEST(Run, ALongRunEndsSoonAfterItIsCancelled) {
  const RawDump dump = long_run();
  const HeldArrays held(dump, HeldArrays::Layout::c_order);
  const DenseDescription description(held, TRIFUSE_RHF);
  trifuse_status status;
  trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status, &description.all);
  expect_success(status);
  OpenCalculation calculation(amplitudes);
  trifuse_delete_amplitudes(&amplitudes);
  const TemporaryFolder folder;
  const std::string journal = (folder.path() / "journal").string();
  trifuse_set_journal(&status, calculation.calculation, journal.c_str());
  Follower follower;
  follower.cancel_after = 0.2;
  trifuse_set_progress(&status, calculation.calculation, follow, &follower);
  trifuse_run(&status, calculation.calculation);
  expect_status(status, TRIFUSE_CANCELLED, "a run with the journal " + journal + " resumes it.");
  // Tasks that have begun are finished, and no others begin. Seconds would depend on what else the machine does.
  int tasks_done = 0, tasks = 0;
  ASSERT_EQ(std::sscanf(status.message, "The calling program cancelled the run after %d of %d", &tasks_done, &tasks),
            2);
  const auto [done, total] = follower.seen.back();
  EXPECT_LT(tasks_done, (follower.done_at_cancellation / total + 0.25) * tasks);

  // The journal has the finished tasks.
  Follower second;
  second.cancel_after = 0.0;
  trifuse_set_progress(&status, calculation.calculation, follow, &second);
  trifuse_run(&status, calculation.calculation);
  expect_status(status, TRIFUSE_CANCELLED, "cancelled the run after");
  EXPECT_GE(second.seen.back().first, done);
}

}
}
