#pragma once

#include <gtest/gtest.h>

#include <string>

namespace trifuse::testing {

/// Runs `action`. It must throw `Failure` with one sentence that contains `part`.
template <typename Failure, typename Action>
void expect_failure(Action action, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "nothing was refused; wanted: " << part;
  } catch (const Failure& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(message.ends_with(".")) << message;
  }
}

}
