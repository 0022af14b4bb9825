#pragma once

#include <cstdint>
#include <type_traits>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"
#include "cxx/triples/method.hpp"
#include "cxx/triples/quotient.hpp"
#include "cxx/triples/task.hpp"

/// The parameters with which a kernel is compiled.
///
/// A warp computes a warp tile: `warp_tile_a` x `warp_tile_b` x `warp_tile_c` particles times 4 x 4 x 4 holes. Up to
/// eight warp tiles form a CTA tile; the CTA tile says how many of them lie along a, b and c.
namespace trifuse::gpu {

/// The instructions with which kernels multiply. `name`: part of the names of kernels. `architecture`: least compute
/// capability, e.g. 900 for 9.0. kernel/instructions.cuh executes them.
struct MmaM16N8K8 {
  static constexpr const char* name = "m16n8k8";
  static constexpr int architecture = 900;
};
struct MmaM8N8K4 {
  static constexpr const char* name = "m8n8k4";
  static constexpr int architecture = 800;
};
struct MmaM16N8K16 {
  static constexpr const char* name = "m16n8k16";
  static constexpr int architecture = 800;
};
/// Four warps multiply together, see element_arrangement.hpp.
struct Wgmma {
  static constexpr const char* name = "wgmma";
  static constexpr int architecture = 900;
};
struct Fma {
  static constexpr const char* name = "fma";
  static constexpr int architecture = 750;
};

/// How operands come from device memory to shared memory.
enum class Staging : std::uint8_t {
  bulk,         ///< one producer warp issues bulk copies that complete on barriers; needs compute capability 9.0
  cooperative,  ///< all warps copy, in a pipeline of `stages` k-tiles
};

/// Largest number of sets of disconnected triples of kernels with one left side, see Problem::disconnected_sets().
inline constexpr int sets_of_one_left = max_disconnected_sets + 1;

/// Number of warps of a CTA that multiply. It is the same in every configuration.
inline constexpr int math_warps = 8;

/// `PrecisionT`: types of operands and accumulators, see Fp64. `InstructionT`: one of the instructions above.
/// `warp_tile_*`: particles of a warp tile along a, b, c. `stages_`: k-tiles in shared memory. `ScheduleT`: the
/// products of a target, see product_schedule.hpp.
template <typename PrecisionT, typename InstructionT, Staging staging_, int warp_tile_a_, int warp_tile_b_,
          int warp_tile_c_, int stages_, typename ScheduleT = StandardSchedule>
struct Configuration {
  using Precision = PrecisionT;
  using Instruction = InstructionT;
  using Schedule = ScheduleT;
  static_assert(is_valid_schedule<Schedule>(), "a schedule holds products, each of them once");
  static constexpr Staging staging = staging_;
  /// Least compute capability, e.g. 900 for 9.0.
  static constexpr int architecture = staging == Staging::bulk ? 900 : Instruction::architecture;
  static_assert(architecture >= Instruction::architecture);
  static constexpr int warp_tile_a = warp_tile_a_, warp_tile_b = warp_tile_b_, warp_tile_c = warp_tile_c_;
  /// Returns the number of particles of a warp tile along position `q`, 0..2 for a, b, c.
  static constexpr TRIFUSE_HOST_DEVICE int warp_tile(int q) {
    return q == 0 ? warp_tile_a : q == 1 ? warp_tile_b : warp_tile_c;
  }
  static constexpr int stages = stages_;
  static constexpr int sides = 2, sets = sets_of_one_left;  ///< largest numbers
  static constexpr int warps = math_warps;
  /// Number of math warps that multiply together. Their warp tiles follow each other along c.
  static constexpr int group_warps = std::is_same_v<Instruction, Wgmma> ? 4 : 1;
  static constexpr int threads = warps * 32 + (staging == Staging::bulk ? 128 : 0);
  /// Number of elements of a warp tile, and of a CTA tile in which every warp has a warp tile.
  static constexpr int warp_elements =
      warp_tile_a * warp_tile_b * warp_tile_c * hole_group_size * hole_group_size * hole_group_size;
  static constexpr int cta_elements = warps * warp_elements;
  static constexpr int accumulators = warp_elements / 32;  ///< numbers in each lane
  /// Bytes of shared memory for one k-tile of A and B. CTA tiles that need more do not fit.
  static constexpr int stage_bytes = 40 * format_of<Precision>().b_bytes_per_pair();
  /// Bytes of shared memory for the vvoo blocks of a CTA tile in spin-orbital form; 0 if they are read from device
  /// memory.
  static constexpr int vvoo_bytes = staging == Staging::bulk ? 49152 : 0;
  /// True if the vvoo blocks become floats in shared memory, for energies in single precision.
  static constexpr bool converts_vvoo = staging == Staging::bulk && sizeof(typename Precision::Accumulator) == 4;
  /// Bytes of shared memory for the vvoo blocks in the form that the energies read. Blocks of floats have two slots, so
  /// that the blocks of the next CTA tile can come while energies are computed.
  static constexpr int read_vvoo_bytes = converts_vvoo ? vvoo_bytes / 2 : vvoo_bytes,
                       vvoo_slots = converts_vvoo ? 2 : 1;
  /// Largest number of particles of a CTA tile, summed over a, b and c.
  static constexpr int cta_particles = 24;
  /// Returns the size of the dynamic shared memory: all stages and the vvoo blocks, bytes.
  static constexpr TRIFUSE_HOST_DEVICE int dynamic_shared_bytes(SpinFormulation formulation) {
    return stages * stage_bytes + (formulation == SpinFormulation::spin_orbital ? vvoo_slots * read_vvoo_bytes : 0);
  }
  static_assert(warp_tile_b % particle_pair == 0 && warp_tile_c * group_warps % particle_pair == 0,
                "pairs of particles lie inside the warp tiles of warps that multiply together");
};

/// The configuration of a kernel with a second left side. Its epilogue reads vvoo blocks from device memory.
template <typename ConfigT>
struct WithSecondLeft : ConfigT {
  static constexpr int sides = max_sides, sets = max_sets, vvoo_bytes = 0, read_vvoo_bytes = 0;
  static constexpr TRIFUSE_HOST_DEVICE int dynamic_shared_bytes(SpinFormulation) {
    return ConfigT::stages * ConfigT::stage_bytes;
  }
};

/// The numbers of a Configuration that the host needs for its plans.
struct Shape {
  int warp_tile[3];          ///< [a, b, c] numbers of particles
  int warps;                 ///< largest number of warp tiles in a CTA tile
  int group_warps;           ///< warps that multiply together; a CTA tile has a multiple of them along c
  std::int64_t stage_bytes;  ///< largest size of one k-tile of A and B, bytes
  OperandFormat format;      ///< format of A and B
  std::int64_t vvoo_bytes;   ///< shared memory for the vvoo blocks of a CTA tile; 0: they are read from device memory
  int cta_particles;         ///< largest number of particles of a CTA tile, summed over a, b and c
  int cta_elements;          ///< elements of a full CTA tile, for each target
};

template <typename Config>
constexpr Shape shape_of() {
  return {{Config::warp_tile_a, Config::warp_tile_b, Config::warp_tile_c},
          Config::warps,
          Config::group_warps,
          Config::stage_bytes,
          format_of<typename Config::Precision>(),
          Config::vvoo_bytes,
          Config::cta_particles,
          Config::cta_elements};
}

}
