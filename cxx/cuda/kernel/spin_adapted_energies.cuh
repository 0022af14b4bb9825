#pragma once

#include "cxx/cuda/kernel/spin_adapted_elements.cuh"
#include "cxx/triples/energy.hpp"

namespace trifuse::gpu {

/// The epilogue of the spin-adapted form: E[T] and E(T) of a CTA tile, and the same-spin parts of both. It reads the
/// vvoo blocks from device memory.
template <int sides_, typename ConfigT>
class SpinAdaptedEnergies : public SpinAdaptedElements<sides_, ConfigT> {
  using Base = SpinAdaptedElements<sides_, ConfigT>;
  using Base::add_singles, Base::elements_, Base::read_targets, Base::two_sided;
  using typename Base::Element, typename Base::Six;

 public:
  using Base::Base;
  using typename Base::Config;
  static constexpr bool reads_vvoo = false;

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<Base::formulation, Config>& stages) {
    const SpinAdaptedEnergies energies(parameters, stages.tile_data());
#pragma unroll 1
    for (int set = 0; set < parameters.sets; ++set) {
      energies.template write_sums<sums_count>(set, [set, &energies](double shift, double(&energy)[sums_count]) {
        energies.sum_spin_adapted(set, shift, energy);
      });
    }
  }

 private:
  static constexpr int sums_count = spin_adapted_sums;

  /// Adds the lane's energies in spin-adapted form. The loop over c is unrolled, so that the loads of several elements
  /// overlap. If there is one c, two values of b are taken together.
  __device__ __forceinline__ void sum_spin_adapted(int set, double shift, double (&energy)[sums_count]) const {
    constexpr int cs = Config::warp_tile_c, bs = cs == 1 ? 2 : 1, parts_b = Config::warp_tile_b / bs;
#pragma unroll 1
    for (int n = 0; n < Config::accumulators / (bs * cs); ++n) {
      const int half = n & 1, first_b = n / 2 % parts_b * bs, a = n / 2 / parts_b;
      PartialSum<Element> of_part[sums_count] = {PartialSum<Element>(energy[0]), PartialSum<Element>(energy[1]),
                                                 PartialSum<Element>(energy[2]), PartialSum<Element>(energy[3])};
#pragma unroll
      for (int b = first_b; b < first_b + bs; ++b) {
        const Element eps_ab = elements_.eps_holes(half) - static_cast<Element>(shift) - elements_.eps_particle(0, a) -
                               elements_.eps_particle(1, b);
        const double hole_weight = elements_.hole_weight(half);
#pragma unroll
        for (int c = 0; c < cs; ++c) {
          const Six right = read_targets(sides_ - 1, a, b, c, half);
          const Six left = two_sided ? read_targets(0, a, b, c, half) : right;
          Six singles{};
          add_singles(set, a, b, c, half, singles);
          const NumeratorsOf<Element> sum = spin_adapted_numerators_of<Element>(left, singles, right);
          const auto weight = static_cast<Element>(hole_weight * elements_.particle_weight(a, b, c));
          // Energies of elements that do not contribute may be NaN or infinite.
          const bool used = weight != 0;
          const Element factor = weight * reciprocal(used ? eps_ab - elements_.eps_particle(2, c) : Element{1});
          if (set == 0) {
            of_part[0] += used ? factor * sum.all.e_bracket_t : 0;
            of_part[2] += used ? factor * sum.same.e_bracket_t : 0;
          }
          // Sets after the first contribute their singles only.
          of_part[1] += used ? factor * (set == 0 ? sum.all.e_paren_t : sum.all.e_paren_t - sum.all.e_bracket_t) : 0;
          of_part[3] += used ? factor * (set == 0 ? sum.same.e_paren_t : sum.same.e_paren_t - sum.same.e_bracket_t) : 0;
        }
      }
    }
  }
};

}
