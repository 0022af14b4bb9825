#include "fortran_iface/handles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <utility>

namespace trifuse::c_interface {

std::uintptr_t new_handle_value() {
  // No address of a program begins with these bits, so no pointer equals a handle. The numbers are far apart, so a
  // handle plus a small number is not a handle.
  static_assert(sizeof(std::uintptr_t) == 8);
  constexpr std::uintptr_t first = 0x5472'6966'0000'0000, step = 0x1'0001;
  static std::atomic<std::uintptr_t> next{first};
  return next.fetch_add(step);
}

// Never destroyed, because a program may use handles in its exit functions.
HandleTable<trifuse_amplitudes, Amplitudes>& amplitudes_table() {
  static auto& table = *new HandleTable<trifuse_amplitudes, Amplitudes>;
  return table;
}
HandleTable<trifuse_calculation, CalculationSetup>& calculation_table() {
  static auto& table = *new HandleTable<trifuse_calculation, CalculationSetup>;
  return table;
}

RankServer& ranks_without_calculation() {
  thread_local RankServer ranks;
  return ranks;
}

std::vector<const Amplitudes*>& BoxReaderMark::active() {
  thread_local std::vector<const Amplitudes*> amplitudes;
  return amplitudes;
}

void BoxReaderMark::refuse(const Amplitudes& amplitudes, const char* function) {
  if (std::find(active().begin(), active().end(), &amplitudes) == active().end()) return;
  throw UsageError(fmt::format(
      "A box reader calls {} for the amplitudes to which its array belongs, which would wait for this reader "
      "for ever; call it elsewhere.",
      function));
}

void refuse_running() {
  throw UsageError(
      "This calculation is running; its progress function, its log function and other threads must not use it before "
      "trifuse_run returns.");
}

std::shared_ptr<Amplitudes> checked(trifuse_amplitudes handle) {
  if (auto found = amplitudes_table().find(handle)) return found;
  throw BadHandle(
      "This is not a handle of amplitudes, or they have been deleted; open them with trifuse_open_amplitudes or "
      "describe them with trifuse_new_amplitudes.");
}

std::shared_ptr<CalculationSetup> object_of(trifuse_calculation handle) {
  if (auto object = calculation_table().find(handle)) return object;
  throw BadHandle(
      "This is not a handle of a calculation, or it has been deleted; make one with trifuse_new_calculation.");
}

std::shared_ptr<CalculationSetup> checked(trifuse_calculation handle) {
  std::shared_ptr<CalculationSetup> object = object_of(handle);
  CalculationSetup* const setup = object.get();
  if (!setup->use.begin_call()) refuse_running();
  return {setup, [keeps = std::move(object)](CalculationSetup* used) { used->use.end_call(); }};
}

std::string text(const char* path) {
  if (path == nullptr) throw UsageError("A path is needed, but it is null.");
  const std::size_t length = strnlen(path, PATH_MAX);
  if (length == 0) throw UsageError("A path is needed, but it is empty.");
  if (length == PATH_MAX) {
    throw UsageError(fmt::format("This path has more than {} characters, the longest that is possible.", PATH_MAX - 1));
  }
  return {path, length};
}

}
