#pragma once

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse::gpu {

/// The epilogue of the spin-adapted form: E[T] and E(T) of a CTA tile, and the same-spin parts of both. It reads the
/// vvoo blocks from device memory.
template <bool two_sided_, typename ConfigT>
class SpinAdaptedEnergies : public WarpEpilogue<SpinFormulation::spin_adapted, two_sided_, ConfigT> {
  using Base = WarpEpilogue<SpinFormulation::spin_adapted, two_sided_, ConfigT>;
  using Base::numbers_per_target, Base::elements_, Base::lane_, Base::scratch_, Base::threads, Base::two_sided,
      Base::vvoo_offset;
  using typename Base::Elements, typename Base::Number;

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
  using Element = ElementNumber<Base::formulation, Config>;
  using Six = SixTargetsOf<Element>;

  /// Returns the six targets of one side for one element. A target that was not computed is read from a computed target
  /// with exchanged holes, see target_source(). Another lane of the warp has spilled that element.
  __device__ __forceinline__ Six read_targets(int side, int a, int b, int c, int half) const {
    const int x[3] = {elements_.local_hole(0, half), elements_.local_hole(1, half), elements_.local_hole(2, half)};
    const Number* first = scratch_ + side * Base::targets_per_side * numbers_per_target - lane_;
    const auto read = [&](int t) {
      const TargetSource source = target_source(elements_.data.equal_groups, t);
      const auto hole = [&](int p) { return p == 0 ? x[0] : p == 1 ? x[1] : x[2]; };
      const int i = hole(source.order[0]), j = hole(source.order[1]), k = hole(source.order[2]);
      constexpr int lone = Elements::final_axes.hole;
      const int lane = lane_of_holes(lone, i, j, k);
      return first[(source.target * Config::accumulators + Elements::index(a, b, c, half_of_holes(lone, i, j, k))) *
                       threads +
                   lane];
    };
    return {read(0), read(1), read(2), read(3), read(4), read(5)};
  }

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
          const Six right = read_targets(Base::sides - 1, a, b, c, half);
          const Six left = two_sided ? read_targets(0, a, b, c, half) : right;
          Element singles[6] = {};
          add_adapted_singles<0>(set, a, b, c, half, singles);
          add_adapted_singles<1>(set, a, b, c, half, singles);
          add_adapted_singles<2>(set, a, b, c, half, singles);
          const NumeratorsOf<Element> sum = spin_adapted_numerators_of<Element>(
              left, {singles[0], singles[1], singles[2], singles[3], singles[4], singles[5]}, right);
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

  /// Adds t1[x, y] (u h|w h') to every target in which particle x has hole y.
  template <int x>
  __device__ __forceinline__ void add_adapted_singles(int set, int a, int b, int c, int half,
                                                      Element (&singles)[6]) const {
    constexpr int u = first_other(x), w = second_other(x);
    const int n[3] = {a, b, c};
    const int particle_u = elements_.tile_particle(u, n[u]), particle_w = elements_.tile_particle(w, n[w]);
    const int offset[3] = {vvoo_offset(1, 2, u, w, particle_u, particle_w),
                           vvoo_offset(0, 2, u, w, particle_u, particle_w),
                           vvoo_offset(0, 1, u, w, particle_u, particle_w)};
#pragma unroll
    for (int t = 0; t < 6; ++t) {
      constexpr auto all = assignments;
      const int y = all[static_cast<std::size_t>(t)][x];
      const int h1 = first_other(y), h2 = second_other(y);
      const double* block = elements_.data.vvoo[set * spin_adapted_vvoo_blocks + x * 6 + t];
      singles[t] += elements_.ov_tensor(set, x, n[x], y, half) *
                    static_cast<Element>(__ldg(block + offset[y] + elements_.local_hole(h1, half) * hole_group_size +
                                               elements_.local_hole(h2, half)));
    }
  }
};

}
