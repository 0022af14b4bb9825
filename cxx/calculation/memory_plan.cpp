#include "cxx/calculation/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/parallel/rank_assignment.hpp"

namespace trifuse {

namespace {

std::string amount(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

}

std::int64_t MemoryPlan::limit_of_made() const {
  return std::max<std::int64_t>(0, limit - scratch());
}

std::int64_t MemoryPlan::made() const {
  return std::min(all_made, limit_of_made());
}

void MemoryPlan::check_whole(const char* what, std::int64_t bytes, const std::string& path) const {
  if (gpus > 0 || !limit_asked || bytes <= limit) return;
  throw UsageError(fmt::format("The {} of {} take {} of memory in each process; allow it with --memory.", what, path,
                               amount(bytes)));
}

void MemoryPlan::check_dressed(const std::string& path) const {
  check_whole("dressed integrals", dressed, path);
}

void MemoryPlan::check_sums(const std::string& path) const {
  check_whole("sums of derivatives", sums, path);
}

void MemoryPlan::check_rotation(const std::string& path, int ranks) const {
  // With GPUs the user limits their memory and not that of the host. Several ranks know the memory of their hosts and
  // check later.
  const bool limited = gpus == 0 && (limit_asked || ranks == 1);
  if (!limited || rotation_peak <= limit) return;
  throw UsageError(fmt::format("Rotating {} to semicanonical orbitals takes {} of memory{}; allow it with --memory.",
                               path, amount(rotation_peak), ranks > 1 ? " of each process" : ""));
}

void MemoryPlan::fit_threads() {
  if (scratch_per_thread == 0) return;
  if (limit < scratch_per_thread) {
    throw UsageError(
        fmt::format("--memory allows {} of scratch, but one thread needs {}; give --memory {}KiB or more, or a smaller "
                    "--tile-size.",
                    amount(limit), amount(scratch_per_thread), scratch_per_thread / 1024 + 1));
  }
  threads = static_cast<int>(std::min<std::int64_t>(threads, limit / scratch_per_thread));
}

void MemoryPlan::share(const RankAssignment& assignment, int ranks) {
  shared = true;
  const bool idle = assignment.role == RankAssignment::Role::idle;
  const double part = assignment.operands.share * static_cast<double>(operands) / ranks;
  owned = assignment.operands.segments > 0 ? static_cast<std::int64_t>(part) + in_use_per_thread : 0;
  constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();
  const bool of_host = assignment.memory > 0.0 && assignment.memory < static_cast<double>(unlimited);
  const std::int64_t host = of_host ? static_cast<std::int64_t>(assignment.memory) : unlimited;
  const std::int64_t all = limit_asked ? std::min(host, limit) : host;
  const auto plan_operands = [&] {
    // An idle rank stores only its part of the operands. It has its working memory to fill this part.
    for_operands = all == unlimited ? all : all - rotated_of_rank - of_each_rank() + (idle ? working() : -scratch());
  };
  plan_operands();
  const bool asked = limit_asked && limit <= host;
  const std::string limited_by = asked ? "--memory" : "the memory of its host";
  const std::string advice = asked ? "allow more, or start more ranks" : "use more hosts";
  if (rotation_peak > 0 && for_operands < rotation_peak - rotated_of_rank) {
    throw UsageError(fmt::format("Each of {} ranks needs {} to rotate orbitals, but {} allows this rank {}; {}.", ranks,
                                 amount(rotation_peak), limited_by, amount(for_operands + rotated_of_rank), advice));
  }
  if (idle) return;
  const auto needed = [&] {
    // A GPU fetches one panel after another. Threads that share a task use the panels of at most two tasks.
    const int users = gpus > 0 ? gpus : assignment.threads_share_task ? 2 : threads;
    return owned + users * in_use_per_thread;
  };
  while (threads > 1 && for_operands < needed()) {
    --threads;
    plan_operands();
  }
  if (for_operands >= needed()) return;
  throw UsageError(
      fmt::format("This rank, one of {}, stores up to {} of the operands and needs {} to compute, but "
                  "{} allows {}; {}.",
                  ranks, amount(owned + rotated_of_rank + of_each_rank()), amount(needed() - owned + scratch()),
                  limited_by, amount(for_operands + rotated_of_rank + of_each_rank() + scratch()), advice));
}

}
