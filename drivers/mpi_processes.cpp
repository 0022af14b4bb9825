#include "drivers/mpi_processes.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/mpi/mpi_communicator.hpp"
#include "cxx/parallel/caller_thread.hpp"
#include "drivers/commands.hpp"
#include "drivers/ga_arrays.hpp"
#include "drivers/heartbeat.hpp"
#include "drivers/open_mpi_settings.hpp"

namespace trifuse::cli {

namespace {

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
  check_mpi(MPI_Comm_size(ranks, &size), "MPI_Comm_size");
  // The addresses of ranks 0 and 1.
  std::array<PulseEndpoint, 2> endpoints = {pulse.endpoint(), pulse.endpoint()};
  for (const int listener : {0, 1}) {
    check_mpi(
        MPI_Bcast(&endpoints[static_cast<std::size_t>(listener)], sizeof(PulseEndpoint), MPI_BYTE, listener, ranks),
        "MPI_Bcast");
  }
  double silence = Heartbeat::silence_asked();
  check_mpi(MPI_Bcast(&silence, 1, MPI_DOUBLE, 0, ranks), "MPI_Bcast");
  constexpr std::size_t longest = 64;
  std::string mine = host_of_this_process();
  mine.resize(longest);
  std::string all(longest * static_cast<std::size_t>(size), '\0');
  check_mpi(MPI_Allgather(mine.data(), longest, MPI_CHAR, all.data(), longest, MPI_CHAR, ranks), "MPI_Allgather");
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += longest) hosts.emplace_back(all.substr(at, longest).c_str());
  pulse.begin(endpoints[rank == 0 ? 1 : 0], std::move(hosts), silence);
}

/// The ranks of the program, with a heartbeat.
class ProgramCommunicator final : public MpiCommunicator {
 public:
  ProgramCommunicator(CallerThread& caller, Heartbeat& pulse)
      : MpiCommunicator(MPI_COMM_WORLD, caller, arrays_of_program()), pulse_(pulse) {}

  std::int64_t fetch_add(int counter, std::int64_t amount) override {
    pulse_.step();
    return MpiCommunicator::fetch_add(counter, amount);
  }
  void allreduce_sum(std::span<double> values) override {
    const Waiting waiting(pulse_);
    MpiCommunicator::allreduce_sum(values);
  }

 private:
  Heartbeat& pulse_;
};

class Processes final : public MpiProcesses {
 public:
  Processes() {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &at_the_end_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(at_the_end_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(at_the_end_, &rank_), "MPI_Comm_rank");
    begin(pulse_.emplace(rank_), rank_, at_the_end_);
  }

  void serve(const std::function<void(Communicator&)>& body) override {
    ProgramCommunicator& communicator = communicator_.emplace(caller_, *pulse_);
    communicator.serve([&] { body(communicator); });
  }

  int end(int code, const std::function<void()>& tell) override {
    // Seconds that a rank with an error waits. Ranks that fail together arrive here at about the same time.
    constexpr double patience = 5.0;
    std::array<int, 2> codes = {rank_ == 0 ? code : 0, code};
    try {
      const Waiting waiting(*pulse_);
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, codes.data(), 2, MPI_INT, MPI_MAX, at_the_end_, &request),
                "MPI_Iallreduce");
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
      check_mpi(MPI_Comm_free(&at_the_end_), "MPI_Comm_free");
      check_mpi(MPI_Finalize(), "MPI_Finalize");
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
  std::optional<ProgramCommunicator> communicator_;
  int rank_ = 0;
  /// A communicator for the end. A rank that failed alone has left operations of the calculation's communicator
  /// unfinished.
  MPI_Comm at_the_end_ = MPI_COMM_NULL;
};

}

std::unique_ptr<MpiProcesses> begin_mpi(const Launcher& launcher) {
  int provided = MPI_THREAD_SINGLE, size = 1;
  {
    const OpenMpiSettings settings;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (provided < MPI_THREAD_FUNNELED || size != launcher.processes) {
    check_mpi(MPI_Finalize(), "MPI_Finalize");
    if (size != launcher.processes) {
      refuse(launcher, fmt::format("its MPI library, which has its own launcher, sees {}", size));
    }
    throw SystemError(
        "This MPI library allows no other threads beside the one that calls it; use another MPI library.");
  }
  return std::make_unique<Processes>();
}

}
