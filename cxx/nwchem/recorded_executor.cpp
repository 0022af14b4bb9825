#include "cxx/nwchem/recorded_executor.hpp"

#include <algorithm>
#include <cmath>

#include "cxx/base/error.hpp"

namespace trifuse {

void RecordedExecutor::check_complete(const RecordedTask& task) {
  if (!task.complete()) {
    throw UsageError("The energies of a task were requested before the memory of its singles and doubles.");
  }
}

Energies RecordedExecutor::checked(const Energies& energies) {
  const auto values = energies.values();
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    throw InputError(
        "The energy of a task is not finite, because its amplitudes, integrals or orbital energies are not finite.");
  }
  return energies;
}

}
