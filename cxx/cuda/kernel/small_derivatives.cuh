#pragma once

#include <array>
#include <type_traits>

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/seed_images.cuh"
#include "cxx/cuda/kernel/spin_adapted_elements.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/terms.hpp"

namespace trifuse::gpu {

/// The part of the epilogue Seeds that knows ov tensors and vvoo blocks: it makes S of them, and adds derivatives by
/// their numbers and by orbital energies to integers in device memory. It reads the vvoo blocks from device memory.
template <SpinFormulation formulation_, int sides_, typename ConfigT>
class SmallDerivatives
    : public std::conditional_t<formulation_ == SpinFormulation::spin_adapted, SpinAdaptedElements<sides_, ConfigT>,
                                WarpEpilogue<formulation_, sides_, ConfigT>> {
 protected:
  static constexpr bool adapted = formulation_ == SpinFormulation::spin_adapted;
  using Base =
      std::conditional_t<adapted, SpinAdaptedElements<sides_, ConfigT>, WarpEpilogue<formulation_, sides_, ConfigT>>;
  using Base::Base;
  using Base::elements_, Base::lane_, Base::parameters_, Base::vvoo_offset;
  using typename Base::Elements;
  static constexpr int targets = Base::targets_per_side;
  static constexpr int terms = adapted ? 6 : 3;  ///< disconnected terms of a set with one particle of the ov tensor
  static constexpr int lone = Elements::final_axes.hole, second = second_other(lone), halved = halved_hole(lone);

  using Amplitudes = TargetNumbers<targets>;
  /// Sums of a lane by the hole that the derivative has: [y][half].
  struct ByHole {
    double of[3][2] = {};
  };

  /// Calls `use(n, t, y, sign)` for each disconnected term n of a set whose ov tensor has particle x and hole y.
  template <int x, typename Use>
  static __device__ __forceinline__ void for_each_term(Use use) {
    constexpr auto all = assignments;
#pragma unroll
    for (int n = 0; n < terms; ++n) {
      const int y = adapted ? all[static_cast<std::size_t>(n)][x] : n;
      use(n, adapted ? n : 0, y, adapted ? 1.0 : alone_sign(x, y));
    }
  }
  /// Where a lane finds its holes in the vvoo blocks of a set, for particles 0 and half 0: [x][y], for the terms with
  /// particle x and hole y. Doubles.
  struct VvooPlaces {
    int of[3][3];
    std::int32_t extent[3];  ///< [position] particles of the orbital tiles

    __device__ __forceinline__ explicit VvooPlaces(const SmallDerivatives& epilogue) {
      const auto& elements = epilogue.elements_;
#pragma unroll
      for (int x = 0; x < 3; ++x) {
        extent[x] = elements.data.task.extent[x];
#pragma unroll
        for (int y = 0; y < 3; ++y) {
          const int h = first_other(y), h2 = second_other(y);
          of[x][y] = epilogue.vvoo_offset(h, h2, first_other(x), second_other(x), 0, 0) +
                     elements.local_hole(h, 0) * hole_group_size + elements.local_hole(h2, 0);
        }
      }
    }
    /// Returns what half 1 adds to these places.
    static constexpr __device__ __forceinline__ int of_half(int y) {
      return halved == first_other(y) ? 2 * hole_group_size : halved == second_other(y) ? 2 : 0;
    }
    /// Returns what the particles other than x add to these places.
    template <int x>
    __device__ __forceinline__ int of_particles(const int (&particle)[3]) const {
      constexpr int u = first_other(x), w = second_other(x);
      return (particle[u] * extent[w] + particle[w]) * (hole_group_size * hole_group_size);
    }
  };

  /// Numbers of the vvoo blocks of the terms of a set with particle x, for the holes of the lane. They are loaded
  /// together, so that they come at the same time.
  template <int x>
  struct VvooNumbers {
    double of[terms][2];  ///< [term][half]

    __device__ __forceinline__ VvooNumbers(const SmallDerivatives& epilogue, const VvooPlaces& places, int set,
                                           const int (&particle)[3]) {
      const int of_particles = places.template of_particles<x>(particle);
      for_each_term<x>([&](int n, int, int y, double) {
        const double* const at = epilogue.elements_.data.vvoo[set * 3 * terms + x * terms + n] +
                                 static_cast<unsigned>(places.of[x][y] + of_particles);
        of[n][0] = __ldg(at);
        of[n][1] = __ldg(at + VvooPlaces::of_half(y));
      });
    }
  };
  /// Calls `use(t, y, half, number)` for each term of a set with particle x and for both halves. `number`: of the vvoo
  /// block, with the sign of the term.
  template <int x, typename Use>
  __device__ __forceinline__ void for_each_number(const VvooPlaces& places, int set, const int (&particle)[3],
                                                  Use use) const {
    const VvooNumbers<x> numbers(*this, places, set, particle);
    for_each_term<x>([&](int term, int t, int y, double sign) {
#pragma unroll
      for (int half = 0; half < 2; ++half) use(t, y, half, sign * numbers.of[term][half]);
    });
  }
  /// Adds the terms of a set with particle x to S.
  template <int x>
  __device__ __forceinline__ void add_singles(const VvooPlaces& places, int set, const int (&n)[3],
                                              const int (&particle)[3], Amplitudes (&s)[2]) const {
    for_each_number<x>(places, set, particle, [&](int t, int y, int half, double number) {
      s[half].of[t] += elements_.ov_tensor(set, x, n[x], y, half) * number;
    });
  }
  /// Adds the derivatives by the ov tensor of the terms of a set with particle x. `seed` [half]: derivatives by S.
  template <int x>
  __device__ __forceinline__ void add_of_ov(const VvooPlaces& places, int set, const int (&particle)[3],
                                            const Amplitudes (&seed)[2], ByHole& of_ov) const {
    for_each_number<x>(places, set, particle,
                       [&](int t, int y, int half, double number) { of_ov.of[y][half] += seed[half].of[t] * number; });
  }

  /// Adds an integer in device memory, if `wanted` is not 0. No load of the epilogue depends on the sum, so the
  /// compiler may move loads across it.
  static __device__ __forceinline__ void add(unsigned long long* to, long long value, unsigned wanted) {
    asm volatile(
        "{ .reg .pred is_wanted; setp.ne.u32 is_wanted, %2, 0; @is_wanted red.global.add.u64 [%0], %1; }" ::"l"(to),
        "l"(value), "r"(wanted));
  }
  /// Adds to the derivative by the orbital energy of an orbital of the tile at position `q`, 0..5. Lane 0 has `value`.
  __device__ __forceinline__ void add_energy(int q, int orbital, double value) const {
    const DerivativeParameters& derivatives = parameters_.derivatives;
    add(derivatives.energies + elements_.data.task.offset[q] + orbital,
        __double2ll_rn(value * derivatives.energy_units), lane_ == 0 ? 1 : 0);
  }
  static __device__ __forceinline__ double add_lanes(double x, int distance) {
    return x + __shfl_xor_sync(~0u, x, distance);
  }
  /// Adds two numbers over pairs of lanes that are `distance` apart: the first lane gets the sum of `x0`, the second
  /// one that of `x1`. `distance`: a power of two.
  __device__ __forceinline__ double add_and_divide(double x0, double x1, int distance) const {
    const bool is_second = (lane_ & distance) != 0;
    return (is_second ? x1 : x0) + __shfl_xor_sync(~0u, is_second ? x0 : x1, distance);
  }

  /// Adds the sums by hole to device memory. `of(y)`: address of the integers of the orbitals of the tile at position
  /// 3 + y, which `stride` separates. `units`: inverse of the unit.
  template <typename Out>
  __device__ __forceinline__ void add_by_hole(const ByHole& x, double units, std::int64_t stride, Out of) const {
    // The lower half of the lanes adds up those of the lone hole, the upper half those of the second hole.
    const bool upper = (lane_ & 16) != 0;
    double sum = add_and_divide(x.of[lone][0] + x.of[lone][1], x.of[second][0] + x.of[second][1], 16);
    sum = sum + __shfl_sync(~0u, sum, lane_ ^ (upper ? 1 : 4));
    sum = sum + __shfl_sync(~0u, sum, lane_ ^ (upper ? 2 : 8));
    const int hole = upper ? elements_.hole(second, 0) : elements_.hole(lone, 0);
    add((upper ? of(second) : of(lone)) + stride * hole, __double2ll_rn(sum * units),
        (lane_ & (upper ? 3 : 12)) == 0 ? 1 : 0);
    double halves = add_and_divide(x.of[halved][0], x.of[halved][1], 1);
#pragma unroll
    for (int distance = 2; distance <= 8; distance *= 2) halves = add_lanes(halves, distance);
    add(of(halved) + stride * (elements_.hole(halved, 0) + 2 * (lane_ & 1)), __double2ll_rn(halves * units),
        (lane_ & 14) == 0 ? 1 : 0);
  }

  /// Terms of a set with the same particle x and the same hole y.
  static constexpr int per_hole = terms / 3;
  /// Returns the terms with particle x and hole y: [x][y][m].
  static constexpr std::array<std::array<std::array<int, per_hole>, 3>, 3> find_terms() {
    std::array<std::array<std::array<int, per_hole>, 3>, 3> found{};
    for (std::size_t x = 0; x < 3; ++x) {
      std::array<std::size_t, 3> count{};
      for (std::size_t t = 0; t < terms; ++t) {
        const std::size_t y = adapted ? static_cast<std::size_t>(assignments[t][x]) : t;
        found[x][y][count[y]++] = static_cast<int>(t);
      }
    }
    return found;
  }
  /// Returns term number `m` of those with particle x and hole y.
  static constexpr __device__ __forceinline__ int term_of(int x, int y, int m) {
    constexpr auto all = find_terms();
    return all[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)][static_cast<std::size_t>(m)];
  }
  /// The bits of a lane's number that belong to a hole, as a distance of lanes. The two terms of a hole, and the two
  /// halves, are divided among the lanes that add up the hole.
  static constexpr __device__ __forceinline__ int distance_of(int y) {
    return y == lone ? 1 : y == second ? 4 : 16;
  }

