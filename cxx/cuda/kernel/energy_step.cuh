#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/lane_elements.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/task.hpp"

/// From the finished block to energies. Each lane sums over its own elements, each warp over its lanes; the sums of
/// all warps are added up in a fixed order by another kernel, so energies are the same to the last bit in every run.
namespace trifuse::gpu {

/// 1/x to the last bit or two, for x that is neither zero nor extreme.
__device__ __forceinline__ double reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double error = fma(-x, y, 1.0);  // about 2^-19
  return fma(y, fma(error, error, error), y);
}

/// Lane 0 gets the sum over all lanes, always in the same order.
__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// The targets of an item that one warp has multiplied: puts them aside and turns them into sums.
template <SpinFormulation formulation, bool two_sided, typename Config>
class EnergyStep {
  static constexpr bool adapted = formulation == SpinFormulation::spin_adapted;
  static constexpr int threads = Config::warps * 32;
  /// Elements that are turned into energies at a time: one a, one half, `slice_b` of b; there are registers for so
  /// many.
  static constexpr int slice_elements = 8, slice_b = Config::sub_b * Config::sub_c <= slice_elements
                                                         ? Config::sub_b
                                                         : slice_elements / Config::sub_c;
  using Slice = double[slice_b][Config::sub_c];
  static constexpr int sums_count = adapted ? spin_adapted_sums : spin_orbital_sums;
  static constexpr int pairs_count = adapted ? spin_adapted_pairs : spin_orbital_pairs;

 public:
  static constexpr int one_side = adapted ? 6 : 1;
  static constexpr int sides = two_sided ? 2 : 1;  ///< left first, if there are two
  static constexpr int targets = one_side * sides;

  __device__ __forceinline__ EnergyStep(const Work& work, const ItemData<formulation, Config>& data, int warp, int lane)
      : work_(work),
        elements_(data, WarpPlace(data.item, warp), lane),
        kept_(kept(work, warp * 32 + lane)),
        warp_(warp),
        lane_(lane) {
    elements_.find_used();
  }

  /// Puts a target aside, each thread its own numbers; they stay in the second-level cache until the energies need
  /// them. There are not registers enough to hold a target and to compute energies.
  static __device__ __forceinline__ void keep(const Work& work, Accumulators<Config>& sums, int target) {
    unsigned thread = threadIdx.x;
    asm volatile("" : "+r"(thread));  // not to be kept in registers while products are summed
    double* to = kept(work, static_cast<int>(thread)) + target * one_target;
    sums.for_each_fragment([&](double(&f)[4]) {
#pragma unroll
      for (int e = 0; e < 4; ++e, to += threads) *to = f[e];
    });
  }

