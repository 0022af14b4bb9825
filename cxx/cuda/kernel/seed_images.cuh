#pragma once

#include <cstdint>

#include "cxx/cuda/schedule/seed_layout.hpp"

namespace trifuse::gpu {

/// Numbers of the targets of an element.
template <int targets>
struct TargetNumbers {
  double of[targets];
};

/// Writes the seeds of a task to device memory, for one lane. A warp has a table in its registers: lane n has pairs n
/// and 32 + n of an image and a target of an element, targets first. So each iteration computes where the seeds of all
/// pairs go in one step. `Seed`: double or float.
template <int targets, int sides, typename Seed>
class SeedImages {
 public:
  /// `elements`: the LaneElements.
  template <typename Elements>
  __device__ __forceinline__ SeedImages(const TaskSeeds& task, const Elements& elements, int lane)
      : begin_(static_cast<Seed*>(task.begin)),
        of_task_(task.largest),
        atoms_(static_cast<std::uint32_t>(task.target_stride / seed_atom)),
        images_(task.images),
        extents_(elements.data.task.extent) {
#pragma unroll
    for (int n = 0; n < 2; ++n) pair_[n] = make_pair(task, elements.data.cta_tile.hole_group, lane + 32 * n);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int order = 0; order < 6; ++order) {
        const auto hole = [&](int q) { return elements.local_hole(position_orders_at(order, q), half); };
        place_[half][order / 4] |= static_cast<unsigned>(place_of(hole(0), hole(1), hole(2))) << (8 * (order % 4));
      }
    }
  }

  /// Writes the seeds of the two elements of a lane with the same particles to all their images. `particle`: [a, b, c].
  /// `has_seeds`: [half]. `seed`: [half][side].
  __device__ __forceinline__ void write(const int (&particle)[3], const bool (&has_seeds)[2],
                                        const TargetNumbers<targets> (&seed)[2][sides]) {
    const Pair low = at_particles(pair_[0], particle), high = at_particles(pair_[1], particle);
#pragma unroll 1
    for (int n = 0; n < images_; ++n) {
#pragma unroll
      for (int source = 0; source < targets; ++source) {
        const int number = n * targets + source;
        const std::uint32_t flags = __shfl_sync(~0u, number < 32 ? low.flags : high.flags, number % 32),
                            atom = __shfl_sync(~0u, number < 32 ? low.atom : high.atom, number % 32);
        if ((flags & Pair::none) != 0) continue;
        const std::uint32_t flip = __byte_perm(flags, 0, 0x4442),
                            first = __byte_perm(place_[0][0], place_[0][1], flags) ^ flip,
                            second = __byte_perm(place_[1][0], place_[1][1], flags) ^ flip;
#pragma unroll
        for (int side = 0; side < sides; ++side) {
          // Only spin-orbital seeds, of which a task has one target, change their sign.
          const auto value = [&](int half) {
            const double x = seed[half][side].of[source];
            return static_cast<Seed>(targets == 1 && (flags & Pair::negative) != 0 ? -x : x);
          };
          Seed* const to = begin_ + static_cast<std::size_t>(atom + static_cast<unsigned>(side) * atoms_) * seed_atom;
          if (has_seeds[0]) __stcs(to + first, value(0));
          if (has_seeds[1]) __stcs(to + second, value(1));
        }
      }
    }
#pragma unroll
    for (int n = 0; is_float && n < 2 * sides * targets; ++n) {
      const int element = n / targets;
      largest_ = fmaxf(largest_, fabsf(static_cast<float>(seed[element / sides][element % sides].of[n % targets])));
    }
  }
  /// Replaces the largest magnitude of the floats of the task if that of the warp is larger. All lanes must call it.
  __device__ __forceinline__ void keep_largest(int lane) const {
    if constexpr (is_float) {
      // The bits of floats that are not negative are in the order of the floats.
      const unsigned of_warp = __reduce_max_sync(~0u, __float_as_uint(largest_));
      if (lane == 0) atomicMax(of_task_, of_warp);
    }
  }

 private:
  static constexpr bool is_float = sizeof(Seed) == sizeof(float);

  /// An image and a target of an element.
  struct Pair {
    /// Bits of `flags`: 0..15 the selector of __byte_perm() for the place in an atom, which is the number of the order
    /// of the holes and three zeros; 16..23 what changes in that place; 24..26 the order of the particles.
    static constexpr std::uint32_t zeros = 0x7770, flip_shift = 16, order_shift = 24, negative = 1u << 30,
                                   none = 1u << 31;
    std::uint32_t flags;
    std::uint32_t atom;  ///< number of the atom of side 0 among all atoms of the task
  };

  /// Returns a pair, with the atom of particles 0.
  template <typename Group>
  __device__ __forceinline__ Pair make_pair(const TaskSeeds& task, const Group (&group)[3], int number) const {
    if (number >= task.images * targets) return {Pair::none, 0};
    const SeedImage& image = task.image[number / targets];
    const int source = number % targets, target = image.target[source], order = image.hole_order[source];
    if (target == SeedImage::none) return {Pair::none, 0};
    const auto group_at = [&](int q) { return static_cast<int>(group[ordered_position(order, q)]); };
    const auto atom =
        static_cast<std::uint32_t>(extents_.atom(group_at(0), group_at(1), group_at(2), 0, 0, 0) / seed_atom);
    return {Pair::zeros | static_cast<std::uint32_t>(order) |
                static_cast<std::uint32_t>(image.particle_order) << Pair::order_shift |
                (image.negative != 0 ? Pair::negative : 0u),
            static_cast<std::uint32_t>(target * sides) * atoms_ + atom};
  }
  /// Returns a pair at particles a, b, c.
  __device__ __forceinline__ Pair at_particles(const Pair& pair, const int (&particle)[3]) const {
    const int order = static_cast<int>(pair.flags >> Pair::order_shift & 7u);
    const int a = select(particle, ordered_position(order, 0)), b = select(particle, ordered_position(order, 1)),
              c = select(particle, ordered_position(order, 2));
    const auto atom = static_cast<std::uint32_t>((a * extents_.particles[1] + b) * extents_.particles[2] + c);
    constexpr std::uint32_t odd = place_of(0, 0, 0, 1) << Pair::flip_shift;
    return {pair.flags | (((b ^ c) & 1) != 0 ? odd : 0u), pair.atom + atom};
  }
  static constexpr __device__ __forceinline__ int place_of(int i, int j, int k, int odd = 0) {
    return is_float ? float_seed_place(i, j, k, odd) : seed_place(i, j, k, odd);
  }
  static constexpr __device__ __forceinline__ int position_orders_at(int order, int q) {
    constexpr auto all = position_orders;
    return all[static_cast<std::size_t>(order)][static_cast<std::size_t>(q)];
  }
  static __device__ __forceinline__ int select(const int (&x)[3], int q) {
    return q == 0 ? x[0] : q == 1 ? x[1] : x[2];
  }

  Seed* const begin_;
  unsigned* const of_task_;    ///< see TaskSeeds::largest
  float largest_ = 0.0f;       ///< magnitude of the floats of the lane
  const std::uint32_t atoms_;  ///< atoms from one target of a side to the next
  const int images_;
  const SeedExtents extents_;
  Pair pair_[2];
  /// [half] places in an atom of the lane's element with even b + c, a byte for each order of the holes. The last byte
  /// is 0.
  std::uint32_t place_[2][2] = {};
};

}
