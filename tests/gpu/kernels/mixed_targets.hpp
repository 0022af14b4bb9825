#pragma once

#include "cxx/cuda/kernel/launch.hpp"

/// Kernels in mixed precision that store their targets, see StoredTargets.
namespace trifuse::gpu {

Kernel mixed_targets_bulk();
Kernel mixed_targets_cooperative();

}
