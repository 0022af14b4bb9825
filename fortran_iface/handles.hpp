#pragma once

#include <algorithm>
#include <array>
#include <atomic>
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
#include "cxx/calculation/option_table.hpp"
#include "cxx/job/job.hpp"
#include "fortran_iface/handle_table.hpp"
#include "fortran_iface/rank_server.hpp"
#include "fortran_iface/trifuse.h"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/checks/witnesses.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/memory_source.hpp"
#include "tce_tiles/tiles/tile_source.hpp"
#include "tce_tiles/tiles/watched_source.hpp"

/// The objects of the handles of trifuse.h, and the conversion of exceptions to a status.

namespace trifuse::c_interface {

/// Copies a text for the user to to[size]. Cuts it if it is too long, and adds a null character.
inline void copy_text(const std::string& text, char* to, std::size_t size) {
  const std::string message = printable(text);
  std::size_t length = std::min(message.size(), size - 1);
  // Do not cut inside a UTF-8 character.
  while (length > 0 && length < message.size() && (static_cast<unsigned char>(message[length]) & 0xc0U) == 0x80U)
    --length;
  std::memcpy(to, message.data(), length);
  to[length] = '\0';
}

/// Sets a status. `status` may be null.
inline void set(trifuse_status* status, trifuse_code code, const std::string& sentence) {
  if (status == nullptr) return;
  status->code = code;
  copy_text(sentence, status->message, sizeof status->message);
}

/// A handle is null, deleted or of another type.
class BadHandle : public trifuse::Error {
 public:
  using Error::Error;
};

/// Returns the code of a kind of error.
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
      return TRIFUSE_CANCELLED;
    case ErrorKind::internal:
      break;
  }
  return TRIFUSE_FAILED;
}

/// Runs `body` and returns its result. If it throws, sets the status and returns `failed`. `door`: whose names of
/// options the sentence has.
template <typename Body, typename Result = std::invoke_result_t<Body>>
Result guarded(trifuse_status* status, Result failed, Body body, Door door = Door::library) {
  set(status, TRIFUSE_SUCCESS, "");
  try {
    return body();
  } catch (const BadHandle& error) {
    set(status, TRIFUSE_BAD_HANDLE, error.what());
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    set(status, code_of(kind_of(failure)), in_words_of(door, sentence_of(failure)));
  }
  return failed;
}

/// Runs a `body` without a result. If it throws, sets the status.
template <typename Body>
void guarded(trifuse_status* status, Body body, Door door = Door::library) {
  const auto succeed = [&] {
    body();
    return 0;
  };
  guarded(status, 0, succeed, door);
}

/// The object of a handle of amplitudes.
struct Amplitudes {
  std::unique_ptr<TileSource> source;
  bool described = false;          ///< true: from the caller; false: from files
  bool in_memory = false;          ///< true: dense arrays in the memory of the caller
  MemorySource* filled = nullptr;  ///< `source` if the caller sets its blocks, else null
  WatchedSource* read = nullptr;   ///< `source` if the caller's reader delivers its blocks, else null
  KnownCheck check;                ///< without a result before the first check, and after a block was set
  /// No other amplitudes have it, and these get another one with each change.
  std::atomic<std::uint64_t> number = new_number();
  std::array<std::optional<BlockIndex>, 4> blocks;  ///< [tensor], listed when needed
  std::optional<BlockIndex> exchange_blocks;        ///< blocks {h p|h p}, listed when needed

  /// Forgets the check, and checks of other amplitudes that took the integrals of these: numbers may be others now.
  void forget_check() {
    check.set(std::nullopt, 0);
    number = new_number();
  }
  /// Prepares a check. Forgets a failed check of a caller's reader, because the caller may have corrected the numbers.
  /// Forgets the numbers that an unchecked reader has delivered.
  void forget_outdated_check();

 private:
  static std::uint64_t new_number();
};

/// Who uses a calculation: either trifuse_run, or any number of other calls at the same time.
class CalculationUse {
 public:
  /// Begins another call. Returns false during trifuse_run.
  bool begin_call() {
    int users = users_;
    while (users >= 0) {
      if (users_.compare_exchange_weak(users, users + 1)) return true;
    }
    return false;
  }
  void end_call() { --users_; }
  /// Begins trifuse_run. Returns false during any call.
  bool begin_run() {
    int none = 0;
    return users_.compare_exchange_strong(none, running);
  }
  void end_run() { users_ = 0; }
  bool is_running() const { return users_ == running; }

