#pragma once

#include "cxx/cuda/kernel/small_derivatives.cuh"
#include "cxx/cuda/schedule/seed_layout.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/seeds.hpp"

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
class Seeds : public SmallDerivatives<formulation_, sides_, ConfigT> {
  using Base = SmallDerivatives<formulation_, sides_, ConfigT>;
  using Base::adapted, Base::targets;
  using Base::elements_, Base::lane_, Base::numbers_per_target, Base::parameters_, Base::scratch_, Base::threads,
      Base::two_sided;
  using typename Base::Amplitudes, typename Base::ByHole, typename Base::Elements, typename Base::OfVvoo,
      typename Base::RoundedVvoo, typename Base::VvooAddresses, typename Base::VvooPlaces;
  using Seed = typename Base::Number;  ///< type of the seeds in device memory
  static constexpr int sums_count = energy_sums(formulation_);

 public:
  using Base::Base;
  using typename Base::Config;
  static constexpr bool reads_vvoo = false;

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<formulation_, Config>& stages) {
    unsigned thread = threadIdx.x;
    asm volatile("" : "+r"(thread));  // so that nothing that depends on it is in registers while products are computed
    Seeds(parameters, stages.tile_data(), same_in_warp(static_cast<int>(thread / 32)), static_cast<int>(thread % 32))
        .compute();
  }

 private:
  static __device__ __forceinline__ SixTargets six(const Amplitudes& x) {
    return {x.of[0], x.of[1], x.of[2], x.of[3], x.of[4], x.of[5]};
  }
  static __device__ __forceinline__ Amplitudes amplitudes(const SixTargets& x) {
    return {{x.e0, x.e1, x.e2, x.o3, x.o4, x.o5}};
  }

  /// Where scratch has the targets of the lane's elements with particles 0 of the warp tile: [target][half].
  struct TargetPlaces {
    const Seed* first;  ///< of the warp
    unsigned of[targets][2];

    __device__ __forceinline__ explicit TargetPlaces(const Seeds& seeds) {
      // The compiler must not take this sum apart again for each address.
      std::size_t global = __cvta_generic_to_global(seeds.scratch_ - seeds.lane_);
      asm("" : "+l"(global));
      first = static_cast<const Seed*>(__cvta_global_to_generic(global));
#pragma unroll
      for (int n = 0; n < 2 * targets; ++n) {
        int place;
        if constexpr (adapted) {
          place = seeds.place_of_target(n / 2, n % 2);
        } else {
          place = Elements::index(0, 0, 0, n % 2) * threads + seeds.lane_;
        }
        of[n / 2][n % 2] = static_cast<unsigned>(place);
      }
    }
  };
  /// Returns D of a side. `n`: [a, b, c] particles of the warp tile.
  __device__ __forceinline__ Amplitudes read(const TargetPlaces& places, int side, const int (&n)[3], int half) const {
    const int at = side * numbers_per_target * targets + Elements::index(n[0], n[1], n[2], 0) * threads;
    constexpr double sign = adapted ? 1.0 : final_sign<typename Config::Schedule>;
    Amplitudes x;
#pragma unroll
    for (int t = 0; t < targets; ++t)
      x.of[t] = sign * static_cast<double>(places.first[static_cast<unsigned>(at) + places.of[t][half]]);
    return x;
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
  /// What the particles of a warp tile are: one bit for each (a, b, c), c fastest.
  struct WarpParticles {
    unsigned whole, halved;  ///< the weight of the energies is 1, or 1/2
    unsigned with_seeds;     ///< see Part::has_seeds

    __device__ __forceinline__ explicit WarpParticles(const Seeds& seeds) {
      constexpr int size_b = Config::warp_tile_b, size_c = Config::warp_tile_c;
      static_assert(Config::warp_tile_a * size_b * size_c == 32, "each lane finds out about one of them");
      const LaneElements<formulation_, Config>& elements = seeds.elements_;
      const int n = seeds.lane_;
      const Part mine = part(elements.data.task.equal_particles,
                             {elements.first[0] + n / (size_b * size_c), elements.first[1] + n / size_c % size_b,
                              elements.first[2] + n % size_c},
                             elements.data.task.extent);
      whole = __ballot_sync(~0u, mine.weight == 1.0);
      halved = __ballot_sync(~0u, mine.weight == 0.5);
      with_seeds = __ballot_sync(~0u, mine.has_seeds);
    }
    static __device__ __forceinline__ unsigned bit(const int (&n)[3]) {
      return 1u << ((n[0] * Config::warp_tile_b + n[1]) * Config::warp_tile_c + n[2]);
    }
    __device__ __forceinline__ Part at(const int (&n)[3]) const {
      const double weight = (whole & bit(n)) != 0 ? 1.0 : (halved & bit(n)) != 0 ? 0.5 : 0.0;
      return {weight, (with_seeds & bit(n)) != 0};
    }
  };
  /// The numbers of an element that its energies and its derivatives need.
  struct Element {
    double weight;   ///< of the energies
    double inverse;  ///< 1 / x
  };

  __device__ __forceinline__ Element element(const Part& of_particles, const Part& of_holes, const int (&n)[3],
                                             int half, double shift) const {
    const double weight = of_particles.weight * of_holes.weight;
    const double x = Base::delta(n[0], n[1], n[2], half) - shift;
    return {weight, reciprocal(weight != 0.0 ? x : 1.0)};
  }
  /// Replaces amplitudes of elements without weight by 0. Beyond the end of a tile numbers have no meaning.
  static __device__ __forceinline__ void clear_without_weight(const Element (&element)[2], Amplitudes (&x)[2]) {
    // Most warps have no such element. The branch is the same for all lanes.
    if (__all_sync(~0u, element[0].weight != 0.0 && element[1].weight != 0.0) != 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int t = 0; t < targets; ++t) x[half].of[t] = element[half].weight != 0.0 ? x[half].of[t] : 0.0;
  }

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

  /// What both passes over the elements need to know.
  struct Places {
    TargetPlaces targets;
    VvooPlaces vvoo;
    WarpParticles particles;
    Part holes[2];  ///< [half]
    double shift;

    __device__ __forceinline__ explicit Places(const Seeds& seeds)
        : targets(seeds),
          vvoo(seeds),
          particles(seeds),
          holes{seeds.holes(0), seeds.holes(1)},
          shift(denominator_shift(__ldg(seeds.parameters_.omega2))) {}
  };

  /// Computes all elements of the lane, in two passes: all sums at once do not fit into the registers.
  __device__ __forceinline__ void compute() const {
    double energy[sums_count] = {};
    if (!Base::is_active()) {
      this->write_sums_of_omega2(this->template sums_of_warp<sums_count>(), 0, energy);
      return;
    }
    const Places places(*this);
    compute_elements(places, energy);
    this->write_sums_of_omega2(this->template sums_of_warp<sums_count>(), 0, energy);
#pragma unroll 1
    for (int set = 0; set < parameters_.sets; ++set) add_set(set, places);
  }

  /// Computes energies, writes seeds, and adds the derivatives by orbital energies.
  __device__ __forceinline__ void compute_elements(const Places& places, double (&energy)[sums_count]) const {
    SeedImages<targets, sides_, Seed> images(parameters_.derivatives.seeds[elements_.data.cta_tile.task], elements_,
                                             lane_);
    double of_eps_holes[2] = {}, of_eps_c[Config::warp_tile_c] = {};
#pragma unroll 1
    for (int a = 0; a < Config::warp_tile_a; ++a) {
      double of_eps_a = 0.0;
#pragma unroll 1
      for (int b = 0; b < Config::warp_tile_b; ++b) {
        double of_eps_b = 0.0;
        int particle[3] = {elements_.tile_particle(0, a), elements_.tile_particle(1, b), 0};
#pragma unroll 1
        for (int c = 0; c < Config::warp_tile_c; ++c) {
          particle[2] = elements_.tile_particle(2, c);
          const int n[3] = {a, b, c};
          Amplitudes right[2] = {read(places.targets, sides_ - 1, n, 0), read(places.targets, sides_ - 1, n, 1)};
          Amplitudes s[2] = {}, of_d[2][sides_];
#pragma unroll 1
          for (int set = 0; set < parameters_.sets; ++set) {
            this->template add_singles<0>(places.vvoo, set, n, particle, s);
            this->template add_singles<1>(places.vvoo, set, n, particle, s);
            this->template add_singles<2>(places.vvoo, set, n, particle, s);
          }
          const Part of_particles = places.particles.at(n);
          const Element x[2] = {element(of_particles, places.holes[0], n, 0, places.shift),
                                element(of_particles, places.holes[1], n, 1, places.shift)};
          clear_without_weight(x, right);
          clear_without_weight(x, s);
          Amplitudes left[2];
          if constexpr (two_sided) {
            left[0] = read(places.targets, 0, n, 0);
            left[1] = read(places.targets, 0, n, 1);
            clear_without_weight(x, left);
          }
          double of_x = 0.0;
          bool has_seeds[2];
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const double of_element = compute_element(x[half], two_sided ? left[half] : right[half], s[half],
                                                      right[half], energy, of_d[half]);
            has_seeds[half] = of_particles.has_seeds && places.holes[half].has_seeds;
            of_x += of_element;
            of_eps_holes[half] += of_element;
          }
          images.write(particle, has_seeds, of_d);
          of_eps_b += of_x;
#pragma unroll
          for (int m = 0; m < Config::warp_tile_c; ++m) of_eps_c[m] += m == c ? of_x : 0.0;
        }
        of_eps_b = warp_sum(of_eps_b);
        Base::add_energy(1, particle[1], -of_eps_b);
        of_eps_a += of_eps_b;
      }
      Base::add_energy(0, elements_.tile_particle(0, a), -of_eps_a);
    }
#pragma unroll
    for (int c = 0; c < Config::warp_tile_c; ++c)
      Base::add_energy(2, elements_.tile_particle(2, c), -warp_sum(of_eps_c[c]));
    images.keep_largest(lane_);
    const DerivativeParameters& derivatives = parameters_.derivatives;
    ByHole of_holes;
#pragma unroll
    for (int y = 0; y < 3; ++y)
#pragma unroll
      for (int half = 0; half < 2; ++half) of_holes.of[y][half] = of_eps_holes[half];
    Base::add_by_hole(of_holes, derivatives.energy_units, 1,
                      [&](int y) { return derivatives.energies + elements_.data.task.offset[3 + y]; });
  }

  /// Adds the derivatives by the vvoo blocks and by the ov tensor of a set.
  __device__ __forceinline__ void add_set(int set, const Places& places) const {
    const VvooAddresses sums(*this, places.vvoo, set);
#pragma unroll 1
    for (int a = 0; a < Config::warp_tile_a; ++a) {
      ByHole of_ov_a;
#pragma unroll 1
      for (int b = 0; b < Config::warp_tile_b; ++b) {
        ByHole of_ov_b;
        OfVvoo of_ab;  // of the terms with particle c
        int particle[3] = {elements_.tile_particle(0, a), elements_.tile_particle(1, b), 0};
#pragma unroll 1
        for (int c = 0; c < Config::warp_tile_c; ++c) {
          particle[2] = elements_.tile_particle(2, c);
          const int n[3] = {a, b, c};
          Amplitudes seed[2] = {read(places.targets, sides_ - 1, n, 0), read(places.targets, sides_ - 1, n, 1)};
          const Part of_particles = places.particles.at(n);
          const Element x[2] = {element(of_particles, places.holes[0], n, 0, places.shift),
                                element(of_particles, places.holes[1], n, 1, places.shift)};
          clear_without_weight(x, seed);
#pragma unroll
          for (int half = 0; half < 2; ++half) seed[half] = singles_seed(x[half], seed[half]);
          OfVvoo of_bc, of_ac;
          ByHole of_ov_c;
          this->template add_of_vvoo<0>(set, n, seed, of_bc);
          this->template add_of_vvoo<1>(set, n, seed, of_ac);
          this->template add_of_vvoo<2>(set, n, seed, of_ab);
          const RoundedVvoo bc = this->template rounded<0>(of_bc), ac = this->template rounded<1>(of_ac);
          this->template add_vvoo<0>(places.vvoo, sums, particle, bc);
          this->template add_vvoo<1>(places.vvoo, sums, particle, ac);
          this->template add_of_ov<0>(places.vvoo, set, particle, seed, of_ov_a);
          this->template add_of_ov<1>(places.vvoo, set, particle, seed, of_ov_b);
          this->template add_of_ov<2>(places.vvoo, set, particle, seed, of_ov_c);
          Base::add_ov(set, 2, particle[2], of_ov_c);
        }
        this->template add_vvoo<2>(places.vvoo, sums, particle, this->template rounded<2>(of_ab));
        Base::add_ov(set, 1, particle[1], of_ov_b);
      }
      Base::add_ov(set, 0, elements_.tile_particle(0, a), of_ov_a);
    }
  }
};

}
