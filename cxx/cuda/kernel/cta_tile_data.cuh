#pragma once

#include <type_traits>

#include "cxx/cuda/kernel/product_source.cuh"
#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse::gpu {

/// The type in which the energies of single elements are computed. Their sums are doubles. Kernels in mixed precision
/// use floats, because most GPUs are slow in double precision. But the spin-adapted form on Hopper GPUs uses doubles:
/// there they are as fast, and the error bar is twenty times smaller.
template <SpinFormulation formulation, typename Config>
using ElementNumber =
    std::conditional_t<formulation == SpinFormulation::spin_orbital || Config::staging == Staging::cooperative,
                       typename Config::Precision::Accumulator, double>;

/// The particles of a warp tile, for warps that multiply together. The scheduler warp determines them, because it has
/// time.
template <typename Config>
struct WarpParticles {
  std::int32_t first[3];   ///< [a, b, c] first particle inside the orbital tile
  std::int32_t in_cta[3];  ///< [a, b, c] the same particle, counted as in CtaTileData
  /// One bit for each (a, b), b fastest. It is 1 if the particles are inside the orbital tiles and, where tiles are
  /// equal, in strictly ascending order.
  std::uint32_t ascending;

  __device__ __forceinline__ void find(const TaskData& task, const CtaTile& cta_tile, const WarpCoord& coord) {
    static_assert(Config::warp_tile_c == 1 && Config::warp_tile_a * Config::warp_tile_b <= 32);
    int before = 0;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      first[q] = cta_tile.particle[q] + coord.at[q] * Config::warp_tile(q);
      in_cta[q] = before + coord.at[q] * Config::warp_tile(q);
      before += cta_extent<Config>(cta_tile, q);
    }
    const auto in_row = [](int b) { return min(max(b, 0), Config::warp_tile_b); };
    const int c = first[2];
    const int end = in_row(((task.equal_particles & 2) != 0 ? min(c, task.extent[1]) : task.extent[1]) - first[1]);
    ascending = 0;
#pragma unroll 1
    for (int n = 0; n < Config::warp_tile_a; ++n) {
      const int a = first[0] + n;
      const int begin = (task.equal_particles & 1) != 0 ? in_row(a + 1 - first[1]) : 0;
      const bool any = a < task.extent[0] && c < task.extent[2] && begin < end;
      ascending |= (any ? (1u << end) - (1u << begin) : 0u) << n * Config::warp_tile_b;
    }
  }
};

/// All that a CTA needs to know about its CTA tile, in shared memory. Shapes are in C order.
///
/// `particle` counts the particles of the CTA tile along a, then b, then c. `hole` counts its holes as [position, hole
/// in the hole group]. Particles and holes beyond the end of an orbital tile repeat its last orbital.
template <SpinFormulation formulation, typename Config>
struct CtaTileData {
  static constexpr int targets_per_side = trifuse::targets_per_side(formulation);
  static constexpr int vvoo_per_set =
      formulation == SpinFormulation::spin_adapted ? spin_adapted_vvoo_blocks : spin_orbital_vvoo_blocks;

  std::uint32_t number;       ///< number of the CTA tile in the launch; `no_cta_tile` after the last one
  std::int32_t equal_groups;  ///< see equal_hole_groups()
  std::int32_t targets;       ///< number of targets to compute, of each side
  CtaTile cta_tile;
  TaskData task;
  /// Orbital energies, [particle] and [hole], hartree. If they are floats, they are relative to a reference, see
  /// gather_energies().
  ElementNumber<formulation, Config> eps_particles[Config::cta_particles], eps_holes[cta_holes];
  /// t1 or f_ov of each set: [set][ov_index()].
  alignas(Config::group_warps > 1 ? 16 : alignof(double))
      ElementNumber<formulation, Config> ov_tensors[Config::sets][Config::cta_particles * cta_holes];
  const double* vvoo[Config::sets * vvoo_per_set];  ///< [set, vvoo block] in device memory
  KernelProduct products[Config::sides * targets_per_side * products_per_target];  ///< [side, target, particle, hole]
  WarpView views[Config::warps];                                                   ///< [warp]
  /// Returns the index in `ov_tensors` of a particle and a hole. Warps that multiply together read several particles at
  /// a time. For other warps ov_index(n / cta_holes, n % cta_holes) is n, but the compiler does not see this.
  static constexpr __device__ __forceinline__ int ov_index(int particle, int hole) {
    return Config::group_warps > 1 ? hole * Config::cta_particles + particle : particle * cta_holes + hole;
  }
  struct OfGroups {
    UnitTable<Config> units;
    WarpParticles<Config> particles[Config::warps];  ///< [warp]
  };
  struct Nothing {};
  std::conditional_t<(Config::group_warps > 1), OfGroups, Nothing> groups;  ///< data of warps that multiply together
};

