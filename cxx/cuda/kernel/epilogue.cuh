#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/lane_elements.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/task.hpp"

/// From the finished targets to energies. Each lane adds up its own elements, then each warp its lanes. Another kernel
/// adds up the warps in a fixed order, so energies have the same bits in every run.
namespace trifuse::gpu {

/// 1/x, exact to one or two units in the last place. x must be neither 0 nor close to overflow or underflow.
__device__ __forceinline__ double reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double error = fma(-x, y, 1.0);  // about 2^-19
  return fma(y, fma(error, error, error), y);
}

/// The sum of x over all lanes, always in the same order. Only lane 0 may use the result.
__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// The epilogue of a CTA tile, for one warp. spill() writes each finished target of the warp tile from registers to
/// scratch; when all targets are there, write_sums() reads them back and turns them into energies.
template <SpinFormulation formulation, bool two_sided, typename Config>
class Epilogue {
  static constexpr bool adapted = formulation == SpinFormulation::spin_adapted;
  static constexpr int threads = Config::warps * 32;
  /// A slice is the set of elements that are turned into energies at a time in spin-orbital form: one a, one half,
  /// `slice_b` values of b, all c. There are registers for so many elements.
  static constexpr int slice_elements = 8, slice_b = Config::warp_tile_b * Config::warp_tile_c <= slice_elements
                                                         ? Config::warp_tile_b
                                                         : slice_elements / Config::warp_tile_c;
  using Slice = double[slice_b][Config::warp_tile_c];
  static constexpr int sums_count = adapted ? spin_adapted_sums : spin_orbital_sums;
  static constexpr int vvoo_count = adapted ? spin_adapted_vvoo_blocks : spin_orbital_vvoo_blocks;

 public:
  static constexpr int targets_per_side = trifuse::targets_per_side(formulation);
  static constexpr int sides = two_sided ? 2 : 1;  ///< side 0 is left if there are two
  static constexpr int targets = targets_per_side * sides;

  __device__ __forceinline__ Epilogue(const KernelParameters& parameters, const CtaTileData<formulation, Config>& data,
                                      int warp, int lane)
      : parameters_(parameters),
        elements_(data, WarpCoord(data.cta_tile, warp), lane),
        scratch_(scratch_of_thread(parameters, warp * 32 + lane)),
        warp_(warp),
        lane_(lane) {
    elements_.find_summed();
  }

  /// Spills a finished target to scratch, each thread its own accumulators. They stay in the L2 cache until the
  /// energies are computed. There are not enough registers to hold a target and to compute energies at the same time.
  /// `target`: its index, targets_per_side for each side.
  static __device__ __forceinline__ void spill(const KernelParameters& parameters, Accumulators<Config>& sums,
                                               int target) {
    unsigned thread = threadIdx.x;
    asm volatile("" : "+r"(thread));  // so that no register holds it while products are computed
    double* to = scratch_of_thread(parameters, static_cast<int>(thread)) + target * doubles_per_target;
    sums.for_each_fragment([&](double(&f)[4]) {
#pragma unroll
      for (int e = 0; e < 4; ++e, to += threads) *to = f[e];
    });
  }

