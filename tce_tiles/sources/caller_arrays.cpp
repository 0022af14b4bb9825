#include "tce_tiles/sources/caller_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "cxx/base/box_pieces.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/shape_text.hpp"
#include "cxx/base/strided_copy.hpp"
#include "tce_tiles/sources/row_sums.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

constexpr std::size_t max_rank = 4;
/// Limit for the elements of an array. Larger arrays do not fit into any memory.
constexpr std::int64_t max_elements = std::int64_t{1} << 48;

std::vector<std::int64_t> strides_in_c_order(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  return strides;
}

std::size_t bytes_of(CallerArray::Type type) {
  return type == CallerArray::Type::int32 ? 4 : 8;
}

/// Throws std::logic_error unless a box of this size lies inside the array.
void check_box(const DenseArray& array, std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
               std::span<const double> out) {
  if (BoxPieces::inside(array.shape(), offset, count) && elements_of(count) == std::ssize(out)) return;
  throw std::logic_error(fmt::format("The box from {} on, {} elements, is not inside array '{}' of shape {}.",
                                     shape_text(offset), shape_text(count), array.name(), array.text_of_shape()));
}

/// An array in memory, with any strides.
class ArrayInMemory final : public DenseArray {
 public:
  ArrayInMemory(ArrayLabel label, CallerArray array) : DenseArray(std::move(label)), array_(std::move(array)) {
    if (array_.strides.empty()) array_.strides = strides_in_c_order(array_.shape);
  }

  std::span<const std::int64_t> shape() const override { return array_.shape; }
  bool is_integer() const override { return array_.type != CallerArray::Type::float64; }
  Access access() const override { return Access::boxes; }
  std::optional<StridedView> view() const override {
    if (array_.shape.size() != max_rank || is_integer()) return std::nullopt;
    const auto& s = array_.strides;
    return StridedView{static_cast<const double*>(array_.data), {s[0], s[1], s[2], s[3]}};
  }

  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    check_box(*this, offset, count, out);
    if (out.empty()) return;
    std::int64_t first = 0;
    for (std::size_t k = 0; k < offset.size(); ++k) first += offset[k] * array_.strides[k];
    const auto copy = [&](const auto* data) {
      copy_strided(data + first, StridedBox(count, array_.strides), out.data());
    };
    switch (array_.type) {
      case CallerArray::Type::float64:
        return copy(static_cast<const double*>(array_.data));
      case CallerArray::Type::int32:
        return copy(static_cast<const std::int32_t*>(array_.data));
      case CallerArray::Type::int64:
        return copy(static_cast<const std::int64_t*>(array_.data));
    }
  }

 private:
  CallerArray array_;
};

/// An array in the memory of a GPU. It is copied to the host when it is first read there. A run on the same GPU needs
/// no copy.
class ArrayOfDevice final : public DenseArray {
 public:
  /// `array` must fill its memory without gaps.
  ArrayOfDevice(ArrayLabel label, CallerArray array) : DenseArray(std::move(label)), array_(std::move(array)) {
    if (array_.strides.empty()) array_.strides = strides_in_c_order(array_.shape);
  }

  std::span<const std::int64_t> shape() const override { return array_.shape; }
  bool is_integer() const override { return array_.type != CallerArray::Type::float64; }
  Access access() const override { return Access::boxes; }
  std::optional<StridedView> view() const override { return on_host().view(); }
  std::optional<DeviceView> device_view() const override {
    if (array_.shape.size() != max_rank || is_integer()) return std::nullopt;
    const auto& s = array_.strides;
    return DeviceView{array_.device, {static_cast<const double*>(array_.data), {s[0], s[1], s[2], s[3]}}};
  }
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    on_host().read(offset, count, out);
  }

 private:
  const ArrayInMemory& on_host() const {
    std::call_once(copied_, [&] {
      const std::size_t bytes = static_cast<std::size_t>(size()) * bytes_of(array_.type);
      memory_ = Buffer((bytes + sizeof(double) - 1) / sizeof(double));
      const std::span<std::byte> all = std::as_writable_bytes(memory_.span()).first(bytes);
      const std::ptrdiff_t before =
          begin_without_gaps(array_.shape, array_.strides).value() * static_cast<std::ptrdiff_t>(bytes_of(array_.type));
      if (bytes > 0) array_.copy(static_cast<const std::byte*>(array_.data) + before, all);
      CallerArray copy = array_;
      copy.data = all.data() - before;
      copy_.emplace(label(), std::move(copy));
    });
    return *copy_;
  }

  CallerArray array_;
  mutable std::once_flag copied_;
  mutable Buffer memory_;
  mutable std::optional<ArrayInMemory> copy_;  ///< absent before the first read
};

