#pragma once

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse::gpu {

/// The common part of spin-adapted epilogues: the six targets of an element, and its disconnected triples. It reads the
/// vvoo blocks from device memory.
template <int sides_, typename ConfigT>
class SpinAdaptedElements : public WarpEpilogue<SpinFormulation::spin_adapted, sides_, ConfigT> {
  using Base = WarpEpilogue<SpinFormulation::spin_adapted, sides_, ConfigT>;

 public:
  using Base::Base;
  using typename Base::Config;
  static constexpr bool reads_vvoo = false;

 protected:
  using Base::elements_, Base::lane_, Base::numbers_per_target, Base::scratch_, Base::threads, Base::vvoo_offset;
  using typename Base::Elements, typename Base::Number;
  using Element = ElementNumber<Base::formulation, Config>;
  using Six = SixTargetsOf<Element>;

  /// Returns where scratch has target `t` of the lane's element with particles 0 of the warp tile, counted from lane 0.
  /// A target that was not computed is read from a computed target with exchanged holes, see target_source(). Another
  /// lane of the warp has spilled that element.
  __device__ __forceinline__ int place_of_target(int t, int half) const {
    const int x[3] = {elements_.local_hole(0, half), elements_.local_hole(1, half), elements_.local_hole(2, half)};
    const TargetSource source = target_source(elements_.data.equal_groups, t);
    const auto hole = [&](int p) { return p == 0 ? x[0] : p == 1 ? x[1] : x[2]; };
    const int i = hole(source.order[0]), j = hole(source.order[1]), k = hole(source.order[2]);
    constexpr int lone = Elements::final_axes.hole;
    return (source.target * Config::accumulators + Elements::index(0, 0, 0, half_of_holes(lone, i, j, k))) * threads +
           lane_of_holes(lone, i, j, k);
  }
  /// Returns the six targets of one side for one element.
  __device__ __forceinline__ Six read_targets(int side, int a, int b, int c, int half) const {
    const Number* const first = scratch_ + side * Base::targets_per_side * numbers_per_target - lane_;
    const auto read = [&](int t) { return first[Elements::index(a, b, c, 0) * threads + place_of_target(t, half)]; };
    return {read(0), read(1), read(2), read(3), read(4), read(5)};
  }

  /// Adds the disconnected triples of a set to the six targets of an element.
  __device__ __forceinline__ void add_singles(int set, int a, int b, int c, int half, Six& targets) const {
    Element singles[6] = {targets.e0, targets.e1, targets.e2, targets.o3, targets.o4, targets.o5};
    add_singles_of<0>(set, a, b, c, half, singles);
    add_singles_of<1>(set, a, b, c, half, singles);
    add_singles_of<2>(set, a, b, c, half, singles);
    targets = {singles[0], singles[1], singles[2], singles[3], singles[4], singles[5]};
  }

 private:
  /// Adds t1[x, y] (u h|w h') to every target in which particle x has hole y.
  template <int x>
  __device__ __forceinline__ void add_singles_of(int set, int a, int b, int c, int half, Element (&singles)[6]) const {
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
