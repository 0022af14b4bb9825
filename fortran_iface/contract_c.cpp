#include "fortran_iface/trifuse_contract.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/contraction/cpu_contraction.hpp"
#include "cxx/contraction/description.hpp"
#include "cxx/cuda/contraction/host_contraction.hpp"
#include "cxx/cuda/contraction/kept_contractions.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "fortran_iface/handles.hpp"

using namespace trifuse::c_interface;

namespace {

using trifuse::UsageError;
using trifuse::contraction::Contraction;
using trifuse::contraction::Layout;
using trifuse::contraction::Tensor;

constexpr std::int64_t most_gpus = 4096;

Layout layout_of(char tensor, const trifuse_layout& given) {
  constexpr auto most = static_cast<std::int64_t>(trifuse::contraction::max_indices);
  if (given.rank < 0 || given.rank > most) {
    throw UsageError(fmt::format("{} has {} axes; a tensor has 0 to {}.", tensor, given.rank, most));
  }
  if (given.rank == 0) return {};
  if (given.extents == nullptr) throw UsageError(fmt::format("The extents of {} are null.", tensor));
  Layout layout;
  layout.extents.assign(given.extents, given.extents + given.rank);
  if (given.strides != nullptr) layout.strides.assign(given.strides, given.strides + given.rank);
  return layout;
}

Layout operand_layout(char tensor, const trifuse_layout* given) {
  if (given == nullptr) throw UsageError(fmt::format("The layout of {} is null.", tensor));
  return layout_of(tensor, *given);
}

int threads_of(std::int64_t threads) {
  if (threads < 0 || threads > trifuse::max_threads) {
    throw UsageError(fmt::format("{} threads are not possible; give 1 to {}, or 0 for as many as the process may use.",
                                 threads, trifuse::max_threads));
  }
  return threads == 0 ? trifuse::available_threads() : trifuse::startable_threads(static_cast<int>(threads));
}

/// A contraction as a C program describes it.
struct Description {
  const char* expression;
  std::array<const double*, 3> elements;  ///< [Tensor]
  std::array<const trifuse_layout*, 3> layouts;

  Contraction checked() const {
    constexpr std::size_t longest = 1000;
    if (expression == nullptr) throw UsageError("A contraction is needed, such as \"ab,bc->ac\", but it is null.");
    const std::string_view text(expression, strnlen(expression, longest));
    const Layout of_a = operand_layout('A', layouts[0]), of_b = operand_layout('B', layouts[1]);
    const std::optional<Layout> of_c =
        layouts[2] == nullptr ? std::nullopt : std::optional(layout_of('C', *layouts[2]));
    const Contraction contraction = trifuse::contraction::describe(text, of_a, of_b, of_c);
    for (const Tensor t : {Tensor::A, Tensor::B, Tensor::C}) {
      if (elements[t] == nullptr && trifuse::contraction::elements(contraction, t) > 0.0) {
        throw UsageError(fmt::format("The pointer to the elements of {} is null.", "ABC"[t]));
      }
    }
    return contraction;
  }
};

/// Returns the numbers of supported GPUs. `count`: 0 for all.
std::vector<int> devices_of(std::int64_t count, const std::int32_t* gpus) {
  if (count < 0 || count > most_gpus || (count > 0 && gpus == nullptr)) {
    throw UsageError(fmt::format("{} numbers of GPUs{} are not possible; give 1 to {}, or 0 for all GPUs.", count,
                                 gpus == nullptr ? " at a null pointer" : "", most_gpus));
  }
  const std::vector<int> wanted(gpus, gpus + count);
  std::vector<int> numbers;
  for (const trifuse::DeviceInfo& device : trifuse::choose_devices(trifuse::visible_devices(), wanted)) {
    numbers.push_back(device.number);
  }
  return numbers;
}

}

void trifuse_contract(trifuse_status* status, const char* expression, double alpha, const double* a,
                      const trifuse_layout* layout_a, const double* b, const trifuse_layout* layout_b, double beta,
                      double* c, const trifuse_layout* layout_c, int64_t threads) {
  guarded(status, [&] {
    const Contraction contraction = Description{expression, {a, b, c}, {layout_a, layout_b, layout_c}}.checked();
    trifuse::contraction::CpuContraction(contraction, threads_of(threads)).run(alpha, a, b, beta, c);
  });
}

void trifuse_contract_on_gpus(trifuse_status* status, const char* expression, double alpha, const double* a,
                              const trifuse_layout* layout_a, const double* b, const trifuse_layout* layout_b,
                              double beta, double* c, const trifuse_layout* layout_c, int64_t gpu_count,
                              const int32_t* gpus, int64_t memory) {
  guarded(status, [&] {
    const Contraction contraction = Description{expression, {a, b, c}, {layout_a, layout_b, layout_c}}.checked();
    if (memory < 0) {
      throw UsageError(fmt::format(
          "The limit of memory is {} bytes; give a positive number, or 0 for seven eighths of the free memory.",
          memory));
    }
    trifuse::contraction::HostContraction(contraction, devices_of(gpu_count, gpus), memory,
                                          trifuse::available_threads())
        .run(alpha, a, b, beta, c);
  });
}

void trifuse_contract_in_gpu_memory(trifuse_status* status, const char* expression, double alpha, const double* a,
                                    const trifuse_layout* layout_a, const double* b, const trifuse_layout* layout_b,
                                    double beta, double* c, const trifuse_layout* layout_c, int32_t gpu, void* stream) {
  guarded(status, [&] {
    const Contraction contraction = Description{expression, {a, b, c}, {layout_a, layout_b, layout_c}}.checked();
    trifuse::contraction::start_contraction(contraction, gpu, alpha, a, b, beta, c, stream);
  });
}
