#include "cxx/cuda/contraction/gpu_contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/contraction/gpu_program.hpp"
#include "cxx/contraction/index_space.hpp"
#include "cxx/contraction/slices.hpp"
#include "cxx/contraction/tuned_plans.hpp"
#include "cxx/cuda/contraction/gpu_kernels.hpp"
#include "cxx/cuda/runtime/arrays_in_one.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse::contraction {

namespace {

using namespace gpu;
using trifuse::gpu::ArraysInOne;
using trifuse::gpu::CurrentDevice;
using trifuse::gpu::DeviceArray;
using trifuse::gpu::Event;
using trifuse::gpu::Stream;

/// Returns the properties of a GPU on which plans depend. Asks each GPU once.
const GpuModel& model_of(int device) {
  static std::mutex mutex;
  static std::map<int, GpuModel> models;
  const std::lock_guard lock(mutex);
  const auto known = models.find(device);
  if (known != models.end()) return known->second;
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    TRIFUSE_CUDA(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  GpuModel model;
  model.name = visible_devices()[static_cast<std::size_t>(device)].name;
  model.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  model.matrix_instructions =
      attribute(cudaDevAttrComputeCapabilityMajor) == 9 && attribute(cudaDevAttrComputeCapabilityMinor) == 0;
  return models.emplace(device, model).first->second;
}

bool pairs_possible(const double* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (2 * sizeof(double)) == 0;
}

Elements elements_of_c(const Contraction& contraction) {
  Elements elements{0, 1, {}, {}};
  for (auto index = contraction.indices.rbegin(); index != contraction.indices.rend(); ++index) {
    if (index->index_class == IndexClass::contracted) continue;
    elements.extent[elements.axes] = index->extent;
    elements.stride[elements.axes++] = index->stride[C];
    elements.size *= index->extent;
  }
  return elements;
}

/// A planned contraction whose tables are on the GPU.
class Planned {
 public:
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;
  explicit Planned(GpuProgram program) : program_(std::move(program)), plan_(program_.plan), kernel_(kernel_of(plan_)) {
    if (program_.packing) packed_.reserve(static_cast<std::size_t>(program_.packing->size));
    parameters_.batch = plan_.batch;
    parameters_.outer_k = plan_.outer_k;
    parameters_.order = plan_.order;
    parameters_.k = plan_.k;
    parameters_.inner_steps = plan_.inner_steps();
    parameters_.steps = plan_.steps();
    parameters_.waves = plan_.waves;
    const KernelShape& shape = plan_.kernel();
    const auto blocks = [](std::int32_t lines, std::int32_t of_block) {
      return static_cast<std::int32_t>(IndexSpace::divide_up(lines, of_block));
    };
    parameters_.column_blocks = Divisor(blocks(plan_.columns.line_count, shape.column_warps));
    parameters_.blocks = Divisor(parameters_.column_blocks.number() * blocks(plan_.rows.line_count, shape.row_warps));
    if (plan_.divides_tiles()) {
      partials_.reserve(2 * static_cast<std::size_t>(plan_.ctas) * static_cast<std::size_t>(shape.rows) *
                        static_cast<std::size_t>(shape.columns));
      parameters_.partials = partials_.data();
    }
    const Stream stream;
    add(plan_.rows, parameters_.rows);
    add(plan_.columns, parameters_.columns);
    tables_.send(stream);
    TRIFUSE_CUDA(cudaStreamSynchronize(stream));
    TRIFUSE_CUDA(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(plan_.shared_bytes())));
  }

  /// Allocates no memory: a contraction of several slices either begins or does not.
  void start(double alpha, const double* a, const double* b, double beta, double* c, cudaStream_t stream) {
    if (program_.packing) {
      const double*& operand = program_.packing->tensor == A ? a : b;
      launch_packing(*program_.packing, operand, packed_.data(), stream);
      operand = packed_.data();
    }
    Parameters p = parameters_;
    p.rows.data = plan_.rows.tensor == A ? a : b;
    p.columns.data = plan_.columns.tensor == A ? a : b;
    p.rows.pairs = plan_.rows.pairs && pairs_possible(p.rows.data);
    p.rows.whole_pairs = plan_.rows.whole_pairs;
    p.columns.pairs = plan_.columns.pairs && pairs_possible(p.columns.data);
    p.columns.whole_pairs = plan_.columns.whole_pairs;
    p.c = c;
    p.c_pairs = plan_.c_pairs && pairs_possible(c);
    p.alpha = alpha;
    p.beta = beta;
    const KernelShape& shape = plan_.kernel();
    constexpr unsigned ordinary_threads = 256;
    const auto math_warps = static_cast<unsigned>(shape.row_warps * shape.column_warps);
    const unsigned threads = shape.kind == KernelKind::pipelined ? 32 * (math_warps + filling_warps) : ordinary_threads;
    void* arguments[] = {&p};
    TRIFUSE_CUDA(cudaLaunchKernel(kernel_, dim3(static_cast<unsigned>(plan_.ctas)), dim3(threads), arguments,
                                  static_cast<std::size_t>(plan_.shared_bytes()), stream));
    if (plan_.divides_tiles()) launch_add_partials(plan_, p, stream);
  }

  std::string text() const { return text_of(program_); }

 private:
  void add(const GpuOperand& from, OperandParameters& to) {
    to.grid = from.grid;
    to.line_count = from.line_count;
    to.along_lines = from.arrangement == Arrangement::line_fastest;
    tables_.add(from.lines, to.lines);
    tables_.add(from.line_order, to.line_order);
    tables_.add(from.k, to.k);
    tables_.add(from.k_order, to.k_order);
  }

  GpuProgram program_;
  const GpuPlan& plan_;
  const void* kernel_;
  Parameters parameters_{};
  ArraysInOne tables_;
  DeviceArray<double> partials_, packed_;
};

/// Plans a contraction. If there is no memory for a packed operand, the plan has none, and it is not a tuned one.
std::unique_ptr<Planned> make_planned(const Contraction& form, const GpuModel& gpu) {
  try {
    return std::make_unique<Planned>(program_of_run(form, gpu));
  } catch (const DeviceMemoryError&) {
    return std::make_unique<Planned>(program_for_gpu(form, gpu, false));
  }
}

}

