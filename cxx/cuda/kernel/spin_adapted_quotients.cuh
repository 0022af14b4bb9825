#pragma once

#include "cxx/cuda/kernel/quotients.cuh"
#include "cxx/cuda/kernel/spin_adapted_elements.cuh"

namespace trifuse::gpu {

/// The spin-adapted epilogue for any quotients. Its sums are those of SpinAdaptedEnergies, for each quotient.
template <typename ConfigT>
class SpinAdaptedQuotients : public SpinAdaptedElements<any_sides, ConfigT> {
  using Base = SpinAdaptedElements<any_sides, ConfigT>;
  using Base::add_singles, Base::elements_, Base::parameters_, Base::read_targets;
  using typename Base::Element, typename Base::Six;
  static constexpr int sums_count = spin_adapted_sums;
  using Group = ElementGroup;
  using Targets = Six[elements_at_once];  ///< [element]
  using Sums = double[quotients_at_once][sums_count];

 public:
  using Base::Base, Base::is_active, Base::sums_of_warp, Base::weight_of, Base::write_sums_of_omega2;
  using typename Base::Config;

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<Base::formulation, Config>& stages) {
    write_sums_of_quotients<sums_count>(SpinAdaptedQuotients(parameters, stages.tile_data()), parameters);
  }

  /// See write_sums_of_quotients().
  __device__ __forceinline__ void add_elements(const Group& x, const Quotient* quotients, const QuotientMasks& masks,
                                               Sums& energies) const {
    const int left_sides = this->left_sides();
#pragma unroll 1
    for (int side = 0; side < left_sides; ++side) {
      Targets left, singles, right;
      bool is_read = false;
      // D_right comes last, because the quotients with tables have this factor and need the registers.
#pragma unroll 1
      for (int n = 1; n <= right_factors; ++n) {
        const int factor = n % right_factors;
        const std::uint32_t wanted = masks.of(side, factor);
        if (wanted == 0) continue;
        if (!is_read) {
          read_side(side, x, left);
          clear(singles);
#pragma unroll 1
          for (int set = this->first_set(side); set < parameters_.sets_end[side]; ++set) add_set(set, x, singles);
        }
        read_right_factor(static_cast<RightFactor>(factor), x, left, right);
        add_without_tables(x, left, singles, right, QuotientMasks::without_tables(wanted), quotients, energies);
        is_read = !QuotientMasks::any_from(wanted, 0);
        if (is_read) continue;
        add_of_tables(x, left, singles, right, wanted, energies);
        // No register holds them while denominators are added up. They are read again for another factor.
        clear(left);
        clear(singles);
      }
    }
  }

 private:
  static __device__ __forceinline__ void clear(Targets& targets) {
#pragma unroll
    for (int e = 0; e < elements_at_once; ++e) targets[e] = {};
  }
  __device__ __forceinline__ void read_side(int side, const Group& x, Targets& to) const {
#pragma unroll
    for (int e = 0; e < elements_at_once; ++e) to[e] = read_targets(side, x.a[e], x.b[e], x.c[e], x.half);
  }
  __device__ __forceinline__ void add_set(int set, const Group& x, Targets& to) const {
#pragma unroll
    for (int e = 0; e < elements_at_once; ++e) add_singles(set, x.a[e], x.b[e], x.c[e], x.half, to[e]);
  }
  __device__ __forceinline__ void read_right_factor(RightFactor factor, const Group& x, const Targets& left,
                                                    Targets& to) const {
    if (factor == RightFactor::connected) {
      read_side(this->left_sides(), x, to);
    } else if (factor == RightFactor::disconnected) {
      clear(to);
      add_set(this->c3_set(), x, to);
    } else {
#pragma unroll
      for (int e = 0; e < elements_at_once; ++e) to[e] = left[e];
    }
  }

  /// Adds the energies of the quotients of `mask`, whose denominators are no sums of tables.
  __device__ __forceinline__ void add_without_tables(const Group& x, const Targets& left, const Targets& singles,
                                                     const Targets& right, std::uint32_t mask,
                                                     const Quotient* quotients, Sums& energies) const {
    if (mask == 0) return;
    NumeratorsOf<Element> sum[elements_at_once];
    Element delta[elements_at_once];
#pragma unroll
    for (int e = 0; e < elements_at_once; ++e) {
      sum[e] = spin_adapted_numerators_of<Element>(left[e], singles[e], right[e]);
      delta[e] = this->delta(x.a[e], x.b[e], x.c[e], x.half);
    }
    for_each_bit(mask, [&](int q) {
      const Quotient quotient = quotients[q];
      const bool divides = quotient.denominator != Denominator::one;
      double part[sums_count] = {};
#pragma unroll
      for (int e = 0; e < elements_at_once; ++e) {
        const bool used = x.weight[e] != 0.0;
        const Element denominator = delta[e] - static_cast<Element>(denominator_shift(quotient.omega2));
        const Element factor =
            static_cast<Element>(x.weight[e]) * (divides ? reciprocal(used ? denominator : Element{1}) : Element{1});
        // Energies of elements that do not contribute may be NaN or infinite.
        if (!used) continue;
        add_multiple(part, factor, sum[e].all);
        add_multiple(part + Energies::count, factor, sum[e].same);
      }
#pragma unroll
      for (int s = 0; s < sums_count; ++s) energies[q][s] += part[s];
    });
  }

  /// The numerators of the ten spin elements of an element, multiplied by its weight. They are 0 if two equal orbitals
  /// have equal spins, because the denominators then have no meaning.
  struct SpinNumerators {
    Energies of[spin_element_count];
    std::uint32_t used;  ///< bit n: spin element n contributes

