#pragma once

#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/triples/task.hpp"

/// What a kernel is compiled for. A warp owns a sub-box of `warp_tile_a` x `warp_tile_b` x `warp_tile_c` particles and
/// all 4 x 4 x 4 holes of a block; up to eight warps of a block stand side by side along a, b and c, as the CTA tile
/// says.
namespace trifuse::gpu {

enum class Staging : std::uint8_t {
  bulk,         ///< a producer warp brings chunks by bulk copies that complete on barriers: compute capability 9.0
  cooperative,  ///< all warps copy, in a pipeline of `stages`
};

template <typename PrecisionT, typename InstructionT, Staging staging_, int warp_tile_a_, int warp_tile_b_,
          int warp_tile_c_, int stages_>
struct Configuration {
  using Precision = PrecisionT;
  using Instruction = InstructionT;
  static constexpr Staging staging = staging_;
  static constexpr int warp_tile_a = warp_tile_a_, warp_tile_b = warp_tile_b_, warp_tile_c = warp_tile_c_;
  /// Of position a, b or c.
  static constexpr TRIFUSE_HOST_DEVICE int warp_tile(int q) {
    return q == 0 ? warp_tile_a : q == 1 ? warp_tile_b : warp_tile_c;
  }
  static constexpr int stages = stages_;
  static constexpr int warps = 8;  ///< that multiply
  static constexpr int threads = warps * 32 + (staging == Staging::bulk ? 128 : 0);
  static constexpr int accumulators = warp_tile_a * warp_tile_b * warp_tile_c * 2;  ///< of a lane
  /// Bytes of one stage: what an arrangement of warps may ask for.
  static constexpr int stage_bytes = 40960;
  /// Bytes of the particle_pair blocks of a CTA tile, where they come to shared memory: those of spin-orbital
  /// cta_tiles.
  static constexpr int vvoo_bytes = staging == Staging::bulk ? 49152 : 0;
  /// Most particles of a box along a, b and c together.
  static constexpr int cta_particles = 24;
  /// Bytes of shared memory for chunks and particle_pair blocks.
  static constexpr TRIFUSE_HOST_DEVICE int dynamic_shared_bytes(Form form) {
    return stages * stage_bytes + (form == Form::spin_orbital ? vvoo_bytes : 0);
  }
  static_assert(warp_tile_b % particle_pair == 0 && warp_tile_c % particle_pair == 0,
                "pairs of particles lie inside a sub-box");
};

/// The same for host code, which plans with it.
struct Shape {
  int warp_tile[3];  ///< sub-box along a, b, c
  int warps;
  std::int64_t stage_bytes;
  std::int64_t a_k_tile_bytes, b_k_tile_bytes;
  std::int64_t vvoo_bytes;  ///< room for the particle_pair blocks of a CTA tile; 0: they need none
  int cta_particles;        ///< along a, b and c together
};

}  // namespace trifuse::gpu