/// Copies `bytes`, a multiple of four, with `threads` threads. The caller is number `thread` of them.
__device__ __forceinline__ void copy_words(void* to, const void* from, int bytes, int thread, int threads) {
#pragma unroll 1
  for (int n = thread; n < bytes / 4; n += threads) {
    static_cast<std::uint32_t*>(to)[n] = static_cast<const std::uint32_t*>(from)[n];
  }
}

/// Returns true if a warp tile has an element that is computed. Such an element is inside the orbital tiles, and where
/// tiles are equal, its particles are in ascending order.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ bool any_canonical(const CtaTileData<formulation, Config>& data, const WarpCoord& coord) {
  constexpr int gap = formulation == SpinFormulation::spin_orbital ? 1 : 0;
  const auto first = [&](int q) { return data.cta_tile.particle[q] + coord.at[q] * Config::warp_tile(q); };
  bool any = coord.inside;
  for (int q = 0; q < 3; ++q) any = any && first(q) < data.task.extent[q];
  for (int q = 0; q < 2; ++q) {
    const int last = min(first(q + 1) + Config::warp_tile(q + 1), data.task.extent[q + 1]) - 1;
    any = any && ((data.task.equal_particles >> q & 1) == 0 || first(q) + gap <= last);
  }
  return any;
}

/// Returns WarpView::multiplies of warp `warp`, which multiplies together with other warps. `coord`: its warp tile.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ int group_multiplies(const CtaTileData<formulation, Config>& data, int warp,
                                                const WarpCoord& coord) {
  const int first_warp = warp / Config::group_warps * Config::group_warps;
  const int middle_b = data.cta_tile.particle[1] + coord.at[1] * Config::warp_tile_b + Config::warp_tile_b / 2;
  int multiplies = 0;
#pragma unroll 1
  for (int n = 0; n < Config::group_warps; ++n) {
    if (any_canonical(data, WarpCoord(data.cta_tile, first_warp + n))) {
      multiplies = middle_b < data.task.extent[1] ? 2 : 1;
    }
  }
  return multiplies;
}

/// Gives products that vanish one k-step of zeros, see UnitSource. Warps that multiply together start the next product
/// before they add the last one to its target, and the compiler needs this order for every product. `threads` threads
/// call it together; the caller is number `thread` of them.
__device__ __forceinline__ void give_k_steps(KernelProduct* products, int count, int thread, int threads) {
#pragma unroll 1
  for (int n = thread; n < count; n += threads) products[n].k_steps = max(products[n].k_steps, 1);
}

/// Writes the orbital energies to `data` as floats, with one warp. `particle_orbital(n)` and `hole_orbital(n)` return
/// the orbital of particle n, 0..particles-1, and of hole n.
///
/// The energies are relative to a reference between the holes and the particles. So all terms of a denominator have the
/// same sign, and the denominator is as exact as floats can be.
template <typename Data, typename ParticleOrbital, typename HoleOrbital>
__device__ __forceinline__ void gather_energies(const KernelParameters& parameters, Data& data, int particles,
                                                ParticleOrbital particle_orbital, HoleOrbital hole_orbital, int lane) {
  static_assert(cta_holes <= 32 && sizeof(data.eps_particles) <= 32 * sizeof(float));
  const int particle = min(lane, particles - 1), hole = min(lane, cta_holes - 1);
  const double of_particle = parameters.eps[particle_orbital(particle)], of_hole = parameters.eps[hole_orbital(hole)];
  double lowest_particle = of_particle, highest_hole = of_hole;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    lowest_particle = min(lowest_particle, __shfl_xor_sync(~0u, lowest_particle, distance));
    highest_hole = max(highest_hole, __shfl_xor_sync(~0u, highest_hole, distance));
  }
  const double reference = 0.5 * (highest_hole + lowest_particle);
  data.eps_particles[particle] = static_cast<float>(of_particle - reference);
  data.eps_holes[hole] = static_cast<float>(of_hole - reference);
}