    __device__ __forceinline__ SpinNumerators(const TableOrbitals& x, double weight, const Six& left,
                                              const Six& singles, const Six& right)
        : used(weight != 0.0 ? used_spin_elements(x) : 0) {
      const SpinElementsOf<Element> l = spin_elements(left), s = spin_elements(singles), r = spin_elements(right);
#pragma unroll
      for (int n = 0; n < spin_element_count; ++n) {
        const auto sum = spin_element_numerators<Element>(l.amplitude[n], s.amplitude[n], r.amplitude[n]);
        double values[Energies::count] = {};
        if ((used >> n & 1) != 0) add_multiple(values, weight, sum);
        of[n] = Energies::of_values(values);
      }
    }
    /// Adds the energies to the sums of the quotients of `mask`. `inverse(n)`: reciprocal denominator of spin element
    /// n.
    template <typename Inverse>
    __device__ __forceinline__ void add(std::uint32_t mask, Sums& energies, Inverse inverse) const {
      double mixed[Energies::count] = {}, same[Energies::count] = {};
#pragma unroll
      for (int n = 0; n < spin_element_count; ++n) add_multiple(n == 0 ? same : mixed, inverse(n), of[n]);
      for_each_bit(mask, [&](int q) {
#pragma unroll
        for (std::size_t s = 0; s < Energies::count; ++s) {
          energies[q][s] += mixed[s] + same[s];
          energies[q][Energies::count + s] += same[s];
        }
      });
    }
    /// Does the same with denominators of the spin elements.
    __device__ __forceinline__ void add(std::uint32_t mask, Sums& energies, const SpinAdaptedDenominators& x) const {
      add(mask, energies, [&](int n) {
        constexpr auto elements = mixed_elements;
        const MixedElement& element = elements[static_cast<std::size_t>(n == 0 ? 0 : n - 1)];
        const double denominator = n == 0 ? x.aaa : x.aab[element.particle][element.hole];
        return reciprocal((used >> n & 1) != 0 ? denominator : 1.0);
      });
    }
  };

  /// Returns the spin elements without two equal orbitals of equal spins, bit n for number n.
  static __device__ __forceinline__ std::uint32_t used_spin_elements(const TableOrbitals& x) {
    // [position]: true if the two other holes, or particles, are equal.
    bool equal_holes[3], equal_particles[3];
    for_each_pair([&](int y, int z, int q) {
      equal_holes[q] = x.hole[y] == x.hole[z];
      equal_particles[q] = x.particle[y] == x.particle[z];
    });
    const auto any = [](const bool(&equal)[3]) { return equal[0] || equal[1] || equal[2]; };
    std::uint32_t used = any(equal_holes) || any(equal_particles) ? 0 : 1;
#pragma unroll
    for (int n = 0; n < spin_element_count - 1; ++n) {
      constexpr auto elements = mixed_elements;
      const MixedElement& element = elements[static_cast<std::size_t>(n)];
      if (!equal_holes[element.hole] && !equal_particles[element.particle]) used |= 2u << n;
    }
    return used;
  }

  /// Adds the energies of the quotients of `masks` whose denominators are sums of tables. It changes the targets.
  __device__ __forceinline__ void add_of_tables(const Group& x, Targets& left, Targets& singles, Targets& right,
                                                std::uint32_t masks, Sums& energies) const {
    // One copy of the code for all elements. The next element comes to the first place.
#pragma unroll 1
    for (int e = 0; e < elements_at_once; ++e) {
      TableOrbitals orbitals = this->table_orbitals(x.a[0], x.b[0], x.c[0], x.half);
      double weight = x.weight[0];
#pragma unroll
      for (int n = 1; n < elements_at_once; ++n) {
        if (e != n) continue;
        orbitals = this->table_orbitals(x.a[n], x.b[n], x.c[n], x.half);
        weight = x.weight[n];
      }
      add_of_tables(orbitals, SpinNumerators(orbitals, weight, left[0], singles[0], right[0]), masks, energies);
#pragma unroll
      for (int n = 1; n < elements_at_once; ++n) {
        left[n - 1] = left[n];
        singles[n - 1] = singles[n];
        right[n - 1] = right[n];
      }
    }
  }
  /// Does this for one element.
  __device__ __forceinline__ void add_of_tables(const TableOrbitals& orbitals, const SpinNumerators& numerators,
                                                std::uint32_t masks, Sums& energies) const {
    const std::uint32_t one_body = QuotientMasks::of_tables(masks, 0), two_body = QuotientMasks::of_tables(masks, 1),
                        three_body = QuotientMasks::of_tables(masks, 2);
    SpinAdaptedDenominators denominators(parameters_.tables, orbitals);
    if (one_body != 0) {
      const double inverse = reciprocal(numerators.used != 0 ? denominators.aaa : 1.0);
      numerators.add(one_body, energies, [inverse](int) { return inverse; });
    }
    if ((two_body | three_body) == 0) return;
    denominators.add_two_body();
    typename SpinAdaptedDenominators::ThreeBody of_two_holes;
    // These loads are under way while the two-body denominators divide.
    if (three_body != 0) of_two_holes = denominators.of_two_holes();
    if (two_body != 0) numerators.add(two_body, energies, denominators);
    if (three_body == 0) return;
    denominators.add_two_holes(of_two_holes);
    denominators.subtract_two_particles(denominators.of_two_particles());
    numerators.add(three_body, energies, denominators);
  }
};

}
