#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/calculation/calculation.hpp"
#include "fortran_iface/handle_table.hpp"
#include "fortran_iface/trifuse.h"
#include "tce_tiles/blocks.hpp"
#include "tce_tiles/memory_source.hpp"
#include "tce_tiles/tile_source.hpp"
#include "tce_tiles/watched_source.hpp"
#include "tce_tiles/witnesses.hpp"

/// What stands behind the handles of trifuse.h, and how errors leave the library.

namespace trifuse::c_interface {

/// Copies a text for the user, with an end, as far as there is room: `size` characters.
inline void copy_text(const std::string& text, char* to, std::size_t size) {
  const std::string message = printable(text);
  std::size_t length = std::min(message.size(), size - 1);
  // Never a part of a UTF-8 character.
  while (length > 0 && length < message.size() && (static_cast<unsigned char>(message[length]) & 0xc0U) == 0x80U)
    --length;
  std::memcpy(to, message.data(), length);
  to[length] = '\0';
}

inline void set(trifuse_status* status, trifuse_code code, const std::string& sentence) {
  if (status == nullptr) return;
  status->code = code;
  copy_text(sentence, status->message, sizeof status->message);
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
  bool described = false;             ///< by the caller, who holds them; else they come from files
  MemorySource* filled = nullptr;     ///< `source`, where the caller fills it block by block
  WatchedSource* read = nullptr;      ///< `source`, where the caller delivers blocks when they are asked for
  std::optional<CheckReport> checks;  ///< of the last check; absent before one, and after a block was set
  std::array<std::optional<BlockIndex>, 4> blocks;  ///< of each tensor, listed when asked for
  std::optional<BlockIndex> exchange_blocks;        ///< the same of {h p|h p}
};

/// What stands behind a handle of a calculation. It keeps its amplitudes, also where their handles have been deleted.
struct CalculationSetup {
  std::shared_ptr<Amplitudes> right, left;
  CalculationOptions options;
  bool choose_executor = true;  ///< until the caller does
  CalculationResult result;
  std::vector<std::string> warnings;  ///< of the last run, its checks included
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

/// What a check of these amplitudes found. They are checked where they have not been yet, and those that the caller
/// delivers also after a witness has failed, because the caller may have corrected them.
const CheckReport& check(Amplitudes& amplitudes, const Amplitudes& integrals);
/// The same for whoever uses them: throws InputError for a failed witness unless `trust_input`, see
/// `enforce_witnesses`.
CheckReport verify(Amplitudes& amplitudes, const Amplitudes& integrals, bool trust_input);

}  // namespace trifuse::c_interface
