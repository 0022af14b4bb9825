#include "cxx/contraction/box_copy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

#include "cxx/base/share_among_threads.hpp"

namespace trifuse::contraction {

namespace {

constexpr std::size_t max_axes = 24;

/// The axes of a copy with the slowest axis of `to` first. Axes of one value are absent, axes that follow each other
/// without a gap are one axis.
class Axes {
 public:
  explicit Axes(std::span<const CopyAxis> axes) {
    for (const CopyAxis& axis : axes) {
      empty_ = empty_ || axis.extent == 0;
      if (axis.extent != 1) axes_[count_++] = axis;
    }
    std::sort(axes_.begin(), axes_.begin() + count_,
              [](const CopyAxis& x, const CopyAxis& y) { return std::abs(x.to) > std::abs(y.to); });
    std::ptrdiff_t kept = 0;
    for (std::ptrdiff_t n = 1; n < count_; ++n) {
      CopyAxis& slow = at(kept);
      const CopyAxis& fast = at(n);
      if (slow.from == fast.from * fast.extent && slow.to == fast.to * fast.extent) {
        slow = {slow.extent * fast.extent, fast.from, fast.to};
      } else {
        at(++kept) = fast;
      }
    }
    count_ = std::min(count_, kept + 1);
  }
  bool empty() const { return empty_; }

  /// Removes and returns the axis with the smallest step of `to`.
  CopyAxis take_fastest_written() { return count_ == 0 ? CopyAxis{1, 1, 1} : at(--count_); }
  /// Removes and returns the axis with the smallest step of `from`, if that step is smaller than `than`.
  CopyAxis take_fastest_read(std::int64_t than) {
    const auto end = axes_.begin() + count_;
    const auto found = std::min_element(
        axes_.begin(), end, [](const CopyAxis& x, const CopyAxis& y) { return std::abs(x.from) < std::abs(y.from); });
    if (found == end || std::abs(found->from) >= std::abs(than)) return {1, 1, 1};
    const CopyAxis axis = *found;
    std::copy(found + 1, end, found);
    --count_;
    return axis;
  }

  /// Calls `body(from, to)` with the offsets of each combination of the values of the axes that are left.
  template <typename Body>
  void for_each(const Body& body) const {
    std::array<std::int64_t, max_axes> value{};
    std::int64_t from = 0, to = 0;
    while (true) {
      body(from, to);
      std::ptrdiff_t n = count_ - 1;
      for (; n >= 0; --n) {
        const auto k = static_cast<std::size_t>(n);
        from += axes_[k].from;
        to += axes_[k].to;
        if (++value[k] < axes_[k].extent) break;
        from -= axes_[k].from * axes_[k].extent;
        to -= axes_[k].to * axes_[k].extent;
        value[k] = 0;
      }
      if (n < 0) return;
    }
  }