/// An array whose elements the caller's reader delivers. If a number has changed since it was first read, that is an
/// error.
class ArrayOfReader final : public DenseArray {
 public:
  /// `reading`: the mutex of all readers of the caller; it must outlive this object.
  ArrayOfReader(ArrayLabel label, CallerArray array, std::mutex& reading)
      : DenseArray(std::move(label)), array_(std::move(array)), reading_(reading), sums_(array_.shape) {}

  std::span<const std::int64_t> shape() const override { return array_.shape; }
  bool is_integer() const override { return false; }
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    check_box(*this, offset, count, out);
    if (out.empty()) return;
    const RowSums::Range wanted{offset.back(), count.back()}, whole = sums_.whole_pieces(wanted);
    if (whole.count == wanted.count) return read_pieces(offset, count, out);
    std::vector<std::int64_t> first(offset.begin(), offset.end()), size(count.begin(), count.end());
    first.back() = whole.first;
    size.back() = whole.count;
    Buffer box(static_cast<std::size_t>(elements_of(size)));
    read_pieces(first, size, box.span());
    const double* from = box.data() + (wanted.first - whole.first);
    for (double* to = out.data(); to < out.data() + out.size(); to += wanted.count, from += whole.count) {
      std::copy_n(from, wanted.count, to);
    }
  }

 private:
  /// Reads a box that consists of whole pieces along the last axis, and compares it with earlier readings.
  void read_pieces(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                   std::span<double> out) const {
    {
      const std::lock_guard lock(reading_);
      array_.reader(offset, count, out);
    }
    const auto changed = sums_.changed(offset, count, out);
    if (!changed) return;
    throw InputError(
        fmt::format("{}: the numbers from element {} on changed after they were first read; the reader must deliver "
                    "the same numbers until the run has ended.",
                    label().text(), shape_text(*changed)));
  }

  CallerArray array_;
  std::mutex& reading_;
  mutable RowSums sums_;
};

/// Returns the length v for which `pairs` = v(v+1)/2; nullopt if there is no such v.
std::optional<std::int64_t> unpacked_length(std::int64_t pairs) {
  const auto v = static_cast<std::int64_t>((std::sqrt(8.0 * static_cast<double>(pairs) + 1.0) - 1.0) / 2.0 + 0.5);
  return pair_count(v) == pairs ? std::optional(v) : std::nullopt;
}

/// An array [o,v,v,v] that is symmetric in its last two axes, made of the packed array [o,v,v(v+1)/2].
class UnpackedArray final : public DenseArray {
 public:
  /// `length`: the length of the last two axes.
  UnpackedArray(std::shared_ptr<const DenseArray> packed, std::int64_t length)
      : DenseArray(packed->label()),
        packed_(std::move(packed)),
        shape_{packed_->shape()[0], packed_->shape()[1], length, length} {}

  std::span<const std::int64_t> shape() const override { return shape_; }
  std::string text_of_shape() const override { return packed_->text_of_shape(); }
  bool is_integer() const override { return packed_->is_integer(); }
  Access access() const override { return packed_->access() == Access::boxes ? Access::boxes : Access::planes; }

  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    check_box(*this, offset, count, out);
    if (out.empty()) return;
    // The pairs b >= c of the box lie in one range of the memory.
    const std::int64_t lowest = pair_number(offset[2], offset[3]);
    const std::int64_t pairs = pair_number(offset[2] + count[2] - 1, offset[3] + count[3] - 1) - lowest + 1;
    Buffer row(static_cast<std::size_t>(pairs));
    double* to = out.data();
    for (std::int64_t i = offset[0]; i < offset[0] + count[0]; ++i) {
      for (std::int64_t a = offset[1]; a < offset[1] + count[1]; ++a, to += count[2] * count[3]) {
        packed_->read(std::array{i, a, lowest}, std::array{std::int64_t{1}, std::int64_t{1}, pairs}, row.span());
        unpack(row.data(), lowest, offset, count, to);
      }
    }
  }

 private:
  /// Unpacks the elements [b,c] of a box for one i and one a. `row`: the packed pairs, from pair number `lowest` on.
  static void unpack(const double* row, std::int64_t lowest, std::span<const std::int64_t> offset,
                     std::span<const std::int64_t> count, double* to) {
    const std::int64_t c_first = offset[3], c_count = count[3];
    for (std::int64_t b = offset[2]; b < offset[2] + count[2]; ++b, to += c_count) {
      const std::int64_t below = std::clamp<std::int64_t>(b + 1 - c_first, 0, c_count);
      if (below > 0) std::copy_n(row + (pair_number(b, c_first) - lowest), below, to);
      std::int64_t c = c_first + below;
      for (std::int64_t n = below, at = pair_number(c, b) - lowest; n < c_count; ++n, at += ++c) to[n] = row[at];
    }
  }

  std::shared_ptr<const DenseArray> packed_;
  std::array<std::int64_t, 4> shape_;
};

