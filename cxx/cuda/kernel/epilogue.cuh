#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/lane_elements.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/cuda/kernel/table_denominators.cuh"
#include "cxx/triples/energy.hpp"

/// An epilogue says what the math warps do with the finished targets of a CTA tile.
///
/// It is a class template with these members, and a template parameter of the kernel. SpinOrbitalEnergies and
/// SpinAdaptedEnergies are epilogues, and SpinOrbitalQuotients and SpinAdaptedQuotients are those for any quotients;
/// all are made of WarpEpilogue.
///
///     using Config                       the Configuration of the kernel
///     formulation                        the SpinFormulation of its targets
///     sides, targets_per_side            how many targets a CTA tile has at most
///     reads_vvoo                         true: with bulk staging, warps load the vvoo blocks of each set
///     finish_target(parameters, stages, sums, target)
///                                        called after the last product of each target, 0..sides*targets_per_side-1
///     finish_cta_tile(parameters, stages)
///                                        called when all targets of the CTA tile are finished
///     keeps_target                       true: there is one target, and finish_cta_tile(parameters, stages, sums) gets
///                                        it; finish_target() is not called
///
/// If reads_vvoo is true, acquire_vvoo() and release_vvoo() are called once for each set of a CTA tile.
///
/// All lanes of all math warps call both functions, also the lanes of a warp without elements to compute.
namespace trifuse::gpu {

/// Returns 1/x, exact to one or two units in the last place. x must be neither 0 nor close to overflow or underflow.
__device__ __forceinline__ double reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double error = fma(-x, y, 1.0);  // about 2^-19
  return fma(y, fma(error, error, error), y);
}

/// Returns 1/x, exact to one unit in the last place.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Adds numbers to a sum in double precision. Doubles are added one by one. Floats are first added to each other, and
/// the destructor adds their sum, because a conversion takes as long as several additions.
template <typename Number>
struct PartialSum {
  double& sum;
  Number part = 0;
  __device__ __forceinline__ explicit PartialSum(double& to) : sum(to) {}
  __device__ __forceinline__ void operator+=(Number x) { part += x; }
  __device__ __forceinline__ ~PartialSum() { sum += part; }
};
template <>
struct PartialSum<double> {
  double& sum;
  __device__ __forceinline__ explicit PartialSum(double& to) : sum(to) {}
  __device__ __forceinline__ void operator+=(double x) { sum += x; }
};

/// Returns the sum of x over all lanes, always in the same order. Only lane 0 may use the result.
__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// The common part of epilogues that spill targets to scratch and write sums for each omega2. An object belongs to one
/// lane. Each lane adds up its own elements, then each warp adds up its lanes. Another kernel adds up the warps in a
/// fixed order, so energies have the same bits in every run.
template <SpinFormulation formulation_, int sides_, typename ConfigT>
class WarpEpilogue {
 public:
  using Config = ConfigT;
  static constexpr SpinFormulation formulation = formulation_;
  static constexpr int targets_per_side = trifuse::targets_per_side(formulation);
  static constexpr int sides = sides_;  ///< left sides come first
  static constexpr bool keeps_target = false;

