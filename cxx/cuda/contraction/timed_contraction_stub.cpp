#include "cxx/base/error.hpp"
#include "cxx/cuda/contraction/timed_contraction.hpp"
#include "cxx/cuda/runtime/devices.hpp"

/// Replaces timed_contraction.cpp in a build without CUDA.
namespace trifuse::contraction {

class TimedContraction::Implementation {};

TimedContraction::TimedContraction(const Contraction&, std::span<const double>, std::span<const double>, int) {
  throw UsageError(why_no_devices());
}
TimedContraction::~TimedContraction() = default;

void TimedContraction::use(const GpuProgram&) {}

std::string TimedContraction::plan() const {
  return {};
}

double TimedContraction::run() {
  return 0.0;
}

double TimedContraction::run_cublas() {
  return 0.0;
}

std::vector<double> TimedContraction::result() const {
  return {};
}

double time_copy(int) {
  throw UsageError(why_no_devices());
}

}
