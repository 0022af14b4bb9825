#include "drivers/contraction_devices.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "cxx/base/buffer.hpp"
#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/base/median.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/contraction/cpu_contraction.hpp"
#include "cxx/contraction/gpu_program.hpp"
#include "cxx/contraction/slices.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/contraction/timed_contraction.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/kernel_bench.hpp"
#include "drivers/dgemm_rate.hpp"

namespace trifuse::cli {

namespace {

using contraction::Contraction;

template <typename Plan>
std::vector<std::string> texts_of(const std::vector<Plan>& plans) {
  std::vector<std::string> texts;
  for (const Plan& plan : plans) texts.push_back(text_of(plan));
  return texts;
}

class CpuCores : public ContractionDevice {
 public:
  explicit CpuCores(int threads) : threads_(threads) {}

  std::string name() const override {
    return fmt::format("{} thread{} of {}", threads_, threads_ == 1 ? "" : "s", processor_name());
  }

  DeviceRates rates() override {
    constexpr int repeats = 3, dgemm_size = 1024;
    std::vector<double> copies;
    copy();  // does not count: the first one allocates
    for (int r = 0; r < repeats; ++r) {
      const double start = wall_seconds();
      copy();
      copies.push_back(2.0 * sizeof(double) * static_cast<double>(from_.size()) / (wall_seconds() - start));
    }
    return {measure_dgemm(dgemm_size, threads_, repeats), median(copies)};
  }

  std::vector<std::string> candidates(const Contraction& contraction) const override {
    std::vector<contraction::CpuPlan> plans = candidates_for_cpu(contraction);
    std::stable_sort(plans.begin(), plans.end(),
                     [](const auto& x, const auto& y) { return x.predicted_seconds < y.predicted_seconds; });
    return texts_of(plans);
  }

  void prepare(const Contraction& contraction, std::span<const double> a, std::span<const double> b) override {
    planned_.emplace(contraction, threads_);
    a_ = a;
    b_ = b;
    c_.assign(static_cast<std::size_t>(elements(contraction, contraction::C)),
              std::numeric_limits<double>::quiet_NaN());
    multiply();
  }
  std::string plan() const override { return planned_->text(); }

  double run() override {
    // This replaces what the caches hold. It takes too long for tensors that nobody reads from memory.
    constexpr std::size_t small = 1 << 20;
    if (c_.size() > small / sizeof(double)) copy();
    const double start = wall_seconds();
    multiply();
    return wall_seconds() - start;
  }
  std::vector<double> result() const override { return c_; }

 private:
  void multiply() { planned_->run(1.0, a_.data(), b_.data(), 0.0, c_.data()); }

  static std::size_t copied_elements() {
    constexpr long least = 64L << 20, most = 512L << 20;  // bytes
    return static_cast<std::size_t>(std::clamp(sysconf(_SC_LEVEL3_CACHE_SIZE), least, most)) / sizeof(double);
  }

  void copy() {
    if (from_.size() == 0) {
      from_ = Buffer(copied_elements());
      to_ = Buffer(from_.size());
      for (Buffer* const each : {&from_, &to_}) std::fill(each->span().begin(), each->span().end(), 1.0);
    }
    const auto threads = static_cast<std::size_t>(threads_);
    share_in_turns(threads, threads_, [&](std::size_t part) {
      const std::size_t first = part * from_.size() / threads, end = (part + 1) * from_.size() / threads;
      std::memcpy(to_.data() + first, from_.data() + first, (end - first) * sizeof(double));
    });
  }

  int threads_;
  Buffer from_, to_;
  std::optional<contraction::CpuContraction> planned_;
  std::span<const double> a_, b_;
  std::vector<double> c_;
};

class Gpu : public ContractionDevice {
 public:
  explicit Gpu(int number) : number_(number) {}

  std::string name() const override { return visible_devices()[static_cast<std::size_t>(number_)].name; }
  DeviceRates rates() override {
    constexpr int repeats = 3, dgemm_size = 8192;
    const double dgemm = time_cublas_dgemm(dgemm_size, repeats, number_);
    return {dgemm > 0.0 ? dgemm : time_matrix_instruction(number_), contraction::time_copy(number_)};
  }
  std::vector<std::string> candidates(const Contraction& contraction) const override {
    // Of a contraction that needs slices, the plans of the first one.
    const Contraction first =
        canonical_form(contraction::slice_to_reach(contraction, contraction::most_reach).front().contraction);
    const contraction::GpuModel gpu = contraction::gpu_model(number_);
    constexpr std::size_t most = 1000;
    std::vector<std::string> texts = texts_of(candidate_programs(first, gpu, most));
    const contraction::GpuProgram program = program_of_run(first, gpu);
    if (program.tuned) texts.insert(texts.begin(), text_of(program));
    return texts;
  }
  contraction::TunedPlans tuned_plans() const override {
    return contraction::tuned_plans(contraction::gpu_model(number_));
  }
  std::string begin_tuning() override { return prepare_tuned_plans(contraction::gpu_model(number_)); }
  void prepare(const Contraction& contraction, std::span<const double> a, std::span<const double> b) override {
    form_ = canonical_form(contraction);
    planned_.reset();
    planned_.emplace(contraction, a, b, number_);
    static_cast<void>(planned_->run());
  }
  std::optional<contraction::Tuning> tune() override {
    if (slice_to_reach(form_, contraction::most_reach).size() > 1) return std::nullopt;
    const auto measure = [&](const contraction::GpuProgram& program, int repeats) {
      planned_->use(program);
      static_cast<void>(planned_->run());
      std::vector<double> seconds;
      for (int r = 0; r < repeats; ++r) seconds.push_back(planned_->run());
      return seconds;
    };
    contraction::Tuning tuning = contraction::tune(form_, contraction::gpu_model(number_), measure);
    contraction::GpuProgram of_later_runs = tuning.is_better() ? tuning.best : tuning.first;
    of_later_runs.tuned = tuning.is_better();
    measure(of_later_runs, 0);
    return tuning;
  }
  void store_tuned_plan(const contraction::Tuning& tuning) override {
    store_tuning(form_, contraction::gpu_model(number_), tuning);
  }
  std::string plan() const override { return planned_->plan(); }
  double run() override { return planned_->run(); }
  double run_cublas() override { return planned_->run_cublas(); }
  std::vector<double> result() const override { return planned_->result(); }

 private:
  int number_;
  Contraction form_;  ///< the canonical form of the prepared contraction
  std::optional<contraction::TimedContraction> planned_;
};

}

std::string ContractionDevice::begin_tuning() {
  throw UsageError("--tune with --contractions measures the plans of a GPU; add --device cuda.");
}

std::unique_ptr<ContractionDevice> make_cpu_cores(int threads) {
  return std::make_unique<CpuCores>(threads);
}

std::unique_ptr<ContractionDevice> make_gpu(int number) {
  return std::make_unique<Gpu>(number);
}

}
