#pragma once

#include <memory>

#include "cxx/contraction/workplace.hpp"

namespace trifuse::contraction {

/// Returns a GPU as a workplace. An array goes to the GPU when a term reads it first, and stays there until it is
/// forgotten or the GPU needs the memory. A term whose arrays do not fit together is computed in slices, see
/// HostContraction.
///
/// `device`: number of a visible GPU. `threads`: at least 1, for copies. Throws UsageError in a build without CUDA.
std::shared_ptr<Workplace> device_as_workplace(int device, int threads);

}
