#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/triples/method.hpp"
#include "cxx/triples/problem.hpp"

/// The operands of the reference evaluation: dense arrays over spin orbitals.
namespace trifuse {

/// A dense tensor [u1,u2,l1,l2] of four spin-orbital indices. Indices are numbers of orbitals; `origin` holds the first
/// orbital of each index.
class Dense4 {
 public:
  Dense4() = default;
  Dense4(std::array<std::int64_t, 4> origin, std::array<std::int64_t, 4> extent)
      : origin_(origin),
        extent_(extent),
        data_(static_cast<std::size_t>(extent[0] * extent[1] * extent[2] * extent[3])) {}
  double& operator()(std::int64_t u1, std::int64_t u2, std::int64_t l1, std::int64_t l2) {
    return data_[index(u1, u2, l1, l2)];
  }
  double operator()(std::int64_t u1, std::int64_t u2, std::int64_t l1, std::int64_t l2) const {
    return data_[index(u1, u2, l1, l2)];
  }
  void set_to_zero() { std::fill(data_.begin(), data_.end(), 0.0); }

 private:
  std::size_t index(std::int64_t u1, std::int64_t u2, std::int64_t l1, std::int64_t l2) const {
    return static_cast<std::size_t>(
        (l2 - origin_[3]) +
        extent_[3] * ((l1 - origin_[2]) + extent_[2] * ((u2 - origin_[1]) + extent_[1] * (u1 - origin_[0]))));
  }
  std::array<std::int64_t, 4> origin_{}, extent_{};
  std::vector<double> data_;
};

/// Amplitudes and integrals over sorted spin orbitals. They include all antisymmetric images and, in a restricted
/// space, the elements of flipped spin.
struct ReferenceTensors {
  std::int64_t holes = 0, orbitals = 0;
  std::vector<double> t1, fock;  ///< [upper orbital, lower orbital] over all orbitals
  Dense4 t2;                     ///< [p,p',h,h']
  Dense4 vvoo, ovoo, vvov;       ///< <p p'||h h'>, <l p||h h'>, <p p'||h d>
  const std::vector<double>& ov(OvTensor tensor) const { return tensor == OvTensor::t1 ? t1 : fock; }
};

/// Reads t1 and t2 of a source. Passes on its exceptions.
ReferenceTensors expand_amplitudes(const TileSource& amplitudes);
/// Reads the operands of a side; `with_fock`: also the Fock matrix.
ReferenceTensors expand(const OperandSet& operands, bool with_fock);

}
