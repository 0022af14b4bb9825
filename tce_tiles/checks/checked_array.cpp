#include "tce_tiles/checks/checked_array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cxx/base/copy_box.hpp"
#include "cxx/base/error.hpp"
#include "tce_tiles/checks/consistency.hpp"

namespace trifuse {
namespace {

constexpr double tolerance = 1e-7;
/// Tolerance for t2 and ovov, from which the energy is computed. Converged amplitudes have their symmetry to rounding.
constexpr double strict_tolerance = 1e-9;
constexpr std::int64_t transpose_block = 32;

bool strict(ArrayKind kind) {
  return kind == ArrayKind::t2 || kind == ArrayKind::ovov;
}

/// Returns the index of the element that `symmetry` relates to element `p`.
BoxIndex image(const ArraySymmetry& symmetry, const BoxIndex& p) {
  BoxIndex q{};
  for (std::size_t k = 0; k < 4; ++k) q[k] = p[static_cast<std::size_t>(symmetry.axes[k])];
  return q;
}

/// Returns the axes that boxes cut. Along the other axes a box is as long as the array. With this choice a box consists
/// of long contiguous pieces, and all symmetries of the array map a box to itself or to the same other box.
std::array<bool, 4> divided_axes(const ArraySpec& spec) {
  const bool asym = spec.antisymmetrised;
  switch (spec.kind) {
    case ArrayKind::ovvv:
    case ArrayKind::kvvv:
      return {true, true, asym, false};
    case ArrayKind::ovoo:
      return {true, !asym, asym, false};
    case ArrayKind::ovov:
      return {true, false, true, false};
    default:
      return {true, true, false, false};
  }
}

std::vector<ArraySymmetry> array_symmetries(const ArraySpec& spec, bool restricted) {
  const bool same_spin = spec.first == spec.second;
  std::vector<ArraySymmetry> last_two;
  if (spec.dressing == Dressing::bare) last_two = {{{0, 1, 3, 2}, 1.0}};
  switch (spec.kind) {
    case ArrayKind::t1:
    case ArrayKind::vvvv_diag:
    case ArrayKind::vvvv_diag_semicanonical:
      return {};
    case ArrayKind::t2:
    case ArrayKind::ladder:
      if (restricted) return {{{1, 0, 3, 2}, 1.0}};
      if (same_spin) return {{{1, 0, 2, 3}, -1.0}, {{0, 1, 3, 2}, -1.0}};
      return {};
    case ArrayKind::ovvv:
    case ArrayKind::kvvv:
      if (spec.antisymmetrised) return {{{0, 2, 1, 3}, -1.0}};
      return last_two;
    case ArrayKind::ovoo:
      if (spec.antisymmetrised) return {{{2, 1, 0, 3}, -1.0}};
      return last_two;
    case ArrayKind::ovov:
      if (spec.antisymmetrised) return {{{2, 1, 0, 3}, -1.0}, {{0, 3, 2, 1}, -1.0}};
      if (restricted || same_spin) return {{{2, 3, 0, 1}, 1.0}};
      return {};
    case ArrayKind::oovv:
    case ArrayKind::oooo:
      if (spec.antisymmetrised) return {{{1, 0, 3, 2}, 1.0}};
      return {{{1, 0, 2, 3}, 1.0}, {{0, 1, 3, 2}, 1.0}};
  }
  return {};
}

/// Returns the distance of neighbours along each axis, in elements. An array that is not in memory is read in C order.
BoxIndex strides_in_memory(const DenseArray& array, const BoxIndex& extent) {
  const std::optional<StridedView> view = array.view();
  if (!view) return strides_of(extent);
  BoxIndex stride = view->stride;
  for (std::int64_t& each : stride) each = std::abs(each);
  return stride;
}

/// Returns the number of elements of a box along each axis. Without related boxes, the contiguous pieces in memory are
/// as long as possible. With related boxes, the box has the same length along all axes that a symmetry exchanges.
/// `stride`: distance of neighbours, positive.
BoxIndex steps(const std::array<bool, 4>& cut, const std::vector<ArraySymmetry>& symmetries, const BoxIndex& extent,
               const BoxIndex& stride, std::int64_t doubles) {
  BoxIndex step = extent;
  std::int64_t whole = 1;
  std::vector<std::size_t> cut_axes;  // the axes that are cut, in the order of their strides
  for (std::size_t k = 4; k-- > 0;) {
    if (cut[k]) step[k] = 1;
    if (cut[k]) cut_axes.push_back(k);
    whole *= step[k];
  }
  std::stable_sort(cut_axes.begin(), cut_axes.end(), [&](auto x, auto y) { return stride[x] < stride[y]; });
  const bool related = std::any_of(symmetries.begin(), symmetries.end(), [&](const ArraySymmetry& s) {
    for (std::size_t k = 0; k < 4; ++k) {
      if (cut[k] && static_cast<std::size_t>(s.axes[k]) != k) return true;
    }
    return false;
  });
  // If neighbours along a cut axis share a cache line, a box uses whole lines, even if it becomes a little larger.
  constexpr std::int64_t line = 8, larger = 4;
  const auto lines = [&](std::size_t k) {
    return stride[k] == 1 && line * whole <= larger * doubles ? std::min(line, extent[k]) : 1;
  };
  if (!related) {
    for (const std::size_t k : cut_axes) {
      step[k] = std::clamp<std::int64_t>(std::max(doubles / whole, lines(k)), 1, extent[k]);
      whole *= step[k];
      if (step[k] < extent[k]) break;
    }
    return step;
  }
  // The box grows only along the axes that a symmetry exchanges. Along other cut axes it has one index or a cache line.
  std::array<bool, 4> exchanged{};
  for (const ArraySymmetry& s : symmetries) {
    for (std::size_t k = 0; k < 4; ++k) exchanged[k] = exchanged[k] || static_cast<std::size_t>(s.axes[k]) != k;
  }
  for (const std::size_t k : cut_axes) {
    if (!exchanged[k]) step[k] = lines(k);
  }
  const auto with_edge = [&](std::int64_t edge) {
    for (std::size_t k = 0; k < 4; ++k) {
      if (cut[k] && exchanged[k]) step[k] = std::min(edge, extent[k]);
    }
    return step[0] * step[1] * step[2] * step[3];
  };
  const std::int64_t longest = *std::max_element(extent.begin(), extent.end());
  std::int64_t edge = 1;
  while (edge < longest && with_edge(edge + 1) <= doubles) ++edge;
  with_edge(edge);
  return step;
}

/// The largest allowed difference of two related numbers: the larger of `absolute` and `relative` times the first
/// number.
struct Tolerance {
  double absolute, relative;
};

/// Returns the largest value of |a[k] - sign * b[k]| minus its tolerance over `count` pairs. It is at most 0 if all
/// pairs are within their tolerance.
double excess(const double* a, const double* b, double sign, std::int64_t count, const Tolerance& tolerances) {
  double worst = -1.0;
#pragma omp simd reduction(max : worst)
  for (std::int64_t k = 0; k < count; ++k) {
    const double relative = tolerances.relative * std::abs(a[k]);
    const double allowed = tolerances.absolute < relative ? relative : tolerances.absolute;
    const double beyond = std::abs(a[k] - sign * b[k]) - allowed;
    worst = worst < beyond ? beyond : worst;
  }
  return worst;
}

}

std::string element_text(std::span<const std::int64_t> element) {
  return fmt::format("[{}]", fmt::join(element, ","));
}

void throw_forbidden(const ArrayLabel& array, std::span<const std::int64_t> element, double value) {
  throw InputError(fmt::format(
      "{0}: element {1} of {2} '{3}' is {4:.6g}, but by the irreps of its orbitals it must be zero; correct the irrep "
      "{2}s or leave them out.",
      array.path, element_text(element), array.words.array, array.name, value));
}

void check_size(double largest, double limit, const ArrayLabel& array) {
  if (largest <= limit) return;
  throw InputError(fmt::format(
      "{}: a value in {} '{}' is {:.3g}, beyond any reasonable size; the {} is damaged or holds something else.",
      array.path, array.words.array, array.name, largest, array.words.place));
}

/// Throws for two numbers that break the symmetry of an array: `value` of `element` and `other` of the related element.
[[noreturn]] void throw_asymmetric(const ArrayLabel& array, const ArraySpec& spec, const ArraySymmetry& symmetry,
                                   const BoxIndex& element, double value, double other) {
  const BoxIndex partner = image(symmetry, element);
  const std::string found =
      partner == element
          ? fmt::format("element {} is {:.10g}, but it must be zero", element_text(element), value)
          : fmt::format("element {} is {:.10g} and element {} is {:.10g}, but {} are needed", element_text(element),
                        value, element_text(partner), other, symmetry.sign > 0 ? "equal numbers" : "opposite numbers");
  // The other storage of the same integrals is a likely cause.
  std::string storage;
  if (spec.antisymmetrised) {
    storage = fmt::format(" (integrals that are not antisymmetrised have the name '{}')",
                          array_spec(spec.kind, false, spec.first, spec.second, false).name);
  } else if (const auto alternative = antisymmetrised_alternative(spec); alternative) {
    storage = fmt::format(" (antisymmetrised integrals have the name '{}')", alternative->name);
  }
  throw InputError(fmt::format("{} breaks its symmetry: {}{}; check the order of its indices and {} it again.",
                               array.text(), found, storage, array.words.write));
}

CheckedArray::CheckedArray(const DenseArrays& arrays, const DenseHeader& header, const ArraySpec& spec,
                           std::int64_t box_doubles)
    : spec_(spec), array_(open_array(arrays, header, spec)), symmetries_(array_symmetries(spec, header.restricted)) {
  if (header.symmetry) {
    for (const OrbitalClass c : spec.axes) irreps_.push_back(header.irreps[static_cast<std::size_t>(c)]);
  }
  std::copy_n(array_->shape().begin(), 4, extent_.begin());
  step_ = steps(divided_axes(spec), symmetries_, extent_, strides_in_memory(*array_, extent_), box_doubles);
}

const ArraySymmetry* CheckedArray::to_other_box(const BoxIndex& begin) const {
  const ArraySymmetry* found = nullptr;
  for (const ArraySymmetry& s : symmetries_) {
    if (image(s, begin) != begin) found = &s;
  }
  return found;
}

std::vector<BoxIndex> CheckedArray::begins() const {
  std::vector<BoxIndex> found;
  BoxIndex at{};
  for (at[0] = 0; at[0] < extent_[0]; at[0] += step_[0]) {
    for (at[1] = 0; at[1] < extent_[1]; at[1] += step_[1]) {
      for (at[2] = 0; at[2] < extent_[2]; at[2] += step_[2]) {
        const ArraySymmetry* other = to_other_box(at);
        if (other == nullptr || image(*other, at) > at) found.push_back(at);
      }
    }
  }
  return found;
}

BoxIndex CheckedArray::count(const BoxIndex& begin) const {
  BoxIndex count{};
  for (std::size_t k = 0; k < 4; ++k) count[k] = std::min(step_[k], extent_[k] - begin[k]);
  return count;
}

BoxPair CheckedArray::read(const BoxIndex& begin, const BoxIndex& count, Buffer& first, Buffer& second) const {
  BoxPair boxes{read_one(begin, count, first), {}};
  if (const ArraySymmetry* other = to_other_box(begin)) {
    boxes.second = read_one(image(*other, begin), image(*other, count), second);
  }
  // If the symmetries hold in the first box and between both boxes, they also hold in the second box.
  for (const ArraySymmetry& s : symmetries_) {
    compare(s, boxes.first, image(s, begin) != begin ? *boxes.second : boxes.first);
  }
  return boxes;
}

ArrayBox CheckedArray::read_one(const BoxIndex& begin, const BoxIndex& count, Buffer& buffer) const {
  ArrayBox box{begin, count, {count[1] * count[2] * count[3], count[2] * count[3], count[3], 1}, {}, 0.0};
  const auto size = static_cast<std::size_t>(box.stride[0] * count[0]);
  buffer.reserve(size);
  array_->read(begin, count, buffer.span().first(size));
  box.values = buffer.span().first(size);
  box.largest = largest_magnitude(box.values, array_->label());
  check_size(box.largest, spec_.kind == ArrayKind::t2 ? largest_amplitude : largest_integral, array_->label());
  if (!irreps_.empty()) check_irreps(box);
  return box;
}

void CheckedArray::check_irreps(const ArrayBox& box) const {
  const auto irrep = [&](std::size_t axis, std::int64_t k) {
    return irreps_[axis][static_cast<std::size_t>(box.offset[axis] + k)];
  };
  const double* value = box.values.data();
  for (std::int64_t w = 0; w < box.count[0]; ++w) {
    for (std::int64_t x = 0; x < box.count[1]; ++x) {
      for (std::int64_t y = 0; y < box.count[2]; ++y) {
        const int product = irrep(0, w) ^ irrep(1, x) ^ irrep(2, y);
        const int* last = irreps_[3].data() + box.offset[3];
        for (std::int64_t z = 0; z < box.count[3]; ++z, ++value) {
          if (last[z] == product || std::abs(*value) <= irrep_tolerance) continue;
          throw_forbidden(array_->label(),
                          std::array{box.offset[0] + w, box.offset[1] + x, box.offset[2] + y, box.offset[3] + z},
                          *value);
        }
      }
    }
  }
}

void CheckedArray::compare(const ArraySymmetry& symmetry, const ArrayBox& x, const ArrayBox& y) const {
  BoxIndex y_stride{};  // strides of y, by axis of x
  for (std::size_t k = 0; k < 4; ++k) y_stride[static_cast<std::size_t>(symmetry.axes[k])] = y.stride[k];
  const Tolerance allowed = strict(spec_.kind)
                                ? Tolerance{strict_tolerance * std::max({1.0, x.largest, y.largest}), 0.0}
                                : Tolerance{tolerance, tolerance};
  // One of the two boxes is read across its rows. The loops work in small squares of the two fastest axes, so that both
  // boxes stay in the cache.
  const auto fast = static_cast<std::size_t>(symmetry.axes[3]);
  const bool across = fast != 3;
  BoxIndex step = x.count;
  if (across) step[3] = step[fast] = transpose_block;
  // The elements of `y` for one contiguous piece of `x`, gathered if they are not contiguous.
  double gathered[transpose_block];
  BoxIndex from{}, p{};
  for (from[0] = 0; from[0] < x.count[0]; from[0] += step[0]) {
    for (from[1] = 0; from[1] < x.count[1]; from[1] += step[1]) {
      for (from[2] = 0; from[2] < x.count[2]; from[2] += step[2]) {
        for (from[3] = 0; from[3] < x.count[3]; from[3] += step[3]) {
          // Inside one box, the square on the other side of the diagonal holds the same pairs.
          if (x.values.data() == y.values.data() && from[fast] > from[3]) continue;
          BoxIndex to{};
          for (std::size_t k = 0; k < 4; ++k) to[k] = std::min(from[k] + step[k], x.count[k]);
          const std::int64_t run = to[3] - from[3];
          for (p[0] = from[0]; p[0] < to[0]; ++p[0]) {
            for (p[1] = from[1]; p[1] < to[1]; ++p[1]) {
              for (p[2] = from[2]; p[2] < to[2]; ++p[2]) {
                const double* a =
                    x.values.data() + p[0] * x.stride[0] + p[1] * x.stride[1] + p[2] * x.stride[2] + from[3];
                const double* b = y.values.data() + p[0] * y_stride[0] + p[1] * y_stride[1] + p[2] * y_stride[2] +
                                  from[3] * y_stride[3];
                if (across) {
                  for (std::int64_t k = 0; k < run; ++k) gathered[k] = b[k * y_stride[3]];
                  b = gathered;
                }
                if (excess(a, b, symmetry.sign, run, allowed) <= 0.0) continue;
                std::int64_t k = 0;
                while (excess(a + k, b + k, symmetry.sign, 1, allowed) <= 0.0) ++k;
                BoxIndex element = p;
                element[3] = from[3] + k;
                for (std::size_t d = 0; d < 4; ++d) element[d] += x.offset[d];
                throw_asymmetric(array_->label(), spec_, symmetry, element, a[k], b[k]);
              }
            }
          }
        }
      }
    }
  }
}

}
