#pragma once

#include "cxx/cuda/accumulators.cuh"
#include "cxx/cuda/chunk_walk.cuh"
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

/// The elements of a lane at the end: (a, b, c) anywhere in the warp's sub-box, one i, one k and two j (half h = 0, 1).
template <typename Config>
struct LaneElements {
  const TaskData& task;
  int extent[6];
  int first[3];       ///< first particle of the sub-box, inside the tile
  int block[3];       ///< hole blocks
  int local[3];       ///< i, j of half 0, k inside their hole blocks

  __device__ __forceinline__ LaneElements(const TaskData& t, const Item& item, const int (&at)[3], int lane) : task(t) {
    local[0] = lane & 3;
    local[1] = lane >> 4;
    local[2] = lane >> 2 & 3;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      first[q] = item.particle[q] + at[q] * Config::sub(q);
      block[q] = item.hole_block[q];
    }
#pragma unroll
    for (int q = 0; q < 6; ++q) extent[q] = task.extent[q];
  }

  __device__ __forceinline__ int local_hole(int q, int half) const { return local[q] + (q == 1 ? 2 * half : 0); }
  __device__ __forceinline__ int hole(int q, int half) const { return block[q] * hole_block + local_hole(q, half); }
  /// Inside the tile; beyond its end the last one.
  __device__ __forceinline__ int tile_particle(int q, int n) const { return min(first[q] + n, extent[q] - 1); }
  /// Orbital numbers; beyond the end of a tile those of its last orbital.
  __device__ __forceinline__ int hole_orbital(int q, int half) const {
    return task.offset[3 + q] + min(hole(q, half), extent[3 + q] - 1);
  }
  __device__ __forceinline__ int particle_orbital(int q, int n) const { return task.offset[q] + tile_particle(q, n); }

  /// Where tiles coincide, every set of orbitals is computed once, in ascending order: 0 for all other elements and for
  /// those outside the tile. A pair of equal indices vanishes in spin-orbital form; in the spin-adapted one it stands
  /// for half as many elements, and three equal indices vanish.
  template <Form form>
  static __device__ __forceinline__ double multiplicity(int equal, int x, int y, int z) {
    const bool xy = (equal & 1) != 0, yz = (equal & 2) != 0;
    if ((xy && x > y) || (yz && y > z)) return 0.0;
    const bool same_xy = xy && x == y, same_yz = yz && y == z;
    if constexpr (form == Form::spin_orbital) return same_xy || same_yz ? 0.0 : 1.0;
    if (same_xy && same_yz) return 0.0;
    return same_xy || same_yz ? 0.5 : 1.0;
  }
  template <Form form>
  __device__ __forceinline__ double particle_weight(int a, int b, int c) const {
    const int x = first[0] + a, y = first[1] + b, z = first[2] + c;
    if (x >= extent[0] || y >= extent[1] || z >= extent[2]) return 0.0;
    return multiplicity<form>(task.equal_particles, x, y, z);
  }
  template <Form form>
  __device__ __forceinline__ double hole_weight(int half) const {
    const int x = hole(0, half), y = hole(1, half), z = hole(2, half);
    if (x >= extent[3] || y >= extent[4] || z >= extent[5]) return 0.0;
    return multiplicity<form>(task.equal_holes, x, y, z);
  }
  /// Whether the warp has anything to compute.
  template <Form form>
  __device__ __forceinline__ bool any_canonical() const {
    constexpr int gap = form == Form::spin_orbital ? 1 : 0;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      if (first[q] >= extent[q]) return false;
    }
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const int last = min(first[q + 1] + Config::sub(q + 1), extent[q + 1]) - 1;
      if ((task.equal_particles >> q & 1) != 0 && first[q] + gap > last) return false;
    }
    return true;
  }
};

/// Keeps the targets of an item and turns them into sums.
template <Form form, bool two_sided, typename Config>
class EnergyStep {
  static constexpr bool adapted = form == Form::spin_adapted;
  static constexpr __device__ __forceinline__ int sub(int q) { return Config::sub(q); }
  static constexpr int threads = Config::warps * 32;
  static constexpr int one_side = adapted ? 6 : 1;
  static constexpr int sums_count = adapted ? spin_adapted_sums : spin_orbital_sums;
  static constexpr int pairs_count = adapted ? spin_adapted_pairs : spin_orbital_pairs;

 public:
  /// Left ones first, if there are any.
  static constexpr int targets = one_side * (two_sided ? 2 : 1);

  __device__ __forceinline__ EnergyStep(const Work& work, const Item& item, const int (&at)[3], int lane)
      : work_(work),
        pairs_(work.pairs + static_cast<std::size_t>(item.task) * work.sets * pairs_count),
        elements_(work.tasks[item.task], item, at, lane),
        lane_(lane) {}

