#pragma once

#include "cxx/cuda/kernel/quotients.cuh"
#include "cxx/cuda/kernel/spin_adapted_elements.cuh"

namespace trifuse::gpu {

/// The spin-adapted epilogue for any quotients, with two or three sides. Its sums are those of SpinAdaptedEnergies, for
/// each quotient.
template <int sides_, typename ConfigT>
class SpinAdaptedQuotients : public SpinAdaptedElements<sides_, ConfigT> {
  using Base = SpinAdaptedElements<sides_, ConfigT>;
  using Base::add_singles, Base::elements_, Base::parameters_, Base::read_targets;
  using typename Base::Element, typename Base::Six;
  static constexpr int sums_count = spin_adapted_sums;

 public:
  using Base::Base, Base::is_active, Base::sums_of_warp, Base::weight_of, Base::write_sums_of_omega2;
  using typename Base::Config;

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<Base::formulation, Config>& stages) {
    write_sums_of_quotients<sums_count>(SpinAdaptedQuotients(parameters, stages.tile_data()), parameters);
  }

  /// See write_sums_of_quotients().
  __device__ __forceinline__ void add_elements(const ElementGroup& x, const Quotient* quotients, int count,
                                               double (&energies)[quotients_at_once][sums_count]) const {
    Six right[elements_at_once], left[elements_at_once], singles[elements_at_once], c3[elements_at_once]{};
    constexpr int left_sides = sides_ - 1;
    const auto read_side = [&](int side, Six(&to)[elements_at_once]) {
#pragma unroll
      for (int e = 0; e < elements_at_once; ++e) to[e] = read_targets(side, x.a[e], x.b[e], x.c[e], x.half);
    };
    const auto add_set = [&](int set, Six(&to)[elements_at_once]) {
#pragma unroll
      for (int e = 0; e < elements_at_once; ++e) add_singles(set, x.a[e], x.b[e], x.c[e], x.half, to[e]);
    };
    read_side(left_sides, right);
#pragma unroll 1
    for (int side = 0; side < left_sides; ++side) {
      read_side(side, left);
#pragma unroll
      for (int e = 0; e < elements_at_once; ++e) singles[e] = {};
#pragma unroll 1
      for (int set = this->first_set(side); set < this->sets_end(side); ++set) add_set(set, singles);
      const int c3_set = this->sets_end(left_sides - 1);
      if (side == 0 && parameters_.sets > c3_set) add_set(c3_set, c3);
      const QuotientsOfSide<sides_> of_side{quotients, count, left_side(side)};
#pragma unroll
      for (int e = 0; e < elements_at_once; ++e) {
        add_element(x.a[e], x.b[e], x.c[e], x.half, x.weight[e], {right[e], left[e], singles[e], c3[e]}, of_side,
                    energies);
      }
    }
  }

 private:
  /// The six targets of an element.
  struct Targets {
    const Six &right, &left, &singles, &c3;
  };

  /// Adds the energies of one element.
  __device__ __forceinline__ void add_element(int a, int b, int c, int half, double weight, const Targets& targets,
                                              const QuotientsOfSide<sides_>& quotients,
                                              double (&energies)[quotients_at_once][sums_count]) const {
    const bool used = weight != 0.0;
    const bool any_tables = for_quotients_without_tables(quotients, [&](const Quotient& quotient, int q) {
      const NumeratorsOf<Element> sum = spin_adapted_numerators_of<Element>(
          targets.left, targets.singles, right_factor(quotient, targets.right, targets.c3, targets.left));
      const bool divides = quotient.denominator != Denominator::one;
      const Element x = this->delta(a, b, c, half) - static_cast<Element>(denominator_shift(quotient.omega2));
      const Element factor = static_cast<Element>(weight) * (divides ? reciprocal(used ? x : Element{1}) : Element{1});
      // Energies of elements that do not contribute may be NaN or infinite.
      if (!used) return;
      add_multiple(energies[q], factor, sum.all);
      add_multiple(energies[q] + Energies::count, factor, sum.same);
    });
    if (!any_tables || parameters_.tables.h == nullptr) return;
    const TableOrbitals orbitals = this->table_orbitals(a, b, c, half);
    SpinAdaptedDenominators denominators(parameters_.tables, orbitals);
    for_quotients_of_tables(denominators, quotients, [&](const Quotient& quotient, int q) {
      const Six& factor = right_factor(quotient, targets.right, targets.c3, targets.left);
      add_spin_elements(denominators, targets.left, targets.singles, factor, used ? weight : 0.0, energies[q]);
    });
  }

  /// Adds the energies of the spin elements, each with its own denominator.
  static __device__ __forceinline__ void add_spin_elements(const SpinAdaptedDenominators& x, const Six& left,
                                                           const Six& singles, const Six& right, double weight,
                                                           double (&energies)[sums_count]) {
    // Spin elements with two equal spin orbitals vanish, and their denominators have no meaning. [position]: true if
    // the two other holes, or particles, are equal.
    bool equal_holes[3], equal_particles[3];
    for_each_pair([&](int y, int z, int q) {
      equal_holes[q] = x.x.hole[y] == x.x.hole[z];
      equal_particles[q] = x.x.particle[y] == x.x.particle[z];
    });
    const SpinElementsOf<Element> l = spin_elements(left), s = spin_elements(singles), r = spin_elements(right);
    double all[Energies::count] = {}, same[Energies::count] = {};
    const auto add = [&](double* to, int n, double denominator, bool vanishes) {
      const bool used = weight != 0.0 && !vanishes;
      const auto sum = spin_element_numerators<Element>(l.amplitude[n], s.amplitude[n], r.amplitude[n]);
      const double factor = weight * reciprocal(used ? denominator : 1.0);
      if (used) add_multiple(to, factor, sum);
    };
    const auto any = [](const bool(&equal)[3]) { return equal[0] || equal[1] || equal[2]; };
    add(same, 0, x.aaa, any(equal_holes) || any(equal_particles));
#pragma unroll
    for (int n = 0; n < 9; ++n) {
      constexpr auto elements = mixed_elements;
      const int p = elements[static_cast<std::size_t>(n)].particle, h = elements[static_cast<std::size_t>(n)].hole;
      add(all, 1 + n, x.aab[p][h], equal_holes[h] || equal_particles[p]);
    }
#pragma unroll
    for (std::size_t e = 0; e < Energies::count; ++e) {
      energies[e] += all[e] + same[e];
      energies[Energies::count + e] += same[e];
    }
  }
};

}
