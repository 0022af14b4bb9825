#include "cxx/mpi/mpi_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

std::string describe(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return fmt::format("error {}", code);
  return {text.data(), static_cast<std::size_t>(length)};
}

}

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw SystemError(fmt::format("The ranks of this job lost contact: {} failed ({}).", call, describe(code)));
}

bool mpi_library_is(std::string_view name) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  return MPI_Get_library_version(version.data(), &length) == MPI_SUCCESS &&
         std::string_view(version.data()).starts_with(name);
}

bool wait_for(MPI_Request& request, double limit) {
  constexpr std::chrono::microseconds shortest(10), longest(1000);
  std::chrono::microseconds pause = shortest;
  const double start = wall_seconds();
  while (true) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return true;
    if (limit > 0.0 && wall_seconds() - start > limit) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
}

MpiCommunicator::MpiCommunicator(MPI_Comm ranks, CallerThread& caller, std::unique_ptr<ArrayLibrary> library)
    : caller_(caller), arrays_(std::move(library), caller) {
  check_mpi(MPI_Comm_dup(ranks, &ranks_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(ranks_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(ranks_, &size_), "MPI_Comm_size");
  constexpr int width = sizeof(std::int64_t);
  std::int64_t* counters_here = nullptr;
  const int made =
      MPI_Win_allocate(rank_ == 0 ? counters * width : 0, width, MPI_INFO_NULL, ranks_, &counters_here, &window_);
  if (made != MPI_SUCCESS) {
    throw SystemError(
        fmt::format("The MPI library has no one-sided communication between the ranks of this job (MPI_Win_allocate "
                    "failed: {}); if OMPI_MCA_osc is set, unset it; else use one host or another MPI library.",
                    describe(made)));
  }
  check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  check_mpi(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
  if (rank_ == 0) std::fill_n(counters_here, counters, 0);
  check_mpi(MPI_Win_sync(window_), "MPI_Win_sync");
  check_mpi(MPI_Barrier(ranks_), "MPI_Barrier");
}

std::int64_t MpiCommunicator::fetch_add(int counter, std::int64_t amount) {
  return caller_.call([&] {
    std::int64_t before = 0;
    check_mpi(MPI_Fetch_and_op(&amount, &before, MPI_INT64_T, 0, counter, MPI_SUM, window_), "MPI_Fetch_and_op");
    check_mpi(MPI_Win_flush(0, window_), "MPI_Win_flush");
    return before;
  });
}

void MpiCommunicator::allreduce_sum(std::span<double> values) {
  // Long arrays are sent in parts: MPI counts have the type int, and short parts also limit the buffers of the MPI
  // library.
  constexpr std::size_t most = std::size_t{1} << 24;
  for (; !values.empty(); values = values.subspan(std::min(most, values.size()))) {
    const auto piece = values.first(std::min(most, values.size()));
    caller_.call([&] {
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), MPI_DOUBLE, MPI_SUM, ranks_,
                               &request),
                "MPI_Iallreduce");
      wait_for(request, 0.0);
    });
  }
}

std::unique_ptr<SharedArray> MpiCommunicator::make_array(std::span<const SharedSegment> segments) {
  return arrays_.make(*this, ranks_, segments);
}

void MpiCommunicator::progress() const {
  int found = 0;
  // An error here occurs again in the next call that is checked.
  static_cast<void>(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ranks_, &found, MPI_STATUS_IGNORE));
}

void MpiCommunicator::free() {
  arrays_.end();
  check_mpi(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  check_mpi(MPI_Win_free(&window_), "MPI_Win_free");
  check_mpi(MPI_Comm_free(&ranks_), "MPI_Comm_free");
}

}
