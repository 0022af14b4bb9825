#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/operands/panel_executor.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "cxx/rotation/semicanonical.hpp"

namespace trifuse {

class TeamOperands;

/// What ranks of a team agree on, and no user decides.
struct RankOptions {
  /// Whose tiles the plan has; default: those of `executor`. Ranks of a team that have different executors need the
  /// same plan. A journal that has been begun decides before.
  std::optional<ExecutorKind> plan_for = {};
  /// The tiles of the journal, where they are known already; else they are looked for there.
  std::optional<Tiling> journal_tiles = {};
  /// Processes that will hold what they read together (see `CalculationContext::join`).
  int sharers = 1;
};

/// An executor, and what is known of its kind.
struct PreparedExecutor {
  std::unique_ptr<Executor> executor;
  PanelExecutor* reader = nullptr;     ///< the executor, if its operands are panels
  const CudaExecutor* cuda = nullptr;  ///< the executor, if it computes on GPUs
  explicit operator bool() const { return executor != nullptr; }
};

/// All that a calculation knows: what is behind `Calculation`, and what only ranks of a team ask for.
class CalculationContext {
 public:
  /// As the constructor of `Calculation`.
  CalculationContext(const TileSource& right, const TileSource* left, CalculationOptions options,
                     RankOptions of_rank = {});

  // As in `Calculation`.
  const CalculationOptions& options() const { return options_; }
  const Problem& problem() const { return problem_; }
  const Plan& plan() const { return plan_; }
  std::string method(double omega2) const;
  std::string reference_note() const;
  double largest_denominator() const { return largest_denominator_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  int threads() const { return threads_; }
  std::int64_t operand_bytes() const { return operand_bytes_; }
  std::int64_t scratch_bytes() const { return scratch_per_thread_ * threads_; }
  std::int64_t rotated_bytes() const;
  bool shares_operands() const;
  std::unique_ptr<Executor> make_executor() const;
  std::unique_ptr<CudaExecutor> make_cuda_executor() const;
  CalculationResult run(const std::atomic<bool>* stop = nullptr, std::function<void(const RunProgress&)> progress = {},
                        std::function<void(const std::string&)> warn = {}) const;

  /// Of shared operands that this rank keeps, about.
  std::int64_t piece_bytes() const { return piece_bytes_; }
  /// The least that this rank needs beside an equal part of the operands, to compute with one thread: also for the
  /// panel with which its piece ends.
  std::int64_t working_bytes() const { return scratch_per_thread_ + 2 * in_use_per_thread_; }

  /// From now on this is one of the ranks of a team, which have all planned the same; `run` is made by all of them, and
  /// all get the same result, but for the report of their own devices. Where the team has arrays the ranks share their
  /// operands, and on the CPU `memory` of the options, where it was given, is for all that a rank keeps: its piece of
  /// them, panels of others and scratch. `communicator` must outlive the calculation. Throws UsageError where the
  /// memory is too small.
  void join(Communicator& communicator, const TeamShare& share);

 private:
  /// Of cores, for a process whose devices have failed; `panels`: what was read for these, or null.
  std::unique_ptr<Executor> make_executor_on_cores(std::shared_ptr<const PanelStore> panels) const;
  /// Collective where there is a team. `reader`: who will work with them here, or null. `shared`: gets what the team
  /// shares.
  std::shared_ptr<const PanelStore> read_operands(const PanelExecutor* reader,
                                                  std::optional<TeamOperands>& shared) const;
  int threads_on_cores() const;
  std::unique_ptr<Journal> open_journal() const;
  /// Gives a run fewer threads if there is no memory for the BLAS library on all: collective where there is a team.
  void limit_threads_of_blas(RunSettings& settings) const;
  std::vector<TriplesEnergy> sum_energies(const std::vector<TaskEnergy>& energies) const;
  /// What becomes of an outcome in the result: all but what the devices report.
  void put_outcome(RunOutcome outcome, CalculationResult& result) const;
  /// Rotates what is to be rotated: collective where there is a team. `stop` may be null.
  void rotate_orbitals(const std::atomic<bool>* stop) const;
  /// Of this rank, while orbitals are rotated and from then on, bytes.
  std::int64_t peak_of_rotation() const;
  std::int64_t kept_of_rotation() const;
  void choose_orbitals();
  void choose_formulation();
  void check_left() const;
  void check_denominators() const;
  void plan_tasks();
  void plan_memory();
  void plan_shared_memory();
  int users_of_operands() const;  ///< at a time
  /// What this rank may use for operands, bytes.
  std::int64_t memory_for_operands() const;
  /// Without operands.
  PreparedExecutor prepare_executor(std::vector<std::string>* left_out) const;
  std::unique_ptr<CudaExecutor> prepare_on_devices(std::vector<std::string>* left_out) const;

  CalculationOptions options_;
  RankOptions of_rank_;
  const TileSource* right_;
  const TileSource* left_;
  std::unique_ptr<SemicanonicalSource> semicanonical_right_, semicanonical_left_;
  std::vector<DeviceInfo> devices_;
  Problem problem_;
  Tiling tiles_{};
  Plan plan_;
  double largest_denominator_ = 0.0;
  std::int64_t operand_bytes_ = 0, scratch_per_thread_ = 0, in_use_per_thread_ = 0, piece_bytes_ = 0;
  std::optional<std::int64_t> memory_asked_;  ///< of the host
  int threads_ = 1;
  Communicator* communicator_ = nullptr;
  TeamShare share_;
};

}  // namespace trifuse