  /// Writes the warp's sums for a set of disconnected factors; E[T] comes with the first.
  __device__ __forceinline__ void write_sums(const char* pairs, int set) const {
    double* out = work_.sums + (static_cast<std::size_t>(elements_.data.number) * work_.omega2_count * Config::warps +
                                static_cast<unsigned>(warp_)) *
                                   sums_count;
#pragma unroll 1
    for (int w = 0; w < work_.omega2_count; ++w, out += Config::warps * sums_count) {
      double energy[sums_count] = {};
      if (elements_.data.views[warp_].active != 0) {
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
  }

 private:
  static constexpr int one_target = Config::accumulators * threads;
  /// [thread, accumulator, target] of this block, from a thread's first number on.
  static __device__ __forceinline__ double* kept(const Work& work, int thread) {
    return work.scratch + static_cast<std::size_t>(blockIdx.x) * targets * one_target + thread;
  }

  /// v2[u w, h1 h2] for the lane's holes and the particles of its warp other than x, in shared memory (what lies beyond
  /// the end of a tile is some number) or in the panel.
  template <int x, int y>
  struct PairValues {
    static constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2, h1 = y == 0 ? 1 : 0, h2 = y == 2 ? 1 : 2;
    static constexpr int column = hole_block * hole_block;
    const EnergyStep& step;
    const double* first;
    int row;

    __device__ __forceinline__ PairValues(const EnergyStep& energy_step, const char* pairs, int set, int half)
        : step(energy_step) {
      const auto& elements = step.elements_;
      const Item& item = elements.data.item;
      if constexpr (Config::staging == Staging::bulk) {
        const PairPart<Config> part(elements.data, x);
        row = box_size<Config>(item, w) * column;
        first = reinterpret_cast<const double*>(pairs + part.place + y * part.y_place) +
                (elements.first[u] - item.particle[u]) * row + (elements.first[w] - item.particle[w]) * column;
      } else {
        row = elements.data.task.extent[w] * column;
        first = elements.data.pairs[set * pairs_count + x * 3 + y] + step.pair_place(h1, h2, u, w, 0, 0);
      }
      first += elements.local_hole(h1, half) * hole_block + elements.local_hole(h2, half);
    }
    __device__ __forceinline__ double at(int n_u, int n_w) const {
      if constexpr (Config::staging == Staging::bulk) {
        return first[n_u * row + n_w * column];
      } else {
        return __ldg(first + step.elements_.tile_particle(u, n_u) * row +
                     step.elements_.tile_particle(w, n_w) * column);
      }
    }
  };

  /// Sums E[T] = D_left Y and E(T) = (D_left + S) Y with Y = D_right / (Delta - 3 omega2). With t1 and the pair v of
  /// what stands beside it, singles are
  ///
  ///     sum_bc v[b c] (sum_a t1[a] Y[a b c]) + sum_abc (t1[b] v[a c] + t1[c] v[a b]) Y[a b c]
  ///
  /// for each hole that t1 has.
  __device__ __forceinline__ void sum_spin_orbital(const char* pairs, int set, double shift,
                                                   double (&energy)[sums_count]) const {
    constexpr unsigned all = ~0u >> (32 - Config::accumulators / 2);
    double e_bracket_t = 0.0, singles = 0.0;
    if (__all_sync(~0u, elements_.used[0] == all && elements_.used[1] == all)) {
      add_slices<false>(pairs, set, shift, e_bracket_t, singles);
    } else {
      add_slices<true>(pairs, set, shift, e_bracket_t, singles);
    }
    // D carries `final_sign`, on either side.
    if (set == 0) energy[0] = e_bracket_t;
    energy[1] = energy[0] + final_sign * singles;
  }

  /// One slice after the other, while the next one is on its way. `masked`: not all elements are summed.
  template <bool masked>
  __device__ __forceinline__ void add_slices(const char* pairs, int set, double shift, double& e_bracket_t,
                                             double& singles) const {
    const auto load = [&](int target, int a, int part, Slice& to) {
      const double* from =
          kept_ + target * one_target + Accumulators<Config>::crossed(a, part / 2 * slice_b, 0, part % 2) * threads;
      for_slice([&](int b, int c) { to[b][c] = from[Accumulators<Config>::crossed(0, b, c, 0) * threads]; });
    };
    constexpr int parts = 2 * (Config::sub_b / slice_b);
    Slice next, next_left;
    load(targets - 1, 0, 0, next);
    if constexpr (two_sided) load(0, 0, 0, next_left);
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      const int half = part % 2, first_b = part / 2 * slice_b;
      const double eps_holes = elements_.eps_holes(half) - shift;
      const PairValues<1, 0> ac0(*this, pairs, set, half);
      const PairValues<1, 1> ac1(*this, pairs, set, half);
      const PairValues<1, 2> ac2(*this, pairs, set, half);
      const PairValues<2, 0> ab0(*this, pairs, set, half);
      const PairValues<2, 1> ab1(*this, pairs, set, half);
      const PairValues<2, 2> ab2(*this, pairs, set, half);
      Slice over_a[3] = {};  // of each hole: sum over a of t1[a] Y[a b c]
#pragma unroll 1
      for (int a = 0; a < Config::sub_a; ++a) {
        Slice y, left;
        for_slice([&](int b, int c) {
          y[b][c] = next[b][c];
          if constexpr (two_sided) left[b][c] = next_left[b][c];
        });
        const bool last_a = a + 1 == Config::sub_a;
        const int next_a = last_a ? 0 : a + 1, next_part = last_a ? min(part + 1, parts - 1) : part;
        load(targets - 1, next_a, next_part, next);
        if constexpr (two_sided) load(0, next_a, next_part, next_left);
        const unsigned used = elements_.template used_slice<slice_b>(a, first_b, half);
        if (masked && __all_sync(~0u, used == 0)) continue;
        const double eps_a = eps_holes - elements_.eps_particle(0, a);
        for_slice([&](int b, int c) {
          // Elements that are not summed may hold anything.
          const bool is_used = !masked || (used >> (b * Config::sub_c + c) & 1) != 0;
          const double denominator = eps_a - elements_.eps_particle(1, first_b + b) - elements_.eps_particle(2, c);
          const double d = is_used ? y[b][c] : 0.0;
          y[b][c] = d * reciprocal(is_used ? denominator : 1.0);
          double d_left = d;
          if constexpr (two_sided) d_left = is_used ? left[b][c] : 0.0;
          e_bracket_t += d_left * y[b][c];
        });
        add_lone_a<0>(set, a, half, y, over_a[0]);
        add_lone_a<1>(set, a, half, y, over_a[1]);
        add_lone_a<2>(set, a, half, y, over_a[2]);
        Slice s = {};
        add_lone_b_and_c<0>(ac0, ab0, set, a, first_b, half, s);
        add_lone_b_and_c<1>(ac1, ab1, set, a, first_b, half, s);
        add_lone_b_and_c<2>(ac2, ab2, set, a, first_b, half, s);
        for_slice([&](int b, int c) { singles += s[b][c] * y[b][c]; });
      }
      singles += lone_a<0>(pairs, set, first_b, half, over_a[0]) + lone_a<1>(pairs, set, first_b, half, over_a[1]) +
                 lone_a<2>(pairs, set, first_b, half, over_a[2]);
    }
  }

  template <typename Function>
  static __device__ __forceinline__ void for_slice(Function function) {
#pragma unroll
    for (int b = 0; b < slice_b; ++b)
#pragma unroll
      for (int c = 0; c < Config::sub_c; ++c) function(b, c);
  }

  /// The parts of the singles for hole y, see above.
  template <int y>
  __device__ __forceinline__ void add_lone_a(int set, int a, int half, const Slice& quotient, Slice& sum) const {
    const double factor = elements_.lone(set, 0, a, y, half);
    for_slice([&](int b, int c) { sum[b][c] += factor * quotient[b][c]; });
  }
  template <int y>
  __device__ __forceinline__ double lone_a(const char* pairs, int set, int first_b, int half,
                                           const Slice& over_a) const {
    const PairValues<0, y> bc(*this, pairs, set, half);
    double sum = 0.0;
    for_slice([&](int b, int c) { sum += bc.at(first_b + b, c) * over_a[b][c]; });
    return alone_sign(0, y) * sum;
  }
  template <int y>
  __device__ __forceinline__ void add_lone_b_and_c(const PairValues<1, y>& ac, const PairValues<2, y>& ab, int set,
                                                   int a, int first_b, int half, Slice& sum) const {
    double of_c[Config::sub_c], v_ac[Config::sub_c];
#pragma unroll
    for (int c = 0; c < Config::sub_c; ++c) {
      of_c[c] = alone_sign(2, y) * elements_.lone(set, 2, c, y, half);
      v_ac[c] = ac.at(a, c);
    }
#pragma unroll
    for (int b = 0; b < slice_b; ++b) {
      const double of_b = alone_sign(1, y) * elements_.lone(set, 1, first_b + b, y, half), v_ab = ab.at(a, first_b + b);
#pragma unroll
      for (int c = 0; c < Config::sub_c; ++c) {
        sum[b][c] += of_b * v_ac[c];
        sum[b][c] += of_c[c] * v_ab;
      }
    }
  }

  /// Place of the 4 x 4 holes (of positions h1, h2) of two particles in a packed pair block.
  __device__ __forceinline__ int pair_place(int h1, int h2, int u, int w, int particle_u, int particle_w) const {
    const auto& d = elements_.data;
    return static_cast<int>(pair_block(d.item.hole_block[h1], (d.task.extent[3 + h2] + hole_block - 1) / hole_block,
                                       d.item.hole_block[h2], d.task.extent[u], particle_u, d.task.extent[w],
                                       particle_w));
  }

  /// The six targets of one element of one side. Those that were not computed are others with holes interchanged, which
  /// another lane of the warp has.
  __device__ __forceinline__ SixTargets read_targets(int side, int a, int b, int c, int half) const {
    const int x[3] = {elements_.local_hole(0, half), elements_.local_hole(1, half), elements_.local_hole(2, half)};
    const double* first = kept_ + side * one_side * one_target - lane_;
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
      const double hole_weight = elements_.hole_weight(half);
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
        const double weight = hole_weight * elements_.particle_weight(a, b, c);
        // Elements that are not summed may hold anything.
        const bool used = weight != 0.0;
        const double factor = weight * reciprocal(used ? eps_ab - elements_.eps_particle(2, c) : 1.0);
        if (set == 0) {
          energy[0] += used ? factor * sum.e_bracket_t : 0.0;
          energy[2] += used ? factor * sum.e_bracket_t_same : 0.0;
        }
        // Later sets add their singles only.
        energy[1] += used ? factor * (set == 0 ? sum.e_paren_t : sum.e_paren_t - sum.e_bracket_t) : 0.0;
        energy[3] += used ? factor * (set == 0 ? sum.e_paren_t_same : sum.e_paren_t_same - sum.e_bracket_t_same) : 0.0;
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
  LaneElements<formulation, Config> elements_;
  const double* kept_;
  int warp_, lane_;
};

/// Writes the sums of the item at hand, each warp its own.
template <bool two_sided, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void write_sums(const Work& work, Stages<formulation, Config>& stages) {
  const EnergyStep<formulation, two_sided, Config> energy(work, stages.item(), warp_number(), lane_number());
#pragma unroll 1
  for (int set = 0; set < work.sets; ++set) {
    const char* pairs = nullptr;
    if constexpr (formulation == SpinFormulation::spin_orbital) pairs = stages.acquire_pairs();
    energy.write_sums(pairs, set);
    if constexpr (formulation == SpinFormulation::spin_orbital) stages.release_pairs();
  }
}

}  // namespace trifuse::gpu
