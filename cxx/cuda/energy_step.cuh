#pragma once

#include "cxx/cuda/accumulators.cuh"
#include "cxx/cuda/staging.cuh"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/recipe.hpp"
#include "cxx/triples/task.hpp"

/// From the finished block to energies. Each lane sums over its own elements, each warp over its lanes; the sums of all
/// warps are added up in a fixed order by another kernel, so energies are the same to the last bit in every run.
namespace trifuse::gpu {

/// 1/x to the last bit or two, for x that is neither zero nor extreme.
__device__ __forceinline__ double reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  y = fma(y, fma(-x, y, 1.0), y);
  return fma(y, fma(-x, y, 1.0), y);
}

/// Lane 0 gets the sum over all lanes, always in the same order.
__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// Where tiles coincide, every set of orbitals is computed once, in ascending order. This says for how many sets of a
/// full block an element in ascending order stands: a pair of equal indices vanishes in spin-orbital form; in the
/// spin-adapted one it stands for half as many elements, and three equal indices vanish. 0 for all other elements.
template <Form form>
__device__ __forceinline__ double multiplicity(int equal, int x, int y, int z) {
  const bool xy = (equal & 1) != 0, yz = (equal & 2) != 0;
  if ((xy && x > y) || (yz && y > z)) return 0.0;
  const bool same_xy = xy && x == y, same_yz = yz && y == z;
  if constexpr (form == Form::spin_orbital) return same_xy || same_yz ? 0.0 : 1.0;
  if (same_xy && same_yz) return 0.0;
  return same_xy || same_yz ? 0.5 : 1.0;
}

/// The elements of a lane at the end: (a, b, c) anywhere in the warp's sub-box, one i, one k and two j (half h = 0, 1).
template <typename Config>
struct LaneElements {
  const ItemData& data;
  int first[3];      ///< first particle of the sub-box, inside the tile
  int in_box[3];     ///< the same among the particles of the box, see ItemData
  int local[3];      ///< i, j of half 0, k inside their hole blocks
  unsigned used[2];  ///< of each half, one bit for each (a, b, c): whether the element is one of those to be summed
  static_assert(Config::accumulators / 2 <= 32);

  template <Form form>
  __device__ __forceinline__ void find_used() {
    for (int half = 0; half < 2; ++half) used[half] = hole_weight<form>(half) != 0.0 ? ~0u : 0u;
    unsigned particles = 0;
    const int last[3] = {data.task.extent[0] - first[0], data.task.extent[1] - first[1],
                         data.task.extent[2] - first[2]};
    const int equal = data.task.equal_particles;
#pragma unroll
    for (int n = 0; n < Config::accumulators / 2; ++n) {
      const int c = n % Config::sub_c, b = n / Config::sub_c % Config::sub_b, a = n / Config::sub_c / Config::sub_b;
      const bool inside = a < last[0] && b < last[1] && c < last[2];
      if (inside && multiplicity<form>(equal, first[0] + a, first[1] + b, first[2] + c) != 0.0) particles |= 1u << n;
    }
    used[0] &= particles;
    used[1] &= particles;
  }
  __device__ __forceinline__ bool is_used(int a, int b, int c, int half) const {
    return (used[half] >> ((a * Config::sub_b + b) * Config::sub_c + c) & 1) != 0;
  }

  __device__ __forceinline__ LaneElements(const ItemData& d, const WarpPlace& place, int lane) : data(d) {
    local[0] = lane & 3;
    local[1] = lane >> 4;
    local[2] = lane >> 2 & 3;
    int before = 0;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      first[q] = data.item.particle[q] + place.at[q] * Config::sub(q);
      in_box[q] = before + place.at[q] * Config::sub(q);
      before += box_size<Config>(data.item, q);
    }
  }

  __device__ __forceinline__ int local_hole(int q, int half) const {
    return local[q] + (q == 1 ? 2 * half : 0);
  }
  __device__ __forceinline__ int hole(int q, int half) const {
    return data.item.hole_block[q] * hole_block + local_hole(q, half);
  }
  /// Inside the tile; beyond its end the last one.
  __device__ __forceinline__ int tile_particle(int q, int n) const {
    return min(first[q] + n, data.task.extent[q] - 1);
  }
  __device__ __forceinline__ double eps_particle(int q, int n) const {
    return data.eps_particles[in_box[q] + n];
  }
  __device__ __forceinline__ double eps_holes(int half) const {
    return data.eps_holes[local[0]] + data.eps_holes[hole_block + local_hole(1, half)] +
           data.eps_holes[2 * hole_block + local[2]];
  }
  /// Factor of particle n of position x and the lane's hole of position y.
  __device__ __forceinline__ double lone(int set, int x, int n, int y, int half) const {
    return data.lone[set][(in_box[x] + n) * box_holes + y * hole_block + local_hole(y, half)];
  }

  template <Form form>
  __device__ __forceinline__ double particle_weight(int a, int b, int c) const {
    const int x = first[0] + a, y = first[1] + b, z = first[2] + c;
    const TaskData& task = data.task;
    if (x >= task.extent[0] || y >= task.extent[1] || z >= task.extent[2]) return 0.0;
    return multiplicity<form>(task.equal_particles, x, y, z);
  }
  template <Form form>
  __device__ __forceinline__ double hole_weight(int half) const {
    const int x = hole(0, half), y = hole(1, half), z = hole(2, half);
    const TaskData& task = data.task;
    if (x >= task.extent[3] || y >= task.extent[4] || z >= task.extent[5]) return 0.0;
    return multiplicity<form>(task.equal_holes, x, y, z);
  }
};

