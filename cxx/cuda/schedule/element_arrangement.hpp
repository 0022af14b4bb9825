#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"

/// Where the lanes of a warp hold the elements of a target if four warps multiply together, with the instruction wgmma.
///
/// The four warps of a group differ in c: warp n of a group has c = n. Its warp tile has 4 values of a, 8 of b and one
/// of c. The instruction multiplies 64 lines of a unit by the lines of one or two other units (see SplitHalfUnits),
/// and each warp computes 16 of the 64 lines. So in every product the 64 lines come from the unit with c:
///
///     particle alone in A    64 lines of each instruction                     other lines
///     a                      unit of B (b, c); two instructions for 8 b       unit of A (a)
///     b                      unit of B (a, c)                                 two units of A (b)
///     c                      unit of A (c)                                    two units of B (a, b)
///
/// Register 4 n + e of an instruction in lane 4 r + q holds the element of line r + 8 (e / 2) of the warp's 16 lines
/// and of line 8 n + 2 q + e % 2 of the other lines. The arrangement follows from these maps. It says which bit of the
/// element's indices is which bit of the lane or of the register.
namespace trifuse::gpu {

/// Number of a bit in the indices of an element. Each of the holes i, j, k has two bits, particle a has two, and b has
/// three.
using IndexBit = int;
constexpr TRIFUSE_HOST_DEVICE IndexBit hole_bit(int hole, int bit) {
  return 2 * hole + bit;
}
constexpr TRIFUSE_HOST_DEVICE IndexBit bit_of_a(int bit) {
  return 6 + bit;
}
constexpr TRIFUSE_HOST_DEVICE IndexBit bit_of_b(int bit) {
  return 8 + bit;
}
inline constexpr int index_bits = 11, register_bits = 6;

/// The index bits that make up the number of the lane and of the register of an element: IndexBit n in bits 4 n to 4 n
/// + 3.
struct Arrangement {
  std::uint64_t lane = 0, reg = 0;

  constexpr TRIFUSE_HOST_DEVICE IndexBit of_lane(int bit) const { return static_cast<int>(lane >> 4 * bit & 15u); }
  constexpr TRIFUSE_HOST_DEVICE IndexBit of_register(int bit) const { return static_cast<int>(reg >> 4 * bit & 15u); }
  /// The functions return the number of the bit of the lane, or of the register, that is this index bit; -1 if there is
  /// none.
  constexpr TRIFUSE_HOST_DEVICE int lane_bit_of(IndexBit wanted) const { return find(lane, lane_bits, wanted); }
  constexpr TRIFUSE_HOST_DEVICE int register_bit_of(IndexBit wanted) const { return find(reg, register_bits, wanted); }

 private:
  static constexpr TRIFUSE_HOST_DEVICE int find(std::uint64_t bits, int count, IndexBit wanted) {
    for (int n = 0; n < count; ++n) {
      if (static_cast<int>(bits >> 4 * n & 15u) == wanted) return n;
    }
    return -1;
  }
};

constexpr TRIFUSE_HOST_DEVICE std::uint64_t packed_bits(IndexBit b0, IndexBit b1, IndexBit b2, IndexBit b3, IndexBit b4,
                                                        IndexBit b5 = 0) {
  const auto at = [](IndexBit bit, int n) { return static_cast<std::uint64_t>(bit) << 4 * n; };
  return at(b0, 0) | at(b1, 1) | at(b2, 2) | at(b3, 3) | at(b4, 4) | at(b5, 5);
}

/// Returns the arrangement during a product. `axes`: the particle and the hole that stand alone.
constexpr TRIFUSE_HOST_DEVICE Arrangement arrangement(const ProductAxes& axes) {
  const int y = axes.hole, p = first_other(y), q = second_other(y);
  const IndexBit y0 = hole_bit(y, 0), y1 = hole_bit(y, 1), p0 = hole_bit(p, 0), p1 = hole_bit(p, 1),
                 q0 = hole_bit(q, 0), q1 = hole_bit(q, 1);
  if (axes.particle == 0) {
    return {packed_bits(q1, p0, bit_of_b(0), y0, y1),
            packed_bits(q0, bit_of_b(1), p1, bit_of_a(0), bit_of_a(1), bit_of_b(2))};
  }
  if (axes.particle == 1) {
    return {packed_bits(q1, p0, bit_of_a(0), y0, y1),
            packed_bits(q0, bit_of_a(1), p1, bit_of_b(0), bit_of_b(1), bit_of_b(2))};
  }
  return {packed_bits(y0, y1, q0, q1, p0),
          packed_bits(bit_of_a(0), p1, bit_of_a(1), bit_of_b(0), bit_of_b(1), bit_of_b(2))};
}

/// Returns the register of particles a and b of the warp tile in a lane, after a product in which c stands alone in A.
/// Lanes, and the half, are those of accumulator_layout.hpp.
constexpr TRIFUSE_HOST_DEVICE int register_of_particles(int a, int b, int half) {
  return b * 8 + a / 2 * 4 + half * 2 + a % 2;
}

/// How the lanes of a warp move all elements from one arrangement to another one.
///
/// Entering bits are index bits that belong to the register before the change and to the lane afterwards. Leaving bits
/// are index bits that belong to the lane before and to the register afterwards. There are equally many of both, s = 0
/// to 2. Registers that differ only in the entering bits are exchanged together, in 2^s rounds. In round t a lane gives
/// the register whose entering bits are `given(lane) ^ t`, reads from `source_lane(lane, t)`, and stores what it reads
/// in the register whose leaving bits are `stored(lane) ^ t`.
struct ArrangementChange {
  Arrangement from, to;

