#include "cxx/base/joint_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trifuse::testing {
namespace {

constexpr std::size_t threads = 4, parts = 64;

template <typename Body>
void on_all_threads(Body body) {
  std::vector<std::thread> running;
  for (std::size_t n = 0; n < threads; ++n) running.emplace_back(body, n);
  for (std::thread& thread : running) thread.join();
}

TEST(JointBuffer, IsCompleteForEveryThreadAndFillsEachPartOnce) {
  JointBuffer buffer(parts, parts);
  std::array<std::atomic<int>, parts> fills{};
  std::array<double, threads> sums{};
  on_all_threads([&](std::size_t thread) {
    buffer.complete([&](std::size_t part) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      ++fills[part];
      buffer.data()[part] = static_cast<double>(part);
    });
    for (std::size_t k = 0; k < parts; ++k) sums[thread] += buffer.data()[k];
  });
  for (const double sum : sums) EXPECT_EQ(sum, parts * (parts - 1) / 2.0);
  for (const std::atomic<int>& each : fills) EXPECT_EQ(each, 1);
}

TEST(JointBuffer, ThrowsTheFailureOfTheFirstPartOnEveryThread) {
  JointBuffer buffer(parts, parts);
  std::array<std::string, threads> messages;
  std::atomic<std::size_t> begun = 0;
  on_all_threads([&](std::size_t thread) {
    try {
      buffer.complete([&](std::size_t part) {
        ++begun;
        if (part < 5) return;
        // Later parts fail earlier in time.
        std::this_thread::sleep_for(std::chrono::milliseconds(part == 5 ? 50 : 1));
        throw std::runtime_error(std::to_string(part));
      });
    } catch (const std::runtime_error& error) {
      messages[thread] = error.what();
    }
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "5");
  EXPECT_LE(begun, 5 + threads);
}

TEST(JointBuffer, WithoutPartsIsComplete) {
  JointBuffer buffer(0, 0);
  EXPECT_NO_THROW(buffer.complete([](std::size_t) { throw std::runtime_error("no part"); }));
}

}
}
