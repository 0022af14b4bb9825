#include "tce_tiles/dump_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "tce_tiles/consistency.hpp"
#include "tce_tiles/dump_layout.hpp"

namespace trifuse {
namespace {

using Index = std::array<std::int64_t, 4>;

constexpr double tolerance = 1e-7;
constexpr std::int64_t transpose_block = 32;

/// `array[p] = sign * array[q]` where q holds the indices of p in another order: q[k] = p[axes[k]].
struct ArraySymmetry {
  std::array<int, 4> axes;
  double sign;
};

struct Box {
  Index offset;
  Index count;
  Index stride;
  std::span<const double> values;
};

bool agree(double x, double y) {
  return std::abs(x - y) <= tolerance * std::max(1.0, std::abs(x));
}

/// Index of the element that `symmetry` ties to `p`.
Index image(const ArraySymmetry& symmetry, const Index& p) {
  Index q{};
  for (std::size_t k = 0; k < 4; ++k) q[k] = p[static_cast<std::size_t>(symmetry.axes[k])];
  return q;
}

/// The axes that boxes cut; along the others a box is as long as the array. They are chosen so that a box is made of
/// long runs and that all symmetries of the array lead from a box to itself or to one and the same other box.
std::array<bool, 4> cut_axes(const ArraySpec& spec) {
  const bool asym = spec.antisymmetrised;
  switch (spec.kind) {
    case ArrayKind::ovvv:
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
  switch (spec.kind) {
    case ArrayKind::t1:
      return {};
    case ArrayKind::t2:
      if (restricted) return {{{1, 0, 3, 2}, 1.0}};
      if (same_spin) return {{{1, 0, 2, 3}, -1.0}, {{0, 1, 3, 2}, -1.0}};
      return {};
    case ArrayKind::ovvv:
      if (spec.antisymmetrised) return {{{0, 2, 1, 3}, -1.0}};
      return {{{0, 1, 3, 2}, 1.0}};
    case ArrayKind::ovoo:
      if (spec.antisymmetrised) return {{{2, 1, 0, 3}, -1.0}};
      return {{{0, 1, 3, 2}, 1.0}};
    case ArrayKind::ovov:
      if (spec.antisymmetrised) return {{{2, 1, 0, 3}, -1.0}, {{0, 3, 2, 1}, -1.0}};
      if (restricted || same_spin) return {{{2, 3, 0, 1}, 1.0}};
      return {};
  }
  return {};
}

class Checker {
 public:
  Checker(const std::string& path, const DumpCheck& check)
      : file_(Hdf5File::open(path)), header_(read_dump_header(file_)), check_(check) {}

  void run() {
    for (const ArraySpec& spec : amplitude_arrays(header_.restricted)) {
      if (header_.size(spec) == 0) continue;
      if (spec.kind == ArrayKind::t1) {
        check_t1(spec);
      } else {
        check_array(spec);
      }
    }
    if (!check_.integrals) return;
    for (const Spin spin : {Spin::alpha, Spin::beta}) {
      if (spin == Spin::alpha || !header_.restricted) check_fock(spin);
    }
    const auto integrals = present_integrals(file_, header_);
    if (!integrals) return;
    for (const ArraySpec& spec : *integrals) check_array(spec);
  }

 private:
  bool mine() { return unit_++ % check_.parts == check_.part; }
  const std::vector<int>& irreps(OrbitalClass c) const { return header_.irreps[static_cast<std::size_t>(c)]; }

  void check_array(const ArraySpec& spec);
  Box read(const ArraySpec& spec, const Hdf5Dataset& dataset, const Index& offset, const Index& count,
           Buffer& buffer) const;
  void check_size(const ArraySpec& spec, const Box& box) const;
  void check_irreps(const ArraySpec& spec, const Box& box) const;
  void compare(const std::string& name, const ArraySymmetry& symmetry, const Box& x, const Box& y) const;
  void check_t1(const ArraySpec& spec);
  void check_fock(Spin spin);
  [[noreturn]] void forbidden(const std::string& name, const std::string& element, double value) const;
  [[noreturn]] void broken(const std::string& name, const Index& p, double x, const Index& q, double y,
                           double sign) const;

  Hdf5File file_;
  DumpHeader header_;
  DumpCheck check_;
  std::int64_t unit_ = 0;
};

std::string element_text(const Index& p) {
  return fmt::format("[{},{},{},{}]", p[0], p[1], p[2], p[3]);
}

void Checker::forbidden(const std::string& name, const std::string& element, double value) const {
  throw InputError(
      fmt::format("{}: element {} of dataset '{}' is {:.6g}, but the irreps of its orbitals make it zero; correct "
                  "the irrep datasets or leave them out.",
                  file_.path(), element, name, value));
}

void Checker::broken(const std::string& name, const Index& p, double x, const Index& q, double y, double sign) const {
  throw InputError(fmt::format(
      "{}: dataset '{}' breaks its symmetry, element {} is {:.10g} and {} is {:.10g} where {} are "
      "needed; check the order of its indices and write it again.",
      file_.path(), name, element_text(p), x, element_text(q), y, sign > 0 ? "equal numbers" : "opposite numbers"));
}

void Checker::check_array(const ArraySpec& spec) {
  const Hdf5Dataset dataset = open_array(file_, header_, spec);
  const auto cut = cut_axes(spec);
  const auto symmetries = array_symmetries(spec, header_.restricted);
  Index extent{};
  std::copy_n(dataset.shape().begin(), 4, extent.begin());
  const auto box_size = [&](std::int64_t edge) {
    std::int64_t n = 1;
    for (std::size_t k = 0; k < 4; ++k) n *= cut[k] ? std::min(edge, extent[k]) : extent[k];
    return n;
  };
  const std::int64_t longest = *std::max_element(extent.begin(), extent.end());
  std::int64_t edge = 1;
  while (edge < longest && box_size(edge + 1) <= check_.box_doubles) ++edge;
  Index step{};
  for (std::size_t k = 0; k < 4; ++k) step[k] = cut[k] ? std::min(edge, extent[k]) : extent[k];

  Buffer first;
  Buffer second;
  Index at{};
  for (at[0] = 0; at[0] < extent[0]; at[0] += step[0]) {
    for (at[1] = 0; at[1] < extent[1]; at[1] += step[1]) {
      for (at[2] = 0; at[2] < extent[2]; at[2] += step[2]) {
        Index count{};
        for (std::size_t k = 0; k < 4; ++k) count[k] = std::min(step[k], extent[k] - at[k]);
        // The one other box, if any. It is checked together with the first of the two.
        const ArraySymmetry* partner = nullptr;
        for (const ArraySymmetry& s : symmetries) {
          if (image(s, at) != at) partner = &s;
        }
        if (partner && image(*partner, at) < at) continue;
        if (!mine()) continue;
        const Box x = read(spec, dataset, at, count, first);
        std::optional<Box> y;
        if (partner) y = read(spec, dataset, image(*partner, at), image(*partner, count), second);
        // What holds inside the first box holds inside its partner then, too.
        for (const ArraySymmetry& s : symmetries) compare(spec.name, s, x, image(s, at) != at ? *y : x);
      }
    }
  }
}

Box Checker::read(const ArraySpec& spec, const Hdf5Dataset& dataset, const Index& offset, const Index& count,
                  Buffer& buffer) const {
  Box box{offset, count, {count[1] * count[2] * count[3], count[2] * count[3], count[3], 1}, {}};
  const auto size = static_cast<std::size_t>(box.stride[0] * count[0]);
  buffer.reserve(size);
  dataset.read(offset, count, buffer.span().first(size));
  box.values = buffer.span().first(size);
  check_finite(box.values, file_.path(), spec.name);
  check_size(spec, box);
  if (header_.symmetry) check_irreps(spec, box);
  return box;
}

void Checker::check_size(const ArraySpec& spec, const Box& box) const {
  double largest = 0.0;
  for (const double value : box.values) largest = std::max(largest, std::abs(value));
  if (largest <= (spec.kind == ArrayKind::t2 ? largest_amplitude : largest_integral)) return;
  throw InputError(fmt::format(
      "{}: a value in dataset '{}' is {:.3g}, beyond any reasonable size; the file is damaged or holds something else.",
      file_.path(), spec.name, largest));
}

void Checker::check_irreps(const ArraySpec& spec, const Box& box) const {
  const auto irrep = [&](std::size_t axis, std::int64_t k) {
    return irreps(spec.axes[axis])[static_cast<std::size_t>(box.offset[axis] + k)];
  };
  const double* value = box.values.data();
  for (std::int64_t w = 0; w < box.count[0]; ++w) {
    for (std::int64_t x = 0; x < box.count[1]; ++x) {
      for (std::int64_t y = 0; y < box.count[2]; ++y) {
        const int product = irrep(0, w) ^ irrep(1, x) ^ irrep(2, y);
        const int* last = irreps(spec.axes[3]).data() + box.offset[3];
        for (std::int64_t z = 0; z < box.count[3]; ++z, ++value) {
          if (last[z] == product || std::abs(*value) <= tolerance) continue;
          forbidden(spec.name,
                    element_text({box.offset[0] + w, box.offset[1] + x, box.offset[2] + y, box.offset[3] + z}), *value);
        }
      }
    }
  }
}

/// Compares each element of `x` with the one that `symmetry` ties to it, which is in `y`.
void Checker::compare(const std::string& name, const ArraySymmetry& symmetry, const Box& x, const Box& y) const {
  Index y_stride{};  // in the order of the axes of x
  for (std::size_t k = 0; k < 4; ++k) y_stride[static_cast<std::size_t>(symmetry.axes[k])] = y.stride[k];
  // One of the two is read across its rows. Both stay in the cache when their fastest axes advance in small squares.
  const auto fast = static_cast<std::size_t>(symmetry.axes[3]);
  Index step = x.count;
  step[3] = transpose_block;
  step[fast] = transpose_block;
  Index from{};
  Index p{};
  for (from[0] = 0; from[0] < x.count[0]; from[0] += step[0]) {
    for (from[1] = 0; from[1] < x.count[1]; from[1] += step[1]) {
      for (from[2] = 0; from[2] < x.count[2]; from[2] += step[2]) {
        for (from[3] = 0; from[3] < x.count[3]; from[3] += step[3]) {
          // Inside one box, the square across the diagonal is tied to this one.
          if (x.values.data() == y.values.data() && from[fast] > from[3]) continue;
          Index to{};
          for (std::size_t k = 0; k < 4; ++k) to[k] = std::min(from[k] + step[k], x.count[k]);
          for (p[0] = from[0]; p[0] < to[0]; ++p[0]) {
            for (p[1] = from[1]; p[1] < to[1]; ++p[1]) {
              for (p[2] = from[2]; p[2] < to[2]; ++p[2]) {
                const double* a = x.values.data() + p[0] * x.stride[0] + p[1] * x.stride[1] + p[2] * x.stride[2];
                const double* b = y.values.data() + p[0] * y_stride[0] + p[1] * y_stride[1] + p[2] * y_stride[2];
                bool good = true;
                for (p[3] = from[3]; p[3] < to[3]; ++p[3])
                  good &= agree(a[p[3]], symmetry.sign * b[p[3] * y_stride[3]]);
                if (good) continue;
                for (p[3] = from[3]; agree(a[p[3]], symmetry.sign * b[p[3] * y_stride[3]]);) ++p[3];
                Index element{};
                for (std::size_t k = 0; k < 4; ++k) element[k] = x.offset[k] + p[k];
                broken(name, element, a[p[3]], image(symmetry, element), b[p[3] * y_stride[3]], symmetry.sign);
              }
            }
          }
        }
      }
    }
  }
}

void Checker::check_t1(const ArraySpec& spec) {
  if (!mine()) return;
  const Hdf5Dataset dataset = open_array(file_, header_, spec);
  std::vector<double> values(static_cast<std::size_t>(dataset.size()));
  dataset.read_all(values);
  check_finite(values, file_.path(), spec.name);
  auto value = values.begin();
  for (std::size_t i = 0; i < irreps(spec.axes[0]).size(); ++i) {
    for (std::size_t a = 0; a < irreps(spec.axes[1]).size(); ++a, ++value) {
      if (irreps(spec.axes[0])[i] != irreps(spec.axes[1])[a] && std::abs(*value) > tolerance) {
        forbidden(spec.name, fmt::format("[{},{}]", i, a), *value);
      }
    }
  }
}

void Checker::check_fock(Spin spin) {
  if (!mine()) return;
  const auto dataset = open_fock(file_, header_, spin);
  if (!dataset) return;
  std::vector<double> values(static_cast<std::size_t>(dataset->size()));
  dataset->read_all(values);
  check_finite(values, file_.path(), dataset->name());
  const bool alpha = spin == Spin::alpha;
  std::vector<int> irrep = irreps(alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta);
  const std::vector<int>& particles = irreps(alpha ? OrbitalClass::particle_alpha : OrbitalClass::particle_beta);
  irrep.insert(irrep.end(), particles.begin(), particles.end());
  const std::size_t n = irrep.size();
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t q = 0; q < n; ++q) {
      const double value = values[p * n + q];
      if (irrep[p] != irrep[q] && std::abs(value) > tolerance) {
        forbidden(dataset->name(), fmt::format("[{},{}]", p, q), value);
      }
      if (!agree(value, values[q * n + p])) {
        throw InputError(
            fmt::format("{}: dataset '{}' is not symmetric, element [{},{}] is {:.10g} and [{},{}] is {:.10g}; "
                        "write the Fock matrix again.",
                        file_.path(), dataset->name(), p, q, value, q, p, values[q * n + p]));
      }
    }
  }
}

}  // namespace

void check_dump(const std::string& path, const DumpCheck& check) {
  Checker(path, check).run();
}

}  // namespace trifuse