/// Fills `data` for CTA tile `number` of the launch, with `threads` threads. The caller is number `thread` of them.
/// `synchronise()` is a barrier between these threads. After it, each thread sees what the others wrote.
template <SpinFormulation formulation, typename Config, typename Synchronise>
__device__ __forceinline__ void gather_cta_tile_data(const KernelParameters& parameters, std::uint32_t number,
                                                     CtaTileData<formulation, Config>& data, int thread, int threads,
                                                     Synchronise synchronise) {
  static_assert(sizeof(CtaTile) % 4 == 0 && sizeof(TaskData) % 4 == 0);
  copy_words(&data.cta_tile, &parameters.cta_tiles[number], sizeof(CtaTile), thread, threads);
  if (thread == 0) data.number = number;
  synchronise();
  const unsigned task_number = data.cta_tile.task;
  copy_words(&data.task, &parameters.tasks[task_number], sizeof(TaskData), thread, threads);
  int products = parameters.sides * parameters.targets * products_per_target;
  if constexpr (Config::Precision::scale_elements > 0) {
    asm volatile("" : "+r"(products));  // so that no register holds it from one CTA tile to the next
  }
  copy_words(data.products, parameters.products + std::size_t{task_number} * static_cast<unsigned>(products),
             products * static_cast<int>(sizeof(KernelProduct)), thread, threads);
  copy_words(
      data.vvoo,
      parameters.vvoo + std::size_t{task_number} * static_cast<unsigned>(parameters.sets * parameters.vvoo_per_set),
      parameters.sets * parameters.vvoo_per_set * static_cast<int>(sizeof(double*)), thread, threads);
  synchronise();
  if constexpr (Config::group_warps > 1) give_k_steps(data.products, products, thread, threads);
  const TaskData& task = data.task;
  const int size_a = cta_extent<Config>(data.cta_tile, 0), size_b = cta_extent<Config>(data.cta_tile, 1);
  const int particles = size_a + size_b + cta_extent<Config>(data.cta_tile, 2);
  const auto particle_orbital = [&](int n) {
    const int q = n < size_a ? 0 : n < size_a + size_b ? 1 : 2;
    const int first = q == 0 ? 0 : q == 1 ? size_a : size_a + size_b;
    return task.offset[q] + min(data.cta_tile.particle[q] + n - first, task.extent[q] - 1);
  };
  const auto hole_orbital = [&](int n) {
    const int q = n / hole_group_size, local = n % hole_group_size;
    return task.offset[3 + q] + min(data.cta_tile.hole_group[q] * hole_group_size + local, task.extent[3 + q] - 1);
  };
  if (thread == 0) {
    data.equal_groups = equal_hole_groups(task, data.cta_tile);
    data.targets = formulation == SpinFormulation::spin_adapted ? computed_targets(data.equal_groups) : 1;
  }
  if constexpr (Config::group_warps > 1) data.groups.units.fill(task, data.cta_tile, thread);
  if (thread < Config::warps) {
    const WarpCoord coord(data.cta_tile, thread);
    WarpView& view = data.views[thread] = warp_view<Config>(data.cta_tile, coord);
    view.active = any_canonical(data, coord);
    view.multiplies = view.active;
    if constexpr (Config::group_warps > 1) {
      view.multiplies = group_multiplies(data, thread, coord);
      data.groups.particles[thread].find(task, data.cta_tile, coord);
    }
  }
  if constexpr (sizeof(data.eps_holes[0]) == sizeof(double)) {
    if (thread < cta_holes) data.eps_holes[thread] = parameters.eps[hole_orbital(thread)];
#pragma unroll 1
    for (int n = thread; n < particles; n += threads) data.eps_particles[n] = parameters.eps[particle_orbital(n)];
  } else if (thread < 32) {
    gather_energies(parameters, data, particles, particle_orbital, hole_orbital, thread);
  }
  // If the warp has enough registers, several loads are under way at a time.
  constexpr int at_once = Config::group_warps > 1 ? 4 : 1;
  const int factors = particles * cta_holes;
  for (int set = 0; set < parameters.sets; ++set) {
#pragma unroll 1
    for (int first = thread; first < factors; first += at_once * threads) {
      double loaded[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int n = min(first + i * threads, factors - 1);
        loaded[i] = __ldg(parameters.ov_tensors[set] + hole_orbital(n % cta_holes) +
                          std::int64_t{parameters.orbitals} * particle_orbital(n / cta_holes));
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int n = first + i * threads;
        if (n >= factors) continue;
        const int at = Config::group_warps > 1 ? data.ov_index(n / cta_holes, n % cta_holes) : n;
        data.ov_tensors[set][at] = static_cast<ElementNumber<formulation, Config>>(loaded[i]);
      }
    }
  }
  synchronise();
}

