#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"

namespace trifuse::gpu {

/// The precision of mixed-precision kernels with the instruction m16n8k16. A number x is scaled by a power of two and
/// split into two FP16 numbers: x 2^shift = high + low. High has the first 11 bits, low the next 11 bits.
///
/// All numbers in `scaled_k_tiles` k-tiles of a unit share a scale, see ScaleGroup. The scale moves the largest of them
/// to [2^14, 2^15). It is stored at the end of each of these k-tiles. A scale depends only on the numbers that share
/// it. So a panel may be packed in parts, and small amplitudes beside large integrals keep their bits. The kernel
/// multiplies the sum over these k-tiles by both scales when it adds it to the target. Let M be the largest number. The
/// error of a number above 2^-17 M is at most 2^-22 of the number. The error of a smaller number is at most 2^-39 M,
/// because the least FP16 number is 2^-24.
struct SplitHalf : SingleFragments {
  static constexpr const char* name = "fp16x2";
  using Operand = std::uint16_t;  ///< the bits of an FP16 number; in a scale half of the bits of a float
  using Accumulator = float;
  static constexpr int slices = 2;  ///< 0: high, 1: low
  static constexpr int rows = hole_group_size * hole_group_size, columns = hole_group_size * particle_pair;
  static constexpr int k_step = 16;
  static constexpr int k_tile_steps = 2;
  static constexpr int k_tile_depth = k_step * k_tile_steps;
  static constexpr int scaled_k_tiles = 2;
  static constexpr int scale_elements = 8;  ///< one float and padding, together 16 bytes
  /// Returns true if a stored scale is the power of two times 1 + 2^-23, to make up for truncation. Matrix units cut
  /// off the last bits of sums, on average half a unit in the last place. In a scale group of n k-steps, up to 3 n - 2
  /// instructions truncate the whole sum in this way. For n = 4 the sum is too small by up to 4e-7 of its value, and by
  /// about half of this on average. The scales restore most of the average: A in groups of more than one k-step, B in
  /// groups of more than three. `is_a`: true for A. `k_steps`: number of k-steps of the group.
  static constexpr TRIFUSE_HOST_DEVICE bool makes_up_for_truncation(bool is_a, int k_steps) {
    return k_steps > (is_a ? 1 : 3);
  }
  static constexpr int a_k_tile = slices * rows * k_tile_depth + scale_elements,
                       b_k_tile = slices * columns * k_tile_depth + scale_elements;

  /// Returns the offset of (row, k) in the k-tile of a fragment of A: [k / 16, slice, lane, k % 16 / 8, row / 8, k % 2]
  /// with lane = 4 (row % 8) + k % 8 / 2. So a lane loads each slice of a k-step with one 16-byte load, and without
  /// moves.
  static constexpr TRIFUSE_HOST_DEVICE int a_index(int row, int k, int slice) {
    const int lane = row % 8 * 4 + k % 8 / 2;
    return ((k / k_step * slices + slice) * 32 + lane) * 8 + k % k_step / 8 * 4 + row / 8 * 2 + k % 2;
  }
  /// Returns the offset of (k, column) in the k-tile of a fragment of B: [k / 16, lane, slice, k % 16 / 8, k % 2] with
  /// lane = 4 column + k % 8 / 2. So a lane loads both slices of a k-step with one 16-byte load.
  static constexpr TRIFUSE_HOST_DEVICE int b_index(int k, int column, int slice) {
    const int lane = column * 4 + k % 8 / 2;
    return (k / k_step * 32 + lane) * 8 + slice * 4 + k % k_step / 8 * 2 + k % 2;
  }
  /// The inverse maps, for offsets that are not in the scale.
  static constexpr TRIFUSE_HOST_DEVICE int a_slice(int element) { return element / 256 % slices; }
  static constexpr TRIFUSE_HOST_DEVICE int b_slice(int element) { return element / 4 % slices; }
  static constexpr TRIFUSE_HOST_DEVICE int a_row(int element) { return element % 256 / 32 + element / 2 % 2 * 8; }
  static constexpr TRIFUSE_HOST_DEVICE int a_contracted(int element) {
    return element / 512 * k_step + element / 4 % 2 * 8 + element / 8 % 4 * 2 + element % 2;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_column(int element) { return element % 256 / 32; }
  static constexpr TRIFUSE_HOST_DEVICE int b_contracted(int element) {
    return element / 256 * k_step + element / 2 % 2 * 8 + element / 8 % 4 * 2 + element % 2;
  }

  /// Returns the FP16 number nearest to x, ties to even; NaN if there is none.
  static constexpr TRIFUSE_HOST_DEVICE double nearest(double x) {
    const double magnitude = x < 0.0 ? -x : x;
    if (!(magnitude < 65520.0)) return std::bit_cast<double>(std::uint64_t{0x7ff8} << 48);
    // A sum with 1.5 2^(52 + e) has no bits below 2^e. FP16 numbers have 11 bits, and no bits below 2^-24.
    const double shifter = 1.5 * power_of_two(52 + std::max(exponent_of(x) - 10, -24));
    return (x + shifter) - shifter;
  }
  /// Returns the bits of `x`, an FP16 number.
  static constexpr TRIFUSE_HOST_DEVICE Operand bits_of(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const unsigned sign = static_cast<unsigned>(bits >> 63) << 15;
    const int exponent = exponent_of(x);
    if (exponent > 15) return static_cast<Operand>(sign | 0x7e00u);
    if (exponent < -14)
      return static_cast<Operand>(sign | static_cast<unsigned>((x < 0.0 ? -x : x) * power_of_two(24)));
    return static_cast<Operand>(sign | static_cast<unsigned>(exponent + 15) << 10 |
                                (static_cast<unsigned>(bits >> 42) & 0x3ffu));
  }
  /// Returns slice `slice` of the scaled number `x`.
  static constexpr TRIFUSE_HOST_DEVICE Operand slice_of(double x, int slice) {
    const double high = nearest(x);
    return bits_of(slice == 0 ? high : nearest(x - high));
  }

  /// Returns the exponent of the power of two by which the numbers of a scale group are multiplied. `largest`: the
  /// largest magnitude among them. The inverse of the power is a normal float.
  static constexpr TRIFUSE_HOST_DEVICE int shift_for(double largest) {
    return std::clamp(14 - exponent_of(largest), -127, 126);
  }
  static constexpr TRIFUSE_HOST_DEVICE double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }
  /// Returns element `n` of the scale: a part of the float 2^-shift, or 2^-shift (1 + 2^-23) if `larger`, in the byte
  /// order of the device, then zeros.
  static constexpr TRIFUSE_HOST_DEVICE Operand scale_element(int shift, bool larger, int n) {
    return static_cast<Operand>(n == 0 ? (larger ? 1 : 0) : n == 1 ? (127 - shift) << 7 : 0);
  }

 private:
  /// Returns the exponent of the leading bit; -1023 for zeros and for numbers below 2^-1022.
  static constexpr TRIFUSE_HOST_DEVICE int exponent_of(double x) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023;
  }
};

}
