#include "cxx/base/error.hpp"
#include "cxx/contraction/gpu_program.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/runtime/devices.hpp"

/// Replaces gpu_contraction.cpp in a build without CUDA.
namespace trifuse::contraction {

class GpuContraction::Implementation {};

GpuContraction::GpuContraction(const Contraction&, int) {
  throw UsageError(why_no_devices());
}
GpuContraction::GpuContraction(const Contraction&, const GpuProgram&, int) {
  throw UsageError(why_no_devices());
}
GpuContraction::~GpuContraction() = default;
GpuContraction::GpuContraction(GpuContraction&&) noexcept = default;
GpuContraction& GpuContraction::operator=(GpuContraction&&) noexcept = default;

void GpuContraction::start(double, const double*, const double*, double, double*, void*) {
  throw UsageError(why_no_devices());
}

std::string GpuContraction::text() const {
  return {};
}

GpuModel gpu_model(int) {
  throw UsageError(why_no_devices());
}

}