  /// Adds the warp's energies of a set of disconnected factors to its sums. Set 0 initialises the sums and includes
  /// E[T]. `vvoo`: from Stages::acquire_vvoo().
  __device__ __forceinline__ void write_sums(const char* vvoo, int set) const {
    double* out = parameters_.warp_sums +
                  (static_cast<std::size_t>(elements_.data.number) * parameters_.omega2_count * Config::warps +
                   static_cast<unsigned>(warp_)) *
                      sums_count;
#pragma unroll 1
    for (int w = 0; w < parameters_.omega2_count; ++w, out += Config::warps * sums_count) {
      double energy[sums_count] = {};
      if (elements_.data.views[warp_].active != 0) {
        const double shift = 3.0 * parameters_.omega2[w];
        if constexpr (adapted) {
          sum_spin_adapted(set, shift, energy);
        } else {
          sum_spin_orbital(vvoo, set, shift, energy);
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
  static constexpr int doubles_per_target = Config::accumulators * threads;
  /// The scratch of this CTA, [side, target, accumulator, thread], at the first number of a thread.
  static __device__ __forceinline__ double* scratch_of_thread(const KernelParameters& parameters, int thread) {
    return parameters.scratch + static_cast<std::size_t>(blockIdx.x) * targets * doubles_per_target + thread;
  }

  /// The vvoo block of particle x and hole y: v[u w, h1 h2] of the other two particles u, w of the warp tile and of the
  /// lane's other two holes h1, h2. It is read from shared memory, where particles beyond the end of an orbital tile
  /// have arbitrary values, or from the panel.
  template <int x, int y>
  struct VvooValues {
    static constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2, h1 = y == 0 ? 1 : 0, h2 = y == 2 ? 1 : 2;
    static constexpr int column = hole_block * hole_block;
    const Epilogue& epilogue;
    const double* first;
    int row;

    __device__ __forceinline__ VvooValues(const Epilogue& owner, const char* vvoo, int set, int half)
        : epilogue(owner) {
      const auto& elements = epilogue.elements_;
      const CtaTile& cta_tile = elements.data.cta_tile;
      if constexpr (Config::staging == Staging::bulk) {
        const VvooPart<Config> part(elements.data, x);
        row = cta_extent<Config>(cta_tile, w) * column;
        first = reinterpret_cast<const double*>(vvoo + part.offset + y * part.y_stride) +
                (elements.first[u] - cta_tile.particle[u]) * row + (elements.first[w] - cta_tile.particle[w]) * column;
      } else {
        row = elements.data.task.extent[w] * column;
        first = elements.data.vvoo[set * vvoo_count + x * 3 + y] + epilogue.vvoo_offset(h1, h2, u, w, 0, 0);
      }
      first += elements.local_hole(h1, half) * hole_block + elements.local_hole(h2, half);
    }
    __device__ __forceinline__ double at(int n_u, int n_w) const {
      if constexpr (Config::staging == Staging::bulk) {
        return first[n_u * row + n_w * column];
      } else {
        return __ldg(first + epilogue.elements_.tile_particle(u, n_u) * row +
                     epilogue.elements_.tile_particle(w, n_w) * column);
      }
    }
  };

  /// Computes E[T] = D_left Y and E(T) = (D_left + S) Y, where Y = D_right / (Delta - 3 omega2) and S are the singles.
  /// For each hole of t1, S Y is
  ///
  ///     sum_bc v[b c] (sum_a t1[a] Y[a b c]) + sum_abc (t1[b] v[a c] + t1[c] v[a b]) Y[a b c]
  ///
  /// where t1 is t1 or f_ov, and v is the vvoo block of its particle and hole.
  __device__ __forceinline__ void sum_spin_orbital(const char* vvoo, int set, double shift,
                                                   double (&energy)[sums_count]) const {
    constexpr unsigned all = ~0u >> (32 - Config::accumulators / 2);
    double e_bracket_t = 0.0, singles = 0.0;
    if (__all_sync(~0u, elements_.summed[0] == all && elements_.summed[1] == all)) {
      add_slices<false>(vvoo, set, shift, e_bracket_t, singles);
    } else {
      add_slices<true>(vvoo, set, shift, e_bracket_t, singles);
    }
    // D_left and D_right both carry `final_sign`; S does not.
    if (set == 0) energy[0] = e_bracket_t;
    energy[1] = energy[0] + final_sign * singles;
  }

  /// Computes one slice after the other; the loads of the next slice are under way meanwhile. `masked`: some elements
  /// do not contribute.
  template <bool masked>
  __device__ __forceinline__ void add_slices(const char* vvoo, int set, double shift, double& e_bracket_t,
                                             double& singles) const {
    const auto load = [&](int target, int a, int part, Slice& to) {
      const double* from = scratch_ + target * doubles_per_target +
                           Accumulators<Config>::index_with_b_doubled(a, part / 2 * slice_b, 0, part % 2) * threads;
      for_slice(
          [&](int b, int c) { to[b][c] = from[Accumulators<Config>::index_with_b_doubled(0, b, c, 0) * threads]; });
    };
    constexpr int parts = 2 * (Config::warp_tile_b / slice_b);
    Slice next, next_left;
    load(targets - 1, 0, 0, next);
    if constexpr (two_sided) load(0, 0, 0, next_left);
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      const int half = part % 2, first_b = part / 2 * slice_b;
      const double eps_holes = elements_.eps_holes(half) - shift;
      const VvooValues<1, 0> ac0(*this, vvoo, set, half);
      const VvooValues<1, 1> ac1(*this, vvoo, set, half);
      const VvooValues<1, 2> ac2(*this, vvoo, set, half);
      const VvooValues<2, 0> ab0(*this, vvoo, set, half);
      const VvooValues<2, 1> ab1(*this, vvoo, set, half);
      const VvooValues<2, 2> ab2(*this, vvoo, set, half);
      Slice over_a[3] = {};  // [hole] sum over a of t1[a] Y[a b c]
#pragma unroll 1
      for (int a = 0; a < Config::warp_tile_a; ++a) {
        Slice y, left;
        for_slice([&](int b, int c) {
          y[b][c] = next[b][c];
          if constexpr (two_sided) left[b][c] = next_left[b][c];
        });
        const bool last_a = a + 1 == Config::warp_tile_a;
        const int next_a = last_a ? 0 : a + 1, next_part = last_a ? min(part + 1, parts - 1) : part;
        load(targets - 1, next_a, next_part, next);
        if constexpr (two_sided) load(0, next_a, next_part, next_left);
        const unsigned used = elements_.template summed_slice<slice_b>(a, first_b, half);
        if (masked && __all_sync(~0u, used == 0)) continue;
        const double eps_a = eps_holes - elements_.eps_particle(0, a);
        for_slice([&](int b, int c) {
          // Elements that do not contribute may be NaN or infinite.
          const bool is_used = !masked || (used >> (b * Config::warp_tile_c + c) & 1) != 0;
          const double denominator = eps_a - elements_.eps_particle(1, first_b + b) - elements_.eps_particle(2, c);
          const double d = is_used ? y[b][c] : 0.0;
          y[b][c] = d * reciprocal(is_used ? denominator : 1.0);
          double d_left = d;
          if constexpr (two_sided) d_left = is_used ? left[b][c] : 0.0;
          e_bracket_t += d_left * y[b][c];
        });
        add_ov_a<0>(set, a, half, y, over_a[0]);
        add_ov_a<1>(set, a, half, y, over_a[1]);
        add_ov_a<2>(set, a, half, y, over_a[2]);
        Slice s = {};
        add_ov_b_and_c<0>(ac0, ab0, set, a, first_b, half, s);
        add_ov_b_and_c<1>(ac1, ab1, set, a, first_b, half, s);
        add_ov_b_and_c<2>(ac2, ab2, set, a, first_b, half, s);
        for_slice([&](int b, int c) { singles += s[b][c] * y[b][c]; });
      }
      singles += ov_a<0>(vvoo, set, first_b, half, over_a[0]) + ov_a<1>(vvoo, set, first_b, half, over_a[1]) +
                 ov_a<2>(vvoo, set, first_b, half, over_a[2]);
    }
  }

  template <typename Function>
  static __device__ __forceinline__ void for_slice(Function function) {
#pragma unroll
    for (int b = 0; b < slice_b; ++b)
#pragma unroll
      for (int c = 0; c < Config::warp_tile_c; ++c) function(b, c);
  }

  /// The parts of S Y for hole y of t1, see sum_spin_orbital().
  template <int y>
  __device__ __forceinline__ void add_ov_a(int set, int a, int half, const Slice& quotient, Slice& sum) const {
    const double factor = elements_.ov_factor(set, 0, a, y, half);
    for_slice([&](int b, int c) { sum[b][c] += factor * quotient[b][c]; });
  }
  template <int y>
  __device__ __forceinline__ double ov_a(const char* vvoo, int set, int first_b, int half, const Slice& over_a) const {
    const VvooValues<0, y> bc(*this, vvoo, set, half);
    double sum = 0.0;
    for_slice([&](int b, int c) { sum += bc.at(first_b + b, c) * over_a[b][c]; });
    return alone_sign(0, y) * sum;
  }
  template <int y>
  __device__ __forceinline__ void add_ov_b_and_c(const VvooValues<1, y>& ac, const VvooValues<2, y>& ab, int set, int a,
                                                 int first_b, int half, Slice& sum) const {
    double of_c[Config::warp_tile_c], v_ac[Config::warp_tile_c];
#pragma unroll
    for (int c = 0; c < Config::warp_tile_c; ++c) {
      of_c[c] = alone_sign(2, y) * elements_.ov_factor(set, 2, c, y, half);
      v_ac[c] = ac.at(a, c);
    }
#pragma unroll
    for (int b = 0; b < slice_b; ++b) {
      const double of_b = alone_sign(1, y) * elements_.ov_factor(set, 1, first_b + b, y, half),
                   v_ab = ab.at(a, first_b + b);
#pragma unroll
      for (int c = 0; c < Config::warp_tile_c; ++c) {
        sum[b][c] += of_b * v_ac[c];
        sum[b][c] += of_c[c] * v_ab;
      }
    }
  }

  /// Offset of the 4 x 4 holes, of positions h1 and h2, of two particles in a packed vvoo block.
  __device__ __forceinline__ int vvoo_offset(int h1, int h2, int u, int w, int particle_u, int particle_w) const {
    const auto& d = elements_.data;
    return static_cast<int>(vvoo_block(d.cta_tile.hole_block[h1], (d.task.extent[3 + h2] + hole_block - 1) / hole_block,
                                       d.cta_tile.hole_block[h2], d.task.extent[u], particle_u, d.task.extent[w],
                                       particle_w));
  }

  /// The six targets of one side for one element. A target that was not computed is read from a computed one with holes
  /// exchanged, see target_source(); another lane of the warp has spilled that element.
  __device__ __forceinline__ SixTargets read_targets(int side, int a, int b, int c, int half) const {
    const int x[3] = {elements_.local_hole(0, half), elements_.local_hole(1, half), elements_.local_hole(2, half)};
    const double* first = scratch_ + side * targets_per_side * doubles_per_target - lane_;
    const auto read = [&](int t) {
      const TargetSource source = target_source(elements_.data.equal_blocks, t);
      const auto hole = [&](int p) { return p == 0 ? x[0] : p == 1 ? x[1] : x[2]; };
      const int i = hole(source.order[0]), j = hole(source.order[1]), k = hole(source.order[2]);
      const int lane = i | k << 2 | (j & 1) << 4;
      return first[(source.target * Config::accumulators +
                    Accumulators<Config>::index_with_b_doubled(a, b, c, j >> 1)) *
                       threads +
                   lane];
    };
    return {read(0), read(1), read(2), read(3), read(4), read(5)};
  }

  /// The energies in spin-adapted form. The loop over c is unrolled, so that the loads of several elements overlap.
  __device__ __forceinline__ void sum_spin_adapted(int set, double shift, double (&energy)[sums_count]) const {
    constexpr int cs = Config::warp_tile_c;
#pragma unroll 1
    for (int n = 0; n < Config::accumulators / cs; ++n) {
      const int half = n & 1, b = n / 2 % Config::warp_tile_b, a = n / 2 / Config::warp_tile_b;
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
        // Elements that do not contribute may be NaN or infinite.
        const bool used = weight != 0.0;
        const double factor = weight * reciprocal(used ? eps_ab - elements_.eps_particle(2, c) : 1.0);
        if (set == 0) {
          energy[0] += used ? factor * sum.e_bracket_t : 0.0;
          energy[2] += used ? factor * sum.e_bracket_t_same : 0.0;
        }
        // Later sets contribute their singles only.
        energy[1] += used ? factor * (set == 0 ? sum.e_paren_t : sum.e_paren_t - sum.e_bracket_t) : 0.0;
        energy[3] += used ? factor * (set == 0 ? sum.e_paren_t_same : sum.e_paren_t_same - sum.e_bracket_t_same) : 0.0;
      }
    }
  }

  /// Adds t1[x, y] (u h|w h') to every target in which particle x has hole y.
  template <int x>
  __device__ __forceinline__ void add_adapted_singles(int set, int a, int b, int c, int half,
                                                      double (&singles)[6]) const {
    constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2;
    const int n[3] = {a, b, c};
    const int particle_u = elements_.tile_particle(u, n[u]), particle_w = elements_.tile_particle(w, n[w]);
    const int offset[3] = {vvoo_offset(1, 2, u, w, particle_u, particle_w),
                           vvoo_offset(0, 2, u, w, particle_u, particle_w),
                           vvoo_offset(0, 1, u, w, particle_u, particle_w)};
#pragma unroll
    for (int t = 0; t < 6; ++t) {
      constexpr auto all = assignments;
      const int y = all[static_cast<std::size_t>(t)][x];
      const int h1 = y == 0 ? 1 : 0, h2 = y == 2 ? 1 : 2;
      const double* block = elements_.data.vvoo[set * vvoo_count + x * 6 + t];
      singles[t] +=
          elements_.ov_factor(set, x, n[x], y, half) *
          __ldg(block + offset[y] + elements_.local_hole(h1, half) * hole_block + elements_.local_hole(h2, half));
    }
  }

  const KernelParameters& parameters_;
  LaneElements<formulation, Config> elements_;
  const double* scratch_;
  int warp_, lane_;
};

/// For the math warps: writes the sums of the current CTA tile, each warp its own.
template <bool two_sided, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void write_sums(const KernelParameters& parameters, Stages<formulation, Config>& stages) {
  const Epilogue<formulation, two_sided, Config> energy(parameters, stages.tile_data(), warp_number(), lane_number());
#pragma unroll 1
  for (int set = 0; set < parameters.sets; ++set) {
    const char* vvoo = nullptr;
    if constexpr (formulation == SpinFormulation::spin_orbital) vvoo = stages.acquire_vvoo();
    energy.write_sums(vvoo, set);
    if constexpr (formulation == SpinFormulation::spin_orbital) stages.release_vvoo();
  }
}

}  // namespace trifuse::gpu
