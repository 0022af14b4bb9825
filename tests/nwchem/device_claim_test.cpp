#include "cxx/nwchem/device_claim.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace trifuse::testing {
namespace {

/// The result of claim_device() in another process, which then ends.
bool claimed_by_another_process(const std::string& identity) {
  const pid_t child = fork();
  if (child == 0) _exit(claim_device(identity) ? 1 : 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

TEST(DeviceClaim, IsOfOneProcessUntilItEnds) {
  const std::string identity = "GPU-of-test-" + std::to_string(getpid());
  EXPECT_TRUE(claimed_by_another_process(identity));
  EXPECT_TRUE(claim_device(identity));
  EXPECT_TRUE(claim_device(identity)) << "a second calculation of the same process";
  const std::string longer = identity + "-and-more";
  EXPECT_TRUE(claim_device(longer));
}

TEST(DeviceClaim, IsRefusedToOtherProcesses) {
  const std::string identity = "GPU-of-other-test-" + std::to_string(getpid());
  int told[2] = {-1, -1}, end[2] = {-1, -1};
  ASSERT_EQ(pipe(told), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t other = fork();
  if (other == 0) {
    close(end[1]);
    char word = claim_device(identity) ? 'y' : 'n';
    const bool written = write(told[1], &word, 1) == 1;
    while (read(end[0], &word, 1) > 0) {
    }
    _exit(written ? 0 : 1);
  }
  close(end[0]);
  char word = 'n';
  ASSERT_EQ(read(told[0], &word, 1), 1);
  EXPECT_EQ(word, 'y');
  EXPECT_FALSE(claim_device(identity));
  close(end[1]);
  int status = 1;
  EXPECT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(claim_device(identity)) << "the other process has ended";
  close(told[0]);
  close(told[1]);
}

}
}
