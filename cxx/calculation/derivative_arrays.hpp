#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace trifuse {

/// The derivatives of E(T) by the arrays of an input. The run keeps sums, from which it makes an array when the caller
/// asks for it, as a whole or slice by slice: so no memory is needed for arrays that the caller does not keep. After a
/// run on GPUs the sums stay in the memory of its first GPU as long as this object exists. Exceptions are in
/// drivers/docs/derivatives.md.
///
/// dE = sum over all elements of derivative times change, for each change that has the symmetry of the array. The
/// derivatives have this symmetry, too. They do not depend on the slices in which they are made. Thread-safe.
///
///     for (const DerivativeArrays::Array& array : derivatives.list()) {
///       std::vector<double> whole(array.size());
///       derivatives.copy(array.name, 0, array.slices(), whole);
///     }
class DerivativeArrays {
 public:
  struct Array {
    /// The name of the array, e.g. t2 or ovvv_aabb; fock_ov, fock_ov_a or fock_ov_b for the elements [i,a] of the Fock
    /// matrix; omega2. Arrays of the left amplitudes begin with left/.
    std::string name;
    std::vector<std::int64_t> shape;  ///< of the array; of omega2 empty

    std::int64_t size() const;    ///< number of elements
    std::int64_t slices() const;  ///< extent of the first axis; 1 for one number
  };

  DerivativeArrays() = default;
  DerivativeArrays(const DerivativeArrays&) = delete;
  DerivativeArrays& operator=(const DerivativeArrays&) = delete;
  virtual ~DerivativeArrays() = default;

  /// Returns the arrays in the order of their names.
  std::span<const Array> list() const { return list_; }
  /// Returns the array with this name. Throws UsageError if there is none.
  const Array& find(const std::string& name) const;
  /// Copies the elements [first, first + count) of the first axis of an array to `values`, C order, hartree per unit of
  /// the array. Slices that begin and end anywhere are possible. If the symmetry of an array exchanges its first index
  /// with another one (t2, ovov and asym_ovov of a closed shell or of equal spins, asym_ovoo), its first slice makes
  /// the whole array, which is kept until slices of another such array are copied. Throws UsageError if there is no
  /// such array or slice, or if `values` has another size, and SystemError if the GPU that has the sums fails, or has
  /// no memory left.
  void copy(const std::string& name, std::int64_t first, std::int64_t count, std::span<double> values) const;

 protected:
  /// Sets the list. `arrays`: in the order of their names.
  void set_list(std::vector<Array> arrays) { list_ = std::move(arrays); }
  /// Does what copy() does, for arguments that have been checked. `index`: in the list.
  virtual void make(std::size_t index, std::int64_t first, std::int64_t count, std::span<double> values) const = 0;

 private:
  std::vector<Array> list_;
};

}

#pragma GCC visibility pop