  /// Puts a target aside, each thread its own numbers, which stay in the second-level cache until the energies need
  /// them. There are not registers enough to hold a target and to compute energies.
  static __device__ __forceinline__ void keep(const Work& work, Accumulators<Config>& sums, int target) {
    double* to = scratch(work, target);
    sums.for_each_fragment([&](double(&f)[4]) {
#pragma unroll
      for (int e = 0; e < 4; ++e, to += threads) *to = f[e];
    });
  }

  __device__ __forceinline__ void finish(std::uint32_t item, int warp, bool active) {
    double* out = work_.sums + (static_cast<std::size_t>(item) * work_.omega2_count * Config::warps + warp) * sums_count;
#pragma unroll 1
    for (int w = 0; w < work_.omega2_count; ++w, out += Config::warps * sums_count) {
      double energy[sums_count] = {};
      if (active) {
        const double shift = 3.0 * work_.omega2[w];
        if constexpr (adapted) {
          sum_spin_adapted(shift, energy);
        } else {
          sum_spin_orbital(shift, energy);
        }
      }
#pragma unroll
      for (int s = 0; s < sums_count; ++s) {
        const double total = warp_sum(energy[s]);
        if (lane_ == 0) out[s] = total;
      }
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
  /// the other: those of one a and one j.
  __device__ __forceinline__ void sum_spin_orbital(double shift, double (&energy)[sums_count]) const {
    constexpr int bs = Config::sub_b, cs = Config::sub_c;
#pragma unroll 1
    for (int n = 0; n < 2 * Config::sub_a; ++n) {
      const int a = n / 2, half = n % 2;
      double right[bs][cs], left[bs][cs], s[bs][cs] = {};
#pragma unroll
      for (int b = 0; b < bs; ++b)
#pragma unroll
        for (int c = 0; c < cs; ++c) {
          const int number = Accumulators<Config>::crossed(a, b, c, half);
          right[b][c] = final_sign * scratch(work_, targets - 1)[number * threads];
          left[b][c] = two_sided ? final_sign * scratch(work_, 0)[number * threads] : right[b][c];
        }
#pragma unroll 1
      for (int set = 0; set < work_.sets; ++set) {
        add_singles<0, 0>(set, a, half, s);
        add_singles<0, 1>(set, a, half, s);
        add_singles<0, 2>(set, a, half, s);
        add_singles<1, 0>(set, a, half, s);
        add_singles<1, 1>(set, a, half, s);
        add_singles<1, 2>(set, a, half, s);
        add_singles<2, 0>(set, a, half, s);
        add_singles<2, 1>(set, a, half, s);
        add_singles<2, 2>(set, a, half, s);
      }
      const double eps_a = work_.eps[elements_.hole_orbital(0, half)] + work_.eps[elements_.hole_orbital(1, half)] +
                           work_.eps[elements_.hole_orbital(2, half)] - shift -
                           work_.eps[elements_.particle_orbital(0, a)];
      const bool hole_used = elements_.template hole_weight<form>(half) != 0.0;
#pragma unroll
      for (int b = 0; b < bs; ++b) {
        const double eps_ab = eps_a - work_.eps[elements_.particle_orbital(1, b)];
#pragma unroll
        for (int c = 0; c < cs; ++c) {
          const bool used = hole_used && elements_.template particle_weight<form>(a, b, c) != 0.0;
          const double denominator = used ? eps_ab - work_.eps[elements_.particle_orbital(2, c)] : 1.0;
          const double y = (used ? right[b][c] : 0.0) * reciprocal(denominator);
          energy[0] += (used ? left[b][c] : 0.0) * y;
          energy[1] += s[b][c] * y;
        }
      }
    }
    energy[1] += energy[0];
  }

  /// Place of the 4 x 4 holes (of positions h1, h2) of two particles in a packed pair block.
  __device__ __forceinline__ int pair_place(int h1, int h2, int u, int w, int particle_u, int particle_w) const {
    return static_cast<int>(pair_block(elements_.block[h1], (elements_.extent[3 + h2] + hole_block - 1) / hole_block,
                                       elements_.block[h2], elements_.extent[u], particle_u, elements_.extent[w],
                                       particle_w));
  }

  /// Adds sign t1[x, y] v2[u w, h1 h2] to S of a slice: particle x and hole y alone.
  template <int x, int y>
  __device__ __forceinline__ void add_singles(int set, int a, int half,
                                              double (&s)[Config::sub_b][Config::sub_c]) const {
    constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2, h1 = y == 0 ? 1 : 0, h2 = y == 2 ? 1 : 2;
    const double* block = pairs_[set * pairs_count + x * 3 + y];
    if (block == nullptr) return;
    block += elements_.local_hole(h1, half) * hole_block + elements_.local_hole(h2, half);
    const double* lone = work_.lone[set] + elements_.hole_orbital(y, half);
    // In a slice a is one number; the loops over the particles that x and the pair are run over the others.
    const auto count = [](int q) { return q == 0 ? 1 : Config::sub(q); };
    double factor[count(x)];
#pragma unroll
    for (int m = 0; m < count(x); ++m) {
      factor[m] = alone_sign(x, y) *
                  lone[std::int64_t{work_.orbitals} * elements_.particle_orbital(x, x == 0 ? a : m)];
    }
#pragma unroll
    for (int r = 0; r < count(u); ++r)
#pragma unroll
      for (int c = 0; c < count(w); ++c) {
        const double v = block[pair_place(h1, h2, u, w, elements_.tile_particle(u, u == 0 ? a : r),
                                          elements_.tile_particle(w, c))];
#pragma unroll
        for (int m = 0; m < count(x); ++m) {
          s[x == 1 ? m : u == 1 ? r : c][x == 2 ? m : c] += factor[m] * v;
        }
      }
  }

  /// The six targets of one element of one side.
  __device__ __forceinline__ SixTargets read_targets(int first_target, int number) const {
    const auto read = [&](int t) { return scratch(work_, first_target + t)[number * threads]; };
    return {read(0), read(1), read(2), read(3), read(4), read(5)};
  }

  __device__ __forceinline__ void sum_spin_adapted(double shift, double (&energy)[sums_count]) {
#pragma unroll 1
    for (int n = 0; n < Config::accumulators; ++n) {
      const int half = n & 1, c = n / 2 % sub(2), b = n / 2 / sub(2) % sub(1), a = n / 2 / sub(2) / sub(1);
      const double weight =
          elements_.template particle_weight<form>(a, b, c) * elements_.template hole_weight<form>(half);
      if (weight == 0.0) continue;
      const int number = Accumulators<Config>::crossed(a, b, c, half);
      const SixTargets right = read_targets(targets - 6, number);
      const SixTargets left = two_sided ? read_targets(0, number) : right;
      double singles[6] = {};
      for (int set = 0; set < work_.sets; ++set) {
        add_adapted_singles<0>(work_.lone[set], pairs_ + set * pairs_count, a, b, c, half, singles);
        add_adapted_singles<1>(work_.lone[set], pairs_ + set * pairs_count, a, b, c, half, singles);
        add_adapted_singles<2>(work_.lone[set], pairs_ + set * pairs_count, a, b, c, half, singles);
      }
      const Numerators sum = spin_adapted_numerators(
          left, {singles[0], singles[1], singles[2], singles[3], singles[4], singles[5]}, right);
      const double delta = work_.eps[elements_.hole_orbital(0, half)] + work_.eps[elements_.hole_orbital(1, half)] +
                           work_.eps[elements_.hole_orbital(2, half)] - work_.eps[elements_.particle_orbital(0, a)] -
                           work_.eps[elements_.particle_orbital(1, b)] - work_.eps[elements_.particle_orbital(2, c)];
      const double factor = weight * reciprocal(delta - shift);
      energy[0] += factor * sum.bracket;
      energy[1] += factor * sum.paren;
      energy[2] += factor * sum.same_bracket;
      energy[3] += factor * sum.same_paren;
    }
  }

  /// Adds t1[x, y] (u h|w h') to every target whose assignment gives particle x the hole y.
  template <int x>
  __device__ __forceinline__ void add_adapted_singles(const double* lone, const double* const* pairs, int a, int b,
                                                      int c, int half, double (&singles)[6]) const {
    constexpr int u = others(x)[0], w = others(x)[1];
    const int n[3] = {a, b, c};
    const double* column = lone + std::int64_t{work_.orbitals} * elements_.particle_orbital(x, n[x]);
    const int particle_u = elements_.tile_particle(u, n[u]), particle_w = elements_.tile_particle(w, n[w]);
    const int place[3] = {pair_place(1, 2, u, w, particle_u, particle_w),
                          pair_place(0, 2, u, w, particle_u, particle_w),
                          pair_place(0, 1, u, w, particle_u, particle_w)};
#pragma unroll
    for (int t = 0; t < 6; ++t) {
      constexpr auto all = assignments;
      const int y = all[static_cast<std::size_t>(t)][x];
      const double* block = pairs[x * 6 + t];
      if (block == nullptr) continue;
      const int h1 = y == 0 ? 1 : 0, h2 = y == 2 ? 1 : 2;
      singles[t] +=
          column[elements_.hole_orbital(y, half)] *
          block[place[y] + elements_.local_hole(h1, half) * hole_block + elements_.local_hole(h2, half)];
    }
  }

  const Work& work_;
  const double* const* pairs_;
  LaneElements<Config> elements_;
  int lane_;
};

}  // namespace trifuse::gpu