/// Keeps the targets of an item and turns them into sums.
template <Form form, bool two_sided, typename Config>
class EnergyStep {
  static constexpr bool adapted = form == Form::spin_adapted;
  static constexpr int threads = Config::warps * 32;
  /// Elements of one a.
  using Slice = double[Config::sub_b][Config::sub_c][2];
  static constexpr int sums_count = adapted ? spin_adapted_sums : spin_orbital_sums;
  static constexpr int pairs_count = adapted ? spin_adapted_pairs : spin_orbital_pairs;

 public:
  static constexpr int one_side = adapted ? 6 : 1;
  static constexpr int sides = two_sided ? 2 : 1;  ///< left first, if there are two
  static constexpr int targets = one_side * sides;

  __device__ __forceinline__ EnergyStep(const Work& work, const ItemData& data, int warp, int lane)
      : work_(work), elements_(data, WarpPlace(data.item, warp), lane), lane_(lane) {
    elements_.template find_used<form>();
  }

  /// Puts a target aside, each thread its own numbers; they stay in the second-level cache until the energies need
  /// them. There are not registers enough to hold a target and to compute energies.
  static __device__ __forceinline__ void keep(const Work& work, Accumulators<Config>& sums, int target) {
    double* to = scratch(work, target);
    sums.for_each_fragment([&](double(&f)[4]) {
#pragma unroll
      for (int e = 0; e < 4; ++e, to += threads) *to = f[e];
    });
  }

  /// Writes the warp's sums. Disconnected factors come in sets, one after the other; the first also has E[T].
  __device__ __forceinline__ void finish(Stages<Config>& stages, int warp, bool active) {
    double* const first_out =
        work_.sums +
        (static_cast<std::size_t>(elements_.data.number) * work_.omega2_count * Config::warps + warp) * sums_count;
    __syncwarp();  // lanes read each other's numbers
#pragma unroll 1
    for (int set = 0; set < work_.sets; ++set) {
      const char* pairs = nullptr;
      if constexpr (!adapted) pairs = stages.acquire_pairs();
#pragma unroll 1
      for (int w = 0; w < work_.omega2_count; ++w) {
        double* out = first_out + w * Config::warps * sums_count;
        double energy[sums_count] = {};
        if (active) {
          const double shift = 3.0 * work_.omega2[w];
          if constexpr (adapted) {
            sum_spin_adapted(set, shift, energy);
          } else {
            sum_spin_orbital(pairs, set, shift, energy);
          }
        }
#pragma unroll
        for (int s = 0; s < sums_count; ++s) {
          const double total = warp_sum(energy[s]);
          if (lane_ == 0) out[s] = set == 0 ? total : out[s] + total;
        }
      }
      if constexpr (!adapted) stages.release_pairs();
    }
  }

 private:
  /// [thread, accumulator] of a target of this block.
  static __device__ __forceinline__ double* scratch(const Work& work, int target) {
    unsigned thread = threadIdx.x;
    asm volatile("" : "+r"(thread));  // not to be kept in registers while products are summed
    return work.scratch + (static_cast<std::size_t>(blockIdx.x) * targets + target) * Config::accumulators * threads +
           thread;
  }

