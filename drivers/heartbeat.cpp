#include "drivers/heartbeat.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <random>
#include <thread>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/calculation/environment_settings.hpp"

namespace trifuse::cli {

namespace {

/// A datagram.
struct Word {
  std::uint64_t token;         ///< token of the listener
  std::int32_t rank, waiting;  ///< the sender; 1 if the sender waits for all others, else 0
  std::int64_t steps;          ///< number of calls of `Heartbeat::step` on the sender
};

sockaddr_in address_of(std::uint32_t address, std::uint16_t port) {
  sockaddr_in socket_address{};
  socket_address.sin_family = AF_INET;
  socket_address.sin_addr.s_addr = address;
  socket_address.sin_port = htons(port);
  return socket_address;
}

/// Adds the IPv4 addresses of this host to `endpoint`: the loopback address, and the address in each network.
void find_addresses(PulseEndpoint& endpoint) {
  endpoint.addresses[endpoint.count++] = htonl(INADDR_LOOPBACK);
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return;
  for (const ifaddrs* each = all; each != nullptr && endpoint.count < endpoint.addresses.size();
       each = each->ifa_next) {
    const bool up = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (!up || each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in found{};
    std::copy_n(reinterpret_cast<const char*>(each->ifa_addr), sizeof found, reinterpret_cast<char*>(&found));
    endpoint.addresses[endpoint.count++] = found.sin_addr.s_addr;
  }
  ::freeifaddrs(all);
}

}

/// What a listening rank knows about the other ranks. Times are values of `wall_seconds`.
class Heartbeat::Watch {
 public:
  Watch(std::vector<std::string> hosts, int own, double silence)
      : hosts_(std::move(hosts)), own_(own), silence_(silence), ranks_(hosts_.size()) {}

  /// Records a datagram that arrived at the time `now`.
  void hear(const Word& word, double now) {
    if (word.rank < 0 || word.rank >= static_cast<int>(ranks_.size()) || word.rank == own_) return;
    Rank& rank = ranks_[static_cast<std::size_t>(word.rank)];
    if (rank.told_silent) {
      say(fmt::format("{} answers again, after {:.0f} s.", name(word.rank), now - rank.heard));
      rank.told_silent = false;
    }
    if (!rank.known || rank.steps != word.steps || word.waiting != 0) {
      rank.moved = now;
      rank.next_behind = silence_;
    }
    rank.known = true;
    rank.steps = word.steps;
    rank.heard = now;
    rank.next_silent = silence_;
  }

  /// Extends all times by `seconds`, because this process did not listen during that time.
  void forgive(double seconds) {
    for (Rank& rank : ranks_) {
      rank.heard += seconds;
      rank.moved += seconds;
    }
    waiting_since_ += seconds;
  }

  /// Warns about ranks that are silent, and about ranks that make no progress while this rank waits for them.
  /// `waiting`: true if this rank waits for all others.
  void look(bool waiting, double now) {
    if (!waiting) waiting_since_ = now;
    std::vector<int> silent, behind;
    double longest = 0.0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      if (!rank.known) continue;
      if (now - rank.heard >= rank.next_silent) {
        rank.told_silent = true;
        rank.next_silent = 2.0 * (now - rank.heard);
        silent.push_back(static_cast<int>(r));
        longest = std::max(longest, now - rank.heard);
      } else if (now - rank.heard < silence_) {
        const double seconds = now - std::max(rank.moved, waiting_since_);
        if (seconds < rank.next_behind) continue;
        rank.next_behind = 2.0 * seconds;
        behind.push_back(static_cast<int>(r));
      }
    }
    if (!silent.empty()) {
      say(fmt::format("{} not answered for {:.0f} s (stopped, or without a network); the job keeps waiting.",
                      has(silent), longest));
    }
    if (!behind.empty()) {
      say(
          fmt::format("The other ranks have waited for {0:.0f} s: {1} running, but not finished with a collective step "
                      "(a slow disk, or a long computation); the job keeps waiting.",
                      now - waiting_since_, is(behind)));
    }
  }

 private:
  struct Rank {
    bool known = false, told_silent = false;
    std::int64_t steps = 0;
    double heard = 0.0, moved = 0.0;              ///< time of the last datagram, and of the last progress
    double next_silent = 0.0, next_behind = 0.0;  ///< seconds of silence, or without progress, until the next warning
  };

