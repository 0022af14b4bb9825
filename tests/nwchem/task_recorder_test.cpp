#include "cxx/nwchem/task_recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/refusals.hpp"

/// Made-up devices that have little memory or fail. They compute on a core.
namespace trifuse::testing {
namespace {

using Extents = RecordedTask::Extents;

/// The properties of a made-up device, and counts of its calls.
struct DeviceState {
  std::size_t room = std::size_t{1} << 40;       ///< numbers in operands
  std::int64_t largest = std::int64_t{1} << 40;  ///< elements of a task that it executes
  bool lost = false, lost_when_fetching = false;
  int asked = 0, launches = 0, released = 0, fetched = 0;
  std::vector<Extents> executed;
};

class MadeUpDevice final : public RecordedExecutor {
 public:
  explicit MadeUpDevice(DeviceState& device) : device_(device), store_(device) {}
  OperandStore& operands() override { return store_; }
  void release() override {
    EXPECT_EQ(store_.used, 0U) << "operands are still there";
    ++device_.released;
  }
  Energies execute(const RecordedTask& task, double weight, const std::array<const double*, 6>& eps) override {
    expect_memory(device_);
    std::int64_t elements = 1;
    for (const std::int64_t n : task.extent()) elements *= n;
    if (elements > device_.largest) throw DeviceMemoryError("Panels do not fit.");
    ++device_.launches;
    device_.executed.push_back(task.extent());
    return cores_->execute(task, weight, eps);
  }

 private:
  static void expect_memory(DeviceState& device) {
    ++device.asked;
    if (device.lost) throw DeviceError("The bus is empty.");
  }

  class Store final : public OperandStore {
   public:
    explicit Store(DeviceState& device) : device_(device) {}
    const double* add_copy(std::span<const double> numbers) override {
      expect_memory(device_);
      if (used + numbers.size() > device_.room) throw DeviceMemoryError("Operands do not fit.");
      used += numbers.size();
      return operands_.add_copy(numbers);
    }
    std::vector<double> fetch(const double* copy, std::size_t count) override {
      device_.lost = device_.lost || device_.lost_when_fetching;
      expect_memory(device_);
      ++device_.fetched;
      return operands_.fetch(copy, count);
    }
    void clear() override {
      used = 0;
      operands_.clear();
    }
    std::size_t used = 0;

   private:
    DeviceState& device_;
    HostOperands operands_;
  };

  DeviceState& device_;
  Store store_;
  std::unique_ptr<RecordedExecutor> cores_ = make_recorded_cpu_executor();
};

/// The calls of one task, with all 27 kernels.
class Job {
 public:
  explicit Job(const Extents& size, std::int64_t contracted = 6) : extent(size) {
    for (const Term& term : terms) {
      const auto call = RecordedTask::call_extents(term, extent, term.kind == TermKind::singles ? 1 : contracted);
      const auto sizes = RecordedTask::operand_sizes(term.kind, call);
      calls_.push_back({&term, call, numbers(sizes.t, -1.0, 1.0), numbers(sizes.v, -1.0, 1.0)});
      doubles += static_cast<std::size_t>(sizes.t + sizes.v);
    }
    for (std::size_t q = 0; q < 6; ++q) {
      energies_[q] = q < 3 ? numbers(extent[q], 0.5, 3.0) : numbers(extent[q], -2.0, -0.5);
      eps[q] = energies_[q].data();
    }
  }

  /// Both a task and a recorder take calls.
  template <typename Recorder>
  void record(Recorder& to) const {
    to.begin_singles(extent);
    for (const Call& call : calls_) {
      if (&call == &calls_[9]) to.begin_doubles(extent);
      add(to, call);
    }
  }
  template <typename Recorder>
  void add_first(Recorder& to) const {
    add(to, calls_.front());
  }
  Energies expected() const {
    const auto executor = make_recorded_cpu_executor();
    RecordedTask task(executor->operands());
    record(task);
    return executor->execute(task, weight, eps);
  }

  static constexpr double weight = 0.25;
  Extents extent;
  std::array<const double*, 6> eps{};
  std::size_t doubles = 0;  ///< in all operands

 private:
  struct Call {
    const Term* term;
    RecordedTask::CallExtents extent;
    std::vector<double> t, v;
  };
  template <typename Recorder>
  static void add(Recorder& to, const Call& call) {
    to.add(*call.term, call.extent, call.t.data(), call.v.data());
  }
  std::vector<double> numbers(std::int64_t count, double from, double to) {
    std::uniform_real_distribution<double> number(from, to);
    std::vector<double> all(static_cast<std::size_t>(count));
    for (double& x : all) x = number(random_);
    return all;
  }

  std::mt19937 random_{11};
  std::vector<Call> calls_;
  std::array<std::vector<double>, 6> energies_;
};

class Recorder : public ::testing::Test {
 protected:
  void expect_energies(const Job& job) {
    job.record(recorder);
    const Energies found = recorder.execute(job.weight, job.eps), expected = job.expected();
    recorder.clear();
    const double scale = std::abs(expected.e_bracket_t) + std::abs(expected.e_paren_t);
    EXPECT_NEAR(found.e_bracket_t, expected.e_bracket_t, 1e-12 * scale);
    EXPECT_NEAR(found.e_paren_t, expected.e_paren_t, 1e-12 * scale);
    EXPECT_GT(scale, 0.0);
  }

