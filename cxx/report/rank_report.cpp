#include "cxx/report/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cxx/report/json_values.hpp"

namespace trifuse {

namespace {

const char* name_of_kind(const RankWork& rank) {
  if (!rank.computed) return "idle";
  if (rank.device_failed) return "GPU, then cores";
  return is_cuda(rank.kind) ? "GPU" : "cores";
}

/// The work of all ranks with one kind of worker.
struct KindWork {
  std::string name;
  std::size_t ranks = 0, tasks = 0;
  double operations = 0.0;
  double seconds_busy = 0.0, seconds_idle = 0.0, max_busy = 0.0;

  double idle_share() const {
    const double seconds = seconds_busy + seconds_idle;
    return seconds > 0.0 ? seconds_idle / seconds : 0.0;
  }
  /// Returns the busy time of the slowest rank, relative to the mean.
  double imbalance() const { return seconds_busy > 0.0 ? max_busy * static_cast<double>(ranks) / seconds_busy : 1.0; }
};

/// Returns the sums over the ranks of each kind, in the order in which the kinds first occur among the ranks.
std::vector<KindWork> kinds_of(const std::vector<RankWork>& ranks) {
  std::vector<KindWork> kinds;
  for (const RankWork& rank : ranks) {
    const std::string name = name_of_kind(rank);
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindWork& it) { return it.name == name; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), KindWork{.name = name});
    ++kind->ranks;
    kind->tasks += rank.tasks;
    kind->operations += rank.operations;
    kind->seconds_busy += rank.seconds_busy;
    kind->seconds_idle += rank.seconds_idle;
    kind->max_busy = std::max(kind->max_busy, rank.seconds_busy);
  }
  return kinds;
}

double share_of(const KindWork& kind, const std::vector<KindWork>& kinds) {
  double all = 0.0;
  for (const KindWork& each : kinds) all += each.operations;
  return all > 0.0 ? kind.operations / all : 0.0;
}

}

std::string describe_workers(const std::vector<RankWork>& ranks) {
  const std::vector<KindWork> kinds = kinds_of(ranks);
  std::string text = fmt::format("Workers      {:<16}{:>6}{:>10}{:>10}{:>10}{:>14}\n", "kind", "ranks", "tasks", "work",
                                 "idle", "slowest/mean");
  for (const KindWork& kind : kinds) {
    text += fmt::format("             {:<16}{:>6}{:>10}{:>8.1f} %{:>8.1f} %{:>14.2f}\n", kind.name, kind.ranks,
                        kind.tasks, 100.0 * share_of(kind, kinds), 100.0 * kind.idle_share(), kind.imbalance());
  }
  return text;
}

nlohmann::ordered_json json_ranks(const DistributedCalculation& job, const CalculationResult& result) {
  const std::vector<RankWork>& work = result.ranks;
  const auto role = [](RankAssignment::Role it) {
    return it == RankAssignment::Role::worker       ? "worker"
           : it == RankAssignment::Role::cpu_worker ? "cpu_worker"
                                                    : "idle";
  };
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const RankResources& rank = job.ranks[r];
    const bool gpu = !rank.gpu.empty();
    ranks.push_back({{"rank", r},
                     {"host", rank.host},
                     {"computes_on", describe_rank(job, r)},
                     {"gpu", json_if(gpu, rank.gpu_label)},
                     {"gpu_uuid", json_if(gpu, rank.gpu_identity)},
                     {"role", role(job.assignments[r].role)},
                     {"threads", job.assignments[r].threads},
                     {"share_of_rate", job.assignments[r].role == RankAssignment::Role::idle
                                           ? 0.0
                                           : job.assignments[r].rate / job.assignments[r].total_rate},
                     {"kind", name_of_kind(work[r])},
                     {"tasks", work[r].tasks},
                     {"operations", work[r].operations},
                     {"seconds", {{"busy", work[r].seconds_busy}, {"idle", work[r].seconds_idle}}}});
    if (result.traffic.empty()) continue;
    const OperandTraffic& traffic = result.traffic[r];
    ranks.back()["operands"] = {{"own_bytes", traffic.own_bytes},
                                {"bytes_of_others", traffic.bytes_of_others},
                                {"read_bytes", traffic.read_bytes},
                                {"fetched_bytes", traffic.fetched_bytes},
                                {"bytes_from_other_gpus", traffic.peer_bytes},
                                {"cache_bytes", traffic.cache_bytes},
                                {"panels_wanted", traffic.panels_wanted},
                                {"panels_hit", traffic.panels_hit}};
  }
  return ranks;
}

nlohmann::ordered_json json_kinds(const std::vector<RankWork>& ranks) {
  const std::vector<KindWork> kinds = kinds_of(ranks);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const KindWork& kind : kinds) {
    json.push_back({{"kind", kind.name},
                    {"ranks", kind.ranks},
                    {"tasks", kind.tasks},
                    {"share_of_operations", share_of(kind, kinds)},
                    {"seconds", {{"busy", kind.seconds_busy}, {"idle", kind.seconds_idle}}},
                    {"idle_share", kind.idle_share()},
                    {"slowest_over_mean", kind.imbalance()}});
  }
  return json;
}

}
