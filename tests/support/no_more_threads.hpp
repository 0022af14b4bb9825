#pragma once

#include <gtest/gtest.h>

#include <pthread.h>

#include <cstddef>

namespace trifuse::testing {

/// While this object exists, no thread can be started, because its stack would not fit into the address space.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_attr_init(&attributes_);
    pthread_attr_getstacksize(&attributes_, &usual_);
    set(std::size_t{1} << 50);
  }
  ~NoMoreThreads() {
    set(usual_);
    pthread_attr_destroy(&attributes_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  void set(std::size_t stack) {
    EXPECT_EQ(pthread_attr_setstacksize(&attributes_, stack), 0);
    EXPECT_EQ(pthread_setattr_default_np(&attributes_), 0);
  }

  pthread_attr_t attributes_;
  std::size_t usual_ = 0;
};

}
