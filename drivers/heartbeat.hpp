#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trifuse::cli {

/// The address on which a rank listens for datagrams. Ranks send this struct to each other byte by byte.
struct PulseEndpoint {
  std::uint64_t token = 0;  ///< random number of the listener; the listener ignores datagrams with another token
  std::uint32_t count = 0;  ///< number of addresses; 0: the rank does not listen
  std::uint16_t port = 0, unused = 0;
  std::array<std::uint32_t, 8> addresses{};  ///< IPv4 addresses in network byte order
};

/// Warns about silent ranks of a job. It never ends the job. Each rank regularly sends a datagram to rank 0, and rank 0
/// sends one to rank 1. A thread of its own does this without the MPI library, because a call of the MPI library may be
/// what blocks the rank. If no datagram of a rank has ever arrived, e.g. on a network without datagrams, no warning
/// names the rank.
class Heartbeat {
 public:
  /// Returns the time after which a rank counts as silent, in seconds: TRIFUSE_SILENCE_SECONDS, by default 120. 0: no
  /// heartbeat, also if the variable has an impossible value.
  static double silence_asked();

  /// Opens the socket of rank number `rank`. Ranks 0 and 1 listen on it.
  explicit Heartbeat(int rank);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Returns the address on which this rank listens.
  const PulseEndpoint& endpoint() const { return endpoint_; }
  /// Starts the thread. `listener`: the address for the datagrams of this rank. It is the address of rank 0, or on rank
  /// 0 the address of rank 1. `hosts`: host names of all ranks, needed if this rank listens. `silence`: see
  /// `silence_asked`; if it is not positive, no thread starts.
  void begin(const PulseEndpoint& listener, std::vector<std::string> hosts, double silence);

  /// The state of this rank, which the datagrams contain. `step` counts the requests of this rank to other ranks.
  /// `waits(true)`: from now on this rank waits for all others.
  void step() { ++steps_; }
  void waits(bool now) { waiting_ = now; }

 private:
  class Watch;
  void beat(const PulseEndpoint& listener) const;
  void run(const PulseEndpoint& listener, double silence);

  struct Thread;
  int rank_;
  int socket_ = -1;
  std::array<int, 2> wake_ = {-1, -1};  ///< a pipe that ends the thread
  PulseEndpoint endpoint_;
  std::atomic<std::int64_t> steps_{0};
  std::atomic<bool> waiting_{false};
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Thread> thread_;
};

}
