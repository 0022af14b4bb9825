#pragma once

#include <cstdint>

#include "cxx/cuda/schedule/seed_layout.hpp"

namespace trifuse::gpu {

/// Numbers of the targets of an element.
template <int targets>
struct TargetNumbers {
  double of[targets];
};

/// Writes the seeds of a task to device memory, for one lane. The images of the task are in the registers of the warp:
/// lane n has images n and 32 + n. `Seed`: double or float.
template <int targets, int sides, typename Seed>
class SeedImages {
 public:
  /// `extent`: of the task. `group`: [i, j, k] hole groups of the CTA tile.
  template <typename Group>
  __device__ __forceinline__ SeedImages(const TaskSeeds& task, const std::int32_t (&extent)[6], const Group (&group)[3],
                                        int lane)
      : begin_(static_cast<Seed*>(task.begin)),
        of_task_(task.largest),
        stride_(static_cast<std::uint32_t>(task.target_stride)),
        count_(task.images),
        first_(task.image[lane].bits),
        second_(task.image[32 + lane % 4].bits),
        extents_(extent),
        group_{group[0], group[1], group[2]} {}

  /// Writes the seeds of the two elements of a lane with the same particles to all their images. `elements`: the
  /// LaneElements. `particle`: [a, b, c]. `has_seeds`: [half]. `seed`: [half][side].
  template <typename Elements>
  __device__ __forceinline__ void write(const Elements& elements, const int (&particle)[3], const bool (&has_seeds)[2],
                                        const TargetNumbers<targets> (&seed)[2][sides]) {
    const int hole[3] = {elements.local_hole(0, 0), elements.local_hole(1, 0), elements.local_hole(2, 0)};
    const int upper[3] = {elements.local_hole(0, 1), elements.local_hole(1, 1), elements.local_hole(2, 1)};
#pragma unroll 1
    for (int n = 0; n < count_; ++n) {
      const SeedImage image{__shfl_sync(~0u, n < 32 ? first_ : second_, n % 32)};
      const int h0 = image.hole(0), h1 = image.hole(1), h2 = image.hole(2);
      const int b = select(particle, image.particle(1)), c = select(particle, image.particle(2));
      // Offsets in a target are below 2^32, see tiles_with_room_for_seeds().
      const auto atom = static_cast<std::uint32_t>(extents_.atom(
          select(group_, h0), select(group_, h1), select(group_, h2), select(particle, image.particle(0)), b, c));
      const int odd = (b ^ c) & 1;
      const std::uint32_t place[2] = {
          atom + static_cast<unsigned>(place_of(select(hole, h0), select(hole, h1), select(hole, h2), odd)),
          atom + static_cast<unsigned>(place_of(select(upper, h0), select(upper, h1), select(upper, h2), odd))};
      // Only spin-orbital seeds, of which a task has one target, change their sign.
      const auto value = [&](int half, int side, int source) {
        const double x = seed[half][side].of[source];
        return targets == 1 && image.is_negative() ? -x : x;
      };
      const auto put = [&](int target, int side, double of_first, double of_second) {
        Seed* const to = begin_ + static_cast<std::size_t>(static_cast<unsigned>(target * sides + side)) * stride_;
        if (has_seeds[0]) __stcs(to + place[0], static_cast<Seed>(of_first));
        if (has_seeds[1]) __stcs(to + place[1], static_cast<Seed>(of_second));
      };
      const int only = first_with_seeds(image);
      if (targets > 1 && has_only(image, only)) {  // where all tiles of holes are equal
#pragma unroll
        for (int side = 0; side < sides; ++side) {
          double first = value(0, side, 0), second = value(1, side, 0);
#pragma unroll
          for (int source = 1; source < targets; ++source) {
            first = only == source ? value(0, side, source) : first;
            second = only == source ? value(1, side, source) : second;
          }
          put(image.target(only), side, first, second);
        }
        continue;
      }
#pragma unroll
      for (int source = 0; source < targets; ++source) {
        const int target = image.target(source);
        if (target == SeedImage::none) continue;
#pragma unroll
        for (int side = 0; side < sides; ++side) put(target, side, value(0, side, source), value(1, side, source));
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

  /// Returns three bits for each target of an element, which are zero if it has no seeds.
  static __device__ __forceinline__ unsigned some_targets(const SeedImage& image) {
    static_assert(SeedImage::none == 7);
    return ~image.bits & 0x3ffff;
  }
  static __device__ __forceinline__ int first_with_seeds(const SeedImage& image) {
    return (__ffs(static_cast<int>(some_targets(image))) - 1) / 3;
  }
  /// Returns true if no other target than `source` has seeds.
  static __device__ __forceinline__ bool has_only(const SeedImage& image, int source) {
    return (some_targets(image) & ~(7u << (3 * source))) == 0;
  }
  static __device__ __forceinline__ int place_of(int i, int j, int k, int odd) {
    return is_float ? float_seed_place(i, j, k, odd) : seed_place(i, j, k, odd);
  }
  static __device__ __forceinline__ int select(const int (&x)[3], int q) {
    return q == 0 ? x[0] : q == 1 ? x[1] : x[2];
  }

  Seed* const begin_;
  unsigned* const of_task_;     ///< see TaskSeeds::largest
  float largest_ = 0.0f;        ///< magnitude of the floats of the lane
  const std::uint32_t stride_;  ///< seeds from one target of a side to the next
  const int count_;
  const unsigned first_, second_;
  const SeedExtents extents_;
  const int group_[3];
};

}
