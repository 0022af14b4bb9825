#include "fortran_iface/trifuse_contract.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/contraction/cpu_contraction.hpp"
#include "cxx/contraction/description.hpp"
#include "fortran_iface/handles.hpp"

using namespace trifuse::c_interface;

namespace {

using trifuse::UsageError;
using trifuse::contraction::Contraction;
using trifuse::contraction::Layout;
using trifuse::contraction::Tensor;

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

}

void trifuse_contract(trifuse_status* status, const char* expression, double alpha, const double* a,
                      const trifuse_layout* layout_a, const double* b, const trifuse_layout* layout_b, double beta,
                      double* c, const trifuse_layout* layout_c, int64_t threads) {
  guarded(status, [&] {
    constexpr std::size_t longest = 1000;
    if (expression == nullptr) throw UsageError("A contraction is needed, such as \"ab,bc->ac\", but it is null.");
    const std::string_view text(expression, strnlen(expression, longest));
    const Layout of_a = operand_layout('A', layout_a), of_b = operand_layout('B', layout_b);
    const std::optional<Layout> of_c = layout_c == nullptr ? std::nullopt : std::optional(layout_of('C', *layout_c));
    const Contraction contraction = trifuse::contraction::describe(text, of_a, of_b, of_c);
    const std::array<const double*, 3> elements = {a, b, c};
    for (const Tensor t : {Tensor::A, Tensor::B, Tensor::C}) {
      if (elements[t] == nullptr && trifuse::contraction::elements(contraction, t) > 0.0) {
        throw UsageError(fmt::format("The pointer to the elements of {} is null.", "ABC"[t]));
      }
    }
    trifuse::contraction::CpuContraction(contraction, threads_of(threads)).run(alpha, a, b, beta, c);
  });
}
