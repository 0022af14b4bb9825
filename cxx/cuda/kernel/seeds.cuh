#pragma once

#include <type_traits>

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/spin_adapted_elements.cuh"
#include "cxx/cuda/schedule/seed_layout.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/seeds.hpp"
#include "cxx/triples/terms.hpp"

namespace trifuse::gpu {

/// The epilogue of runs with derivatives, for one side and one omega2. It computes the energies of a CTA tile, writes
/// the seeds of the connected triples to device memory, and adds the derivatives by ov tensors, vvoo blocks and orbital
/// energies to their integers. It reads the vvoo blocks from device memory.
///
/// The seeds belong to all elements of a task, see seed_layout.hpp. Where tiles are equal, an element that is computed
/// has several images, see SeedImage. So the seeds have no weight of equal orbitals. The other derivatives are those of
/// the elements that are computed, with their weights.
template <SpinFormulation formulation_, typename ConfigT>
class Seeds : public std::conditional_t<formulation_ == SpinFormulation::spin_adapted, SpinAdaptedElements<1, ConfigT>,
                                        WarpEpilogue<formulation_, 1, ConfigT>> {
  static constexpr bool adapted = formulation_ == SpinFormulation::spin_adapted;
  using Base = std::conditional_t<adapted, SpinAdaptedElements<1, ConfigT>, WarpEpilogue<formulation_, 1, ConfigT>>;
  using Base::elements_, Base::lane_, Base::numbers_per_target, Base::parameters_, Base::scratch_, Base::threads,
      Base::vvoo_offset;
  using typename Base::Elements;
  static constexpr int targets = Base::targets_per_side;
  static constexpr int terms =
      adapted ? 6 : 3;  ///< disconnected terms of a set with the same particle of the ov tensor
  static constexpr int sums_count = energy_sums(formulation_);
  static constexpr int lone = Elements::final_axes.hole, second = second_other(lone), halved = halved_hole(lone);

 public:
  using Base::Base;
  using typename Base::Config;
  static constexpr bool reads_vvoo = false;

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<formulation_, Config>& stages) {
    Seeds seeds(parameters, stages.tile_data());
    double energy[sums_count] = {};
    if (seeds.is_active()) seeds.compute(energy);
    seeds.write_sums_of_omega2(seeds.template sums_of_warp<sums_count>(), 0, energy);
  }

 private:
  /// Numbers of the targets of an element.
  struct Amplitudes {
    double of[targets];
  };
  /// Sums of a lane by the hole that the derivative has: [y][half].
  struct ByHole {
    double of[3][2] = {};
  };

  static __device__ __forceinline__ SixTargets six(const Amplitudes& x) {
    return {x.of[0], x.of[1], x.of[2], x.of[3], x.of[4], x.of[5]};
  }
  static __device__ __forceinline__ Amplitudes amplitudes(const SixTargets& x) {
    return {{x.e0, x.e1, x.e2, x.o3, x.o4, x.o5}};
  }

  __device__ __forceinline__ Amplitudes read(int a, int b, int c, int half) const {
    if constexpr (adapted) {
      return amplitudes(Base::read_targets(0, a, b, c, half));
    } else {
      return {{final_sign<typename Config::Schedule> * scratch_[Elements::index(a, b, c, half) * threads]}};
    }
  }

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
  /// Numbers of the vvoo blocks of the terms of a set with particle x, for the holes of the lane. They are loaded
  /// together, so that they come at the same time. When the derivatives need them again, they are in the L1 cache.
  template <int x>
  struct VvooNumbers {
    double of[terms][2];  ///< [term][half]

