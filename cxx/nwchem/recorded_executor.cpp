#include "cxx/nwchem/recorded_executor.hpp"

#include <cmath>

#include "cxx/base/error.hpp"

namespace trifuse {

void RecordedExecutor::check_complete(const RecordedTask& task) {
  if (!task.complete()) {
    throw UsageError("The energies of a task were requested before the memory of its singles and doubles.");
  }
}

RecordedExecutor::Energies RecordedExecutor::checked(Energies energies) {
  if (!std::isfinite(energies.e_bracket_t) || !std::isfinite(energies.e_paren_t)) {
    throw InputError(
        "The energy of a task is not finite, because its amplitudes, integrals or orbital energies are not finite.");
  }
  return energies;
}

}  // namespace trifuse
