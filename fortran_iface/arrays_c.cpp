#include "fortran_iface/trifuse_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/device_copy.hpp"
#include "fortran_iface/caller_source.hpp"
#include "fortran_iface/handles.hpp"
#include "tce_tiles/sources/array_source.hpp"

using namespace trifuse::c_interface;

namespace {

using trifuse::CallerArray;
using trifuse::UsageError;

constexpr std::int64_t max_arrays = 1000, max_axes = 4;

/// Returns a text of the caller; `absent` if it is null or empty.
std::string text_or(const char* text, const char* absent) {
  constexpr std::size_t longest = 4096;
  return text == nullptr || *text == '\0' ? std::string(absent) : std::string(text, strnlen(text, longest));
}

/// Returns the facts about the arrays besides their numbers.
trifuse::SourceInfo info_of(const trifuse_arrays& arrays) {
  const auto optional = [](double energy) { return std::isnan(energy) ? std::nullopt : std::optional(energy); };
  trifuse_description description{};
  description.reference = arrays.reference;
  description.kind = arrays.kind;
  description.omega2 = arrays.omega2;
  description.fock_in_triples = arrays.fock_in_triples;
  description.has_fock = std::any_of(arrays.arrays, arrays.arrays + arrays.count, [](const trifuse_array& array) {
    return array.name != nullptr && text_or(array.name, "").starts_with("fock");
  });
  if (description.fock_in_triples == 1 && description.has_fock == 0) {
    throw UsageError("fock_in_triples needs the array 'fock', or the arrays 'fock_a' and 'fock_b'.");
  }
  description.correlation_energy = optional(arrays.correlation_energy).value_or(0.0);
  trifuse::SourceInfo info = source_info(description);
  info.correlation_energy = optional(arrays.correlation_energy);
  info.scf_energy = optional(arrays.scf_energy);
  if (info.scf_energy && !std::isfinite(*info.scf_energy)) {
    throw UsageError(fmt::format("The SCF energy must be a number or NaN; it is {}.", *info.scf_energy));
  }
  if (!std::isfinite(arrays.convergence) || arrays.convergence < 0.0) {
    throw UsageError(
        fmt::format("The convergence of amplitudes must be a number above 0, or 0 if it is not known; it is {}.",
                    arrays.convergence));
  }
  if (arrays.convergence > 0.0) info.convergence = arrays.convergence;
  info.path = text_or(arrays.source, "the calling program");
  info.format = "arrays of the calling program";
  for (const auto& [name, value] :
       {std::pair{"program", arrays.program}, {"molecule", arrays.molecule}, {"basis", arrays.basis}}) {
    if (value != nullptr) info.provenance.emplace_back(name, text_or(value, ""));
  }
  return info;
}

/// Returns a reader that calls the caller's reader. `of`: the amplitudes to which the array belongs.
CallerArray::Reader reader_of(const trifuse_array& array, const std::string& name, const Amplitudes* of) {
  return [read = array.reader, context = array.context, name, of](
             std::span<const std::int64_t> offset, std::span<const std::int64_t> count, std::span<double> box) {
    const std::int32_t code = [&] {
      const BoxReaderMark mark(of);
      return read(context, offset.data(), count.data(), box.data());
    }();
    if (code == 0) return;
    throw trifuse::InputError(
        fmt::format("The calling program could not deliver a part of array '{}': its reader returned {}.", name, code));
  };
}

/// Converts the description of one array of amplitudes.
CallerArray array_of(const trifuse_array& array, std::int64_t number, const Amplitudes* of) {
  if (array.name == nullptr) throw UsageError(fmt::format("Array number {}, counted from 0, has no name.", number));
  constexpr std::size_t longest = TRIFUSE_NAME_LENGTH;
  if (strnlen(array.name, longest) == longest) {
    throw UsageError(
        fmt::format("The name of array number {}, counted from 0, has {} characters or more; the names are "
                    "those of the dump format.",
                    number, longest));
  }
  CallerArray result;
  result.name = text_or(array.name, "");
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("Array '{}' {}.", result.name, what));
  };
  if (array.rank < 1 || array.rank > max_axes || array.shape == nullptr) {
    refuse(fmt::format("has {} axes{}; 1 to {} are possible", array.rank,
                       array.shape == nullptr ? " and the shape null" : "", max_axes));
  }
  result.shape.assign(array.shape, array.shape + array.rank);
  if (array.strides != nullptr) result.strides.assign(array.strides, array.strides + array.rank);
  constexpr std::array types = {CallerArray::Type::float64, CallerArray::Type::int32, CallerArray::Type::int64};
  if (array.type < 0 || array.type > TRIFUSE_INT64) refuse("must have one of the types of trifuse_type");
  result.type = types[static_cast<std::size_t>(array.type)];
  result.data = array.data;
  if (array.reader != nullptr) result.reader = reader_of(array, result.name, of);
  if (array.location < TRIFUSE_HOST) refuse("must have the location TRIFUSE_HOST or TRIFUSE_GPU(number)");
  if (array.location != TRIFUSE_HOST) {
    if (array.data == nullptr) refuse("has the location of a GPU, but no data");
    result.device = array.location - 1;
    result.copy = [device = result.device](const void* from, std::span<std::byte> to) {
      trifuse::copy_from_device(device, from, to);
    };
    trifuse::wait_for_device(result.device);
  }
  return result;
}

}

trifuse_amplitudes trifuse_new_dense_amplitudes(trifuse_status* status, const trifuse_arrays* arrays) {
  return guarded(status, trifuse_amplitudes{}, [&] {
    if (arrays == nullptr) throw UsageError("Arrays are needed, but they are null.");
    if (arrays->size != static_cast<std::int64_t>(sizeof(trifuse_arrays)) ||
        arrays->array_size != static_cast<std::int64_t>(sizeof(trifuse_array))) {
      throw UsageError(
          "The members size and array_size of the arrays must be sizeof(trifuse_arrays) and sizeof(trifuse_array); set "
          "them, or compile the program with the header of this library.");
    }
    if (arrays->count < 1 || arrays->count > max_arrays || arrays->arrays == nullptr) {
      throw UsageError(fmt::format("{} arrays were described{}; 1 to {} are possible.", arrays->count,
                                   arrays->arrays == nullptr ? ", which are null" : "", max_arrays));
    }
    auto handle = std::make_shared<Amplitudes>();
    handle->described = true;
    std::vector<CallerArray> list;
    for (std::int64_t n = 0; n < arrays->count; ++n) list.push_back(array_of(arrays->arrays[n], n, handle.get()));
    handle->in_memory =
        std::all_of(list.begin(), list.end(), [](const CallerArray& array) { return array.data != nullptr; });
    handle->source = trifuse::open_arrays(info_of(*arrays), std::move(list));
    return amplitudes_table().add(std::move(handle));
  });
}