    __device__ __forceinline__ VvooNumbers(const Seeds& seeds, int set, const int (&particle)[3]) {
      constexpr int u = first_other(x), w = second_other(x);
      for_each_term<x>([&](int n, int, int y, double) {
        const int h1 = first_other(y), h2 = second_other(y);
        const double* const block = seeds.elements_.data.vvoo[set * 3 * terms + x * terms + n] +
                                    seeds.vvoo_offset(h1, h2, u, w, particle[u], particle[w]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          of[n][half] = __ldg(block + seeds.elements_.local_hole(h1, half) * hole_group_size +
                              seeds.elements_.local_hole(h2, half));
        }
      });
    }
  };
  template <int x>
  __device__ __forceinline__ void add_singles(int set, const int (&n)[3], const int (&particle)[3],
                                              Amplitudes (&s)[2]) const {
    const VvooNumbers<x> numbers(*this, set, particle);
    for_each_term<x>([&](int term, int t, int y, double sign) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        s[half].of[t] += sign * elements_.ov_tensor(set, x, n[x], y, half) * numbers.of[term][half];
    });
  }

  /// Rounds a number and adds it to an integer in device memory. No load of the epilogue depends on it, so the compiler
  /// may move loads across it.
  static __device__ __forceinline__ void add(unsigned long long* to, double value, double units) {
    if (value == 0.0) return;
    const long long rounded = __double2ll_rn(value * units);
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(to), "l"(rounded));
  }
  /// Adds to the derivative by the orbital energy of an orbital of the tile at position `q`, 0..5.
  __device__ __forceinline__ void add_energy(int q, int orbital, double value) const {
    const DerivativeParameters& derivatives = parameters_.derivatives;
    add(derivatives.energies + elements_.data.task.offset[q] + orbital, value, derivatives.energy_units);
  }
  static __device__ __forceinline__ double add_lanes(double x, int distance) {
    return x + __shfl_xor_sync(~0u, x, distance);
  }
  /// Calls `write(y, half, sum)` in one lane for each hole y of the warp tile, with the sum over all other holes.
  template <typename Write>
  __device__ __forceinline__ void sum_other_holes(const ByHole& x, Write write) const {
    double of_lone = x.of[lone][0] + x.of[lone][1], of_second = x.of[second][0] + x.of[second][1];
    of_lone = add_lanes(add_lanes(add_lanes(of_lone, 4), 8), 16);
    if (lane_ < 4) write(lone, 0, of_lone);
    of_second = add_lanes(add_lanes(add_lanes(of_second, 1), 2), 16);
    if (lane_ < 16 && lane_ % 4 == 0) write(second, 0, of_second);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const double of_halved = add_lanes(add_lanes(add_lanes(add_lanes(x.of[halved][half], 1), 2), 4), 8);
      if (lane_ % 16 == 0) write(halved, half, of_halved);
    }
  }
  /// Calls `write(half, sum)` in one lane for each pair of holes other than y, with the sum over y.
  template <typename Write>
  __device__ __forceinline__ void sum_hole(int y, const double (&x)[2], Write write) const {
    if (y == halved) {
      const double sum = add_lanes(x[0] + x[1], 16);
      if (lane_ < 16) write(0, sum);
      return;
    }
    const int distance = y == lone ? 1 : 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const double sum = add_lanes(add_lanes(x[half], distance), 2 * distance);
      if ((lane_ / distance & 3) == 0) write(half, sum);
    }
  }

  /// Adds the derivatives by the vvoo blocks of the terms with particle x, and sums those by the ov tensors.
  /// `seed` [half]: derivatives by S. `sums`: see VvooSum; lane n has that of block n of the set.
  template <int x>
  __device__ __forceinline__ void add_disconnected(int set, const int (&n)[3], const int (&particle)[3],
                                                   const Amplitudes (&seed)[2], unsigned long long sums,
                                                   ByHole& of_ov) const {
    const VvooNumbers<x> numbers(*this, set, particle);
    constexpr int u = first_other(x), w = second_other(x);
    const std::int32_t* const extent = elements_.data.task.extent;
    for_each_term<x>([&](int term, int t, int y, double sign) {
      double of_vvoo[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const double signed_seed = sign * seed[half].of[t];
        of_ov.of[y][half] += signed_seed * numbers.of[term][half];
        of_vvoo[half] = signed_seed * elements_.ov_tensor(set, x, n[x], y, half);
      }
      const VvooSum sum{__shfl_sync(~0u, sums, x * terms + term)};
      const int h1 = first_other(y), h2 = second_other(y);
      sum_hole(y, of_vvoo, [&](int half, double value) {
        if (value == 0.0 || !sum.exists()) return;
        add(sum.at(extent[u], extent[w], extent[3 + h1], extent[3 + h2], particle[u], particle[w],
                   elements_.hole(h1, half), elements_.hole(h2, half)),
            value, parameters_.derivatives.units);
      });
    });
  }
  /// Adds the derivatives by the ov tensor of a set, of particle `particle` in the tile of position x.
  __device__ __forceinline__ void add_ov(int set, int x, int particle, const ByHole& of_ov) const {
    const TaskData& task = elements_.data.task;
    unsigned long long* const out = parameters_.derivatives.ov_tensors[set] + task.offset[x] + particle;
    sum_other_holes(of_ov, [&](int y, int half, double value) {
      if (value == 0.0) return;
      add(out + std::int64_t{parameters_.orbitals} * (task.offset[3 + y] + elements_.hole(y, half)), value,
          parameters_.derivatives.units);
    });
  }

  /// Adds the derivatives by the vvoo blocks and by the ov tensor of the terms with particle x.
  template <int x>
  __device__ __forceinline__ void add_of_particle(int set, const int (&n)[3], const int (&particle)[3],
                                                  const Amplitudes (&seed)[2], unsigned long long sums) const {
    ByHole of_ov;
    add_disconnected<x>(set, n, particle, seed, sums, of_ov);
    add_ov(set, x, particle[x], of_ov);
  }

  /// The images of the task in the registers of a warp: lane n has images n and 32 + n.
  struct LaneImages {
    unsigned first, second;
  };
  /// Writes the seeds of an element to all its images.
  __device__ __forceinline__ void write_images(const TaskSeeds& task, const LaneImages& images,
                                               const int (&particle)[3], int half, bool has_seeds,
                                               const Amplitudes& seed) const {
    const SeedExtents extents(elements_.data.task.extent);
    const int hole[3] = {elements_.hole(0, half), elements_.hole(1, half), elements_.hole(2, half)};
    const auto select = [](const int(&x)[3], int q) { return q == 0 ? x[0] : q == 1 ? x[1] : x[2]; };
#pragma unroll 1
    for (int n = 0; n < task.images; ++n) {
      const SeedImage image{__shfl_sync(~0u, n < 32 ? images.first : images.second, n % 32)};
      const int a = select(particle, image.particle(0)), b = select(particle, image.particle(1)),
                c = select(particle, image.particle(2));
      const int i = select(hole, image.hole(0)), j = select(hole, image.hole(1)), k = select(hole, image.hole(2));
      double value = seed.of[0];
#pragma unroll
      for (int t = 1; t < targets; ++t) value = image.source() == t ? seed.of[t] : value;
      if (!has_seeds) continue;
      task.begin[image.target() * task.target_stride +
                 extents.atom(i / hole_group_size, j / hole_group_size, k / hole_group_size, a, b, c) +
                 seed_place(i % hole_group_size, j % hole_group_size, k % hole_group_size, (b ^ c) & 1)] =
          image.is_negative() ? -value : value;
    }
  }

  /// The numbers of an element that its energies and its derivatives need.
  struct Element {
    double weight;   ///< of the energies; 0 if the element does not contribute
    bool has_seeds;  ///< true if the element, inside the tiles and in ascending order, has seeds, which may be zero
    double inverse;  ///< 1 / x
  };
  __device__ __forceinline__ Element element(int a, int b, int c, int half) const {
    const TaskData& task = elements_.data.task;
    const int p[3] = {elements_.first[0] + a, elements_.first[1] + b, elements_.first[2] + c};
    const int h[3] = {elements_.hole(0, half), elements_.hole(1, half), elements_.hole(2, half)};
    bool inside = true;
#pragma unroll
    for (int q = 0; q < 3; ++q) inside = inside && p[q] < task.extent[q] && h[q] < task.extent[3 + q];
    const auto ascending = [](int equal, const int(&x)[3]) {
      return ((equal & 1) == 0 || x[0] <= x[1]) && ((equal & 2) == 0 || x[1] <= x[2]);
    };
    const double weight = inside ? Base::weight_of(a, b, c, half) : 0.0;
    const bool used = weight != 0.0;
    const double x = used ? Base::delta(a, b, c, half) - denominator_shift(__ldg(parameters_.omega2)) : 1.0;
    return {weight, inside && ascending(task.equal_particles, p) && ascending(task.equal_holes, h), reciprocal(x)};
  }

  /// Computes one element: adds its energies to `energy`, makes the seeds of D and of S, and returns its derivative by
  /// x.
  __device__ __forceinline__ double compute_element(const Element& e, const Amplitudes& d, const Amplitudes& s,
                                                    double (&energy)[sums_count], Amplitudes& of_d,
                                                    Amplitudes& of_s) const {
    const double factor = elements_.data.task.weight * e.inverse;
    double contribution;  // the last of the energies is E(T)
    if constexpr (adapted) {
      Amplitudes both;
#pragma unroll
      for (int t = 0; t < targets; ++t) both.of[t] = 2.0 * d.of[t] + s.of[t];
      of_d = amplitudes(spin_adapted_left_seeds(six(both), factor));
      of_s = amplitudes(spin_adapted_left_seeds(six(d), factor * e.weight));
      const Numerators sum = spin_adapted_numerators(six(d), six(s), six(d));
      add_multiple(energy, e.weight * e.inverse, sum.all);
      add_multiple(energy + Energies::count, e.weight * e.inverse, sum.same);
      contribution = sum.all.values().back();
    } else {
      of_d.of[0] = spin_orbital_left_seed(2.0 * d.of[0] + s.of[0], factor);
      of_s.of[0] = spin_orbital_left_seed(d.of[0], factor * e.weight);
      const Energies sum = spin_orbital_energies(d.of[0] * d.of[0], s.of[0] * d.of[0]);
      add_multiple(energy, e.weight * e.inverse, sum);
      contribution = sum.values().back();
    }
    return denominator_seed(factor * e.weight * contribution, e.inverse);
  }

  /// Computes all elements of the lane.
  __device__ __forceinline__ void compute(double (&energy)[sums_count]) const {
    const unsigned task = elements_.data.cta_tile.task;
    const TaskSeeds& task_seeds = parameters_.derivatives.seeds[task];
    const LaneImages images{task_seeds.image[lane_].bits, task_seeds.image[32 + lane_ % 4].bits};
    const std::size_t first_block = std::size_t{task} * static_cast<unsigned>(parameters_.sets * 3 * terms);
    const int block_of_lane = min(lane_, 3 * terms - 1);
    ByHole of_eps_holes;
#pragma unroll 1
    for (int a = 0; a < Config::warp_tile_a; ++a) {
      double of_eps_a = 0.0;
#pragma unroll 1
      for (int b = 0; b < Config::warp_tile_b; ++b) {
        double of_eps_b = 0.0;
#pragma unroll 1
        for (int c = 0; c < Config::warp_tile_c; ++c) {
          const int n[3] = {a, b, c};
          const int particle[3] = {elements_.tile_particle(0, a), elements_.tile_particle(1, b),
                                   elements_.tile_particle(2, c)};
          Amplitudes d[2] = {read(a, b, c, 0), read(a, b, c, 1)}, s[2] = {}, seed[2];
#pragma unroll 1
          for (int set = 0; set < parameters_.sets; ++set) {
            add_singles<0>(set, n, particle, s);
            add_singles<1>(set, n, particle, s);
            add_singles<2>(set, n, particle, s);
          }
          double of_x = 0.0;
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const Element e = element(a, b, c, half);
            if (e.weight == 0.0) d[half] = s[half] = {};  // beyond the end of a tile numbers have no meaning
            Amplitudes of_d;
            const double of_element = compute_element(e, d[half], s[half], energy, of_d, seed[half]);
            write_images(task_seeds, images, particle, half, e.has_seeds, of_d);
            of_x += of_element;
#pragma unroll
            for (int y = 0; y < 3; ++y) of_eps_holes.of[y][half] += of_element;
          }
#pragma unroll 1
          for (int set = 0; set < parameters_.sets; ++set) {
            const unsigned long long sums = parameters_.derivatives.vvoo[first_block + set * 3 * terms + block_of_lane];
            add_of_particle<0>(set, n, particle, seed, sums);
            add_of_particle<1>(set, n, particle, seed, sums);
            add_of_particle<2>(set, n, particle, seed, sums);
          }
          const double of_c = warp_sum(of_x);
          if (lane_ == 0) add_energy(2, particle[2], -of_c);
          of_eps_b += of_c;
        }
        if (lane_ == 0) add_energy(1, elements_.tile_particle(1, b), -of_eps_b);
        of_eps_a += of_eps_b;
      }
      if (lane_ == 0) add_energy(0, elements_.tile_particle(0, a), -of_eps_a);
    }
    sum_other_holes(of_eps_holes, [&](int y, int half, double value) {
      if (value != 0.0) add_energy(3 + y, elements_.hole(y, half), value);
    });
  }
};

}
