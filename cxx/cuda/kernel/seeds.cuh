#pragma once

#include <array>
#include <type_traits>

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/seed_images.cuh"
#include "cxx/cuda/kernel/spin_adapted_elements.cuh"
#include "cxx/cuda/schedule/seed_layout.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/seeds.hpp"
#include "cxx/triples/terms.hpp"

namespace trifuse::gpu {

/// The epilogue of runs with derivatives, for one omega2. It computes the energies of a CTA tile, writes the seeds of
/// the connected triples to device memory, and adds the derivatives by ov tensors, vvoo blocks and orbital energies to
/// their integers. It reads the vvoo blocks from device memory.
///
/// The seeds belong to all elements of a task, see seed_layout.hpp. Where tiles are equal, an element that is computed
/// has several images, see SeedImage. So the seeds have no weight of equal orbitals. The other derivatives are those of
/// the elements that are computed, with their weights. The derivatives by D_left and by S are made of D_right; those by
/// D_right are made of D_left and S.
template <SpinFormulation formulation_, int sides_, typename ConfigT>
class Seeds
    : public std::conditional_t<formulation_ == SpinFormulation::spin_adapted, SpinAdaptedElements<sides_, ConfigT>,
                                WarpEpilogue<formulation_, sides_, ConfigT>> {
  static constexpr bool adapted = formulation_ == SpinFormulation::spin_adapted;
  using Base =
      std::conditional_t<adapted, SpinAdaptedElements<sides_, ConfigT>, WarpEpilogue<formulation_, sides_, ConfigT>>;
  using Base::elements_, Base::lane_, Base::numbers_per_target, Base::parameters_, Base::scratch_, Base::threads,
      Base::two_sided, Base::vvoo_offset;
  using typename Base::Elements;
  static constexpr int targets = Base::targets_per_side;
  using Seed = typename Base::Number;            ///< type of the seeds in device memory
  static constexpr int terms = adapted ? 6 : 3;  ///< disconnected terms of a set with one particle of the ov tensor
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
  using Amplitudes = TargetNumbers<targets>;
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

  __device__ __forceinline__ Amplitudes read(int side, int a, int b, int c, int half) const {
    if constexpr (adapted) {
      return amplitudes(Base::read_targets(side, a, b, c, half));
    } else {
      return {{final_sign<typename Config::Schedule> *
               scratch_[side * numbers_per_target + Elements::index(a, b, c, half) * threads]}};
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
  /// Where a lane finds the 4 x 4 holes of its hole groups in the vvoo blocks of a set, for particles 0: [x][y], for
  /// the terms with particle x and hole y. Doubles.
  struct VvooPlaces {
    int of[3][3];
    std::int32_t extent[3];  ///< [position] particles of the orbital tiles

    __device__ __forceinline__ explicit VvooPlaces(const Seeds& seeds) {
#pragma unroll
      for (int x = 0; x < 3; ++x) {
        extent[x] = seeds.elements_.data.task.extent[x];
#pragma unroll
        for (int y = 0; y < 3; ++y)
          of[x][y] = seeds.vvoo_offset(first_other(y), second_other(y), first_other(x), second_other(x), 0, 0);
      }
    }
    /// Returns what the particles other than x add to these places.
    template <int x>
    __device__ __forceinline__ int of_particles(const int (&particle)[3]) const {
      constexpr int u = first_other(x), w = second_other(x);
      return (particle[u] * extent[w] + particle[w]) * (hole_group_size * hole_group_size);
    }
  };
  /// Returns the place of the lane's holes other than y among the 4 x 4 of two hole groups.
  __device__ __forceinline__ int place_of_holes(int y, int half) const {
    return elements_.local_hole(first_other(y), half) * hole_group_size + elements_.local_hole(second_other(y), half);
  }

  /// Numbers of the vvoo blocks of the terms of a set with particle x, for the holes of the lane. They are loaded
  /// together, so that they come at the same time. When the derivatives need them again, they are in the L1 cache.
  template <int x>
  struct VvooNumbers {
    double of[terms][2];  ///< [term][half]

    __device__ __forceinline__ VvooNumbers(const Seeds& seeds, const VvooPlaces& places, int set,
                                           const int (&particle)[3]) {
      const int of_particles = places.template of_particles<x>(particle);
      for_each_term<x>([&](int n, int, int y, double) {
        const double* const block =
            seeds.elements_.data.vvoo[set * 3 * terms + x * terms + n] + (places.of[x][y] + of_particles);
#pragma unroll
        for (int half = 0; half < 2; ++half) of[n][half] = __ldg(block + seeds.place_of_holes(y, half));
      });
    }
  };
  template <int x>
  __device__ __forceinline__ void add_singles(const VvooPlaces& places, int set, const int (&n)[3],
                                              const int (&particle)[3], Amplitudes (&s)[2]) const {
    const VvooNumbers<x> numbers(*this, places, set, particle);
    for_each_term<x>([&](int term, int t, int y, double sign) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        s[half].of[t] += sign * elements_.ov_tensor(set, x, n[x], y, half) * numbers.of[term][half];
    });
  }

  /// Rounds a number and adds it to an integer in device memory, unless `wanted` is false or it is zero. There is no
  /// branch, so that lanes stay together. No load of the epilogue depends on the sum, so the compiler may move loads
  /// across it.
  static __device__ __forceinline__ void add(unsigned long long* to, double value, double units, bool wanted) {
    const long long rounded = wanted ? __double2ll_rn(value * units) : 0;
    asm volatile("{ .reg .pred some; setp.ne.s64 some, %1, 0; @some red.global.add.u64 [%0], %1; }" ::"l"(to),
                 "l"(rounded));
  }
  /// Adds to the derivative by the orbital energy of an orbital of the tile at position `q`, 0..5.
  __device__ __forceinline__ void add_energy(int q, int orbital, double value, bool wanted) const {
    const DerivativeParameters& derivatives = parameters_.derivatives;
    add(derivatives.energies + elements_.data.task.offset[q] + orbital, value, derivatives.energy_units, wanted);
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

  /// Adds the sums by hole to device memory. `out`: integers of the orbitals of a tile at position 3 + y, which
  /// `stride` separates. `of(y)` returns that address, and `units` the inverse of the unit.
  template <typename Out>
  __device__ __forceinline__ void add_by_hole(const ByHole& x, double units, std::int64_t stride, Out of) const {
    // The lower half of the lanes adds up those of the lone hole, the upper half those of the second hole.
    const bool upper = (lane_ & 16) != 0;
    double sum = add_and_divide(x.of[lone][0] + x.of[lone][1], x.of[second][0] + x.of[second][1], 16);
    sum = sum + __shfl_sync(~0u, sum, lane_ ^ (upper ? 1 : 4));
    sum = sum + __shfl_sync(~0u, sum, lane_ ^ (upper ? 2 : 8));
    const int hole = upper ? elements_.hole(second, 0) : elements_.hole(lone, 0);
    add((upper ? of(second) : of(lone)) + stride * hole, sum, units, (lane_ & (upper ? 3 : 12)) == 0);
    double halves = add_and_divide(x.of[halved][0], x.of[halved][1], 1);
#pragma unroll
    for (int distance = 2; distance <= 8; distance *= 2) halves = add_lanes(halves, distance);
    add(of(halved) + stride * (elements_.hole(halved, 0) + 2 * (lane_ & 1)), halves, units, (lane_ & 14) == 0);
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
    unsigned long long* to[3][3];  ///< null if the block vanishes, or if another lane writes

    __device__ __forceinline__ VvooAddresses(const Seeds& seeds, const VvooPlaces& places, int set) {
      const std::size_t first =
          std::size_t{seeds.elements_.data.cta_tile.task} * static_cast<unsigned>(seeds.parameters_.sets * 3 * terms) +
          static_cast<unsigned>(set * 3 * terms);
      const unsigned long long* const all = seeds.parameters_.derivatives.vvoo + first;
#pragma unroll
      for (int x = 0; x < 3; ++x) {
#pragma unroll
        for (int y = 0; y < 3; ++y) {
          const int low = (seeds.lane_ / distance_of(y)) & 1, high = (seeds.lane_ / distance_of(y) / 2) & 1;
          const int m = per_hole == 2 ? low : 0, half = y == halved ? 0 : per_hole == 2 ? high : low;
          const bool writes = per_hole == 2 || (y == halved ? low : high) == 0;
          const unsigned long long block = all[x * terms + (m == 0 ? term_of(x, y, 0) : term_of(x, y, per_hole - 1))];
          to[x][y] = !writes || block == 0 ? nullptr
                                           : reinterpret_cast<unsigned long long*>(block) + places.of[x][y] +
                                                 seeds.place_of_holes(y, half);
        }
      }
    }
  };
  /// Derivatives by vvoo numbers of the terms of a set with the same particle, before the sum over its hole.
  struct OfVvoo {
    double of[terms][2] = {};  ///< [term][half]
  };
  /// Adds derivatives by the vvoo blocks of the terms with particle x to device memory.
  template <int x>
  __device__ __forceinline__ void add_vvoo(const VvooPlaces& places, const VvooAddresses& sums,
                                           const int (&particle)[3], const OfVvoo& of_vvoo) const {
    const int of_particles = places.template of_particles<x>(particle);
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
      add(sums.to[x][y] + of_particles, sum, parameters_.derivatives.units, sums.to[x][y] != nullptr);
    }
  }
  /// Adds the derivatives by the vvoo numbers and by the ov tensor of the terms with particle x. `seed` [half]:
  /// derivatives by S.
  template <int x>
  __device__ __forceinline__ void add_disconnected(const VvooPlaces& places, int set, const int (&n)[3],
                                                   const int (&particle)[3], const Amplitudes (&seed)[2],
                                                   OfVvoo& of_vvoo, ByHole& of_ov) const {
    const VvooNumbers<x> numbers(*this, places, set, particle);
    for_each_term<x>([&](int term, int t, int y, double sign) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const double signed_seed = sign * seed[half].of[t];
        of_ov.of[y][half] += signed_seed * numbers.of[term][half];
        of_vvoo.of[term][half] += signed_seed * elements_.ov_tensor(set, x, n[x], y, half);
      }
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

  /// What the energies and the derivatives need to know about the holes, or about the particles, of an element.
  struct Part {
    double weight;   ///< of the energies; 0 if the element does not contribute
    bool has_seeds;  ///< true if the orbitals are inside the tiles and in ascending order
  };
  __device__ __forceinline__ static Part part(int equal, const int (&x)[3], const std::int32_t* extent) {
    const bool inside = x[0] < extent[0] && x[1] < extent[1] && x[2] < extent[2];
    const bool ascending = ((equal & 1) == 0 || x[0] <= x[1]) && ((equal & 2) == 0 || x[1] <= x[2]);
    return {inside ? multiplicity<formulation_>(equal, x[0], x[1], x[2]) : 0.0, inside && ascending};
  }
  __device__ __forceinline__ Part holes(int half) const {
    const TaskData& task = elements_.data.task;
    return part(task.equal_holes, {elements_.hole(0, half), elements_.hole(1, half), elements_.hole(2, half)},
                task.extent + 3);
  }
  __device__ __forceinline__ Part particles(int a, int b, int c) const {
    const TaskData& task = elements_.data.task;
    return part(task.equal_particles, {elements_.first[0] + a, elements_.first[1] + b, elements_.first[2] + c},
                task.extent);
  }
  /// The numbers of an element that its energies and its derivatives need.
  struct Element {
    double weight;   ///< of the energies
    double inverse;  ///< 1 / x
  };

  /// Returns the seeds of D_left and of S from amplitudes D_right, or those of D_right from D_left + S.
  static __device__ __forceinline__ Amplitudes seeds_from(const Amplitudes& x, double factor) {
    if constexpr (adapted) {
      return amplitudes(spin_adapted_left_seeds(six(x), factor));
    } else {
      return {{spin_orbital_left_seed(x.of[0], factor)}};
    }
  }

  /// Computes one element: adds its energies to `energy`, makes the seeds of D, and returns its derivative by x.
  /// `left`, `right`: D of the sides, which is the same if there is one side. `of_d`: [side].
  __device__ __forceinline__ double compute_element(const Element& e, const Amplitudes& left, const Amplitudes& s,
                                                    const Amplitudes& right, double (&energy)[sums_count],
                                                    Amplitudes (&of_d)[sides_]) const {
    const double factor = elements_.data.task.weight * e.inverse;
    Amplitudes others;
#pragma unroll
    for (int t = 0; t < targets; ++t) others.of[t] = (two_sided ? left.of[t] : 2.0 * left.of[t]) + s.of[t];
    if constexpr (two_sided) of_d[0] = seeds_from(right, factor);
    of_d[sides_ - 1] = seeds_from(others, factor);
    double contribution;  // the last of the energies is E(T)
    if constexpr (adapted) {
      const Numerators sum = spin_adapted_numerators(six(left), six(s), six(right));
      add_multiple(energy, e.weight * e.inverse, sum.all);
      add_multiple(energy + Energies::count, e.weight * e.inverse, sum.same);
      contribution = sum.all.values().back();
    } else {
      const Energies sum = spin_orbital_energies(left.of[0] * right.of[0], s.of[0] * right.of[0]);
      add_multiple(energy, e.weight * e.inverse, sum);
      contribution = sum.values().back();
    }
    return denominator_seed(factor * e.weight * contribution, e.inverse);
  }

  /// Returns the derivatives by S of an element with amplitudes D_right.
  __device__ __forceinline__ Amplitudes singles_seed(const Element& e, const Amplitudes& right) const {
    return seeds_from(right, elements_.data.task.weight * e.inverse * e.weight);
  }

  /// Returns D_left of an element, which is `right` if there is one side. `n`: [a, b, c] particles of the warp tile.
  __device__ __forceinline__ std::conditional_t<two_sided, Amplitudes, const Amplitudes&> left_of(
      const Element& e, const Amplitudes& right, const int (&n)[3], int half) const {
    if constexpr (two_sided) {
      Amplitudes left = read(0, n[0], n[1], n[2], half);
      if (e.weight == 0.0) left = {};
      return left;
    } else {
      return right;
    }
  }

  /// Computes all elements of the lane.
  __device__ __forceinline__ void compute(double (&energy)[sums_count]) const {
#pragma unroll 1
    for (int set = 0; set < parameters_.sets; ++set) compute_set(set, energy);
  }

  /// Adds the derivatives of a set. With set 0 it also computes energies, writes seeds, and adds the derivatives by
  /// orbital energies.
  __device__ __forceinline__ void compute_set(int set, double (&energy)[sums_count]) const {
    SeedImages<targets, sides_, Seed> images(parameters_.derivatives.seeds[elements_.data.cta_tile.task],
                                             elements_.data.task.extent, elements_.data.cta_tile.hole_group, lane_);
    const VvooPlaces places(*this);
    const VvooAddresses sums(*this, places, set);
    const Part of_holes[2] = {holes(0), holes(1)};
    const double shift = denominator_shift(__ldg(parameters_.omega2));
    ByHole of_eps_holes;
#pragma unroll 1
    for (int a = 0; a < Config::warp_tile_a; ++a) {
      double of_eps_a = 0.0;
      ByHole of_ov_a;
#pragma unroll 1
      for (int b = 0; b < Config::warp_tile_b; ++b) {
        double of_eps_b = 0.0;
        ByHole of_ov_b;
        OfVvoo of_ab;  // of the terms with particle c
        int particle[3] = {elements_.tile_particle(0, a), elements_.tile_particle(1, b), 0};
#pragma unroll 1
        for (int c = 0; c < Config::warp_tile_c; ++c) {
          particle[2] = elements_.tile_particle(2, c);
          const int n[3] = {a, b, c};
          Amplitudes right[2] = {read(sides_ - 1, a, b, c, 0), read(sides_ - 1, a, b, c, 1)}, seed[2];
          const Part of_particles = particles(a, b, c);
          Element element[2];
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const double weight = of_particles.weight * of_holes[half].weight;
            const double x = weight != 0.0 ? Base::delta(a, b, c, half) - shift : 1.0;
            element[half] = {weight, reciprocal(x)};
            if (weight == 0.0) right[half] = {};  // beyond the end of a tile numbers have no meaning
            seed[half] = singles_seed(element[half], right[half]);
          }
          if (set == 0) {
            Amplitudes s[2] = {}, of_d[2][sides_];
#pragma unroll 1
            for (int from = 0; from < parameters_.sets; ++from) {
              add_singles<0>(places, from, n, particle, s);
              add_singles<1>(places, from, n, particle, s);
              add_singles<2>(places, from, n, particle, s);
            }
            double of_x = 0.0;
            bool has_seeds[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              if (element[half].weight == 0.0) s[half] = {};
              const double of_element = compute_element(element[half], left_of(element[half], right[half], n, half),
                                                        s[half], right[half], energy, of_d[half]);
              has_seeds[half] = of_particles.has_seeds && of_holes[half].has_seeds;
              of_x += of_element;
#pragma unroll
              for (int y = 0; y < 3; ++y) of_eps_holes.of[y][half] += of_element;
            }
            images.write(elements_, particle, has_seeds, of_d);
            const double of_c = warp_sum(of_x);
            add_energy(2, particle[2], -of_c, lane_ == 0);
            of_eps_b += of_c;
          }
          OfVvoo of_bc, of_ac;
          ByHole of_ov_c;
          add_disconnected<0>(places, set, n, particle, seed, of_bc, of_ov_a);
          add_vvoo<0>(places, sums, particle, of_bc);
          add_disconnected<1>(places, set, n, particle, seed, of_ac, of_ov_b);
          add_vvoo<1>(places, sums, particle, of_ac);
          add_disconnected<2>(places, set, n, particle, seed, of_ab, of_ov_c);
          add_ov(set, 2, particle[2], of_ov_c);
        }
        add_vvoo<2>(places, sums, particle, of_ab);
        add_ov(set, 1, particle[1], of_ov_b);
        add_energy(1, particle[1], -of_eps_b, lane_ == 0);
        of_eps_a += of_eps_b;
      }
      add_ov(set, 0, elements_.tile_particle(0, a), of_ov_a);
      add_energy(0, elements_.tile_particle(0, a), -of_eps_a, lane_ == 0);
    }
    if (set == 0) images.keep_largest(lane_);
    const DerivativeParameters& derivatives = parameters_.derivatives;
    add_by_hole(of_eps_holes, derivatives.energy_units, 1,
                [&](int y) { return derivatives.energies + elements_.data.task.offset[3 + y]; });
  }
};

}
