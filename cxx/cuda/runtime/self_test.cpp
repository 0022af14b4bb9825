#include "cxx/cuda/runtime/self_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse::gpu {

namespace {

/// The self-tests that GPUs of this process have passed.
class PassedSelfTests {
 public:
  /// Returns true if a device has passed. `options` has the tested precision and the kernel that the user named.
  bool contains(int device, SpinFormulation formulation, const CudaOptions& options) const {
    const std::lock_guard lock(mutex_);
    return passed_.contains({device, formulation, options.precision, options.kernel});
  }
  void add(int device, SpinFormulation formulation, const CudaOptions& options) {
    const std::lock_guard lock(mutex_);
    passed_.emplace(device, formulation, options.precision, options.kernel);
  }
  /// Returns the lock of the caller that tests a device now. The reference stays valid.
  std::mutex& test_of(int device) {
    const std::lock_guard lock(mutex_);
    return tests_[device];
  }

 private:
  mutable std::mutex mutex_;
  std::map<int, std::mutex> tests_;  ///< key: number of the device
  std::set<std::tuple<int, SpinFormulation, Precision, std::string>> passed_;
};

/// The molecule of the self-test, and its energies from the CPU.
class TestMolecule {
 public:
  explicit TestMolecule(SpinFormulation formulation)
      : source_(make_synthetic_blocks({Reference::rhf, 5, 5, 9, 9, 1, 5, 7, 1})),
        plan_(make_plan(source_->tiles(), formulation)),
        expected_(plan_.tasks.size()) {
    problem_.right = source_.get();
    problem_.formulation = formulation;
    make_cpu_executor(problem_, plan_.tiles)->make_worker()->execute(plan_.tasks, expected_);
  }

  /// Throws DeviceError if a device of `options`, which names one, gives other energies.
  void test(const CudaOptions& options, const MakeUntested& make) const {
    std::vector<TaskEnergy> found(plan_.tasks.size());
    make(problem_, plan_.tiles, options)->make_worker()->execute(plan_.tasks, found);
    for (std::size_t t = 0; t < found.size(); ++t) {
      const TaskEnergy& expected = expected_[t];
      const double scale = std::abs(expected.same.e_paren_t) + std::abs(expected.mixed.e_paren_t);
      const auto compare = [&](double device, double cpu) {
        check_self_test(options.devices.front(), options.precision, device, cpu, scale);
      };
      compare(found[t].same.e_paren_t, expected.same.e_paren_t);
      compare(found[t].mixed.e_paren_t, expected.mixed.e_paren_t);
    }
  }

 private:
  std::unique_ptr<TileSource> source_;
  Problem problem_;
  Plan plan_;
  std::vector<TaskEnergy> expected_;
};

}

std::vector<int> devices_that_pass(SpinFormulation formulation, const CudaOptions& options, const MakeUntested& make) {
  static PassedSelfTests passed;
  const std::vector<int>& all = options.devices;
  const auto has_passed = [&](int number) { return passed.contains(number, formulation, options); };
  if (std::all_of(all.begin(), all.end(), has_passed)) return all;
  const TestMolecule molecule(formulation);
  std::vector<std::optional<DeviceError>> failures(all.size());
  on_new_threads(all.size(), [&](std::size_t n) {
    // If another caller tests this device now, its result is enough.
    const std::lock_guard testing(passed.test_of(all[n]));
    if (has_passed(all[n])) return;
    CudaOptions one = options;
    one.devices = {all[n]};
    one.memory_per_device = 0;
    try {
      molecule.test(one, make);
      passed.add(all[n], formulation, options);
    } catch (const DeviceError& error) {
      failures[n] = error;
    }
  });
  std::vector<int> sound;
  const DeviceError* failure = nullptr;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (!failures[n]) {
      sound.push_back(all[n]);
      continue;
    }
    failure = &*failures[n];
    if (options.left_out == nullptr) throw *failure;
    options.left_out->push_back(failure->what());
  }
  if (sound.empty() && failure != nullptr) throw *failure;
  return sound;
}

double self_test_limit(Precision precision) {
  // The emulation computes 60 other molecules of the size of the self-test with errors of at most 1.5e-7
  // (tests/cpu/self_test_error_test.cpp). The limit leaves room for sums in another order and for energies of elements
  // in FP32, whose errors are of the same size. A wrong kernel or chip gives errors of order 1.
  return precision == Precision::mixed ? 1e-5 : 1e-10;
}

void check_self_test(int number, Precision precision, double found, double expected, double scale) {
  if (std::abs(found - expected) <= self_test_limit(precision) * scale) return;
  throw DeviceError(fmt::format(
      "GPU {} gives wrong numbers: a task of the self-test has the energy {:.15g}, and {:.15g} on the CPU. Do not use "
      "this GPU (or this driver); CPU cores work without it.",
      number, found, expected));
}

}