/// The vvoo blocks that the epilogue of a spin-orbital CTA tile reads, in shared memory. There is one part for each
/// particle x of t1 or f_ov. A part is [y, u, w, h1, h2]: y is the hole of t1 or f_ov, u and w are the other two
/// particles, and h1 and h2 are the other two holes.
template <typename Config>
struct VvooPart {
  static constexpr int block_bytes = hole_group_size * hole_group_size * static_cast<int>(sizeof(double));
  int u, w;                  ///< positions 0..2 of the other two particles
  int offset;                ///< bytes from the first part to this one
  int y_stride, row_stride;  ///< bytes from one y to the next, and from one u to the next
  int rows, row_bytes;       ///< number of rows (values of u) to copy for each y, and the bytes of each row

  __device__ __forceinline__ VvooPart(const CtaTileData<SpinFormulation::spin_orbital, Config>& data, int x)
      : u(first_other(x)), w(second_other(x)) {
    const CtaTile& cta_tile = data.cta_tile;
    const int a = cta_extent<Config>(cta_tile, 0), b = cta_extent<Config>(cta_tile, 1),
              c = cta_extent<Config>(cta_tile, 2);
    offset = 3 * block_bytes * (x == 0 ? 0 : x == 1 ? b * c : b * c + a * c);
    row_stride = block_bytes * cta_extent<Config>(cta_tile, w);
    y_stride = row_stride * cta_extent<Config>(cta_tile, u);
    rows = min(cta_extent<Config>(cta_tile, u), data.task.extent[u] - cta_tile.particle[u]);
    row_bytes = block_bytes * min(cta_extent<Config>(cta_tile, w), data.task.extent[w] - cta_tile.particle[w]);
  }
  /// Returns the bytes from the first part to the block of hole `y`, as the epilogue reads it. All other members count
  /// bytes of doubles.
  __device__ __forceinline__ int read_offset(int y) const {
    return (offset + y * y_stride) / (Config::converts_vvoo ? 2 : 1);
  }
  /// Returns the first element of row `n` of hole `y` in device memory. `block`: the packed vvoo block of x and y.
  __device__ __forceinline__ const double* row(const CtaTileData<SpinFormulation::spin_orbital, Config>& data,
                                               const double* block, int y, int n) const {
    const int h1 = first_other(y), h2 = second_other(y);
    return block + vvoo_block(data.cta_tile.hole_group[h1],
                              (data.task.extent[3 + h2] + hole_group_size - 1) / hole_group_size,
                              data.cta_tile.hole_group[h2], data.task.extent[u], data.cta_tile.particle[u] + n,
                              data.task.extent[w], data.cta_tile.particle[w]);
  }
};

/// Floats in registers that are loaded from shared memory four at a time.
template <int size>
struct FloatVector {
  float at[size];
  /// Loads numbers `first` to `first` + 3.
  __device__ __forceinline__ void load_four(int first, const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    at[first] = four.x, at[first + 1] = four.y, at[first + 2] = four.z, at[first + 3] = four.w;
  }
};

/// The vvoo blocks of particle x of t1 or f_ov, as floats in shared memory. One of the other two particles is called
/// the fast one: b, or a if x is b. The values that a lane reads together are contiguous, four at a time:
///
///     [y, fast / F, slow, fast % F / 4, h1, h2, fast % 4]    F: values of the fast particle in a warp tile
template <typename Config, int x>
struct FloatVvoo {
  static constexpr int vector = 4, column = hole_group_size * hole_group_size;
  /// Positions 0..2 of the fast and of the slow particle.
  static constexpr int fast = x == 1 ? 0 : 1, slow = x == 2 ? 0 : 2;
  /// Number of vectors of the fast particle in a warp tile. Number of floats from one value of the slow particle to the
  /// next.
  static constexpr int warp_vectors = Config::warp_tile(fast) / vector, slow_stride = warp_vectors * vector * column;

