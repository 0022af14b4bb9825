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
#include "cxx/base/printable.hpp"
#include "cxx/calculation/calculation.hpp"
#include "fortran_iface/handle_table.hpp"
#include "fortran_iface/trifuse.h"
#include "tce_tiles/blocks.hpp"
#include "tce_tiles/memory_source.hpp"
#include "tce_tiles/tile_source.hpp"
#include "tce_tiles/watched_source.hpp"

/// What stands behind the handles of trifuse.h, and how errors leave the library.

namespace trifuse::c_interface {

inline void set(trifuse_status* status, trifuse_code code, const std::string& sentence) {
  if (status == nullptr) return;
  status->code = code;
  const std::string message = printable(sentence);
  std::size_t length = std::min<std::size_t>(message.size(), TRIFUSE_MESSAGE_LENGTH - 1);
  // Never a part of a UTF-8 character.
  while (length > 0 && length < message.size() && (static_cast<unsigned char>(message[length]) & 0xc0U) == 0x80U)
    --length;
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

/// What stands behind a handle of amplitudes.
struct Amplitudes {
  std::unique_ptr<TileSource> source;
  MemorySource* filled = nullptr;  ///< `source`, where the caller fills it block by block
  WatchedSource* read = nullptr;   ///< `source`, where the caller delivers blocks when they are asked for
  bool verified = false;
  std::optional<double> correlation_energy;
  std::array<std::optional<BlockIndex>, 4> blocks;  ///< of each tensor, listed when asked for
};

/// What stands behind a handle of a calculation. It keeps its amplitudes, also where their handles have been deleted.
struct CalculationSetup {
  std::shared_ptr<Amplitudes> right, left;
  CalculationOptions options;
  bool choose_executor = true;  ///< until the caller does
  CalculationResult result;
};

HandleTable<trifuse_amplitudes, Amplitudes>& amplitudes_table();
HandleTable<trifuse_calculation, CalculationSetup>& calculation_table();

/// What a handle stands for; BadHandle where that is nothing. What is returned stays even if another thread deletes the
/// handle meanwhile.
std::shared_ptr<Amplitudes> checked(trifuse_amplitudes handle);
std::shared_ptr<CalculationSetup> checked(trifuse_calculation handle);

/// Deletes what `*handle` stands for and sets it to null.
template <typename Handle, typename Object>
std::int32_t delete_handle(Handle* handle, HandleTable<Handle, Object>& table) {
  if (handle == nullptr || *handle == nullptr) return TRIFUSE_SUCCESS;
  const bool known = table.remove(*handle) != nullptr;
  *handle = nullptr;
  return known ? TRIFUSE_SUCCESS : TRIFUSE_BAD_HANDLE;
}

/// A path that a caller gave; UsageError where it is none.
std::string text(const char* path);

/// Checks amplitudes that the caller delivers, once, before they are used: see `verify_source`.
void verify(Amplitudes& amplitudes, const Amplitudes& integrals);

}  // namespace trifuse::c_interface
