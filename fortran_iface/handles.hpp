#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "cxx/base/error.hpp"
#include "cxx/calculation.hpp"
#include "fortran_iface/trifuse.h"
#include "tce_tiles/blocks.hpp"
#include "tce_tiles/memory_source.hpp"
#include "tce_tiles/tile_source.hpp"
#include "tce_tiles/watched_source.hpp"

/// What stands behind the handles of trifuse.h, and how errors leave the library.

namespace trifuse::c_interface {

// Tags at the head of what handles point to; a deleted object loses its tag.
inline constexpr std::uint64_t amplitudes_tag = 0x5452494655534541u;
inline constexpr std::uint64_t calculation_tag = 0x5452494655534543u;

inline void set(trifuse_status* status, trifuse_code code, const std::string& message) {
  if (status == nullptr) return;
  status->code = code;
  const std::size_t length = std::min<std::size_t>(message.size(), TRIFUSE_MESSAGE_LENGTH - 1);
  std::memcpy(status->message, message.data(), length);
  status->message[length] = '\0';
}

class BadHandle : public trifuse::Error {
 public:
  using Error::Error;
};

inline trifuse_code code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::none:
      return TRIFUSE_SUCCESS;
    case ErrorKind::input:
      return TRIFUSE_BAD_INPUT;
    case ErrorKind::usage:
      return TRIFUSE_BAD_USAGE;
    case ErrorKind::system:
      return TRIFUSE_BAD_SYSTEM;
    case ErrorKind::interrupted:
    case ErrorKind::internal:
      break;
  }
  return TRIFUSE_FAILED;
}

/// Runs `body`, turning what it throws into a status; returns `failed` then.
template <typename Body, typename Result = std::invoke_result_t<Body>>
Result guarded(trifuse_status* status, Result failed, Body body) {
  set(status, TRIFUSE_SUCCESS, "");
  try {
    return body();
  } catch (const BadHandle& error) {
    set(status, TRIFUSE_BAD_HANDLE, error.what());
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    set(status, code_of(kind_of(failure)), sentence_of(failure));
  }
  return failed;
}

template <typename Body>
void guarded(trifuse_status* status, Body body) {
  guarded(status, 0, [&] {
    body();
    return 0;
  });
}

}  // namespace trifuse::c_interface

struct trifuse_amplitudes_handle {
  std::uint64_t tag = trifuse::c_interface::amplitudes_tag;
  std::unique_ptr<trifuse::TileSource> source;
  trifuse::MemorySource* filled = nullptr;  ///< `source`, where the caller fills it block by block
  trifuse::WatchedSource* read = nullptr;   ///< `source`, where the caller delivers blocks when they are asked for
  bool verified = false;
  std::optional<double> correlation_energy;
  std::array<std::optional<trifuse::BlockIndex>, 4> blocks;  ///< of each tensor, listed when asked for
};

struct trifuse_calculation_handle {
  std::uint64_t tag = trifuse::c_interface::calculation_tag;
  trifuse_amplitudes right = nullptr, left = nullptr;
  trifuse::CalculationOptions options;
  bool choose_executor = true;  ///< until the caller does
  trifuse::CalculationResult result;
};

namespace trifuse::c_interface {

inline trifuse_amplitudes_handle& checked(trifuse_amplitudes handle) {
  if (handle == nullptr || handle->tag != amplitudes_tag) {
    throw BadHandle(
        "This is not a handle of amplitudes; open them with trifuse_open_amplitudes or describe "
        "them with trifuse_new_amplitudes.");
  }
  return *handle;
}

inline trifuse_calculation_handle& checked(trifuse_calculation handle) {
  if (handle == nullptr || handle->tag != calculation_tag) {
    throw BadHandle("This is not a handle of a calculation; make one with trifuse_new_calculation.");
  }
  return *handle;
}

/// A handle that is null or of another type is left alone: there is nothing of ours to delete.
template <typename Handle>
void delete_handle(Handle* handle, std::uint64_t tag) {
  if (handle == nullptr || *handle == nullptr || (*handle)->tag != tag) return;
  (*handle)->tag = 0;
  delete *handle;
  *handle = nullptr;
}

inline std::string text(const char* path) {
  if (path == nullptr) throw trifuse::UsageError("A path is needed, but it is null.");
  return path;
}

/// Checks amplitudes that the caller delivers, once, before they are used: see `verify_source`.
void verify(trifuse_amplitudes_handle& amplitudes, const trifuse_amplitudes_handle& integrals);

}  // namespace trifuse::c_interface
