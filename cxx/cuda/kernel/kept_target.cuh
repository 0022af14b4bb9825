#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/cta_tile_data.cuh"
#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/lane_elements.cuh"
#include "cxx/triples/terms.hpp"

namespace trifuse::gpu {

/// The energies of a lane's elements of a spin-orbital target that is still in registers, for warps that multiply
/// together. SpinOrbitalEnergies has the formulas; here D_left and D_right are the same. The warp tile has one c, so
/// Y[a, b] is a small matrix for each half, and its products with vectors t1[a], t1[b] and v[a] need fewer instructions
/// than the elements of S.
template <typename Config>
struct KeptTarget {
  using Elements = LaneElements<SpinFormulation::spin_orbital, Config>;
  static constexpr int vector = FloatVvoo<Config, 0>::vector, as = Config::warp_tile_a, bs = Config::warp_tile_b;
  static_assert(as == vector && bs % vector == 0 && Config::warp_tile_c == 1);

  const Elements& elements;
  Accumulators<Config>& target;  ///< first D; after divide() Y
  const char* vvoo;              ///< vvoo blocks in shared memory, see FloatVvoo

  /// Replaces D by Y = D / (Delta - shift) and returns the sum of D Y. `masked`: some elements do not contribute.
  template <bool masked>
  __device__ __forceinline__ float divide(double shift) const {
    float sum = 0.0f, of_b[bs];
#pragma unroll
    for (int b = 0; b < bs; ++b) of_b[b] = elements.eps_particle(1, b) + elements.eps_particle(2, 0);
    for_each_constant(std::make_integer_sequence<int, 2>{}, [&](auto half) {
      const float holes = elements.eps_holes(half.value) - static_cast<float>(shift);
#pragma unroll
      for (int a = 0; a < as; ++a) {
        const float of_a = holes - elements.eps_particle(0, a);
        const unsigned used = elements.template summed_slice<bs>(a, 0, half.value);
#pragma unroll
        for (int b = 0; b < bs; ++b) {
          // D of elements that do not contribute may be NaN or infinite.
          const bool is_used = !masked || (used >> b & 1) != 0;
          float& element = at(a, b, half.value);
          const float d = is_used ? element : 0.0f;
          element = d * reciprocal(is_used ? of_a - of_b[b] : 1.0f);
          sum += d * element;
        }
      }
    });
    return sum;
  }
  /// Returns the sum of S Y. Must be called after divide().
  __device__ __forceinline__ float singles() const {
    return singles_of<0>() + singles_of<1>() + singles_of<2>();
  }

 private:
  __device__ __forceinline__ float& at(int a, int b, int half) const {
    const int n = Elements::index(a, b, 0, half);
    return target.at[n / 4][n % 4];
  }

  /// Returns the part of singles() that comes from hole y of t1.
  template <int y>
  __device__ __forceinline__ float singles_of() const {
    return singles_of<y, 0>() + singles_of<y, 1>();
  }
  template <int y, int half>
  __device__ __forceinline__ float singles_of() const {
    const FloatVector<as> t_a = factors<as, 0, y, half>(), v_ac = vvoo_of<as, 1, y, half>(0);
    const FloatVector<bs> t_b = factors<bs, 1, y, half>();
    FloatVector<bs> over_a{};  // [b]: sum over a of t1[a] Y[a b]
    float with_t_b = 0.0f, with_v_ab = 0.0f;
#pragma unroll
    for (int a = 0; a < as; ++a) {
      const FloatVector<bs> v_ab = vvoo_of<bs, 2, y, half>(a);
      float over_b = 0.0f;
#pragma unroll
      for (int b = 0; b < bs; ++b) {
        const float quotient = at(a, b, half);
        over_a.at[b] += t_a.at[a] * quotient;
        over_b += t_b.at[b] * quotient;
        with_v_ab += v_ab.at[b] * quotient;
      }
      with_t_b += v_ac.at[a] * over_b;
    }
    const FloatVector<bs> v_bc = vvoo_of<bs, 0, y, half>(0);
    float with_t_a = 0.0f;
#pragma unroll
    for (int b = 0; b < bs; ++b) with_t_a += v_bc.at[b] * over_a.at[b];
    const float t_c = elements.ov_tensor(0, 2, 0, y, half);
    return alone_sign(0, y) * with_t_a + alone_sign(1, y) * with_t_b + alone_sign(2, y) * t_c * with_v_ab;
  }

  /// Returns t1 of the particles of the warp tile at position x, and of the lane's hole at position y.
  template <int size, int x, int y, int half>
  __device__ __forceinline__ FloatVector<size> factors() const {
    FloatVector<size> t;
    const auto& data = elements.data;
    const int hole = y * hole_group_size + elements.local_hole(y, half);
#pragma unroll
    for (int n = 0; n < size; n += vector) {
      t.load_four(n, &data.ov_tensors[0][data.ov_index(elements.in_cta[x] + n, hole)]);
    }
    return t;
  }
  /// Returns numbers of the vvoo block that stands beside particle x and hole y of t1. `slow`: number in the warp tile
  /// of the slow particle.
  template <int size, int x, int y, int half>
  __device__ __forceinline__ FloatVector<size> vvoo_of(int slow) const {
    using Block = FloatVvoo<Config, x>;
    return Block::template values<size>(Block::template of_lane<y>(elements, vvoo, half), slow, 0);
  }
};

}
