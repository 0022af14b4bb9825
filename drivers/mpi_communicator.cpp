#include "drivers/mpi_communicator.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/parallel/caller_thread.hpp"
#include "drivers/commands.hpp"
#include "drivers/ga_arrays.hpp"
#include "drivers/heartbeat.hpp"
#include "drivers/open_mpi_settings.hpp"

namespace trifuse::cli {

namespace {

std::string describe(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw SystemError(fmt::format("The ranks of this job lost contact: {} failed ({}).", call, describe(code)));
}

/// Waits for a collective operation. It sleeps between tests, because ranks that still compute may need the core. At
/// each test the MPI library also serves requests of these ranks. Returns false if the operation takes longer than
/// `limit` seconds. `limit` 0: no limit.
bool wait_for(MPI_Request& request, double limit) {
  constexpr std::chrono::microseconds shortest(10), longest(1000);
  std::chrono::microseconds pause = shortest;
  const double start = wall_seconds();
  while (true) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return true;
    if (limit > 0.0 && wall_seconds() - start > limit) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
}

/// As long as an object of this class lives, the heartbeat says that this rank waits for all others.
class Waiting {
 public:
  explicit Waiting(Heartbeat& pulse) : pulse_(pulse) {
    pulse_.step();
    pulse_.waits(true);
  }
  ~Waiting() { pulse_.waits(false); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Heartbeat& pulse_;
};

/// Starts the heartbeat. Collective.
void begin(Heartbeat& pulse, int rank, MPI_Comm ranks) {
  int size = 1;
  check(MPI_Comm_size(ranks, &size), "MPI_Comm_size");
  // The addresses of ranks 0 and 1.
  std::array<PulseEndpoint, 2> endpoints = {pulse.endpoint(), pulse.endpoint()};
  for (const int listener : {0, 1}) {
    check(MPI_Bcast(&endpoints[static_cast<std::size_t>(listener)], sizeof(PulseEndpoint), MPI_BYTE, listener, ranks),
          "MPI_Bcast");
  }
  double silence = Heartbeat::silence_asked();
  check(MPI_Bcast(&silence, 1, MPI_DOUBLE, 0, ranks), "MPI_Bcast");
  constexpr std::size_t longest = 64;
  std::string mine = host_of_this_process();
  mine.resize(longest);
  std::string all(longest * static_cast<std::size_t>(size), '\0');
  check(MPI_Allgather(mine.data(), longest, MPI_CHAR, all.data(), longest, MPI_CHAR, ranks), "MPI_Allgather");
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += longest) hosts.emplace_back(all.substr(at, longest).c_str());
  pulse.begin(endpoints[rank == 0 ? 1 : 0], std::move(hosts), silence);
}

/// A communicator over MPI. The shared counters are in a window on rank 0.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(CallerThread& caller, Heartbeat& pulse)
      : caller_(caller), pulse_(pulse), arrays_(make_global_arrays(caller)) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(ranks_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(ranks_, &size_), "MPI_Comm_size");
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
    check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    check(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
    if (rank_ == 0) std::fill_n(counters_here, counters, 0);
    check(MPI_Win_sync(window_), "MPI_Win_sync");
    check(MPI_Barrier(ranks_), "MPI_Barrier");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::int64_t fetch_add(int counter, std::int64_t amount) override {
    pulse_.step();
    return caller_.call([&] {
      std::int64_t before = 0;
      check(MPI_Fetch_and_op(&amount, &before, MPI_INT64_T, 0, counter, MPI_SUM, window_), "MPI_Fetch_and_op");
      check(MPI_Win_flush(0, window_), "MPI_Win_flush");
      return before;
    });
  }

  void allreduce_sum(std::span<double> values) override {
    // MPI counts have the type int. Short parts also limit the buffers of the MPI library.
    constexpr std::size_t most = std::size_t{1} << 24;
    const Waiting waiting(pulse_);
    for (; !values.empty(); values = values.subspan(std::min(most, values.size()))) {
      const auto piece = values.first(std::min(most, values.size()));
      caller_.call([&] {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Iallreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), MPI_DOUBLE, MPI_SUM, ranks_,
                             &request),
              "MPI_Iallreduce");
        wait_for(request, 0.0);
      });
    }
  }

  bool has_arrays() const override { return arrays_ != nullptr; }
  std::unique_ptr<SharedArray> make_array(std::span<const SharedSegment> segments) override {
    return arrays_->make(*this, segments);
  }

  /// Lets the MPI library serve requests of other ranks to this rank.
  void progress() const {
    int found = 0;
    // An error here occurs again in the next call that is checked.
    static_cast<void>(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ranks_, &found, MPI_STATUS_IGNORE));
  }

  void free() {
    if (arrays_) arrays_->end();
    check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
    check(MPI_Win_free(&window_), "MPI_Win_free");
    check(MPI_Comm_free(&ranks_), "MPI_Comm_free");
  }

 private:
  CallerThread& caller_;
  Heartbeat& pulse_;
  std::unique_ptr<GlobalArrays> arrays_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  int rank_ = 0, size_ = 1;
};

