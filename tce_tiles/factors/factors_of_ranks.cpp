#include "tce_tiles/factors/factors_of_ranks.hpp"

namespace trifuse {

std::shared_ptr<const void> FactorSource::acquire_factors_together(Communicator& communicator,
                                                                   const std::atomic<bool>* stop) const {
  std::shared_ptr<const void> held;
  run_collectively(&communicator, [&] { held = acquire_factors(stop); });
  return held;
}

std::shared_ptr<const void> acquire_factors_of_ranks(const FactorSource* factors, Communicator* communicator,
                                                     const std::atomic<bool>* stop) {
  if (factors == nullptr) return nullptr;
  if (communicator != nullptr && communicator->size() > 1 && communicator->has_arrays()) {
    return factors->acquire_factors_together(*communicator, stop);
  }
  std::shared_ptr<const void> held;
  run_collectively(communicator, [&] { held = factors->acquire_factors(stop); });
  return held;
}

}
