#include "cxx/cuda/contraction/timed_contraction.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/median.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/runtime/cublas.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::contraction {

namespace {

using trifuse::gpu::DeviceArray;
using trifuse::gpu::Event;

/// Larger than the second-level caches of all GPUs, bytes.
constexpr std::size_t beyond_caches = std::size_t{512} << 20;

/// Returns the seconds of the work that `start` puts on the default stream.
template <typename Start>
double seconds_of(const Start& start) {
  const Event begin, end;
  TRIFUSE_CUDA(cudaEventRecord(begin, nullptr));
  start();
  TRIFUSE_CUDA(cudaEventRecord(end, nullptr));
  TRIFUSE_CUDA(cudaEventSynchronize(end));
  return trifuse::gpu::seconds_between(begin, end);
}

}

class TimedContraction::Implementation {
 public:
  Implementation(const Contraction& contraction, std::span<const double> a, std::span<const double> b, int device)
      : contraction_(contraction),
        device_(device),
        planned_(std::in_place, contraction, device),
        a_(a.size()),
        b_(b.size()),
        c_(static_cast<std::size_t>(elements(contraction, C))),
        other_(beyond_caches) {
    trifuse::gpu::copy_to_device(a_.data(), a.data(), a.size_bytes());
    trifuse::gpu::copy_to_device(b_.data(), b.data(), b.size_bytes());
    // Numbers that are not numbers: an element that no run writes is noticed.
    TRIFUSE_CUDA(cudaMemset(c_.data(), 0xff, c_.size() * sizeof(double)));
  }

  void use(const GpuProgram& program) {
    planned_.reset();  // returns its memory first
    planned_.emplace(canonical_form(contraction_), program, device_);
  }
  std::string plan() const { return planned_->text(); }
  double run() {
    return seconds_without_caches([&] { planned_->start(1.0, a_.data(), b_.data(), 0.0, c_.data(), nullptr); });
  }
  double run_cublas() {
    const bool first = !cublas_;
    if (first) {
      cublas_.emplace();
      if (cublas_->loaded()) cublas_c_.reserve(c_.size());
    }
    if (!cublas_->loaded()) return 0.0;
    const Index &x = index_of("x"), &k = index_of("k");
    const auto multiply = [&] {
      if (!cublas_->multiply(static_cast<int>(k.extent), static_cast<int>(x.extent), a_.data(), x.stride[A], b_.data(),
                             cublas_c_.data()))
        throw DeviceError("cuBLAS refuses the batched DGEMM; please report this.");
    };
    if (first) multiply();  // loads the kernel
    return seconds_without_caches(multiply);
  }
  std::vector<double> result() const {
    std::vector<double> c(c_.size());
    TRIFUSE_CUDA(cudaMemcpy(c.data(), c_.data(), c.size() * sizeof(double), cudaMemcpyDeviceToHost));
    return c;
  }

 private:
  template <typename Start>
  double seconds_without_caches(const Start& start) {
    // While the GPU writes other memory, the host prepares the launch.
    TRIFUSE_CUDA(cudaMemsetAsync(other_.data(), 0, other_.size(), nullptr));
    return seconds_of(start);
  }
  const Index& index_of(const char* name) const {
    return *std::find_if(contraction_.indices.begin(), contraction_.indices.end(),
                         [name](const Index& index) { return index.name == name; });
  }

  Contraction contraction_;
  int device_;
  std::optional<GpuContraction> planned_;
  DeviceArray<double> a_, b_, c_, cublas_c_;
  DeviceArray<std::byte> other_;
  std::optional<trifuse::gpu::Cublas> cublas_;
};

TimedContraction::TimedContraction(const Contraction& contraction, std::span<const double> a, std::span<const double> b,
                                   int device)
    : implementation_(std::make_unique<Implementation>(contraction, a, b, device)) {}
TimedContraction::~TimedContraction() = default;

void TimedContraction::use(const GpuProgram& program) {
  implementation_->use(program);
}

std::string TimedContraction::plan() const {
  return implementation_->plan();
}

double TimedContraction::run() {
  return implementation_->run();
}

double TimedContraction::run_cublas() {
  return implementation_->run_cublas();
}

std::vector<double> TimedContraction::result() const {
  return implementation_->result();
}

double time_copy(int device) {
  TRIFUSE_CUDA(cudaSetDevice(device));
  const DeviceArray<std::byte> from(beyond_caches), to(beyond_caches);
  constexpr int repeats = 5;
  std::vector<double> rates;
  for (int r = 0; r <= repeats; ++r) {
    const double seconds = seconds_of([&] {
      TRIFUSE_CUDA(cudaMemcpyAsync(to.data(), from.data(), beyond_caches, cudaMemcpyDeviceToDevice, nullptr));
    });
    if (r > 0) rates.push_back(2.0 * static_cast<double>(beyond_caches) / seconds);  // the first copy warms up
  }
  return median(std::move(rates));
}

}