  /// Where a lane adds derivatives by the vvoo blocks of a set: [x][y], for the terms with particle x and hole y.
  struct VvooAddresses {
    unsigned long long* to[3][3];
    unsigned wanted = 0;  ///< bit 3 x + y: 0 if the block vanishes, or if another lane writes

    __device__ __forceinline__ VvooAddresses(const SmallDerivatives& epilogue, const VvooPlaces& places, int set) {
      const std::size_t first = std::size_t{epilogue.elements_.data.cta_tile.task} *
                                    static_cast<unsigned>(epilogue.parameters_.sets * 3 * terms) +
                                static_cast<unsigned>(set * 3 * terms);
      const unsigned long long* const all = epilogue.parameters_.derivatives.vvoo + first;
#pragma unroll
      for (int x = 0; x < 3; ++x) {
#pragma unroll
        for (int y = 0; y < 3; ++y) {
          const int low = (epilogue.lane_ / distance_of(y)) & 1, high = (epilogue.lane_ / distance_of(y) / 2) & 1;
          const int m = per_hole == 2 ? low : 0, half = y == halved ? 0 : per_hole == 2 ? high : low;
          const bool writes = per_hole == 2 || (y == halved ? low : high) == 0;
          const unsigned long long block = all[x * terms + (m == 0 ? term_of(x, y, 0) : term_of(x, y, per_hole - 1))];
          to[x][y] = reinterpret_cast<unsigned long long*>(block) + places.of[x][y] + half * VvooPlaces::of_half(y);
          if (writes && block != 0) wanted |= 1u << (3 * x + y);
        }
      }
    }
  };
  /// Derivatives by vvoo numbers of the terms of a set with the same particle, before the sum over its hole.
  struct OfVvoo {
    double of[terms][2] = {};  ///< [term][half]
  };
  /// Their sums over holes, rounded: [y].
  struct RoundedVvoo {
    long long of[3];
  };
  template <int x>
  __device__ __forceinline__ RoundedVvoo rounded(const OfVvoo& of_vvoo) const {
    RoundedVvoo result;
#pragma unroll
    for (int y = 0; y < 3; ++y) {
      const int distance = distance_of(y);
      const auto& first_term = of_vvoo.of[term_of(x, y, 0)];
      const auto& last_term = of_vvoo.of[term_of(x, y, per_hole - 1)];
      double sum;
      if (y == halved) {
        const double of_first = first_term[0] + first_term[1], of_last = last_term[0] + last_term[1];
        sum = per_hole == 2 ? add_and_divide(of_first, of_last, distance) : add_lanes(of_first, distance);
      } else if (per_hole == 2) {
        sum = add_and_divide(add_and_divide(first_term[0], last_term[0], distance),
                             add_and_divide(first_term[1], last_term[1], distance), 2 * distance);
      } else {
        sum = add_lanes(add_and_divide(first_term[0], first_term[1], distance), 2 * distance);
      }
      result.of[y] = __double2ll_rn(sum * parameters_.derivatives.units);
    }
    return result;
  }
  /// Adds derivatives by the vvoo blocks of the terms with particle x to device memory.
  template <int x>
  __device__ __forceinline__ void add_vvoo(const VvooPlaces& places, const VvooAddresses& sums,
                                           const int (&particle)[3], const RoundedVvoo& of_vvoo) const {
    const auto of_particles = static_cast<unsigned>(places.template of_particles<x>(particle));
#pragma unroll
    for (int y = 0; y < 3; ++y) add(sums.to[x][y] + of_particles, of_vvoo.of[y], sums.wanted & 1u << (3 * x + y));
  }
  /// Adds the derivatives by the vvoo numbers of the terms with particle x. `seed` [half]: derivatives by S.
  template <int x>
  __device__ __forceinline__ void add_of_vvoo(int set, const int (&n)[3], const Amplitudes (&seed)[2],
                                              OfVvoo& of_vvoo) const {
    for_each_term<x>([&](int term, int t, int y, double sign) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        of_vvoo.of[term][half] += sign * seed[half].of[t] * elements_.ov_tensor(set, x, n[x], y, half);
    });
  }
  /// Adds the derivatives by the ov tensor of a set, of particle `particle` in the tile of position x.
  __device__ __forceinline__ void add_ov(int set, int x, int particle, const ByHole& of_ov) const {
    const TaskData& task = elements_.data.task;
    unsigned long long* const out = parameters_.derivatives.ov_tensors[set] + task.offset[x] + particle;
    const std::int64_t orbitals = parameters_.orbitals;
    add_by_hole(of_ov, parameters_.derivatives.units, orbitals,
                [&](int y) { return out + orbitals * task.offset[3 + y]; });
  }
};

}
