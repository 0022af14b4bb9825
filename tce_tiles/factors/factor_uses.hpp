#pragma once

#include <atomic>
#include <span>

#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// A computation that needs the factors of two particles of one spin.
struct FactorUse {
  OrbitalClass particles;
  AuxiliaryRange functions;  ///< the auxiliary functions that it needs
  FactorVisitor visit;       ///< receives the bands; each function is in exactly one
};

/// Reads the factors that `uses` need, on at most `threads` threads. Reads each factor once, also if several uses need
/// it. Passes on exceptions of the source and of the uses; throws Interrupted soon after `*stop` becomes true. `stop`
/// may be null.
void visit_once(const FactorSource& factors, std::span<const FactorUse> uses, int threads,
                const std::atomic<bool>* stop);

}
