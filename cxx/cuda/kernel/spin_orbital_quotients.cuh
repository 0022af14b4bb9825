#pragma once

#include "cxx/cuda/kernel/quotients.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"

namespace trifuse::gpu {

/// The epilogue of the spin-orbital form for any quotients. Its sums are those of SpinOrbitalEnergies, for each
/// quotient. It reads the vvoo blocks from device memory.
template <typename ConfigT>
class SpinOrbitalQuotients : public WarpEpilogue<SpinFormulation::spin_orbital, any_sides, ConfigT> {
  using Base = WarpEpilogue<SpinFormulation::spin_orbital, any_sides, ConfigT>;
  using Base::elements_, Base::numbers_per_target, Base::parameters_, Base::scratch_, Base::threads, Base::vvoo_offset;
  using typename Base::Elements;
  static constexpr int sums_count = spin_orbital_sums;

 public:
  using Base::Base, Base::is_active, Base::sums_of_warp, Base::weight_of, Base::write_sums_of_omega2;
  using typename Base::Config;
  static constexpr bool reads_vvoo = false;

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<Base::formulation, Config>& stages) {
    write_sums_of_quotients<sums_count>(SpinOrbitalQuotients(parameters, stages.tile_data()), parameters);
  }

  /// See write_sums_of_quotients().
  __device__ __forceinline__ void add_elements(const ElementGroup& x, const Quotient* quotients,
                                               const QuotientMasks& masks,
                                               double (&energies)[quotients_at_once][sums_count]) const {
#pragma unroll
    for (int e = 0; e < elements_at_once; ++e)
      add_element(x.a[e], x.b[e], x.c[e], x.half, x.weight[e], quotients, masks, energies);
  }

 private:
  __device__ __forceinline__ void add_element(int a, int b, int c, int half, double weight, const Quotient* quotients,
                                              const QuotientMasks& masks,
                                              double (&energies)[quotients_at_once][sums_count]) const {
    const bool used = weight != 0.0;
    // D of elements that do not contribute may be NaN or infinite. D has the sign `final_sign`.
    constexpr double sign = final_sign<typename Config::Schedule>;
    const auto read = [&](int side) {
      const double d = scratch_[(side * Config::accumulators + Elements::index(a, b, c, half)) * threads];
      return used ? sign * d : 0.0;
    };
    const int left_sides = this->left_sides(), c3_set = this->c3_set();
    const double right = read(left_sides);
    const double c3 = c3_set >= 0 ? singles_of(c3_set, a, b, c, half) : 0.0;
#pragma unroll 1
    for (int side = 0; side < left_sides; ++side) {
      std::uint32_t wanted = 0;
#pragma unroll
      for (int factor = 0; factor < right_factors; ++factor) wanted |= masks.of(side, factor);
      if (wanted == 0) continue;
      const double left = read(side);
      double singles = 0.0;
#pragma unroll 1
      for (int set = this->first_set(side); set < parameters_.sets_end[side]; ++set)
        singles += singles_of(set, a, b, c, half);
      const auto add = [&](RightFactor of, int q, double inverse) {
        const double right_factor = of == RightFactor::connected ? right : of == RightFactor::disconnected ? c3 : left;
        const double factor = weight * inverse * right_factor;
        const Energies sum = spin_orbital_energies(left * factor, singles * factor);
        if (used) add_multiple(energies[q], 1.0, sum);
      };
      for_each_bit(QuotientMasks::without_tables(wanted), [&](int q) {
        const Quotient quotient = quotients[q];
        const double x = static_cast<double>(this->delta(a, b, c, half)) - denominator_shift(quotient.omega2);
        add(quotient.right, q, quotient.denominator == Denominator::one ? 1.0 : reciprocal(used ? x : 1.0));
      });
      if (!QuotientMasks::any_from(wanted, 0)) continue;
      SpinOrbitalDenominator denominator(parameters_.tables, this->table_orbitals(a, b, c, half));
      // One copy of the code that divides.
#pragma unroll 1
      for (int method = 0; QuotientMasks::any_from(wanted, method); ++method) {
        if (method == 1) denominator.add_two_body();
        if (method == 2) denominator.add_three_body();
        const double inverse = reciprocal(used ? denominator.value : 1.0);
        for_each_bit(QuotientMasks::of_tables(wanted, method), [&](int q) { add(quotients[q].right, q, inverse); });
      }
    }
  }

  /// Returns the disconnected triples of a set.
  __device__ __forceinline__ double singles_of(int set, int a, int b, int c, int half) const {
    const int n[3] = {a, b, c};
    double sum = 0.0;
#pragma unroll
    for (int x = 0; x < 3; ++x) {
      const int u = first_other(x), w = second_other(x);
      const int particle_u = elements_.tile_particle(u, n[u]), particle_w = elements_.tile_particle(w, n[w]);
#pragma unroll
      for (int y = 0; y < 3; ++y) {
        const int h1 = first_other(y), h2 = second_other(y);
        const double* const block = elements_.data.vvoo[set * spin_orbital_vvoo_blocks + x * 3 + y] +
                                    vvoo_offset(h1, h2, u, w, particle_u, particle_w);
        sum += alone_sign(x, y) * static_cast<double>(elements_.ov_tensor(set, x, n[x], y, half)) *
               __ldg(block + elements_.local_hole(h1, half) * hole_group_size + elements_.local_hole(h2, half));
      }
    }
    return sum;
  }
};

}
