#pragma once

#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/triples/task.hpp"

/// What a kernel is compiled for. A warp owns a sub-box of `sub_a` x `sub_b` x `sub_c` particles and all 4 x 4 x 4
/// holes of a block; up to eight warps of a block stand side by side along a, b and c, as the item says.
namespace trifuse::gpu {

enum class Staging : std::uint8_t {
  bulk,         ///< a producer warp brings chunks by bulk copies that complete on barriers: compute capability 9.0
  cooperative,  ///< all warps copy, in a pipeline of `stages`
};

template <typename PrecisionT, typename InstructionT, Staging staging_, int sub_a_, int sub_b_, int sub_c_, int stages_>
struct Configuration {
  using Precision = PrecisionT;
  using Instruction = InstructionT;
  static constexpr Staging staging = staging_;
  static constexpr int sub_a = sub_a_, sub_b = sub_b_, sub_c = sub_c_;
  /// Of position a, b or c.
  static constexpr TRIFUSE_HOST_DEVICE int sub(int q) { return q == 0 ? sub_a : q == 1 ? sub_b : sub_c; }
  static constexpr int stages = stages_;
  static constexpr int warps = 8;  ///< that multiply
  static constexpr int threads = warps * 32 + (staging == Staging::bulk ? 128 : 0);
  static constexpr int accumulators = sub_a * sub_b * sub_c * 2;  ///< of a lane
  /// Bytes of one stage: what an arrangement of warps may ask for.
  static constexpr int stage_bytes = 40960;
  /// Bytes of the pair blocks of an item, where they come to shared memory: those of spin-orbital items.
  static constexpr int pair_bytes = staging == Staging::bulk ? 49152 : 0;
  /// Most particles of a box along a, b and c together.
  static constexpr int box_particles = 24;
  /// Bytes of shared memory for chunks and pair blocks.
  static constexpr TRIFUSE_HOST_DEVICE int staged_bytes(SpinFormulation formulation) {
    return stages * stage_bytes + (formulation == SpinFormulation::spin_orbital ? pair_bytes : 0);
  }
  static_assert(sub_b % pair == 0 && sub_c % pair == 0, "pairs of particles lie inside a sub-box");
};

/// The same for host code, which plans with it.
struct Shape {
  int sub[3];  ///< sub-box along a, b, c
  int warps;
  std::int64_t stage_bytes;
  std::int64_t a_chunk_bytes, b_chunk_bytes;
  std::int64_t pair_bytes;  ///< room for the pair blocks of an item; 0: they need none
  int box_particles;        ///< along a, b and c together
};

}  // namespace trifuse::gpu
