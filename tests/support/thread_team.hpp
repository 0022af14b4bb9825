#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/parallel/team.hpp"

namespace trifuse::testing {

/// What the threads that stand for ranks share.
class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : size_(size) {}

  int size() const { return size_; }
  std::int64_t fetch_add(int counter, std::int64_t amount) {
    if (amount < 0 || amount > std::numeric_limits<std::int32_t>::max()) throw Error("An amount is too large.");
    const std::lock_guard lock(mutex_);
    std::int64_t& value = counters_.at(static_cast<std::size_t>(counter));
    const std::int64_t before = value;
    value += amount;
    return before;
  }
  /// Throws where ranks do not come together: other lengths, or one that never comes.
  void sum(std::span<double> values) {
    std::unique_lock lock(mutex_);
    const std::int64_t round = round_;
    if (arrived_ == 0) sums_.assign(values.size(), 0.0);
    if (sums_.size() != values.size()) throw Error("The ranks sum arrays of different lengths.");
    for (std::size_t n = 0; n < values.size(); ++n) sums_[n] += values[n];
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      result_ = sums_;
      changed_.notify_all();
    } else if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return round_ != round; })) {
      throw Error("A rank does not come to a sum.");
    }
    std::copy(result_.begin(), result_.end(), values.begin());
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::int64_t, Team::counters> counters_{};
  std::vector<double> sums_, result_;
  int arrived_ = 0;
  std::int64_t round_ = 0;
};

class ThreadTeam final : public Team {
 public:
  ThreadTeam(ThreadRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return ranks_.size(); }
  std::int64_t fetch_add(int counter, std::int64_t amount) override { return ranks_.fetch_add(counter, amount); }
  void sum(std::span<double> values) override { ranks_.sum(values); }

 private:
  ThreadRanks& ranks_;
  int rank_;
};

/// Runs `body` on `size` threads, each a rank; returns what each threw, empty where it did not.
inline std::vector<std::string> failures_of_ranks(int size, const std::function<void(Team&)>& body) {
  ThreadRanks ranks(size);
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadTeam team(ranks, rank);
      try {
        body(team);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

}  // namespace trifuse::testing
