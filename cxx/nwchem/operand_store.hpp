#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"

namespace trifuse {

/// Stores copies of operands until their task is executed, in the memory of the executor.
class OperandStore {
 public:
  virtual ~OperandStore() = default;
  /// Copies `numbers` and returns the address of the copy, which is valid until `clear`. The caller may overwrite
  /// `numbers` afterwards. Throws DeviceMemoryError if there is no memory for the copy; earlier copies stay valid.
  virtual const double* add_copy(std::span<const double> numbers) = 0;
  /// Returns the first `count` numbers of a copy. The default is for copies in the memory of this process.
  virtual std::vector<double> fetch(const double* copy, std::size_t count) { return {copy, copy + count}; }
  /// Discards all copies and keeps the memory for the next ones.
  virtual void clear() = 0;
};

/// Stores operands in the memory of this process. If an operand equals one of the last two, it is not copied again.
class HostOperands final : public OperandStore {
 public:
  const double* add_copy(std::span<const double> numbers) override;
  void clear() override;

 private:
  /// Least size of a block of memory. More operands need more blocks. The first blocks do not move, so earlier copies
  /// stay valid.
  static constexpr std::size_t least_doubles = std::size_t{1} << 19;
  std::vector<Buffer> blocks_;
  std::size_t block_ = 0, used_ = 0;  ///< destination of the next copy: block, doubles before it
  /// The last two copies. If tiles coincide, NWChem passes the same operands again to another kernel.
  std::array<std::span<const double>, 2> last_{};
};

}