  static void say(const std::string& sentence) { print_error("trifuse: warning: {}\n", sentence); }
  std::string name(int rank) const {
    return fmt::format("Rank {} on host {}", rank, hosts_[static_cast<std::size_t>(rank)]);
  }
  std::string names(const std::vector<int>& ranks) const {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t n = 0; n < std::min(most, ranks.size()); ++n) text += (n > 0 ? ", " : "") + name(ranks[n]);
    return ranks.size() > most ? fmt::format("{} and {} more", text, ranks.size() - most) : text;
  }
  std::string has(const std::vector<int>& ranks) const { return names(ranks) + (ranks.size() == 1 ? " has" : " have"); }
  std::string is(const std::vector<int>& ranks) const { return names(ranks) + (ranks.size() == 1 ? " is" : " are"); }

  std::vector<std::string> hosts_;
  int own_;
  double silence_, waiting_since_ = 0.0;
  std::vector<Rank> ranks_;
};

struct Heartbeat::Thread {
  std::thread thread;
};

double Heartbeat::silence_asked() {
  try {
    return silence_seconds();
  } catch (const UsageError&) {
    return 0.0;  // `trifuse run` refuses it when the ranks can tell each other
  }
}

Heartbeat::Heartbeat(int rank) : rank_(rank) {
  socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0 || rank > 1) return;
  sockaddr_in any = address_of(htonl(INADDR_ANY), 0);
  socklen_t size = sizeof any;
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&any), &size) != 0) return;
  std::random_device random;
  endpoint_.token = std::uint64_t{random()} << 32 | random();
  endpoint_.port = ntohs(any.sin_port);
  find_addresses(endpoint_);
}

Heartbeat::~Heartbeat() {
  if (thread_) {
    const char end = 0;
    static_cast<void>(!::write(wake_[1], &end, 1));
    thread_->thread.join();
  }
  for (const int descriptor : {socket_, wake_[0], wake_[1]}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

void Heartbeat::begin(const PulseEndpoint& listener, std::vector<std::string> hosts, double silence) {
  if (socket_ >= 0 && silence <= 0.0) {
    ::close(socket_);  // a job without a heartbeat has no port in the network
    socket_ = -1;
  }
  if (socket_ < 0 || ::pipe2(wake_.data(), O_CLOEXEC) != 0) return;
  if (endpoint_.count > 0) watch_ = std::make_unique<Watch>(std::move(hosts), rank_, silence);
  // This thread blocks all signals. Other threads of the program handle them.
  sigset_t all{}, before{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::make_unique<Thread>(Thread{std::thread([this, listener, silence] { run(listener, silence); })});
  } catch (const std::exception&) {
    // The job also works without a heartbeat.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Heartbeat::beat(const PulseEndpoint& listener) const {
  const Word word{listener.token, rank_, waiting_ ? 1 : 0, steps_};
  for (std::uint32_t n = 0; n < std::min<std::size_t>(listener.count, listener.addresses.size()); ++n) {
    const sockaddr_in socket_address = address_of(listener.addresses[n], listener.port);
    // It is not known which addresses can be reached, so the datagram goes to all of them.
    static_cast<void>(::sendto(socket_, &word, sizeof word, 0, reinterpret_cast<const sockaddr*>(&socket_address),
                               sizeof socket_address));
  }
}

void Heartbeat::run(const PulseEndpoint& listener, double silence) {
  // Datagrams can be lost, so a rank sends at least five within `silence`.
  const double between = std::min(30.0, silence / 5.0);
  double looked = wall_seconds(), next = looked;
  std::array<pollfd, 2> wanted = {{{wake_[0], POLLIN, 0}, {watch_ ? socket_ : -1, POLLIN, 0}}};
  while (true) {
    const double before = wall_seconds();
    if (before >= next) {
      beat(listener);
      next = before + between;
    }
    static_cast<void>(::poll(wanted.data(), wanted.size(), static_cast<int>(1e3 * (next - before)) + 1));
    if ((wanted[0].revents & POLLIN) != 0) return;
    if (!watch_) continue;
    const double now = wall_seconds();
    if (now - looked > 2.0 * between) watch_->forgive(now - looked);
    looked = now;
    Word word{};
    for (ssize_t got = 0; (got = ::recv(socket_, &word, sizeof word, 0)) >= 0;) {
      if (got == static_cast<ssize_t>(sizeof word) && word.token == endpoint_.token) watch_->hear(word, now);
    }
    watch_->look(waiting_, now);
  }
}

}
