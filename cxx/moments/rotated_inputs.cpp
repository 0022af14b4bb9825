#include "cxx/moments/rotated_inputs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace trifuse::moments {

namespace {

/// Vectors of one spin: of holes, of particles, and of both.
struct VectorsOfSpin {
  std::vector<double> both;
  ArrayView o, v, all;

  VectorsOfSpin(const OrbitalVectors& vectors, Spin s, std::int64_t holes, std::int64_t particles)
      : both(static_cast<std::size_t>((holes + particles) * (holes + particles)), 0.0),
        o(vectors.holes[s].data(), {holes, holes}),
        v(vectors.particles[s].data(), {particles, particles}),
        all(both.data(), {holes + particles, holes + particles}) {
    const std::int64_t row = holes + particles;
    for (std::int64_t i = 0; i < holes; ++i) std::copy_n(o.first + i * holes, holes, both.data() + i * row);
    for (std::int64_t a = 0; a < particles; ++a)
      std::copy_n(v.first + a * particles, particles, both.data() + (holes + a) * row + holes);
  }
};

}

RotatedInputs::RotatedInputs(const MomentInputs& inputs, const OrbitalVectors& vectors, int threads)
    : terms_(contract_on_cores(threads), threads), rotated_(inputs) {
  rotated_.kvvv = {};
  const Spin last = inputs.closed_shell ? alpha : beta;
  const VectorsOfSpin of_alpha(vectors, alpha, inputs.holes[alpha], inputs.particles[alpha]),
      of_beta(vectors, last, inputs.holes[last], inputs.particles[last]);
  for (const Spin s : both_spins) {
    if (inputs.closed_shell && s == beta) break;
    const VectorsOfSpin& x = s == alpha ? of_alpha : of_beta;
    rotated_.fock[s] = rotated(inputs.fock[s], x.all, x.all);
    rotated_.t1[s] = rotated(inputs.t1[s], x.o, x.v);
    for (const Spin t : both_spins) {
      const VectorsOfSpin& y = t == alpha ? of_alpha : of_beta;
      rotated_.t2[s][t] = rotated(inputs.t2[s][t], {x.o, y.o, x.v, y.v});
      rotated_.oooo[s][t] = rotated(inputs.oooo[s][t], {x.o, x.o, y.o, y.o});
      rotated_.ovoo[s][t] = rotated(inputs.ovoo[s][t], {x.o, x.v, y.o, y.o});
      rotated_.oovv[s][t] = rotated(inputs.oovv[s][t], {x.o, x.o, y.v, y.v});
      rotated_.ovov[s][t] = rotated(inputs.ovov[s][t], {x.o, x.v, y.o, y.v});
      rotated_.ovvv[s][t] = rotated(inputs.ovvv[s][t], {x.o, x.v, y.v, y.v});
    }
  }
}

const double* RotatedInputs::rotated(const double* x, const ArrayView& u, const ArrayView& w) {
  if (x == nullptr) return nullptr;
  const std::int64_t rows = u.extents[0], columns = w.extents[0];
  Buffer half = Buffer::zeros(static_cast<std::size_t>(rows * columns));
  Buffer& whole = memory_.emplace_back(Buffer::zeros(half.size()));
  const Result turned{half.data(), {rows, columns}};
  terms_.add(turned, "xp,pq->xq", 1.0, u, ArrayView(x, {rows, columns}));
  terms_.add({whole.data(), {rows, columns}}, "xq,yq->xy", 1.0, turned.view(), w);
  return whole.data();
}

/// The first index is rotated last, in the memory of the result, so that the work memory is that of one of its values.
const double* RotatedInputs::rotated(const double* elements, const std::array<ArrayView, 4>& u) {
  if (elements == nullptr) return nullptr;
  const std::vector<std::int64_t> cube = {u[1].extents[0], u[2].extents[0], u[3].extents[0]};
  const std::int64_t size = cube[0] * cube[1] * cube[2], count = u[0].extents[0];
  Buffer& memory = memory_.emplace_back(Buffer::zeros(static_cast<std::size_t>(count * size)));
  Buffer first(static_cast<std::size_t>(std::max(size, count))), second(static_cast<std::size_t>(size));
  const Result one{first.data(), cube}, two{second.data(), cube};
  for (std::int64_t p = 0; p < count; ++p) {
    std::fill_n(one.first, size, 0.0);
    std::fill_n(two.first, size, 0.0);
    terms_.add(one, "qrs,zs->qrz", 1.0, ArrayView(elements + p * size, cube), u[3]);
    terms_.add(two, "qrz,yr->qyz", 1.0, one.view(), u[2]);
    terms_.add({memory.data() + p * size, cube}, "xq,qyz->xyz", 1.0, u[1], two.view());
  }
  const std::int64_t most = std::max<std::int64_t>(1, size / count);
  for (std::int64_t begin = 0; begin < size; begin += most) {
    const std::int64_t width = std::min(most, size - begin);
    ArrayView columns(memory.data() + begin, {count, width});
    columns.strides[0] = size;
    const Result turned{first.data(), {count, width}};
    std::fill_n(turned.first, count * width, 0.0);
    terms_.add(turned, "xp,pn->xn", 1.0, u[0], columns);
    for (std::int64_t p = 0; p < count; ++p)
      std::copy_n(turned.first + p * width, width, memory.data() + p * size + begin);
  }
  return memory.data();
}

}
