#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <vector>

#include "cxx/moments/denominator_tables.hpp"

namespace trifuse::moments {

namespace {

/// The elements of the tables of all spins. A closed shell has arrays of equal and of opposite spins.
class Elements {
 public:
  using Table = ArrayView (DenominatorTables::*)(Spin, Spin) const;

  Elements(const DenominatorTables& tables, Table table, bool closed_shell) {
    for (const Spin s : both_spins) {
      for (const Spin t : both_spins) {
        const Spin opposite = s == t ? alpha : beta;
        const ArrayView view = closed_shell ? (tables.*table)(alpha, opposite) : (tables.*table)(s, t);
        first_[s][t] = view.first;
        extents_[s][t] = view.extents;
      }
    }
  }
  double at(Spin s, Spin t, std::initializer_list<std::int64_t> indices) const {
    std::int64_t place = 0;
    std::size_t axis = 0;
    for (const std::int64_t index : indices) place = place * extents_[s][t][axis++] + index;
    return first_[s][t][place];
  }

 private:
  ArrayOfSpins first_;
  BySpin<BySpin<std::vector<std::int64_t>>> extents_;
};

struct Orbital {
  Spin spin;
  std::int64_t index;
};

}

TripleDenominators DenominatorTables::sorted(SpinFormulation formulation) const {
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  if (adapted && !closed_shell_)
    throw std::logic_error("Denominators of the spin-adapted formulation need the tables of a closed shell.");
  const Elements oo(*this, &DenominatorTables::oo, closed_shell_), vv(*this, &DenominatorTables::vv, closed_shell_),
      ov(*this, &DenominatorTables::ov, closed_shell_), oov(*this, &DenominatorTables::oov, closed_shell_),
      ovv(*this, &DenominatorTables::ovv, closed_shell_);
  TripleDenominators sorted;
  // The orbitals: those of one spin, or all.
  std::vector<Orbital> holes, particles;
  for (const Spin s : both_spins) {
    if (adapted && s == beta) break;
    const ArrayView h = o(closed_shell_ ? alpha : s), p = v(closed_shell_ ? alpha : s);
    for (std::int64_t i = 0; i < h.extents[0]; ++i) holes.push_back({s, i});
    for (std::int64_t a = 0; a < p.extents[0]; ++a) particles.push_back({s, a});
    sorted.h.insert(sorted.h.end(), h.first, h.first + h.extents[0]);
    sorted.p.insert(sorted.p.end(), p.first, p.first + p.extents[0]);
  }
  sorted.holes = static_cast<std::int64_t>(holes.size());
  sorted.particles = static_cast<std::int64_t>(particles.size());
  // `second`: spin of the second orbitals of the terms if their first ones are alpha; spin orbitals have their own.
  const auto add_terms = [&](Spin second, TripleDenominators::Terms& terms) {
    const auto spin = [&](const Orbital& x) { return adapted ? second : x.spin; };
    for (const auto& [s, i] : holes) {
      for (const Orbital& j : holes) terms.hh.push_back(oo.at(s, spin(j), {i, j.index}));
      for (const Orbital& a : particles) terms.hp.push_back(ov.at(s, spin(a), {i, a.index}));
      for (const Orbital& j : holes) {
        for (const Orbital& a : particles) {
          terms.hhp.push_back(a.spin == s        ? oov.at(s, spin(j), {i, j.index, a.index})
                              : a.spin == j.spin ? oov.at(j.spin, s, {j.index, i, a.index})
                                                 : 0.0);
        }
      }
      for (const Orbital& a : particles) {
        for (const Orbital& b : particles) {
          terms.hpp.push_back(a.spin == s   ? ovv.at(s, spin(b), {i, a.index, b.index})
                              : b.spin == s ? ovv.at(s, a.spin, {i, b.index, a.index})
                                            : 0.0);
        }
      }
    }
    for (const auto& [s, a] : particles) {
      for (const Orbital& b : particles) terms.pp.push_back(vv.at(s, spin(b), {a, b.index}));
    }
  };
  add_terms(alpha, sorted.same);
  if (adapted) add_terms(beta, sorted.opposite);
  return sorted;
}

}
