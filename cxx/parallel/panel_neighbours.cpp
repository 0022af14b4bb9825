#include "cxx/parallel/panel_neighbours.hpp"

#include <algorithm>

#include "cxx/base/hosts.hpp"

namespace trifuse {

std::vector<int> homes_of_ranks(std::span<const std::string> hosts, const std::vector<bool>& takes_part, int rank) {
  const auto mine = static_cast<std::size_t>(rank);
  std::vector<int> keepers;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    if (takes_part[r] && hosts[r] == hosts[mine]) keepers.push_back(static_cast<int>(r));
  }
  if (!takes_part[mine] || keepers.size() < 2) return {};
  std::vector<int> homes(hosts.size(), -1);
  std::size_t next = 0;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    if (hosts[r] != hosts[mine]) continue;
    homes[r] = takes_part[r] ? static_cast<int>(r) : keepers[next++ % keepers.size()];
  }
  return homes;
}

void meet_neighbours(Communicator& communicator, PanelExchange* exchange,
                     const std::function<void(const std::function<void()>&)>& attempt) {
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  const double mine = exchange != nullptr ? 1.0 : 0.0;
  std::vector<bool> takes_part;
  for (const double each : allgather(communicator, std::span(&mine, 1))) takes_part.push_back(each != 0.0);
  const std::vector<int> homes = homes_of_ranks(hosts, takes_part, communicator.rank());
  std::string offer;
  bool sound = false;
  attempt([&] {
    if (homes.empty()) return;
    offer = exchange->offer(homes, communicator.rank());
    sound = true;
  });
  std::vector<std::string> offers = allgather(communicator, offer, PanelExchange::longest_offer);
  for (std::size_t r = 0; r < offers.size(); ++r) {
    if (hosts[r] != hosts[static_cast<std::size_t>(communicator.rank())]) offers[r].clear();
  }
  attempt([&] {
    if (sound) exchange->take(offers);
  });
}

std::int64_t leave_neighbours(Communicator& communicator, PanelExchange* exchange) {
  std::int64_t bytes = 0;
  if (exchange != nullptr) {
    bytes = exchange->bytes_taken();
    exchange->let_go();
  }
  run_collectively(&communicator, [] {});
  return bytes;
}

}  // namespace trifuse