  /// Sums E[T] = D_left Y and E(T) = (D_left + S) Y with Y = D_right / (Delta - 3 omega2), one slice of elements after
  /// the other: those of one a.
  __device__ __forceinline__ void sum_spin_orbital(const char* pairs, int set, double shift,
                                                   double (&energy)[sums_count]) const {
    constexpr int bs = Config::sub_b, cs = Config::sub_c;
    double bracket = 0.0, singles = 0.0;
#pragma unroll 1
    for (int a = 0; a < Config::sub_a; ++a) {
      Slice right, s = {};
#pragma unroll
      for (int b = 0; b < bs; ++b)
#pragma unroll
        for (int c = 0; c < cs; ++c)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int number = Accumulators<Config>::crossed(a, b, c, half);
            right[b][c][half] = final_sign * scratch(work_, targets - 1)[number * threads];
          }
      add_singles<0, 0>(pairs, set, a, s);
      add_singles<0, 1>(pairs, set, a, s);
      add_singles<0, 2>(pairs, set, a, s);
      add_singles<1, 0>(pairs, set, a, s);
      add_singles<1, 1>(pairs, set, a, s);
      add_singles<1, 2>(pairs, set, a, s);
      add_singles<2, 0>(pairs, set, a, s);
      add_singles<2, 1>(pairs, set, a, s);
      add_singles<2, 2>(pairs, set, a, s);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const double eps_a = elements_.eps_holes(half) - shift - elements_.eps_particle(0, a);
#pragma unroll
        for (int b = 0; b < bs; ++b)
#pragma unroll
          for (int c = 0; c < cs; ++c) {
            // Elements that are not summed may hold anything.
            const bool used = elements_.is_used(a, b, c, half);
            const double denominator = eps_a - elements_.eps_particle(1, b) - elements_.eps_particle(2, c);
            const double d = used ? right[b][c][half] : 0.0;
            const double y = d * reciprocal(used ? denominator : 1.0);
            if constexpr (two_sided) {
              const double left = scratch(work_, 0)[Accumulators<Config>::crossed(a, b, c, half) * threads];
              bracket += (used ? final_sign * left : 0.0) * y;
            } else {
              bracket += d * y;
            }
            singles += (used ? s[b][c][half] : 0.0) * y;
          }
      }
    }
    if (set == 0) energy[0] = bracket;
    energy[1] = energy[0] + singles;
  }

  /// Place of the 4 x 4 holes (of positions h1, h2) of two particles in a packed pair block.
  __device__ __forceinline__ int pair_place(int h1, int h2, int u, int w, int particle_u, int particle_w) const {
    const ItemData& d = elements_.data;
    return static_cast<int>(pair_block(d.item.hole_block[h1], (d.task.extent[3 + h2] + hole_block - 1) / hole_block,
                                       d.item.hole_block[h2], d.task.extent[u], particle_u, d.task.extent[w],
                                       particle_w));
  }

  /// Adds sign t1[x, y] v2[u w, h1 h2] to S of a slice: particle x and hole y alone.
  template <int x, int y>
  __device__ __forceinline__ void add_singles(const char* pairs, int set, int a, Slice& s) const {
    constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2, h1 = y == 0 ? 1 : 0, h2 = y == 2 ? 1 : 2;
    // In a slice a is one number; the loops over the particles that x and the pair are run over the others.
    constexpr int xs = x == 0 ? 1 : Config::sub(x), us = u == 0 ? 1 : Config::sub(u), ws = Config::sub(w);
    // The first pair of the slice and the doubles between pairs, in shared memory or in the panel.
    const double* first;
    int row, column;
    if constexpr (Config::staging == Staging::bulk) {
      const Item& item = elements_.data.item;
      const PairPart<Config> part(elements_.data, x);
      column = hole_block * hole_block;
      row = box_size<Config>(item, w) * column;
      first = reinterpret_cast<const double*>(pairs + part.place + y * part.y_place) +
              (elements_.first[u] - item.particle[u] + (u == 0 ? a : 0)) * row +
              (elements_.first[w] - item.particle[w]) * column;
    } else {
      first = elements_.data.pairs[set * pairs_count + x * 3 + y] + pair_place(h1, h2, u, w, 0, 0);
      row = elements_.data.task.extent[w] * hole_block * hole_block;
      column = hole_block * hole_block;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double factor[xs];
#pragma unroll
      for (int m = 0; m < xs; ++m) {
        factor[m] = alone_sign(x, y) * elements_.lone(set, x, x == 0 ? a : m, y, half);
      }
      const int hole = elements_.local_hole(h1, half) * hole_block + elements_.local_hole(h2, half);
#pragma unroll
      for (int r = 0; r < us; ++r)
#pragma unroll
        for (int c = 0; c < ws; ++c) {
          double v;
          if constexpr (Config::staging == Staging::bulk) {
            v = first[r * row + c * column + hole];
          } else {
            v = __ldg(first + elements_.tile_particle(u, u == 0 ? a : r) * row +
                      elements_.tile_particle(w, c) * column + hole);
          }
#pragma unroll
          for (int m = 0; m < xs; ++m) {
            s[x == 1 ? m : u == 1 ? r : c][x == 2 ? m : c][half] += factor[m] * v;
          }
        }
    }
  }

  /// The six targets of one element of one side. Those that were not computed are others with holes interchanged, which
  /// another lane of the warp has.
  __device__ __forceinline__ SixTargets read_targets(int side, int a, int b, int c, int half) const {
    const int x[3] = {elements_.local_hole(0, half), elements_.local_hole(1, half), elements_.local_hole(2, half)};
    const double* first = scratch(work_, side * one_side) - lane_;
    const auto read = [&](int t) {
      const TargetSource source = target_source(elements_.data.equal_blocks, t);
      const auto hole = [&](int p) { return p == 0 ? x[0] : p == 1 ? x[1] : x[2]; };
      const int i = hole(source.order[0]), j = hole(source.order[1]), k = hole(source.order[2]);
      const int lane = i | k << 2 | (j & 1) << 4;
      return first[(source.target * Config::accumulators + Accumulators<Config>::crossed(a, b, c, j >> 1)) * threads +
                   lane];
    };
    return {read(0), read(1), read(2), read(3), read(4), read(5)};
  }

  /// Several elements at a time, so that their loads are under way together.
  __device__ __forceinline__ void sum_spin_adapted(int set, double shift, double (&energy)[sums_count]) const {
    constexpr int cs = Config::sub_c;
#pragma unroll 1
    for (int n = 0; n < Config::accumulators / cs; ++n) {
      const int half = n & 1, b = n / 2 % Config::sub_b, a = n / 2 / Config::sub_b;
      const double eps_ab =
          elements_.eps_holes(half) - shift - elements_.eps_particle(0, a) - elements_.eps_particle(1, b);
      const double hole_weight = elements_.template hole_weight<form>(half);
#pragma unroll
      for (int c = 0; c < cs; ++c) {
        const SixTargets right = read_targets(sides - 1, a, b, c, half);
        const SixTargets left = two_sided ? read_targets(0, a, b, c, half) : right;
        double singles[6] = {};
        add_adapted_singles<0>(set, a, b, c, half, singles);
        add_adapted_singles<1>(set, a, b, c, half, singles);
        add_adapted_singles<2>(set, a, b, c, half, singles);
        const Numerators sum = spin_adapted_numerators(
            left, {singles[0], singles[1], singles[2], singles[3], singles[4], singles[5]}, right);
        const double weight = hole_weight * elements_.template particle_weight<form>(a, b, c);
        // Elements that are not summed may hold anything.
        const bool used = weight != 0.0;
        const double factor = weight * reciprocal(used ? eps_ab - elements_.eps_particle(2, c) : 1.0);
        if (set == 0) {
          energy[0] += used ? factor * sum.bracket : 0.0;
          energy[2] += used ? factor * sum.same_bracket : 0.0;
        }
        // Later sets add their singles only.
        energy[1] += used ? factor * (set == 0 ? sum.paren : sum.paren - sum.bracket) : 0.0;
        energy[3] += used ? factor * (set == 0 ? sum.same_paren : sum.same_paren - sum.same_bracket) : 0.0;
      }
    }
  }

  /// Adds t1[x, y] (u h|w h') to every target whose assignment gives particle x the hole y.
  template <int x>
  __device__ __forceinline__ void add_adapted_singles(int set, int a, int b, int c, int half,
                                                      double (&singles)[6]) const {
    constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2;
    const int n[3] = {a, b, c};
    const int particle_u = elements_.tile_particle(u, n[u]), particle_w = elements_.tile_particle(w, n[w]);
    const int place[3] = {pair_place(1, 2, u, w, particle_u, particle_w),
                          pair_place(0, 2, u, w, particle_u, particle_w),
                          pair_place(0, 1, u, w, particle_u, particle_w)};
#pragma unroll
    for (int t = 0; t < 6; ++t) {
      constexpr auto all = assignments;
      const int y = all[static_cast<std::size_t>(t)][x];
      const int h1 = y == 0 ? 1 : 0, h2 = y == 2 ? 1 : 2;
      const double* block = elements_.data.pairs[set * pairs_count + x * 6 + t];
      singles[t] +=
          elements_.lone(set, x, n[x], y, half) *
          __ldg(block + place[y] + elements_.local_hole(h1, half) * hole_block + elements_.local_hole(h2, half));
    }
  }

  const Work& work_;
  LaneElements<Config> elements_;
  int lane_;
};

}  // namespace trifuse::gpu