  /// Returns the address in the block of hole y for the first particles of a lane's warp tile and its other two holes.
  /// `elements`: a LaneElements. `vvoo`: begin of all blocks.
  template <int y, typename Elements>
  static __device__ __forceinline__ const float* of_lane(const Elements& elements, const char* vvoo, int half) {
    const CtaTile& cta_tile = elements.data.cta_tile;
    const int holes =
        elements.local_hole(first_other(y), half) * hole_group_size + elements.local_hole(second_other(y), half);
    const int vectors = (elements.first[fast] - cta_tile.particle[fast]) / Config::warp_tile(fast);
    return reinterpret_cast<const float*>(vvoo + VvooPart<Config>(elements.data, x).read_offset(y)) +
           (vectors * cta_extent<Config>(cta_tile, slow) + elements.first[slow] - cta_tile.particle[slow]) *
               slow_stride +
           holes * vector;
  }
  /// Loads `size` values of the fast particle from number `first` of the warp tile on, for number `n_slow` of the slow
  /// particle. `of_lane`: result of of_lane().
  template <int size>
  static __device__ __forceinline__ FloatVector<size> values(const float* of_lane, int n_slow, int first) {
    static_assert(size % vector == 0);
    FloatVector<size> loaded;
#pragma unroll
    for (int n = 0; n < size; n += vector) loaded.load_four(n, of_lane + n_slow * slow_stride + (first + n) * column);
    return loaded;
  }

  /// Loads all blocks of a set with `threads` threads. The caller is number `thread` of them. `to`: begin of all blocks
  /// in shared memory. Particles beyond the end of an orbital tile become zeros.
  template <int threads>
  static __device__ __forceinline__ void load(const CtaTileData<SpinFormulation::spin_orbital, Config>& data, int set,
                                              char* to, int thread) {
    static_assert(Config::warps == 2 * Config::group_warps, "an extent of a CTA tile is one or two of a warp group");
    const VvooPart<Config> part(data, x);
    const CtaTile& cta_tile = data.cta_tile;
    const int slow_extent = cta_extent<Config>(cta_tile, slow),
              pairs = cta_extent<Config>(cta_tile, fast) * slow_extent * (column / vector) / 2;
    const int row = data.task.extent[second_other(x)] * column;
    const int fast_step = fast < slow ? row : column, slow_step = fast < slow ? column : row;
    // Each thread loads two vectors at a time, of successive h2.
#pragma unroll 1
    for (int n = thread; n < pairs; n += threads) {
      const int particles = n / (column / 2), rest = particles / warp_vectors;
      const int warp_tile = slow_extent == vector ? rest / vector : rest / (2 * vector);
      const int n_slow = rest - warp_tile * slow_extent,
                n_fast = (warp_tile * warp_vectors + particles % warp_vectors) * vector;
      const int at = n_slow * slow_step + n_fast * fast_step + n % (column / 2) * 2;
      const bool any = n_slow < data.task.extent[slow] - cta_tile.particle[slow];
      const int count = any ? data.task.extent[fast] - cta_tile.particle[fast] - n_fast : 0;
#pragma unroll 1
      for (int y = 0; y < 3; ++y) {
        const double* const from = part.row(data, data.vvoo[set * spin_orbital_vvoo_blocks + x * 3 + y], y, 0) + at;
        double2 values[vector];
#pragma unroll
        for (int f = 0; f < vector; ++f) {
          values[f] =
              f < count ? __ldg(reinterpret_cast<const double2*>(from + f * fast_step)) : make_double2(0.0, 0.0);
        }
        auto* const vectors = reinterpret_cast<float4*>(to + part.read_offset(y)) + 2 * n;
        vectors[0] = make_float4(static_cast<float>(values[0].x), static_cast<float>(values[1].x),
                                 static_cast<float>(values[2].x), static_cast<float>(values[3].x));
        vectors[1] = make_float4(static_cast<float>(values[0].y), static_cast<float>(values[1].y),
                                 static_cast<float>(values[2].y), static_cast<float>(values[3].y));
      }
    }
  }
};

}
