#include "cxx/parallel/peer_exchange.hpp"

#include <algorithm>

#include "cxx/base/hosts.hpp"

namespace trifuse {

std::vector<int> panel_owners(std::span<const std::string> hosts, const std::vector<bool>& takes_part, int rank) {
  const auto mine = static_cast<std::size_t>(rank);
  std::vector<int> peers;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    if (takes_part[r] && hosts[r] == hosts[mine]) peers.push_back(static_cast<int>(r));
  }
  if (!takes_part[mine] || peers.size() < 2) return {};
  std::vector<int> owners(hosts.size(), -1);
  std::size_t next = 0;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    if (hosts[r] != hosts[mine]) continue;
    owners[r] = takes_part[r] ? static_cast<int>(r) : peers[next++ % peers.size()];
  }
  return owners;
}

void open_peer_exchange(Communicator& communicator, PanelExchange* exchange,
                        const std::function<void(const std::function<void()>&)>& attempt) {
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  const double mine = exchange != nullptr ? 1.0 : 0.0;
  std::vector<bool> takes_part;
  for (const double each : allgather(communicator, std::span(&mine, 1))) takes_part.push_back(each != 0.0);
  const std::vector<int> owners = panel_owners(hosts, takes_part, communicator.rank());
  std::string handle;
  bool sound = false;
  attempt([&] {
    if (owners.empty()) return;
    handle = exchange->export_panels(owners, communicator.rank());
    sound = true;
  });
  std::vector<std::string> handles = allgather(communicator, handle, PanelExchange::longest_handle);
  for (std::size_t r = 0; r < handles.size(); ++r) {
    if (hosts[r] != hosts[static_cast<std::size_t>(communicator.rank())]) handles[r].clear();
  }
  attempt([&] {
    if (sound) exchange->import_panels(handles);
  });
}

std::int64_t close_peer_exchange(Communicator& communicator, PanelExchange* exchange) {
  std::int64_t bytes = 0;
  if (exchange != nullptr) {
    bytes = exchange->bytes_imported();
    exchange->close();
  }
  run_collectively(&communicator, [] {});
  return bytes;
}

}
