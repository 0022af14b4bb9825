#pragma once

#include "cxx/contraction/description.hpp"

/// Contractions of callers that keep no plan. The plans of their last calls are kept for them.
namespace trifuse::contraction {

/// Puts a contraction on a stream as GpuContraction::start() does. Plans it if none of the last 16 different calls was
/// the same contraction on the same stream. `device`: number of a visible GPU, to which `stream` belongs. Several
/// threads may call this at the same time. Leaves the current GPU of the thread as it is. Throws what GpuContraction
/// throws.
void start_contraction(const Contraction& contraction, int device, double alpha, const double* a, const double* b,
                       double beta, double* c, void* stream);

/// Drops all plans that are kept, after the work that uses them.
void drop_kept_contractions();

}
