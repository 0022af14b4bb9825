#include "cxx/cuda/runtime/array_panel_provider.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "cxx/base/copy_box.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/cuda/kernel/array_panel.hpp"
#include "cxx/cuda/runtime/staged_copy.hpp"
#include "tce_tiles/dense/dense_source.hpp"

namespace trifuse::gpu {

namespace {

/// An array of a source, and what reads it.
struct NamedArray {
  std::shared_ptr<const DenseArray> array;
  StridedView PanelArrays::*member;
  int side = -1;  ///< number of the side; -1: the vvoo blocks of a set
  int set = -1;   ///< number of the set; -1: the panels of a side
};

/// Finds the arrays of a problem.
class ArrayFinder {
 public:
  explicit ArrayFinder(const Problem& problem) {
    for (int side = 0; side < problem.sides(); ++side) {
      const auto [amplitudes, integrals] = problem.operands(static_cast<Side>(side));
      add(*amplitudes, ArrayKind::t2, {nullptr, &PanelArrays::t2, side});
      add(*integrals, ArrayKind::ovvv, {nullptr, &PanelArrays::ovvv, side});
      add(*integrals, ArrayKind::ovoo, {nullptr, &PanelArrays::ovoo, side});
    }
    for (int set = 0; set < problem.disconnected_sets(); ++set) {
      const auto [tensors, operands] = problem.disconnected_set(set);
      if (tensors.vvoo == VvooTensor::v2) {
        add(*operands.integrals, ArrayKind::ovov, {nullptr, &PanelArrays::ovov, -1, set});
      } else {
        add(*operands.amplitudes, ArrayKind::t2, {nullptr, &PanelArrays::t2, -1, set});
      }
    }
  }

  /// Returns nullopt if a source has no such array.
  std::optional<std::vector<NamedArray>> found() && {
    return complete_ ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  void add(const TileSource& source, ArrayKind kind, NamedArray named) {
    const DenseInput* const input = dense_input_of(source);
    if (input == nullptr || !input->header.restricted || input->factor_source != nullptr) {
      complete_ = false;
      return;
    }
    const ArraySpec spec = array_spec(kind, true, Spin::alpha, Spin::beta);
    if (input->header.size(spec) == 0) return;
    if (!input->arrays->has(spec.name)) {
      complete_ = false;
      return;
    }
    named.array = open_array(*input->arrays, input->header, spec);
    complete_ = complete_ && named.array->access() == DenseArray::Access::boxes;
    found_.push_back(std::move(named));
  }

  std::vector<NamedArray> found_;
  bool complete_ = true;
};

/// Returns the arrays that the panels of a problem read; nullopt if the panels cannot be packed from them.
std::optional<std::vector<NamedArray>> arrays_of(const Problem& problem) {
  if (!has_array_panels(problem)) return std::nullopt;
  return ArrayFinder(problem).found();
}

/// Returns what is equal for two arrays that are the same one.
std::pair<const double*, std::string> identity(const DenseArray& array) {
  const auto view = array.view();
  return view ? std::pair(view->data, std::string())
              : std::pair<const double*, std::string>(nullptr, array.label().text());
}

/// Returns the elements of an array, if they are on this device; else nullopt.
std::optional<StridedView> view_on(const DenseArray& array, int device) {
  const auto view = array.device_view();
  return view && view->device == device ? std::optional(view->elements) : std::nullopt;
}

/// Appends the parts of the copy of an array to `parts`. `to`: device memory for all its elements. Returns a view of
/// the copy on the device. An array without gaps keeps the order of its memory, so that its parts are contiguous.
StridedView add_parts(const std::shared_ptr<const DenseArray>& array, double* to, std::vector<UploadPart>& parts) {
  const std::span<const std::int64_t> shape = array->shape();
  const auto view = array->view();
  const auto begin = view ? begin_without_gaps(shape, view->stride) : std::nullopt;
  if (begin) {
    const std::int64_t size = array->size();
    for (std::int64_t at = 0; at < size; at += usual_part) {
      const double* const from = view->data + *begin + at;
      parts.push_back({to + at, std::min(usual_part, size - at), [array, from](std::span<double> out) {
                         std::copy_n(from, out.size(), out.data());
                         check_finite(out, array->label());
                       }});
    }
    return {to - *begin, view->stride};
  }
  const std::array<std::int64_t, 4> extent = {shape[0], shape[1], shape[2], shape[3]};
  const std::array<std::int64_t, 4> stride = strides_of(extent);
  const std::int64_t step = std::max<std::int64_t>(1, usual_part / stride[1]);
  for (std::int64_t x = 0; x < extent[0]; ++x) {
    for (std::int64_t y = 0; y < extent[1]; y += step) {
      const std::array<std::int64_t, 4> offset = {x, y, 0, 0},
                                        count = {1, std::min(step, extent[1] - y), extent[2], extent[3]};
      parts.push_back(
          {to + x * stride[0] + y * stride[1], count[1] * stride[1], [array, offset, count](std::span<double> out) {
             array->read(offset, count, out);
             check_finite(out, array->label());
           }});
    }
  }
  return {to, stride};
}

}

std::optional<std::int64_t> ArrayPanelProvider::device_bytes(const Problem& problem, int device) {
  const auto arrays = arrays_of(problem);
  if (!arrays) return std::nullopt;
  std::int64_t bytes = 0;
  std::set<std::pair<const double*, std::string>> counted;
  for (const NamedArray& each : *arrays) {
    if (view_on(*each.array, device) || !counted.insert(identity(*each.array)).second) continue;
    bytes += each.array->size() * static_cast<std::int64_t>(sizeof(double));
  }
  return bytes;
}

ArrayPanelProvider::ArrayPanelProvider(const Problem& problem, const PanelLayout& layout, int device)
    : layout_(layout) {
  for (int set = 0; set < problem.disconnected_sets(); ++set)
    sets_.push_back({problem.disconnected_set(set).set.vvoo, {}});
  std::vector<UploadPart> parts;
  std::map<std::pair<const double*, std::string>, StridedView> sent;
  const std::vector<NamedArray> arrays = arrays_of(problem).value();
  for (const NamedArray& each : arrays) {
    PanelArrays& reader =
        each.set < 0 ? sides_[static_cast<std::size_t>(each.side)] : sets_[static_cast<std::size_t>(each.set)].arrays;
    StridedView& to = reader.*each.member;
    if (const auto view = view_on(*each.array, device)) {
      to = *view;
      continue;
    }
    const auto [known, is_new] = sent.try_emplace(identity(*each.array));
    if (is_new) {
      const auto size = static_cast<std::size_t>(each.array->size());
      known->second = add_parts(each.array, copies_.emplace_back(size).data(), parts);
      bytes_sent_ += static_cast<std::int64_t>(size * sizeof(double));
    }
    to = known->second;
  }
  // More threads would not be faster, because of the bus.
  constexpr int most_threads = 16;
  upload(parts, std::min(available_threads(), most_threads));
}

std::int64_t ArrayPanelProvider::produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) {
  const bool vvoo = name.key.kind == PanelKind::vvoo;
  const SetArrays of_panel =
      vvoo ? sets_[name.key.set] : SetArrays{VvooTensor::v2, sides_[static_cast<std::size_t>(name.key.side)]};
  launch_packing_of_arrays(packing, name.format,
                           rows_in_arrays(layout_.tiles(), name, of_panel.tensor, of_panel.arrays), to, stream);
  return 0;
}

}
