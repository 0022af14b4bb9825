#pragma once

#include <concepts>

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/kept_target.cuh"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse::gpu {

/// The epilogue of the spin-orbital form: E[T] and E(T) of a CTA tile. The vvoo blocks of the CTA tile are in shared
/// memory with bulk staging, and are read from device memory with cooperative staging.
template <int sides_, typename ConfigT>
class SpinOrbitalEnergies : public WarpEpilogue<SpinFormulation::spin_orbital, sides_, ConfigT> {
  using Base = WarpEpilogue<SpinFormulation::spin_orbital, sides_, ConfigT>;
  using Base::numbers_per_target, Base::elements_, Base::lane_, Base::scratch_, Base::threads, Base::warp_,
      Base::two_sided, Base::vvoo_offset;
  using typename Base::Elements, typename Base::Number;

 public:
  using Base::Base;
  using typename Base::Config;
  static constexpr bool reads_vvoo = true;
  /// True if the target stays in registers: one target of floats fits beside the energies.
  static constexpr bool keeps_target = sides_ == 1 && sizeof(Number) == sizeof(float) && Config::group_warps > 1;

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<Base::formulation, Config>& stages) {
    const SpinOrbitalEnergies energies(parameters, stages.tile_data());
#pragma unroll 1
    for (int set = 0; set < parameters.sets; ++set) {
      const char* vvoo = stages.acquire_vvoo();
      energies.template write_sums<sums_count>(set, [vvoo, set, &energies](double shift, double(&energy)[sums_count]) {
        energies.sum_spin_orbital(vvoo, set, shift, energy);
      });
      stages.release_vvoo();
    }
  }
  /// Computes the energies. If there is more than one set or more than one omega2, the target is spilled first.
  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters& parameters,
                                                         Stages<Base::formulation, Config>& stages,
                                                         Accumulators<Config>& target) {
    if (parameters.sets > 1 || parameters.omega2_count > 1) {
      Base::finish_target(parameters, stages, target, 0);
      finish_cta_tile(parameters, stages);
      return;
    }
    const double shift = denominator_shift(__ldg(parameters.omega2));
    const SpinOrbitalEnergies energies(parameters, stages.tile_data());
    const char* vvoo = stages.acquire_vvoo();
    double energy[sums_count] = {};
    if (energies.elements_.data.views[energies.warp_].active != 0) {
      const KeptTarget<Config> kept{energies.elements_, target, vvoo};
      const float e_bracket_t =
          energies.all_contribute() ? kept.template divide<false>(shift) : kept.template divide<true>(shift);
      finish_energy(0, e_bracket_t, kept.singles(), energy);
    }
    stages.release_vvoo();
    energies.write_sums_of_omega2(energies.template sums_of_warp<sums_count>(), 0, energy);
  }

 private:
  static constexpr int sums_count = spin_orbital_sums;
  /// A slice is the elements that are turned into energies at a time: one a, one half, `slice_b` values of b, all c.
  /// The registers suffice for so many elements.
  static constexpr int slice_elements = 8, slice_b = Config::warp_tile_b * Config::warp_tile_c <= slice_elements
                                                         ? Config::warp_tile_b
                                                         : slice_elements / Config::warp_tile_c;
  using Slice = Number[slice_b][Config::warp_tile_c];
  /// The type of the elements of a vvoo block in the memory from which the epilogue reads them.
  using Vvoo = std::conditional_t<Config::staging == Staging::bulk, Number, double>;

  /// The vvoo block of particle x and hole y: v[u w, h1 h2] of the other two particles u, w of the warp tile and of the
  /// lane's other two holes h1, h2. It is read from shared memory, where particles beyond the end of an orbital tile
  /// have arbitrary values, or from the panel.
  template <int x, int y>
  struct VvooValues {
    static constexpr int u = first_other(x), w = second_other(x), h1 = first_other(y), h2 = second_other(y);
    static constexpr int column = hole_group_size * hole_group_size;
    /// The fast particle is the one of which a lane reads several values together, see FloatVvoo.
    static constexpr int fast = FloatVvoo<Config, x>::fast, slow = FloatVvoo<Config, x>::slow;
    const SpinOrbitalEnergies& epilogue;
    const Vvoo* first;
    int row;

    __device__ __forceinline__ VvooValues(const SpinOrbitalEnergies& owner, const char* vvoo, int set, int half)
        : epilogue(owner) {
      const auto& elements = epilogue.elements_;
      const CtaTile& cta_tile = elements.data.cta_tile;
      const auto holes = [&] {
        return elements.local_hole(h1, half) * hole_group_size + elements.local_hole(h2, half);
      };
      if constexpr (Config::converts_vvoo) {
        row = FloatVvoo<Config, x>::slow_stride;
        first = FloatVvoo<Config, x>::template of_lane<y>(elements, vvoo, half);
        return;
      } else if constexpr (Config::staging == Staging::bulk) {
        const VvooPart<Config> part(elements.data, x);
        row = cta_extent<Config>(cta_tile, w) * column;
        first = reinterpret_cast<const Vvoo*>(vvoo + part.read_offset(y)) +
                (elements.first[u] - cta_tile.particle[u]) * row + (elements.first[w] - cta_tile.particle[w]) * column;
      } else {
        row = elements.data.task.extent[w] * column;
        first =
            elements.data.vvoo[set * spin_orbital_vvoo_blocks + x * 3 + y] + epilogue.vvoo_offset(h1, h2, u, w, 0, 0);
      }
      first += holes();
    }
    __device__ __forceinline__ Number at(int n_u, int n_w) const {
      if constexpr (Config::converts_vvoo) {
        constexpr int vector = FloatVvoo<Config, x>::vector;
        const int n_fast = fast == u ? n_u : n_w, n_slow = fast == u ? n_w : n_u;
        return first[n_slow * FloatVvoo<Config, x>::slow_stride + n_fast / vector * vector * column + n_fast % vector];
      } else if constexpr (Config::staging == Staging::bulk) {
        return first[n_u * row + n_w * column];
      } else {
        return static_cast<Number>(__ldg(first + epilogue.elements_.tile_particle(u, n_u) * row +
                                         epilogue.elements_.tile_particle(w, n_w) * column));
      }
    }
  };

  /// The values of b of a slice in a vvoo block, for one value of the other particle. x is not b. Floats are loaded
  /// four at a time and stay in registers. Doubles would need too many registers, so they are loaded where they are
  /// used.
  template <int x, int y, typename T = Number>
  struct VvooSlice;
  template <int x, int y, std::same_as<double> T>
  struct VvooSlice<x, y, T> {
    const VvooValues<x, y>& block;
    int other, first_b;
    __device__ __forceinline__ VvooSlice(const VvooValues<x, y>& of, int n_other, int of_b)
        : block(of), other(n_other), first_b(of_b) {}
    __device__ __forceinline__ double b(int n) const {
      return x == 0 ? block.at(first_b + n, other) : block.at(other, first_b + n);
    }
  };
  template <int x, int y, std::same_as<float> T>
  struct VvooSlice<x, y, T> {
    FloatVector<slice_b> of_b;
    __device__ __forceinline__ VvooSlice(const VvooValues<x, y>& block, int n_other, int first_b) {
      if constexpr (Config::converts_vvoo) {
        static_assert(FloatVvoo<Config, x>::fast == 1);
        of_b = FloatVvoo<Config, x>::template values<slice_b>(block.first, n_other, first_b);
      } else {
#pragma unroll
        for (int n = 0; n < slice_b; ++n) {
          of_b.at[n] = x == 0 ? block.at(first_b + n, n_other) : block.at(n_other, first_b + n);
        }
      }
    }
    __device__ __forceinline__ float b(int n) const {
      return of_b.at[n];
    }
  };

  /// The denominators of a slice, hartree: energies of the holes minus energies of the particles.
  template <typename T = Number>
  struct DenominatorsIn;
  template <std::same_as<double> T>
  struct DenominatorsIn<T> {
    const Elements& elements;
    double holes;
    int first_b;
    __device__ __forceinline__ DenominatorsIn(const Elements& of, double energy_of_holes, int b)
        : elements(of), holes(energy_of_holes), first_b(b) {}
    __device__ __forceinline__ double of(int a) const { return holes - elements.eps_particle(0, a); }
    __device__ __forceinline__ double at(double of_a, int b, int c) const {
      return of_a - elements.eps_particle(1, first_b + b) - elements.eps_particle(2, c);
    }
  };
  /// The energies of the particles b and c stay in registers.
  template <std::same_as<float> T>
  struct DenominatorsIn<T> {
    const Elements& elements;
    float holes, particles[slice_b][Config::warp_tile_c];
    __device__ __forceinline__ DenominatorsIn(const Elements& of, float energy_of_holes, int first_b)
        : elements(of), holes(energy_of_holes) {
      for_slice(
          [&](int b, int c) { particles[b][c] = elements.eps_particle(1, first_b + b) + elements.eps_particle(2, c); });
    }
    __device__ __forceinline__ float of(int a) const { return holes - elements.eps_particle(0, a); }
    __device__ __forceinline__ float at(float of_a, int b, int c) const { return of_a - particles[b][c]; }
  };
  using Denominators = DenominatorsIn<>;

  /// t1 or f_ov of the particles b and c of a slice and of hole y, with their signs. Floats stay in registers. Doubles
  /// would need too many registers, so they are loaded where they are used.
  template <int y, typename T = Number>
  struct OvTensors;
  template <int y, std::same_as<double> T>
  struct OvTensors<y, T> {
    const Elements& elements;
    int set, first_b, half;
    __device__ __forceinline__ OvTensors(const Elements& of, int of_set, int of_b, int of_half)
        : elements(of), set(of_set), first_b(of_b), half(of_half) {}
    __device__ __forceinline__ double b(int n) const {
      return alone_sign(1, y) * elements.ov_tensor(set, 1, first_b + n, y, half);
    }
    __device__ __forceinline__ double c(int n) const {
      return alone_sign(2, y) * elements.ov_tensor(set, 2, n, y, half);
    }
  };
  template <int y, std::same_as<float> T>
  struct OvTensors<y, T> {
    float of_b[slice_b], of_c[Config::warp_tile_c];
    __device__ __forceinline__ OvTensors(const Elements& elements, int set, int first_b, int half) {
#pragma unroll
      for (int n = 0; n < slice_b; ++n) {
        of_b[n] = alone_sign(1, y) * elements.ov_tensor(set, 1, first_b + n, y, half);
        asm volatile("" : "+f"(of_b[n]));  // so that it is not loaded again
      }
#pragma unroll
      for (int n = 0; n < Config::warp_tile_c; ++n) {
        of_c[n] = alone_sign(2, y) * elements.ov_tensor(set, 2, n, y, half);
        asm volatile("" : "+f"(of_c[n]));
      }
    }
    __device__ __forceinline__ float b(int n) const {
      return of_b[n];
    }
    __device__ __forceinline__ float c(int n) const {
      return of_c[n];
    }
  };

  /// Computes E[T] = D_left Y and E(T) = (D_left + S) Y, where Y = D_right / (Delta - 3 omega2) and S is the
  /// disconnected triples. For each hole of the ov tensor t, which is t1 or f_ov, S Y is
  ///
  ///     sum_bc v[b c] (sum_a t[a] Y[a b c]) + sum_abc (t[b] v[a c] + t[c] v[a b]) Y[a b c]
  ///
  /// where v is the vvoo block of the particle and the hole of t.
  __device__ __forceinline__ void sum_spin_orbital(const char* vvoo, int set, double shift,
                                                   double (&energy)[sums_count]) const {
    double e_bracket_t = 0.0, singles = 0.0;
    if (all_contribute()) {
      add_slices<false>(vvoo, set, shift, e_bracket_t, singles);
    } else {
      add_slices<true>(vvoo, set, shift, e_bracket_t, singles);
    }
    finish_energy(set, e_bracket_t, singles, energy);
  }
  __device__ __forceinline__ bool all_contribute() const {
    constexpr unsigned all = ~0u >> (32 - Config::accumulators / 2);
    return __all_sync(~0u, elements_.summed[0] == all && elements_.summed[1] == all);
  }
  static __device__ __forceinline__ void finish_energy(int set, double e_bracket_t, double singles,
                                                       double (&energy)[sums_count]) {
    // D_left and D_right both have the sign `final_sign`; S does not. Sets after the first contribute their singles
    // only.
    const auto energies =
        spin_orbital_energies(set == 0 ? e_bracket_t : 0.0, final_sign<typename Config::Schedule> * singles).values();
#pragma unroll
    for (int s = 0; s < sums_count; ++s) energy[s] = energies[static_cast<std::size_t>(s)];
  }

  /// Computes one slice after the other, while the next slice is loaded. `masked`: true if some elements do not
  /// contribute.
  template <bool masked>
  __device__ __forceinline__ void add_slices(const char* vvoo, int set, double shift, double& e_bracket_t,
                                             double& singles) const {
    const auto load = [&](int target, int a, int part, Slice& to) {
      const Number* from =
          scratch_ + target * numbers_per_target + Elements::index(a, part / 2 * slice_b, 0, part % 2) * threads;
      for_slice([&](int b, int c) { to[b][c] = from[Elements::index(0, b, c, 0) * threads]; });
    };
    constexpr int parts = 2 * (Config::warp_tile_b / slice_b);
    Slice next, next_left;
    load(sides_ - 1, 0, 0, next);
    if constexpr (two_sided) load(0, 0, 0, next_left);
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      const int half = part % 2, first_b = part / 2 * slice_b;
      const Denominators denominators(elements_, elements_.eps_holes(half) - static_cast<Number>(shift), first_b);
      const VvooValues<1, 0> ac0(*this, vvoo, set, half);
      const VvooValues<1, 1> ac1(*this, vvoo, set, half);
      const VvooValues<1, 2> ac2(*this, vvoo, set, half);
      const VvooValues<2, 0> ab0(*this, vvoo, set, half);
      const VvooValues<2, 1> ab1(*this, vvoo, set, half);
      const VvooValues<2, 2> ab2(*this, vvoo, set, half);
      const OvTensors<0> ov0(elements_, set, first_b, half);
      const OvTensors<1> ov1(elements_, set, first_b, half);
      const OvTensors<2> ov2(elements_, set, first_b, half);
      Slice over_a[3] = {};  // [hole]: sum over a of t1[a] Y[a b c]
      PartialSum<Number> e_of_part(e_bracket_t), singles_of_part(singles);
#pragma unroll(masked || sizeof(Number) == 8 ? 1 : Config::warp_tile_a)
      for (int a = 0; a < Config::warp_tile_a; ++a) {
        Slice y, left;
        for_slice([&](int b, int c) {
          y[b][c] = next[b][c];
          if constexpr (two_sided) left[b][c] = next_left[b][c];
        });
        const bool last_a = a + 1 == Config::warp_tile_a;
        const int next_a = last_a ? 0 : a + 1, next_part = last_a ? min(part + 1, parts - 1) : part;
        load(sides_ - 1, next_a, next_part, next);
        if constexpr (two_sided) load(0, next_a, next_part, next_left);
        const unsigned used = elements_.template summed_slice<slice_b>(a, first_b, half);
        if (masked && __all_sync(~0u, used == 0)) continue;
        const auto of_a = denominators.of(a);
        for_slice([&](int b, int c) {
          // D of elements that do not contribute may be NaN or infinite.
          const bool is_used = !masked || (used >> (b * Config::warp_tile_c + c) & 1) != 0;
          const Number denominator = denominators.at(of_a, b, c);
          const Number d = is_used ? y[b][c] : Number{0};
          y[b][c] = d * reciprocal(is_used ? denominator : Number{1});
          Number d_left = d;
          if constexpr (two_sided) d_left = is_used ? left[b][c] : Number{0};
          e_of_part += d_left * y[b][c];
        });
        add_ov_a<0>(set, a, half, y, over_a[0]);
        add_ov_a<1>(set, a, half, y, over_a[1]);
        add_ov_a<2>(set, a, half, y, over_a[2]);
        Slice s = {};
        add_ov_b_and_c<0>(ac0, ab0, ov0, a, first_b, s);
        add_ov_b_and_c<1>(ac1, ab1, ov1, a, first_b, s);
        add_ov_b_and_c<2>(ac2, ab2, ov2, a, first_b, s);
        for_slice([&](int b, int c) { singles_of_part += s[b][c] * y[b][c]; });
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

  /// The functions add the parts of S Y for hole y of t1, see sum_spin_orbital().
  template <int y>
  __device__ __forceinline__ void add_ov_a(int set, int a, int half, const Slice& quotient, Slice& sum) const {
    const Number factor = elements_.ov_tensor(set, 0, a, y, half);
    for_slice([&](int b, int c) { sum[b][c] += factor * quotient[b][c]; });
  }
  template <int y>
  __device__ __forceinline__ Number ov_a(const char* vvoo, int set, int first_b, int half, const Slice& over_a) const {
    const VvooValues<0, y> bc(*this, vvoo, set, half);
    Number sum = 0;
    if constexpr (Config::warp_tile_c == 1) {
      const VvooSlice<0, y> v(bc, 0, first_b);
      for_slice([&](int b, int c) { sum += v.b(b) * over_a[b][c]; });
    } else {
      for_slice([&](int b, int c) { sum += bc.at(first_b + b, c) * over_a[b][c]; });
    }
    return alone_sign(0, y) * sum;
  }
  template <int y>
  __device__ __forceinline__ void add_ov_b_and_c(const VvooValues<1, y>& ac, const VvooValues<2, y>& ab,
                                                 const OvTensors<y>& factors, int a, int first_b, Slice& sum) const {
    Number of_c[Config::warp_tile_c], v_ac[Config::warp_tile_c];
    const VvooSlice<2, y> of_ab(ab, a, first_b);
#pragma unroll
    for (int c = 0; c < Config::warp_tile_c; ++c) {
      of_c[c] = factors.c(c);
      v_ac[c] = ac.at(a, c);
    }
#pragma unroll
    for (int b = 0; b < slice_b; ++b) {
      const Number of_b = factors.b(b), v_ab = of_ab.b(b);
#pragma unroll
      for (int c = 0; c < Config::warp_tile_c; ++c) {
        sum[b][c] += of_b * v_ac[c];
        sum[b][c] += of_c[c] * v_ab;
      }
    }
  }
};

}