 private:
  CopyAxis& at(std::ptrdiff_t n) { return axes_[static_cast<std::size_t>(n)]; }
  std::array<CopyAxis, max_axes> axes_;
  std::ptrdiff_t count_ = 0;
  bool empty_ = false;
};

struct Assign {
  void operator()(double from, double& to) const { to = from; }
};
struct Add {
  double beta;
  void operator()(double from, double& to) const { to = beta * to + from; }
};

/// Treats the values of one axis. `read`, `written`: steps.
template <typename Operation>
void treat_row(std::int64_t extent, const double* from, std::int64_t read, double* to, std::int64_t written,
               Operation operation) {
  if (read == 1 && written == 1) {
    for (std::int64_t n = 0; n < extent; ++n) operation(from[n], to[n]);
  } else {
    for (std::int64_t n = 0; n < extent; ++n) operation(from[n * read], to[n * written]);
  }
}

/// Treats a matrix whose axis `x` is contiguous in `from` and whose axis `y` is contiguous in `to`.
template <typename Operation>
void treat_transposed(const CopyAxis& x, const CopyAxis& y, const double* from, double* to, Operation operation) {
  constexpr std::int64_t edge = 4;
  std::int64_t j = 0;
  for (; j + edge <= y.extent; j += edge) {
    std::int64_t i = 0;
    for (; i + edge <= x.extent; i += edge) {
      double numbers[edge][edge];  // in registers
      for (std::int64_t v = 0; v < edge; ++v)
        for (std::int64_t u = 0; u < edge; ++u) numbers[v][u] = from[(j + v) * y.from + i + u];
      for (std::int64_t u = 0; u < edge; ++u)
        for (std::int64_t v = 0; v < edge; ++v) operation(numbers[v][u], to[(i + u) * x.to + j + v]);
    }
    for (; i < x.extent; ++i)
      for (std::int64_t v = 0; v < edge; ++v) operation(from[(j + v) * y.from + i], to[i * x.to + j + v]);
  }
  for (; j < y.extent; ++j)
    for (std::int64_t i = 0; i < x.extent; ++i) operation(from[j * y.from + i], to[i * x.to + j]);
}

/// Treats a matrix in squares, so that all elements of a cache line are used on both sides.
template <typename Operation>
void treat_matrix(const CopyAxis& x, const CopyAxis& y, const double* from, double* to, Operation operation) {
  constexpr std::int64_t square = 32;
  for (std::int64_t i = 0; i < x.extent; i += square) {
    for (std::int64_t j = 0; j < y.extent; j += square) {
      const CopyAxis part_x{std::min(square, x.extent - i), x.from, x.to};
      const CopyAxis part_y{std::min(square, y.extent - j), y.from, y.to};
      const double* const source = from + i * x.from + j * y.from;
      double* const target = to + i * x.to + j * y.to;
      if (x.from == 1 && y.to == 1) {
        treat_transposed(part_x, part_y, source, target, operation);
      } else {
        for (std::int64_t n = 0; n < part_x.extent; ++n)
          treat_row(part_y.extent, source + n * x.from, y.from, target + n * x.to, y.to, operation);
      }
    }
  }
}

template <typename Operation>
void treat(std::span<const CopyAxis> all, const double* from, double* to, Operation operation) {
  Axes axes(all);
  if (axes.empty()) return;
  const CopyAxis y = axes.take_fastest_written();
  const CopyAxis x = axes.take_fastest_read(y.from);
  axes.for_each([&](std::int64_t read, std::int64_t written) {
    if (x.extent == 1) {
      treat_row(y.extent, from + read, y.from, to + written, y.to, operation);
    } else {
      treat_matrix(x, y, from + read, to + written, operation);
    }
  });
}

}

void copy_axes(std::span<const CopyAxis> axes, const double* from, double* to) {
  treat(axes, from, to, Assign{});
}

void add_axes(std::span<const CopyAxis> axes, const double* from, double beta, double* to) {
  if (beta == 0.0) {
    treat(axes, from, to, Assign{});
  } else {
    treat(axes, from, to, Add{beta});
  }
}

void scale_axes(std::span<const CopyAxis> axes, double beta, double* to) {
  if (beta == 1.0) return;
  const double zero = 0.0;
  std::array<CopyAxis, max_axes> from_zero{};
  for (std::size_t n = 0; n < axes.size(); ++n) from_zero[n] = {axes[n].extent, 0, axes[n].to};
  add_axes(std::span(from_zero).first(axes.size()), &zero, beta, to);
}

void share_copy(std::span<const CopyAxis> axes, const double* from, double* to, int threads) {
  share_add(axes, from, 0.0, to, threads);
}

void share_add(std::span<const CopyAxis> axes, const double* from, double beta, double* to, int threads) {
  constexpr std::int64_t worthwhile = 1 << 15, most_parts = 64, line = 8;
  std::int64_t size = 1;
  for (const CopyAxis& axis : axes) size *= axis.extent;
  const auto cut = std::max_element(axes.begin(), axes.end(),
                                    [](const CopyAxis& x, const CopyAxis& y) { return x.extent < y.extent; });
  if (threads == 1 || size < worthwhile) return add_axes(axes, from, beta, to);
  std::int64_t step = (cut->extent + most_parts - 1) / most_parts;
  if (cut->from == 1 || cut->to == 1) step = (step + line - 1) / line * line;
  const auto parts = static_cast<std::size_t>((cut->extent + step - 1) / step);
  share_in_turns(parts, threads, [&](std::size_t part) {
    std::array<CopyAxis, max_axes> of_part{};
    std::copy(axes.begin(), axes.end(), of_part.begin());
    const std::int64_t first = static_cast<std::int64_t>(part) * step;
    of_part[static_cast<std::size_t>(cut - axes.begin())].extent = std::min(step, cut->extent - first);
    add_axes(std::span(of_part).first(axes.size()), from + first * cut->from, beta, to + first * cut->to);
  });
}

}
