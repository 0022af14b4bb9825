#include "cxx/base/free_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

namespace trifuse::testing {
namespace {

constexpr double unlimited = std::numeric_limits<double>::max();

/// Control-group files as the system has them, in a folder of the test.
class ControlGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "trifuse-groups-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void write_group(const std::string& path, const std::string& limit, const std::string& used,
                   const std::string& inactive = "0") const {
    write(path + "/memory.max", limit + "\n");
    write(path + "/memory.current", used + "\n");
    write(path + "/memory.stat", "anon 5\nfile 900\ninactive_file " + inactive + "\nactive_file 3\n");
  }
  double left(const std::string& membership) const {
    write("membership", membership);
    return left_by_control_groups(root_ / "membership", root_);
  }

  std::filesystem::path root_;
};

TEST_F(ControlGroups, AllowWhatTheTightestGroupAllows) {
  write_group(".", "max", "9000");
  write_group("slurm/job_7", "5000", "1000");
  write_group("slurm/job_7/step_0", "max", "1000");
  EXPECT_EQ(left("0::/slurm/job_7/step_0\n"), 4000.0);
  write_group("slurm/job_7/step_0", "3000", "2500");
  EXPECT_EQ(left("0::/slurm/job_7/step_0\n"), 500.0);
  EXPECT_EQ(left("0::/slurm/job_7\n"), 4000.0);
}

TEST_F(ControlGroups, CountFilesInMemoryAsFree) {
  write_group("job", "5000", "4800", "4000");
  EXPECT_EQ(left("0::/job\n"), 4200.0);
  write_group("job", "5000", "6000", "0");
  EXPECT_EQ(left("0::/job\n"), 0.0);
}

TEST_F(ControlGroups, MayBeOfVersion1) {
  write("memory/slurm/job_7/memory.limit_in_bytes", "8000\n");
  write("memory/slurm/job_7/memory.usage_in_bytes", "3000\n");
  write("memory/slurm/job_7/memory.stat", "inactive_file 7\ntotal_inactive_file 1000\n");
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("memory/memory.usage_in_bytes", "123\n");
  EXPECT_EQ(left("9:cpu,cpuacct:/slurm\n4:memory:/slurm/job_7\n0::/\n"), 6000.0);
  EXPECT_EQ(left("4:hugetlb,memory:/slurm/job_7\n"), 6000.0);
}

// In a container, names of groups may be their names outside. The own group of the container is then the root.
TEST_F(ControlGroups, MayBeSeenFromInside) {
  write_group(".", "700", "100");
  EXPECT_EQ(left("0::/docker/0123\n"), 600.0);
}

TEST_F(ControlGroups, MayBeAbsentOrUnlimited) {
  EXPECT_EQ(left_by_control_groups(root_ / "nothing", root_), unlimited);
  EXPECT_EQ(left(""), unlimited);
  EXPECT_EQ(left("nonsense\n0::\n:::::\n"), unlimited);
  write_group(".", "max", "9000");
  EXPECT_EQ(left("0::/job\n"), unlimited);
}

TEST(FreeMemory, IsPositiveOnThisMachine) {
  EXPECT_GT(free_memory(), 0.0);
  EXPECT_LT(free_memory(), 0x1p60);
}

}
}
