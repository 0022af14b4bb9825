#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"

namespace trifuse {

/// Keeps operands until their task is executed, in the memory of whoever executes it.
class OperandStore {
 public:
  virtual ~OperandStore() = default;
  /// Copies `numbers`, which the caller may overwrite at once. The copy stays where it is until `clear`. Where it has
  /// no room it throws DeviceMemoryError, and copies that were made before are still good.
  virtual const double* keep(std::span<const double> numbers) = 0;
  /// Brings `count` numbers of a copy back. The default is for copies in the memory of this process.
  virtual std::vector<double> fetch(const double* copy, std::size_t count) { return {copy, copy + count}; }
  /// Forgets all copies, not the memory.
  virtual void clear() = 0;
};

/// In the memory of this process.
class HostOperands final : public OperandStore {
 public:
  const double* keep(std::span<const double> numbers) override;
  void clear() override;

 private:
  /// Room for many operands, so that their copies stay in place when there are more.
  static constexpr std::size_t least_doubles = std::size_t{1} << 19;
  std::vector<Buffer> blocks_;
  std::size_t block_ = 0, used_ = 0;  ///< where the next copy goes
  /// The two that came last: where tiles coincide the same operands come again for another kernel.
  std::array<std::span<const double>, 2> last_{};
};

}  // namespace trifuse