class GpuContraction::Implementation {
 public:
  Implementation(const Contraction& contraction, int device, const GpuProgram* program)
      : device_(device), form_(canonical_form(contraction)) {
    if (device < 0 || device >= visible_device_count()) {
      const std::string why = why_no_devices();
      throw UsageError(why.empty() ? fmt::format("There is no GPU {}.", device) : why);
    }
    const CurrentDevice current(device);
    ended_.emplace(cudaEventDisableTiming);
    if (form_.empty_result() || form_.empty_sum()) return;
    if (program != nullptr) {
      planned_.push_back(std::make_unique<Planned>(*program));
      parts_.push_back({planned_.front().get(), {}, false});
      return;
    }
    // Slices have a few different shapes.
    std::vector<Contraction> shapes;
    for (const Slice& slice : slice_to_reach(form_, most_reach)) {
      const Contraction form = canonical_form(slice.contraction);
      const auto known = std::find(shapes.begin(), shapes.end(), form);
      const auto number = static_cast<std::size_t>(known - shapes.begin());
      if (known == shapes.end()) {
        shapes.push_back(form);
        planned_.push_back(make_planned(form, model_of(device)));
      }
      parts_.push_back({planned_[number].get(), slice.offset, slice.accumulates});
    }
  }

  // Tables and partial sums return to a pool, which does not wait for work that still uses them.
  ~Implementation() {
    if (ended_) static_cast<void>(cudaEventSynchronize(*ended_));
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void start(double alpha, const double* a, const double* b, double beta, double* c, cudaStream_t stream) {
    if (form_.empty_result()) return;
    const CurrentDevice current(device_);
    TRIFUSE_CUDA(cudaStreamWaitEvent(stream, *ended_));
    try {
      put(alpha, a, b, beta, c, stream);
    } catch (...) {
      static_cast<void>(cudaEventRecord(*ended_, stream));  // the first slices may have started
      throw;
    }
    TRIFUSE_CUDA(cudaEventRecord(*ended_, stream));
  }

  std::string text() const {
    if (parts_.empty()) return "c = beta c";
    const std::string first = parts_.front().planned->text();
    return parts_.size() == 1 ? first : fmt::format("{} slices, the first one: {}", parts_.size(), first);
  }

 private:
  void put(double alpha, const double* a, const double* b, double beta, double* c, cudaStream_t stream) {
    if (parts_.empty() || alpha == 0.0) {
      if (beta != 1.0) launch_scale(elements_of_c(form_), beta, c, stream);
      return;
    }
    for (const Part& part : parts_) {
      part.planned->start(alpha, a + part.offset[A], b + part.offset[B], part.accumulates ? 1.0 : beta,
                          c + part.offset[C], stream);
    }
  }

  /// A slice whose tensors have offsets of 32 bits.
  struct Part {
    Planned* planned;
    std::array<std::int64_t, 3> offset;  ///< [Tensor]
    bool accumulates;                    ///< see Slice
  };

  int device_;
  Contraction form_;
  std::vector<std::unique_ptr<Planned>> planned_;
  std::vector<Part> parts_;
  std::optional<Event> ended_;  ///< passes when the last run has ended
};

GpuContraction::GpuContraction(const Contraction& contraction, int device)
    : implementation_(std::make_unique<Implementation>(contraction, device, nullptr)) {}
GpuContraction::GpuContraction(const Contraction& contraction, const GpuProgram& program, int device)
    : implementation_(std::make_unique<Implementation>(contraction, device, &program)) {}
GpuContraction::~GpuContraction() = default;
GpuContraction::GpuContraction(GpuContraction&&) noexcept = default;
GpuContraction& GpuContraction::operator=(GpuContraction&&) noexcept = default;

void GpuContraction::start(double alpha, const double* a, const double* b, double beta, double* c, void* stream) {
  implementation_->start(alpha, a, b, beta, c, static_cast<cudaStream_t>(stream));
}

std::string GpuContraction::text() const {
  return implementation_->text();
}

GpuModel gpu_model(int device) {
  return model_of(device);
}

}
