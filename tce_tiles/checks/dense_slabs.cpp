#include "tce_tiles/checks/dense_slabs.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "cxx/base/buffer.hpp"
#include "cxx/base/strided_copy.hpp"

namespace trifuse {
namespace {

/// Computes out[y,x] = in[x,y], where `in` has the shape [rows,columns].
void transpose(const double* in, double* out, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t edge = 32;
  for (std::int64_t x0 = 0; x0 < rows; x0 += edge) {
    for (std::int64_t y0 = 0; y0 < columns; y0 += edge) {
      for (std::int64_t x = x0; x < std::min(x0 + edge, rows); ++x) {
        for (std::int64_t y = y0; y < std::min(y0 + edge, columns); ++y) out[y * rows + x] = in[x * columns + y];
      }
    }
  }
}

/// Returns true if neighbours along axis x are closer in memory than neighbours along axis y.
bool closer(const DenseArray& array, std::size_t x, std::size_t y) {
  const std::optional<StridedView> view = array.view();
  return view && std::abs(view->stride[x]) < std::abs(view->stride[y]);
}

/// Reads the elements whose index along `axis` is n.
void read_at(const DenseArray& array, std::size_t axis, std::int64_t n, std::span<double> out) {
  const auto shape = array.shape();
  std::array<std::int64_t, 4> offset{}, count{shape[0], shape[1], shape[2], shape[3]};
  offset[axis] = n;
  count[axis] = 1;
  array.read(offset, count, out);
}

}

DenseSlabs::DenseSlabs(const DenseArrays& amplitudes, const DenseArrays& integrals, const DenseHeader& header)
    : header_(header) {
  for (const ArraySpec& spec : amplitude_arrays(header.restricted)) {
    if (spec.kind == ArrayKind::t2) add(amplitudes, spec);
  }
  const std::vector<ArraySpec> present = present_integrals(integrals, header).value();
  for (const ArraySpec& spec : present) add(integrals, spec);
  for (const ArraySpec& spec : present_exchange(integrals, header)) add(integrals, spec);
}

void DenseSlabs::add(const DenseArrays& arrays, const ArraySpec& spec) {
  if (header_.size(spec) == 0) return;
  const int first = header_.restricted ? 0 : spin_index(spec.first);
  const int second = header_.restricted ? 0 : spin_index(spec.second);
  arrays_.emplace(std::tuple(spec.kind, first, second), Array{spec, open_array(arrays, header_, spec)});
}

const DenseSlabs::Array& DenseSlabs::find(ArrayKind kind, int first, int second) const {
  return arrays_.at({kind, first, second});
}

void DenseSlabs::describe(SinglesProblem& problem) const {
  for (const auto& [key, array] : arrays_) {
    const auto [kind, first, second] = key;
    if (first != second) continue;
    const auto s = static_cast<std::size_t>(first);
    const bool asym = array.spec.antisymmetrised;
    if (kind == ArrayKind::ovvv) problem.asym_ovvv[s] = asym;
    if (kind == ArrayKind::ovoo) problem.asym_ovoo[s] = asym;
    if (kind == ArrayKind::ovov) problem.asym_ovov[s] = asym;
    if (kind == ArrayKind::oovv) problem.asym_oovv[s] = asym, problem.has_oovv[s] = true;
  }
}

void DenseSlabs::read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
                         std::span<double> out) const {
  const std::int64_t zero = 0, one = 1;
  const DenseArray& array = *find(ArrayKind::t2, std::min(u, s), std::max(u, s)).array;
  if (u < s || (u == s && !closer(array, 0, 1))) {
    const auto shape = array.shape();
    return array.read(std::array{n, first, zero, zero}, std::array{one, count, shape[2], shape[3]}, out);
  }
  // The elements are t2[i,n,e,f]. In t2_ab n and f are beta; for equal spins this follows from the symmetry of the
  // pairs.
  const std::int64_t e_count = array.shape()[2], f_count = array.shape()[3], page = e_count * f_count;
  if (const auto view = array.view()) {
    const auto& stride = view->stride;
    const std::array extent = {count, f_count, e_count}, steps = {stride[0], stride[3], stride[2]};
    return copy_strided(view->data + first * stride[0] + n * stride[1], StridedBox(extent, steps), out.data());
  }
  Buffer read(out.size());
  array.read(std::array{first, n, zero, zero}, std::array{count, one, e_count, f_count}, read.span());
  for (std::int64_t i = 0; i < count; ++i) {
    transpose(read.data() + i * page, out.data() + i * page, e_count, f_count);
  }
}

void DenseSlabs::read_ovov(int u, int s, std::int64_t n, std::span<double> out) const {
  const DenseArray& array = *find(ArrayKind::ovov, std::min(u, s), std::max(u, s)).array;
  if (u < s || (u == s && !closer(array, 0, 2))) return read_at(array, 0, n, out);
  // The elements are ovov[m,e,n,f]. In ovov_aabb n and f are beta; for equal spins this follows from the symmetry of
  // the pairs.
  const std::int64_t m_count = array.shape()[0], e_count = array.shape()[1], f_count = array.shape()[3];
  if (const auto view = array.view()) {
    const auto& stride = view->stride;
    const std::array extent = {f_count, m_count, e_count}, steps = {stride[3], stride[0], stride[1]};
    return copy_strided(view->data + n * stride[2], StridedBox(extent, steps), out.data());
  }
  Buffer read;
  read.reserve(out.size());
  read_at(array, 2, n, read.span().first(out.size()));
  transpose(read.data(), out.data(), m_count * e_count, f_count);
}

void DenseSlabs::read_ovoo(int u, int s, std::int64_t n, std::span<double> out) const {
  read_at(*find(ArrayKind::ovoo, u, s).array, 0, n, out);
}

void DenseSlabs::read_oovv(int s, std::int64_t n, std::span<double> out) const {
  const auto& [spec, array] = find(ArrayKind::oovv, s, s);
  // Integrals that are not antisymmetrised have (ni|af) = (in|af).
  read_at(*array, !spec.antisymmetrised && closer(*array, 0, 1) ? 1 : 0, n, out);
}

void DenseSlabs::read_ovvv(int u, int s, std::array<std::int64_t, 2> holes, std::array<std::int64_t, 2> particles,
                           std::span<double> out) const {
  const DenseArray& array = *find(ArrayKind::ovvv, u, s).array;
  const auto shape = array.shape();
  const std::int64_t zero = 0;
  array.read(std::array{holes[0], particles[0], zero, zero}, std::array{holes[1], particles[1], shape[2], shape[3]},
             out);
}

}