  /// Returns true if bit `register_bit` of the register before the change is an entering bit.
  constexpr TRIFUSE_HOST_DEVICE bool enters(int register_bit) const {
    return to.lane_bit_of(from.of_register(register_bit)) >= 0;
  }
  constexpr TRIFUSE_HOST_DEVICE int moved_bits() const {
    int count = 0;
    for (int b = 0; b < register_bits; ++b) count += enters(b) ? 1 : 0;
    return count;
  }
  /// entering() returns the position of the n-th entering bit in the register before the change. leaving() returns the
  /// position of the n-th leaving bit in the register afterwards.
  constexpr TRIFUSE_HOST_DEVICE int entering(int n) const {
    for (int b = 0; b < register_bits; ++b) {
      if (enters(b) && n-- == 0) return b;
    }
    return -1;
  }
  constexpr TRIFUSE_HOST_DEVICE int leaving(int n) const {
    for (int b = 0; b < register_bits; ++b) {
      if (from.lane_bit_of(to.of_register(b)) >= 0 && n-- == 0) return b;
    }
    return -1;
  }
  /// given() returns the values of the leaving bits in the number of a lane before the change. stored() returns the
  /// values of the entering bits in the number of a lane afterwards.
  constexpr TRIFUSE_HOST_DEVICE int given(int lane) const {
    int value = 0;
    for (int n = 0; n < moved_bits(); ++n) value |= (lane >> from.lane_bit_of(to.of_register(leaving(n))) & 1) << n;
    return value;
  }
  constexpr TRIFUSE_HOST_DEVICE int stored(int lane) const {
    int value = 0;
    for (int n = 0; n < moved_bits(); ++n) value |= (lane >> to.lane_bit_of(from.of_register(entering(n))) & 1) << n;
    return value;
  }
  constexpr TRIFUSE_HOST_DEVICE int source_lane(int lane, int t) const {
    const int leaving_bits = stored(lane) ^ t;
    int source = 0;
    for (int b = 0; b < lane_bits; ++b) {
      const IndexBit bit = from.of_lane(b);
      const int stays = to.lane_bit_of(bit);
      int value = 0;
      if (stays >= 0) {
        value = lane >> stays & 1;
      } else {
        for (int n = 0; n < moved_bits(); ++n) {
          if (to.of_register(leaving(n)) == bit) value = leaving_bits >> n & 1;
        }
      }
      source |= value << b;
    }
    return source;
  }
  /// given(), stored() and source_lane() are linear: the result for a lane is the XOR of the results for the bits of
  /// its number. The result for round t is the result for round 0, XOR the result for lane 0 in round t. These
  /// functions return the results for single bits.
  constexpr std::array<unsigned, lane_bits> given_columns() const {
    return columns([this](int lane) { return given(lane); });
  }
  constexpr std::array<unsigned, lane_bits> stored_columns() const {
    return columns([this](int lane) { return stored(lane); });
  }
  constexpr std::array<unsigned, lane_bits> source_columns() const {
    return columns([this](int lane) { return source_lane(lane, 0); });
  }
  /// Returns true if each lane reads from itself in round 0.
  constexpr TRIFUSE_HOST_DEVICE bool first_round_is_local() const {
    for (int lane = 0; lane < 32; ++lane) {
      if (source_lane(lane, 0) != lane) return false;
    }
    return true;
  }
  /// Returns true if one bit of the lane and one bit of the register change places. Then each lane keeps half of its
  /// numbers in their registers.
  constexpr TRIFUSE_HOST_DEVICE bool exchanges_pairs() const {
    bool same = moved_bits() == 1 && first_round_is_local();
    for (int lane = 0; lane < 32; ++lane) same = same && given(lane) == stored(lane);
    return same;
  }
  /// source_register() returns a register before the change, given by its entering bits and its group, 0..2^(6-s)-1.
  /// target_register() returns a register afterwards, given by its leaving bits and its group. The group is the number
  /// whose bits are the index bits that stay in the register, in their order before the change.
  constexpr TRIFUSE_HOST_DEVICE int source_register(int group, int entering_bits) const {
    int value = 0, of_group = 0, moved = 0;
    for (int b = 0; b < register_bits; ++b) {
      value |= (enters(b) ? entering_bits >> moved++ & 1 : group >> of_group++ & 1) << b;
    }
    return value;
  }
  constexpr TRIFUSE_HOST_DEVICE int target_register(int group, int leaving_bits) const {
    int value = 0, of_group = 0;
    for (int b = 0; b < register_bits; ++b) {
      if (!enters(b)) value |= (group >> of_group++ & 1) << to.register_bit_of(from.of_register(b));
    }
    for (int n = 0; n < moved_bits(); ++n) value |= (leaving_bits >> n & 1) << leaving(n);
    return value;
  }

 private:
  template <typename Function>
  static constexpr std::array<unsigned, lane_bits> columns(Function function) {
    std::array<unsigned, lane_bits> result{};
    for (int b = 0; b < lane_bits; ++b) result[static_cast<std::size_t>(b)] = static_cast<unsigned>(function(1 << b));
    return result;
  }
};

}