class Processes final : public MpiProcesses {
 public:
  Processes() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &at_the_end_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(at_the_end_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(at_the_end_, &rank_), "MPI_Comm_rank");
    begin(pulse_.emplace(rank_), rank_, at_the_end_);
  }

  void serve(const std::function<void(Communicator&)>& body) override {
    MpiCommunicator& communicator = communicator_.emplace(caller_, *pulse_);
    // Rank 0 has the counters. With shared arrays every rank has data that other ranks read.
    const bool asked = rank_ == 0 || communicator.has_arrays();
    const std::function<void()> idle = asked ? [&communicator] { communicator.progress(); } : std::function<void()>();
    caller_.serve([&] { body(communicator); }, idle);
  }

  int end(int code, const std::function<void()>& tell) override {
    // Seconds that a rank with an error waits. Ranks that have failed together arrive here at about the same time.
    constexpr double patience = 5.0;
    std::array<int, 2> codes = {rank_ == 0 ? code : 0, code};
    try {
      const Waiting waiting(*pulse_);
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_Iallreduce(MPI_IN_PLACE, codes.data(), 2, MPI_INT, MPI_MAX, at_the_end_, &request), "MPI_Iallreduce");
      if (!wait_for(request, code != 0 ? patience : 0.0)) throw SystemError("This rank ends alone.");
    } catch (const SystemError&) {
      if (code != 0) tell();
      abort(code);
    }
    if (code != 0 && (rank_ == 0 || codes[0] == 0)) tell();
    const int agreed = codes[0] != 0 ? codes[0] : codes[1];
    pulse_.reset();  // from here on this rank waits for no other rank
    try {
      if (communicator_) communicator_->free();
      check(MPI_Comm_free(&at_the_end_), "MPI_Comm_free");
      check(MPI_Finalize(), "MPI_Finalize");
    } catch (const SystemError&) {
      abort(agreed);
    }
    return agreed;
  }

 private:
  /// Ends all ranks, also the ranks that wait for this rank.
  [[noreturn]] static void abort(int code) {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, code != 0 ? code : bad_system);
    std::_Exit(code != 0 ? code : bad_system);
  }

  CallerThread caller_;
  std::optional<Heartbeat> pulse_;
  std::optional<MpiCommunicator> communicator_;
  int rank_ = 0;
  /// Not the communicator of the calculation, because a rank that failed alone has left its operations there
  /// unfinished.
  MPI_Comm at_the_end_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<MpiProcesses> begin_mpi(const Launcher& launcher) {
  int provided = MPI_THREAD_SINGLE, size = 1;
  {
    const OpenMpiSettings settings;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  }
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (provided < MPI_THREAD_FUNNELED || size != launcher.processes) {
    check(MPI_Finalize(), "MPI_Finalize");
    if (size != launcher.processes) {
      refuse(launcher, fmt::format("its MPI library, which has its own launcher, sees {}", size));
    }
    throw SystemError(
        "This MPI library allows no other threads beside the one that calls it; use another MPI library.");
  }
  return std::make_unique<Processes>();
}

}  // namespace trifuse::cli
