#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "tce_tiles/checks/singles_equation.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse {

/// Reads the slabs of the equation of the single excitations from one dump, or from two dumps (amplitudes and
/// integrals).
class DenseSlabs final : public SinglesSlabs {
 public:
  /// `amplitudes` and `integrals` may be the same arrays; both must have the orbitals of `header`. Throws InputError if
  /// an array has a wrong shape.
  DenseSlabs(const DenseArrays& amplitudes, const DenseArrays& integrals, const DenseHeader& header);

  /// Sets the members of `problem` that say which arrays exist and which are antisymmetrised.
  void describe(SinglesProblem& problem) const;

  void read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
               std::span<double> out) const override;
  void read_ovov(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_ovoo(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_oovv(int s, std::int64_t n, std::span<double> out) const override;
  /// Reads (nf|ea) as out[n,f,e,a] for all orbitals e and a. `holes`: first orbital n and number of orbitals n.
  /// `particles`: the same of f.
  void read_ovvv(int u, int s, std::array<std::int64_t, 2> holes, std::array<std::int64_t, 2> particles,
                 std::span<double> out) const;

 private:
  struct Array {
    ArraySpec spec;
    std::shared_ptr<const DenseArray> array;
  };
  /// Opens an array, if it is not empty.
  void add(const DenseArrays& arrays, const ArraySpec& spec);
  const Array& find(ArrayKind kind, int first, int second) const;

  DenseHeader header_;
  std::map<std::tuple<ArrayKind, int, int>, Array> arrays_;
};

}
