#include "cxx/cuda/runtime/array_panel_provider.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cxx/base/copy_box.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/cuda/kernel/array_panel.hpp"
#include "cxx/cuda/runtime/staged_copy.hpp"
#include "tce_tiles/dense/dense_source.hpp"

namespace trifuse::gpu {

namespace {

/// An array of the source, and the member of PanelArrays that stands for it.
struct NamedArray {
  std::shared_ptr<const DenseArray> array;
  StridedView PanelArrays::*member;
};

/// Returns the arrays that the panels of a problem read; nullopt if the panels cannot be packed from them.
std::optional<std::vector<NamedArray>> arrays_of(const Problem& problem) {
  const DenseInput* const input = dense_input_of(*problem.right);
  if (!has_array_panels(problem) || input == nullptr || !input->header.restricted) return std::nullopt;
  if (input->factor_source != nullptr || !problem.right->has_integrals()) return std::nullopt;
  std::vector<std::pair<ArrayKind, StridedView PanelArrays::*>> needed = {
      {ArrayKind::t2, &PanelArrays::t2}, {ArrayKind::ovvv, &PanelArrays::ovvv}, {ArrayKind::ovoo, &PanelArrays::ovoo}};
  const auto sets = problem.method.sets();
  if (std::any_of(sets.begin(), sets.end(), [](const DisconnectedSet& set) { return set.vvoo == VvooTensor::v2; })) {
    needed.emplace_back(ArrayKind::ovov, &PanelArrays::ovov);
  }
  std::vector<NamedArray> found;
  for (const auto& [kind, member] : needed) {
    const ArraySpec spec = array_spec(kind, true, Spin::alpha, Spin::beta);
    if (input->header.size(spec) == 0) continue;
    found.push_back({open_array(*input->arrays, input->header, spec), member});
    if (found.back().array->access() != DenseArray::Access::boxes) return std::nullopt;
  }
  return found;
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
  for (const NamedArray& each : *arrays) {
    if (!view_on(*each.array, device)) bytes += each.array->size() * static_cast<std::int64_t>(sizeof(double));
  }
  return bytes;
}

ArrayPanelProvider::ArrayPanelProvider(const Problem& problem, const PanelLayout& layout, int device)
    : layout_(layout) {
  for (const DisconnectedSet& set : problem.method.sets()) vvoo_tensors_.push_back(set.vvoo);
  std::vector<UploadPart> parts;
  const std::vector<NamedArray> arrays = arrays_of(problem).value();
  for (const auto& [array, member] : arrays) {
    if (const auto view = view_on(*array, device)) {
      arrays_.*member = *view;
      continue;
    }
    const auto size = static_cast<std::size_t>(array->size());
    arrays_.*member = add_parts(array, copies_.emplace_back(size).data(), parts);
    bytes_sent_ += static_cast<std::int64_t>(size * sizeof(double));
  }
  // More threads would not be faster, because of the bus.
  constexpr int most_threads = 16;
  upload(parts, std::min(available_threads(), most_threads));
}

std::int64_t ArrayPanelProvider::produce(const PanelName& name, const Packing& packing, void* to, cudaStream_t stream) {
  const VvooTensor tensor = name.key.kind == PanelKind::vvoo ? vvoo_tensors_[name.key.set] : VvooTensor::v2;
  launch_packing_of_arrays(packing, name.format, rows_in_arrays(layout_.tiles(), name, tensor, arrays_), to, stream);
  return 0;
}

}
