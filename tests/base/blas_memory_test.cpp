#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "cxx/base/blas.hpp"

// The address sanitizer reserves more address space than any limit allows.
#if !defined(__SANITIZE_ADDRESS__)

namespace trifuse {
namespace {

constexpr rlim_t mebibyte = rlim_t{1} << 20;

/// Limits the address space to its present size plus `more` bytes.
void limit_address_space(rlim_t more) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{bytes, bytes};
  if (pages == 0 || setrlimit(RLIMIT_AS, &limit) != 0) std::exit(2);
}

/// Allocates all address space that is left, except one mebibyte.
void take_the_rest() {
  void* const kept = mmap(nullptr, mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (std::size_t size = 64 * mebibyte; size >= mebibyte; size /= 2) {
    while (mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) continue;
  }
  munmap(kept, mebibyte);
}

/// Ends the process, with status 0 if a matrix product is right.
void multiply_and_exit() {
  constexpr int n = 200;
  const std::vector<double> ones(std::size_t{n} * n, 1.0);
  std::vector<double> product(ones.size());
  take_the_rest();
  alarm(60);  // the product would wait for memory for ever
  multiply_transposed(n, n, n, ones.data(), n, ones.data(), n, product.data());
  std::exit(product.front() == n && product.back() == n ? 0 : 1);
}

/// Each test runs in a new process. OpenBLAS has no threads there, so it has no buffers at the start.
class BlasMemory : public testing::Test {
 protected:
  BlasMemory() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
  }
};

TEST_F(BlasMemory, StaysThereIfOtherDataTakeTheRestOfALimitedAddressSpace) {
  EXPECT_EXIT(
      {
        limit_address_space(400 * mebibyte);
        use_single_threaded_blas();
        multiply_and_exit();
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(BlasMemory, IsAllocatedOnce) {
  EXPECT_EXIT(
      {
        limit_address_space(400 * mebibyte);
        const int first = threads_with_blas_memory(64, 0);
        take_the_rest();
        std::exit(first >= 1 && first <= 3 && threads_with_blas_memory(first, 0) == first ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(BlasMemory, ThatIsTooSmallIsAnError) {
  EXPECT_EXIT(
      {
        limit_address_space(100 * mebibyte);
        try {
          use_single_threaded_blas();
        } catch (const std::exception& error) {
          std::exit(std::string(error.what()).find("ulimit -v") != std::string::npos ? 0 : 1);
        }
        std::exit(1);
      },
      testing::ExitedWithCode(0), "");
}

}
}

#endif
