#include "cxx/base/error.hpp"
#include "cxx/cuda/contraction/host_contraction.hpp"
#include "cxx/cuda/contraction/kept_contractions.hpp"
#include "cxx/cuda/runtime/devices.hpp"

/// Replaces host_contraction.cpp and kept_contractions.cpp in a build without CUDA.
namespace trifuse::contraction {

HostContraction::HostContraction(const Contraction& contraction, std::vector<int>, std::int64_t, int)
    : slices_(contraction) {
  throw UsageError(why_no_devices());
}

void HostContraction::run(double, const double*, const double*, double, double*) const {}

std::string HostContraction::text() const {
  return {};
}

void start_contraction(const Contraction&, int, double, const double*, const double*, double, double*, void*) {
  throw UsageError(why_no_devices());
}

void drop_kept_contractions() {}

}
