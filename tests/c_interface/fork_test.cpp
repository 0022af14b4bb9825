#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "c_interface_test_support.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/expected_energies.hpp"

/// A forked process does not have the threads of its parent. CTest runs each of these tests in its own process.
namespace trifuse::testing {
namespace {

std::string water_prefix() {
  return (pyscf_data() / "h2o_631g_rhf.h5").string();
}

double computed() {
  OpenCalculation open(water_prefix());
  return open.energy();
}

/// Runs `body` in a child process and returns its result. Kills the child and returns -1 if it takes too long.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int how = 0;
  EXPECT_EQ(waitpid(child, &how, 0), child);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

TEST(Fork, AfterAComputationIsAnErrorInTheChildAndNoneInTheParent) {
  OpenCalculation open(water_prefix());
  const double expected = open.energy();
  const int failures = in_child([&] {
    int count = 0;
    trifuse_status status;
    const auto refused = [&] {
      const bool right = status.code == TRIFUSE_BAD_SYSTEM && std::strstr(status.message, "forked") != nullptr;
      if (!right) std::printf("%d %s\n", status.code, status.message);
      count += right ? 0 : 1;
    };
    trifuse_run(&status, open.calculation);
    refused();
    trifuse_open_amplitudes(&status, water_prefix().c_str());
    refused();
    // Calls that do not compute work.
    trifuse_tile_count(&status, open.amplitudes);
    count += status.code == TRIFUSE_SUCCESS ? 0 : 1;
    trifuse_set_threads(&status, open.calculation, 1);
    count += status.code == TRIFUSE_SUCCESS ? 0 : 1;
    trifuse_run(&status, open.calculation);
    refused();
    return count;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(open.energy(), expected);
  EXPECT_EQ(computed(), expected);
}

TEST(Fork, BeforeAnythingIsComputedWorks) {
  // In another process, because other tests may have computed in this one.
  const char* const variable = "TRIFUSE_TEST_NOTHING_COMPUTED";
  if (std::getenv(variable) == nullptr) {
    const EnvironmentVariable fresh(variable, "1");
    EXPECT_EQ(in_child([] {
                execl("/proc/self/exe", "c_interface_tests", "--gtest_filter=Fork.BeforeAnythingIsComputedWorks",
                      nullptr);
                return 1;
              }),
              0);
    return;
  }
  const double known = -0.0009964233793578266;
  EXPECT_EQ(in_child([&] { return std::abs(computed() - known) < 1e-10 ? 0 : 1; }), 0);
  EXPECT_NEAR(computed(), known, 1e-10);
}

}
}
