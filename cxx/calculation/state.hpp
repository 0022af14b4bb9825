#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/methods.hpp"
#include "cxx/calculation/options.hpp"
#include "cxx/calculation/orbitals.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/parallel/rank_assignment.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Options that the ranks of a communicator agree on. A user does not choose them.
struct RankOptions {
  /// The executor whose default tiling the plan uses; nullopt: the rank's own executor. Ranks with different executors
  /// need the same plan. The tiling of an existing journal has precedence.
  std::optional<ExecutorKind> plan_for = {};
  /// The tiling of the journal if it is already known; nullopt: read it from the journal.
  std::optional<Tiling> journal_tiles = {};
  /// Number of ranks that share the operands (see `Calculation::join`); 1: this rank stores all of them.
  int ranks_with_operands = 1;
};

/// All that the constructor of a calculation sets up. A run reads it.
struct CalculationState {
  CalculationOptions options;  ///< with defaults filled in
  RankOptions of_rank;
  std::vector<DeviceInfo> devices;  ///< the GPUs of `options`
  std::unique_ptr<ChosenMethods> methods;
  ChosenOrbitals orbitals;
  Problem problem;
  std::vector<NamedEnergy> energies;
  std::vector<std::string> warnings;  ///< about the orbitals of the input
  double largest_denominator = 0.0;   ///< hartree
  Tiling tiling{};
  Plan plan;
  MemoryPlan memory;
  Communicator* communicator = nullptr;  ///< null: a single process
  RankAssignment assignment = {};        ///< what this rank does

  bool idle() const { return communicator != nullptr && assignment.role == RankAssignment::Role::idle; }
  /// Returns true if this rank computes on cores beside ranks with GPUs.
  bool beside_gpus() const { return options.executor == ExecutorKind::cpu && of_rank.plan_for == ExecutorKind::cuda; }
  /// Returns the number of threads that read the operands.
  int reading_threads() const { return std::max(memory.threads, assignment.reading_threads); }
};

}
