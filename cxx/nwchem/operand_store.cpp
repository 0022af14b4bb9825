#include "cxx/nwchem/operand_store.hpp"

#include <algorithm>

namespace trifuse {

const double* HostOperands::add_copy(std::span<const double> numbers) {
  for (const std::span<const double> before : last_) {
    if (std::equal(numbers.begin(), numbers.end(), before.begin(), before.end())) return before.data();
  }
  while (block_ < blocks_.size() && blocks_[block_].size() - used_ < numbers.size()) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.emplace_back(std::max(numbers.size(), least_doubles));
  double* copy = blocks_[block_].data() + used_;
  std::copy(numbers.begin(), numbers.end(), copy);
  used_ += numbers.size();
  last_ = {last_[1], {copy, numbers.size()}};
  return copy;
}

void HostOperands::clear() {
  block_ = used_ = 0;
  last_ = {};
}

}
