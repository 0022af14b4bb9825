#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/support/broken_device.hpp"

/// A library to be loaded before a program's own (LD_PRELOAD): once the file TRIFUSE_TEST_BREAKS_AFTER has more than
/// TRIFUSE_TEST_BREAKS_BYTES bytes, the GPUs that the rank TRIFUSE_TEST_BREAKS_RANK of a job computes with fail.
namespace {

using namespace trifuse::testing;

std::string_view variable(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : std::string_view();
}

/// Whether this process has something on a device.
bool uses_device(int number) {
  const auto state = driver_function<int(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int active = 0;
  return state != nullptr && state(number, &flags, &active) == 0 && active != 0;
}

void* wait_and_break(void*) {
  const std::string_view file = variable("TRIFUSE_TEST_BREAKS_AFTER");
  const long long bytes = std::atoll(variable("TRIFUSE_TEST_BREAKS_BYTES").data());
  struct stat found {};
  constexpr unsigned pause_us = 1000;
  while (stat(file.data(), &found) != 0 || found.st_size <= bytes) usleep(pause_us);
  constexpr int max_devices = 64;
  for (int number = 0; number < max_devices; ++number) {
    if (!uses_device(number)) continue;
    std::fprintf(stderr, "GPU %d broken: %d\n", number, break_device(number));
  }
  return nullptr;
}

__attribute__((constructor)) void begin() {
  const std::string_view rank = variable("TRIFUSE_TEST_BREAKS_RANK");
  if (rank.empty() || (rank != variable("OMPI_COMM_WORLD_RANK") && rank != variable("PMI_RANK"))) return;
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, wait_and_break, nullptr) == 0) pthread_detach(thread);
}

}
