#include "cxx/plan/executor.hpp"

#include "cxx/plan/plan.hpp"

namespace trifuse {

std::vector<std::vector<std::size_t>> Executor::batches(const Plan& plan, const std::vector<bool>& finished) const {
  std::vector<std::vector<std::size_t>> single;
  for (const std::size_t task : plan.largest_first()) {
    if (!finished[task]) single.push_back({task});
  }
  return single;
}

}