  /// Spills a finished target to scratch: each thread its own accumulators. They stay in the L2 cache until the
  /// energies are computed. There are not enough registers to hold a target and to compute energies at the same time.
  /// `target`: index of the target; those of side 1 follow the targets_per_side targets of side 0.
  static __device__ __forceinline__ void finish_target(const KernelParameters& parameters,
                                                       const Stages<formulation, Config>&, Accumulators<Config>& sums,
                                                       int target) {
    unsigned thread = threadIdx.x;
    asm volatile("" : "+r"(thread));  // so that no register holds it while products are computed
    Number* to = scratch_of_thread(parameters, static_cast<int>(thread)) + target * numbers_per_target;
    sums.for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
      for (int e = 0; e < 4; ++e, to += threads) *to = f[e];
    });
  }

 protected:
  static constexpr bool two_sided = sides == 2;
  static constexpr int threads = Config::warps * 32;
  static constexpr int numbers_per_target = Config::accumulators * threads;
  using Number = typename Accumulators<Config>::Number;
  using Elements = LaneElements<formulation, Config>;

  /// Makes an object for the calling lane.
  __device__ __forceinline__ WarpEpilogue(const KernelParameters& parameters,
                                          const CtaTileData<formulation, Config>& data)
      : WarpEpilogue(parameters, data, warp_number(), lane_number()) {}
  __device__ __forceinline__ WarpEpilogue(const KernelParameters& parameters,
                                          const CtaTileData<formulation, Config>& data, int warp, int lane)
      : parameters_(parameters),
        elements_(data, warp, lane),
        scratch_(scratch_of_thread(parameters, warp * 32 + lane)),
        warp_(warp),
        lane_(lane) {
    elements_.find_summed(warp);
  }

  /// Returns the number of the first set of S of a left side, and the number after its last set. C3 has the set after
  /// those of all left sides.
  __device__ __forceinline__ int first_set(int side) const {
    return side == 0 ? 0 : parameters_.sets_end[side - 1];
  }
  __device__ __forceinline__ int sets_end(int side) const {
    return parameters_.sets_end[side];
  }

  /// Adds the warp's energies of a set to its sums. Set 0 initialises the sums. `add_energies(shift, energy)` adds the
  /// lane's energies for shift = denominator_shift(omega2) to `energy` [sum].
  template <int sums_count, typename AddEnergies>
  __device__ __forceinline__ void write_sums(int set, AddEnergies add_energies) const {
    double* out = sums_of_warp<sums_count>();
#pragma unroll 1
    for (int w = 0; w < parameters_.omega2_count; ++w, out += Config::warps * sums_count) {
      double energy[sums_count] = {};
      if (is_active()) {
        add_energies(denominator_shift(parameters_.omega2[w]), energy);
      }
      write_sums_of_omega2(out, set, energy);
    }
  }
  /// Returns the address in device memory of the warp's sums for the first omega2.
  template <int sums_count>
  __device__ __forceinline__ double* sums_of_warp() const {
    return parameters_.warp_sums +
           (static_cast<std::size_t>(elements_.data.number) * parameters_.omega2_count * Config::warps +
            static_cast<unsigned>(warp_)) *
               sums_count;
  }
  /// Writes the sum of `energy` over all lanes to `out`. Sets other than the first one are added to `out`.
  template <int sums_count>
  __device__ __forceinline__ void write_sums_of_omega2(double* out, int set, const double (&energy)[sums_count]) const {
#pragma unroll
    for (int s = 0; s < sums_count; ++s) {
      const double total = warp_sum(energy[s]);
      if (lane_ == 0) out[s] = set == 0 ? total : out[s] + total;
    }
  }

  /// Returns true if the warp has elements to compute.
  __device__ __forceinline__ bool is_active() const {
    return elements_.data.views[warp_].active != 0;
  }
  /// Returns the weight of an element; 0 if it does not contribute.
  __device__ __forceinline__ double weight_of(int a, int b, int c, int half) const {
    return elements_.hole_weight(half) * elements_.particle_weight(a, b, c);
  }
  /// Returns Delta of an element, hartree.
  __device__ __forceinline__ ElementNumber<formulation, Config> delta(int a, int b, int c, int half) const {
    return elements_.eps_holes(half) - elements_.eps_particle(0, a) - elements_.eps_particle(1, b) -
           elements_.eps_particle(2, c);
  }
  /// Returns the orbitals of an element. Orbitals beyond the end of a tile are its last one.
  __device__ __forceinline__ TableOrbitals table_orbitals(int a, int b, int c, int half) const {
    const TaskData& task = elements_.data.task;
    const int n[3] = {a, b, c};
    TableOrbitals x;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      x.hole[q] = task.offset[3 + q] + min(elements_.hole(q, half), task.extent[3 + q] - 1);
      x.particle[q] = task.offset[q] + elements_.tile_particle(q, n[q]) - parameters_.tables.first_particle;
    }
    return x;
  }

  /// Returns the offset in a packed vvoo block of the 4 x 4 holes of two particles. `h1`, `h2`: positions of the holes.
  /// `u`, `w`: positions of the particles. `particle_u`, `particle_w`: the particles, counted in their orbital tiles.
  __device__ __forceinline__ int vvoo_offset(int h1, int h2, int u, int w, int particle_u, int particle_w) const {
    const auto& d = elements_.data;
    return static_cast<int>(
        vvoo_block(d.cta_tile.hole_group[h1], (d.task.extent[3 + h2] + hole_group_size - 1) / hole_group_size,
                   d.cta_tile.hole_group[h2], d.task.extent[u], particle_u, d.task.extent[w], particle_w));
  }

  /// Returns the address of the first number of a thread in the scratch of this CTA, [side, target, accumulator,
  /// thread].
  static __device__ __forceinline__ Number* scratch_of_thread(const KernelParameters& parameters, int thread) {
    return static_cast<Number*>(parameters.scratch) +
           static_cast<std::size_t>(blockIdx.x) * targets_per_side * sides * numbers_per_target + thread;
  }

  const KernelParameters& parameters_;
  Elements elements_;
  const Number* scratch_;
  int warp_, lane_;
};

}