/// Throws UsageError if the description of an array is not possible. `path` names the caller in the message.
void check_caller_array(const CallerArray& array, const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("{}: array '{}' {}.", path, array.name, what));
  };
  const std::size_t rank = array.shape.size();
  if (rank < 1 || rank > max_rank) refuse(fmt::format("has {} axes, but 1 to {} are possible", rank, max_rank));
  std::int64_t elements = 1;
  for (const std::int64_t extent : array.shape) {
    if (extent < 0 || (extent > 0 && elements > max_elements / extent)) {
      refuse("has the shape " + shape_text(array.shape) + ", which is not possible");
    }
    elements *= extent;
  }
  if (!array.strides.empty() && array.strides.size() != rank) {
    refuse(fmt::format("has {} axes, but {} strides", rank, array.strides.size()));
  }
  std::int64_t farthest = 0;
  for (std::size_t k = 0; elements > 0 && k < array.strides.size(); ++k) {
    const std::int64_t steps = array.shape[k] - 1, stride = array.strides[k];
    if (steps == 0) continue;
    const bool possible = stride >= -max_elements / steps && stride <= max_elements / steps;
    farthest += possible ? steps * std::abs(stride) : 0;
    if (!possible || farthest > max_elements)
      refuse(fmt::format("has the strides ({}), which no memory can have", fmt::join(array.strides, ", ")));
  }
  if (array.data != nullptr && array.reader) refuse("has both data and a reader; pass only one of them");
  if (array.reader && (!array.strides.empty() || array.type != CallerArray::Type::float64)) {
    refuse("has a reader, so it must have 64-bit floats and no strides");
  }
  if (elements > 0 && array.data == nullptr && !array.reader) refuse("has neither data nor a reader");
  const std::size_t bytes = bytes_of(array.type);
  if (reinterpret_cast<std::uintptr_t>(array.data) % bytes != 0) {
    refuse(fmt::format("does not begin at a multiple of {} bytes; pass an aligned array", bytes));
  }
  const bool gaps = !array.strides.empty() && !begin_without_gaps(array.shape, array.strides);
  if (array.device >= 0 && gaps) {
    refuse("is on a GPU and has gaps in its memory; pass an array that fills its memory");
  }
}

}

CallerArrays::CallerArrays(std::string path, std::vector<CallerArray> arrays) : path_(std::move(path)) {
  for (CallerArray& each : arrays) {
    check_caller_array(each, path_);
    const std::string name = each.name;
    const bool packed = (name.starts_with("ovvv") || name.starts_with("kvvv")) && each.shape.size() == 3;
    std::shared_ptr<const DenseArray> array;
    if (each.reader) {
      array = std::make_shared<ArrayOfReader>(label(name), std::move(each), reading_);
    } else if (each.device >= 0) {
      array = std::make_shared<ArrayOfDevice>(label(name), std::move(each));
    } else {
      array = std::make_shared<ArrayInMemory>(label(name), std::move(each));
    }
    const auto length = packed ? unpacked_length(array->shape()[2]) : std::nullopt;
    if (length) array = std::make_shared<UnpackedArray>(std::move(array), *length);
    if (!arrays_.emplace(name, std::move(array)).second) {
      throw UsageError(fmt::format("{}: array '{}' is present twice; pass it once.", path_, name));
    }
  }
}

std::shared_ptr<const DenseArray> CallerArrays::array(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found != arrays_.end()) return found->second;
  throw InputError(label(name).text() + " is missing.");
}

}
