#pragma once

#include "cxx/cuda/kernel/quotients.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"

namespace trifuse::gpu {

/// The epilogue of the spin-orbital form for any quotients, with two or three sides. Its sums are those of
/// SpinOrbitalEnergies, for each quotient. It reads the vvoo blocks from device memory.
template <int sides_, typename ConfigT>
class SpinOrbitalQuotients : public WarpEpilogue<SpinFormulation::spin_orbital, sides_, ConfigT> {
  using Base = WarpEpilogue<SpinFormulation::spin_orbital, sides_, ConfigT>;
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
  __device__ __forceinline__ void add_elements(const ElementGroup& x, const Quotient* quotients, int count,
                                               double (&energies)[quotients_at_once][sums_count]) const {
#pragma unroll
    for (int e = 0; e < elements_at_once; ++e)
      add_element(x.a[e], x.b[e], x.c[e], x.half, x.weight[e], quotients, count, energies);
  }

 private:
  __device__ __forceinline__ void add_element(int a, int b, int c, int half, double weight, const Quotient* quotients,
                                              int count, double (&energies)[quotients_at_once][sums_count]) const {
    const bool used = weight != 0.0;
    // D of elements that do not contribute may be NaN or infinite. D has the sign `final_sign`.
    constexpr double sign = final_sign<typename Config::Schedule>;
    const auto read = [&](int side) {
      const double d = scratch_[(side * Config::accumulators + Elements::index(a, b, c, half)) * threads];
      return used ? sign * d : 0.0;
    };
    constexpr int left_sides = sides_ - 1;
    const int c3_set = this->sets_end(left_sides - 1);
    const double right = read(left_sides);
    const double c3 = parameters_.sets > c3_set ? singles_of(c3_set, a, b, c, half) : 0.0;
#pragma unroll 1
    for (int side = 0; side < left_sides; ++side) {
      const double left = read(side);
      double singles = 0.0;
#pragma unroll 1
      for (int set = this->first_set(side); set < this->sets_end(side); ++set)
        singles += singles_of(set, a, b, c, half);
      const auto add = [&](const Quotient& quotient, int q, double inverse) {
        const double factor = weight * inverse * right_factor(quotient, right, c3, left);
        const Energies sum = spin_orbital_energies(left * factor, singles * factor);
        if (used) add_multiple(energies[q], 1.0, sum);
      };
      const QuotientsOfSide<sides_> of_side{quotients, count, left_side(side)};
      const bool any_tables = for_quotients_without_tables(of_side, [&](const Quotient& quotient, int q) {
        const double x = static_cast<double>(this->delta(a, b, c, half)) - denominator_shift(quotient.omega2);
        add(quotient, q, quotient.denominator == Denominator::one ? 1.0 : reciprocal(used ? x : 1.0));
      });
      if (!any_tables || parameters_.tables.h == nullptr) continue;
      SpinOrbitalDenominator denominator(parameters_.tables, this->table_orbitals(a, b, c, half));
      for_quotients_of_tables(denominator, of_side, [&](const Quotient& quotient, int q) {
        add(quotient, q, reciprocal(used ? denominator.value : 1.0));
      });
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
