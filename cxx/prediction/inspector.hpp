#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cxx/plan/plan.hpp"
#include "cxx/prediction/kernel_work.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// What a plan asks of GPUs, known from its tiles alone: for each task the work of the kernel and the panels that it
/// reads, and for each panel its bytes. Some 250 bytes for each task.
class Inspection {
 public:
  /// Of `problem` only what shapes the tasks is looked at: form, sides, sets of disconnected factors.
  Inspection(const Plan& plan, const Problem& problem);

  std::size_t tasks() const { return kind_.size(); }
  const KernelWork& work(std::size_t task) const { return kinds_[kind_[task]]; }
  /// Tasks of the same kind have equal work, and `kind(task)` counts kinds from 0.
  std::uint32_t kind(std::size_t task) const { return kind_[task]; }
  std::span<const KernelWork> kinds() const { return kinds_; }
  /// Numbers of the panels of a task, each once.
  std::span<const std::uint32_t> panels(std::size_t task) const;

  std::size_t panel_count() const { return sent_.size(); }
  double bytes_sent(std::uint32_t panel) const { return sent_[panel]; }  ///< on their way from host to device
  double bytes_kept(std::uint32_t panel) const { return kept_[panel]; }  ///< on the device, padded
  double all_bytes_sent() const;
  double all_bytes_kept() const;
  /// Bytes kept of the panels of one task, of the task that has most.
  double largest_task_bytes() const { return largest_task_; }
  /// Bytes sent when each of these tasks, [first, last) of the plan, finds no panel but those of the tasks before it.
  double needed_bytes(std::size_t first, std::size_t last) const;

 private:
  std::vector<KernelWork> kinds_;
  std::vector<std::uint32_t> kind_;         ///< [tasks]
  std::vector<std::uint64_t> panel_begin_;  ///< [tasks + 1]
  std::vector<std::uint32_t> panels_;
  std::vector<double> sent_, kept_;  ///< [panels]
  double largest_task_ = 0.0;
};

}  // namespace trifuse
