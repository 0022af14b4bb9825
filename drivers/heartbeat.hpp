#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trifuse::cli {

/// Where a rank listens, to be sent to the others as it is.
struct PulsePlace {
  std::uint64_t token = 0;  ///< of the job: words with another one are strangers'
  std::uint32_t count = 0;  ///< of addresses; 0: it does not listen
  std::uint16_t port = 0, unused = 0;
  std::array<std::uint32_t, 8> addresses{};  ///< IPv4, in the order of the network
};

/// Says which ranks of a job are silent, and ends nothing. Each rank tells rank 0 now and then that it is there, and
/// rank 0 tells rank 1, by datagrams and on a thread of its own: so this needs nothing of the MPI library, which may be
/// what waits. Ranks of which nothing was ever heard (a network without datagrams) are never named.
class Heartbeat {
 public:
  /// Seconds after which a rank is silent: TRIFUSE_SILENCE_SECONDS, or two minutes; 0: nobody asks.
  static double silence_asked();

  /// Ranks 0 and 1 listen.
  explicit Heartbeat(int rank);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  const PulsePlace& place() const { return place_; }
  /// Begins. `listener`: where rank 0, or on rank 0 rank 1, listens. `hosts`: of all ranks, where this one listens.
  void begin(const PulsePlace& listener, std::vector<std::string> hosts, double silence);

  /// What this rank is at, for those who wait for it: it has asked the others for something once more, and whether it
  /// waits for all of them.
  void step() { ++steps_; }
  void waits(bool now) { waiting_ = now; }

 private:
  class Watch;
  void beat(const PulsePlace& listener) const;
  void run(const PulsePlace& listener, double silence);

  struct Thread;
  int rank_;
  int socket_ = -1;
  std::array<int, 2> wake_ = {-1, -1};  ///< a pipe that ends the thread
  PulsePlace place_;
  std::atomic<std::int64_t> steps_{0};
  std::atomic<bool> waiting_{false};
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace trifuse::cli