  DeviceState device;
  std::vector<std::string> warnings;
  TaskRecorder recorder{std::make_unique<MadeUpDevice>(device), "GPU 3",
                        [this](const std::string& warning) { warnings.push_back(warning); }};
};

using CutTasks = Recorder;

TEST_F(CutTasks, AreNotWhatFits) {
  const Job job({9, 5, 12, 7, 1, 6});
  expect_energies(job);
  EXPECT_EQ(device.executed, std::vector<Extents>{job.extent});
  EXPECT_EQ(device.released, 0);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CutTasks, HaveOperandsForWhichThereIsNoRoom) {
  const Job job({9, 5, 12, 7, 1, 6});
  for (const std::size_t part : {2, 3, 5}) {
    device.room = job.doubles / part;
    device.launches = 0;
    expect_energies(job);
    EXPECT_GE(device.launches, 2);
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "GPU 3: Operands do not fit. The GPU computes such tasks in parts, which takes longer.");
}

TEST_F(CutTasks, NeedMorePanelMemoryThanThereIs) {
  const Job job({13, 11, 10, 6, 8, 5});
  device.largest = 5000;
  expect_energies(job);
  EXPECT_GE(device.launches, 13 * 11 * 10 * 6 * 8 * 5 / 5000);
  EXPECT_EQ(warnings.size(), 1U);
  // A region that did not fit is not tried again, and no region of at least its size is tried.
  EXPECT_LE(device.released, 10);
}

TEST_F(CutTasks, AreFollowedByOthers) {
  const Job large({10, 9, 8, 5, 5, 5}), small({3, 2, 4, 2, 3, 1});
  device.room = large.doubles / 3;
  for (const Job* job : {&large, &small, &large, &large, &small}) expect_energies(*job);
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_EQ(std::count(device.executed.begin(), device.executed.end(), small.extent), 2);
  // A task of the same size as a task that did not fit stays in the memory of this process. If the device has enough
  // memory again, it executes the whole task.
  const int fetched = device.fetched;
  expect_energies(large);
  EXPECT_EQ(device.fetched, fetched);
  device.room *= 10;
  expect_energies(large);
  EXPECT_EQ(device.executed.back(), large.extent);
}

TEST_F(CutTasks, MayBeCleared) {
  const Job large({10, 9, 8, 5, 5, 5}), small({3, 2, 4, 2, 3, 1});
  device.room = large.doubles / 3;
  large.record(recorder);
  expect_energies(large);
  large.record(recorder);
  recorder.clear();
  expect_energies(small);
  EXPECT_EQ(device.executed.back(), small.extent);
}

TEST_F(CutTasks, AreComputedByACoreIfNoRegionFits) {
  device.room = 100;
  const Job job({6, 7, 8, 3, 5, 9});
  expect_energies(job);
  EXPECT_EQ(device.launches, 0);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[1], "GPU 3: Operands do not fit. A CPU core computes such tasks, which takes far longer.");
  expect_energies(Job({6, 6, 6, 6, 6, 6}));
  EXPECT_EQ(warnings.size(), 2U);
}

TEST_F(CutTasks, MayBeLargerThanTheRegionsOfACore) {
  device.room = 100;
  // More than 2^24 elements.
  expect_energies(Job({32, 16, 17, 13, 12, 13}, 1));
  EXPECT_EQ(device.launches, 0);
}

TEST_F(CutTasks, AcceptCallsLikeOtherTasks) {
  const Job job({10, 9, 8, 5, 5, 5});
  device.room = job.doubles / 3;
  job.record(recorder);
  EXPECT_TRUE(recorder.task().complete());
  EXPECT_EQ(recorder.task().extent(), job.extent);
  // Wrong calls are refused as for other tasks.
  expect_failure<UsageError>(
      [&] {
        recorder.add(terms[0], {2, 2, 2, 2, 2, 2}, job.eps[0], job.eps[0]);
      },
      "other tiles than those of its task");
  recorder.clear();
  expect_failure<UsageError>([&] { recorder.execute(1.0, job.eps); }, "before the memory");
}

/// After the loss of a device nothing can be computed, because the host program has reused its arrays.
class LostDevice : public Recorder {
 protected:
  template <typename Body>
  void expect_loss(Body body) {
    expect_failure<DeviceError>(body,
                                "GPU 3 failed, and the operands that NWChem had sent to it are lost; run "
                                "again without this GPU");
    expect_failure<DeviceError>(body, "The bus is empty.");
    // All later calls throw the same message and do not use the device.
    const int asked = device.asked;
    device.lost = false;
    recorder.clear();
    for (const auto& next : std::vector<std::function<void()>>{
             [&] { recorder.begin_singles(job.extent); }, [&] { recorder.begin_doubles(job.extent); },
             [&] { job.add_first(recorder); }, [&] { recorder.execute(1.0, job.eps); }}) {
      expect_failure<DeviceError>(next, "The bus is empty.");
    }
    EXPECT_EQ(device.asked, asked);
    EXPECT_TRUE(warnings.empty());
  }
  const Job job{{4, 3, 5, 2, 3, 4}};
};

TEST_F(LostDevice, BetweenCallsAndEnergies) {
  job.record(recorder);
  device.lost = true;
  expect_loss([&] { recorder.execute(1.0, job.eps); });
  EXPECT_EQ(device.launches, 0);
}

TEST_F(LostDevice, BeforeTheFirstCall) {
  recorder.begin_singles(job.extent);
  device.lost = true;
  recorder.begin_doubles(job.extent);
  expect_loss([&] { job.add_first(recorder); });
}

TEST_F(LostDevice, AfterAGoodTask) {
  expect_energies(job);
  device.lost = true;
  expect_loss([&] { job.record(recorder); });
  EXPECT_EQ(device.launches, 1);
}

TEST_F(LostDevice, OnTheWayToTheMemoryOfThisProcess) {
  device.room = job.doubles / 2;
  device.lost_when_fetching = true;
  expect_loss([&] { job.record(recorder); });
}

}
}