 private:
  static constexpr int running = -1;
  std::atomic<int> users_{0};
};

/// The object of a handle of a calculation. It keeps its amplitudes, also after their handles have been deleted.
struct CalculationSetup {
  std::shared_ptr<Amplitudes> right, left;
  CalculationOptions options = default_options();
  trifuse_progress progress = nullptr;  ///< may be null, with its context
  void* progress_context = nullptr;
  trifuse_log log = nullptr;  ///< may be null, with its context
  void* log_context = nullptr;
  /// The ranks that compute together; empty: one process.
  RankServer serve_ranks;
  CalculationResult result;           ///< result of the last run
  std::vector<std::string> warnings;  ///< warnings of the last run and of its checks
  std::optional<double> ccsd_energy;  ///< E(SCF) + E(CCSD correlation) of the last run, hartree
  std::string report;                 ///< JSON report of the last run; empty before it
  CalculationUse use;                 ///< who uses it now

  /// Forgets the last run, as if there had been none.
  void forget_results() {
    result = {};
    ccsd_energy.reset();
    report.clear();
  }
};

/// Marks that this thread calls a box reader of amplitudes, as long as it exists. Only one thread at a time may call
/// the readers of the same amplitudes, so functions that would need them have to refuse.
class BoxReaderMark {
 public:
  explicit BoxReaderMark(const Amplitudes* of) { active().push_back(of); }
  ~BoxReaderMark() { active().pop_back(); }
  BoxReaderMark(const BoxReaderMark&) = delete;
  BoxReaderMark& operator=(const BoxReaderMark&) = delete;

  /// Throws UsageError if a box reader of these amplitudes calls this function. `function`: for the sentence.
  static void refuse(const Amplitudes& amplitudes, const char* function);

 private:
  static std::vector<const Amplitudes*>& active();
};

/// Returns the ranks whose communicator this thread has passed to trifuse_set_communicator without a valid handle;
/// empty if there are none. They wait for this rank in trifuse_run.
RankServer& ranks_without_calculation();

HandleTable<trifuse_amplitudes, Amplitudes>& amplitudes_table();
HandleTable<trifuse_calculation, CalculationSetup>& calculation_table();

/// Returns the object of a handle. Throws BadHandle if there is none, and UsageError if it is a calculation that is
/// running. The object stays valid even if another thread deletes the handle. No run of a calculation begins as long as
/// the returned pointer exists.
std::shared_ptr<Amplitudes> checked(trifuse_amplitudes handle);
std::shared_ptr<CalculationSetup> checked(trifuse_calculation handle);
/// Returns the object of a handle, also of a calculation that is running. Throws BadHandle if there is none.
std::shared_ptr<CalculationSetup> object_of(trifuse_calculation handle);

/// Throws UsageError about the use of a calculation that is running.
[[noreturn]] void refuse_running();

/// Removes `*handle` from the table and sets it to null. Returns the code of trifuse_delete_amplitudes.
template <typename Handle, typename Object>
std::int32_t delete_handle(Handle* handle, HandleTable<Handle, Object>& table) {
  if (handle == nullptr || *handle == nullptr) return TRIFUSE_SUCCESS;
  const bool known = table.remove(*handle) != nullptr;
  *handle = nullptr;
  return known ? TRIFUSE_SUCCESS : TRIFUSE_BAD_HANDLE;
}

/// Converts the path of a caller. Throws UsageError if it is null, empty or too long.
std::string text(const char* path);

/// Returns the result of the check of these amplitudes. Checks them if they have not been checked with these integrals.
/// Checks amplitudes of a caller's reader again if a witness has failed, because the caller may have corrected them.
/// `integrals`: amplitudes with the integrals; may be the same object. `share`: see check_source().
CheckReport check(Amplitudes& amplitudes, const Amplitudes& integrals, const CheckShare& share = {});
/// Checks as check() does, before a use of the amplitudes. Throws InputError if a witness has failed, unless
/// `trust_input` is set, see enforce_witnesses().
CheckReport verify(Amplitudes& amplitudes, const Amplitudes& integrals, bool trust_input, const CheckShare& share = {});

}
