#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/communicator.hpp"
#include "cxx/base/error.hpp"

namespace trifuse::testing {

/// The common data of threads that act as ranks.
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
  /// Throws if ranks pass different lengths, or if a rank does not call the function.
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
  void barrier() {
    double nothing = 0.0;
    sum({&nothing, 1});
  }
  /// Returns a buffer for each segment, the same on all ranks of a collective call. Elements that no rank has written
  /// are NaN.
  std::shared_ptr<std::vector<Buffer>> segments(std::span<const SharedSegment> segments) {
    barrier();
    {
      const std::lock_guard lock(mutex_);
      if (segments_requested_++ % size_ == 0) {
        segments_ = std::make_shared<std::vector<Buffer>>();
        for (const SharedSegment& segment : segments) {
          Buffer& made = segments_->emplace_back(static_cast<std::size_t>(segment.doubles));
          std::fill_n(made.data(), made.size(), std::numeric_limits<double>::quiet_NaN());
        }
      }
    }
    barrier();
    const std::lock_guard lock(mutex_);
    return segments_;
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::int64_t, Communicator::counters> counters_{};
  std::vector<double> sums_, result_;
  int arrived_ = 0;
  std::int64_t round_ = 0;
  std::shared_ptr<std::vector<Buffer>> segments_;
  int segments_requested_ = 0;
};

/// An array in the common memory of the threads.
class ThreadArray final : public SharedArray {
 public:
  using Segments = std::vector<Buffer>;
  ThreadArray(std::shared_ptr<Segments> segments, std::vector<int> ranks_of_segments, ThreadRanks& ranks, int rank)
      : segments_(std::move(segments)), ranks_of_segments_(std::move(ranks_of_segments)), ranks_(ranks), rank_(rank) {}
  std::span<double> local(std::size_t segment) override {
    if (ranks_of_segments_.at(segment) != rank_) throw Error("A rank writes to what another one has.");
    return segments_->at(segment).span();
  }
  void get(std::size_t segment, std::int64_t first, std::span<double> values) override {
    if (busy_.exchange(true)) throw Error("Two threads of a rank use the array at once.");
    const auto from = segments_->at(segment).span();
    if (!synced_ || first < 0 || static_cast<std::size_t>(first) + values.size() > from.size()) {
      throw Error("What is read is not there.");
    }
    std::copy_n(from.data() + first, values.size(), values.data());
    busy_ = false;
  }
  void sync() override {
    ranks_.barrier();
    synced_ = true;
  }

 private:
  std::shared_ptr<Segments> segments_;
  std::vector<int> ranks_of_segments_;
  ThreadRanks& ranks_;
  int rank_;
  std::atomic<bool> busy_{false}, synced_{false};
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadRanks& ranks, int rank, bool arrays = false) : ranks_(ranks), rank_(rank), arrays_(arrays) {}
  bool has_arrays() const override { return arrays_; }
  std::unique_ptr<SharedArray> make_array(std::span<const SharedSegment> segments) override {
    std::vector<int> ranks_of_segments;
    for (const SharedSegment& segment : segments) ranks_of_segments.push_back(segment.rank);
    return std::make_unique<ThreadArray>(ranks_.segments(segments), std::move(ranks_of_segments), ranks_, rank_);
  }
  int rank() const override { return rank_; }
  int size() const override { return ranks_.size(); }
  std::int64_t fetch_add(int counter, std::int64_t amount) override { return ranks_.fetch_add(counter, amount); }
  void allreduce_sum(std::span<double> values) override { ranks_.sum(values); }

 private:
  ThreadRanks& ranks_;
  int rank_;
  bool arrays_;
};

/// Runs `body` on `size` threads, each of them a rank. Returns the message of each rank's exception; empty: none.
/// `arrays`: ranks can make shared arrays.
inline std::vector<std::string> failures_of_ranks(int size, const std::function<void(Communicator&)>& body,
                                                  bool arrays = false) {
  ThreadRanks ranks(size);
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(ranks, rank, arrays);
      try {
        body(communicator);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

}
