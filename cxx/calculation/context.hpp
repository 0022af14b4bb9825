#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/operands/panel_executor.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "cxx/rotation/fock_couplings.hpp"
#include "cxx/rotation/semicanonical.hpp"

namespace trifuse {

class DistributedOperands;

/// Options that the ranks of a communicator agree on. A user does not choose them.
struct RankOptions {
  /// The executor whose default tiling the plan uses; nullopt: the rank's own executor. Ranks with different executors
  /// need the same plan. The tiling of an existing journal has precedence.
  std::optional<ExecutorKind> plan_for = {};
  /// The tiling of the journal if it is already known; nullopt: read it from the journal.
  std::optional<Tiling> journal_tiles = {};
  /// Number of ranks that share the operands (see `CalculationContext::join`); 1: this rank stores all of them.
  int sharers = 1;
};

/// An executor and its other interfaces.
struct PreparedExecutor {
  std::unique_ptr<Executor> executor;
  PanelExecutor* reader = nullptr;     ///< the same executor if it reads panels, else null
  const CudaExecutor* cuda = nullptr;  ///< the same executor if it computes on GPUs, else null
  explicit operator bool() const { return executor != nullptr; }
};

/// The state of a calculation: the implementation of `Calculation`, and functions for the ranks of a communicator.
class CalculationContext {
 public:
  /// As the constructor of `Calculation`. `of_rank`: options of this rank; the default is for a single process.
  CalculationContext(const TileSource& right, const TileSource* left, CalculationOptions options,
                     RankOptions of_rank = {});

  // These functions do the same as in `Calculation`.
  const CalculationOptions& options() const { return options_; }
  const Problem& problem() const { return problem_; }
  const Plan& plan() const { return plan_; }
  std::string method(double omega2) const;
  std::string reference_note() const;
  const std::vector<std::string>& input_warnings() const { return warnings_; }
  double largest_denominator() const { return largest_denominator_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  int threads() const { return threads_; }
  std::int64_t operand_bytes() const { return operand_bytes_; }
  std::int64_t scratch_bytes() const { return scratch_per_thread_ * threads_; }
  std::int64_t rotated_bytes() const;
  std::int64_t made_bytes() const;
  bool shares_operands() const;
  std::unique_ptr<Executor> make_executor() const;
  std::unique_ptr<CudaExecutor> make_cuda_executor() const;
  CalculationResult run(const std::atomic<bool>* stop = nullptr, std::function<void(const RunProgress&)> progress = {},
                        std::function<void(const std::string&)> warn = {},
                        const std::function<void(const CalculationResult&)>& report = {}) const;

  /// Approximate size of the shared operands that this rank stores, bytes. Requires `join`.
  std::int64_t owned_bytes() const { return owned_bytes_; }
  /// Least memory, besides an equal part of the operands, that this rank needs to compute with one thread, bytes. It
  /// includes the last panel of the rank's part, because a part ends with a whole panel.
  std::int64_t working_bytes() const { return scratch_per_thread_ + 2 * in_use_per_thread_; }

  /// Joins the calculation that all ranks of `communicator` do together. All ranks must have the same plan. From now on
  /// `run` is collective. If the communicator has arrays, the ranks share the operands. Then the option `memory` of a
  /// CPU rank limits everything that the rank stores: its part of the operands, panels of other ranks and scratch.
  /// `communicator` must outlive the calculation. `assignment`: what this rank does. Throws UsageError if the memory is
  /// too small.
  void join(Communicator& communicator, const RankAssignment& assignment);

 private:
  /// Makes an executor on CPU cores for a rank whose GPUs have failed. `panels`: the panels that were read for the
  /// GPUs; null: reads them.
  std::unique_ptr<Executor> make_executor_on_cores(std::shared_ptr<const PanelStore> panels) const;
  /// What begin_executor() has begun.
  struct BegunExecutor {
    std::future<PreparedExecutor> executor;    ///< the result of `prepare`; the destructor waits for it
    std::shared_ptr<const PanelStore> panels;  ///< null: the operands have not been read
  };
  /// Starts GPUs on another thread and meanwhile reads their operands, if it is known which panels they will take.
  /// Otherwise begins nothing: the caller of `executor.get()` calls `prepare`. `prepare`: makes the executor.
  BegunExecutor begin_executor(const std::function<PreparedExecutor()>& prepare) const;
  /// Reads the operands and returns the panels of this rank. Collective if there is a communicator. `reader`: the
  /// executor that will use the panels; null if this rank has no such executor. `read_before`: panels that are returned
  /// if `reader` can take them, or if there is no reader; may be null. `shared`: this function sets it if ranks share
  /// the operands; then it must outlive the panels.
  std::shared_ptr<const PanelStore> read_operands(const PanelExecutor* reader,
                                                  std::shared_ptr<const PanelStore> read_before,
                                                  std::optional<DistributedOperands>& shared) const;
  /// Number of threads of the executor that replaces failed GPUs.
  int threads_on_cores() const;
  /// Opens the journal of the options; null if there is none. Collective if there is a communicator.
  std::unique_ptr<Journal> open_journal() const;
  /// Reduces the threads of a run if the BLAS library has no memory for all of them. Collective if there is a
  /// communicator.
  void limit_threads_of_blas(RunSettings& settings) const;
  /// Executes the tasks of the plan, and the check of the options beside them if there is one. `executor`: as in
  /// run_tasks(). `ccsd_energy`: set to the result of the check.
  RunOutcome run_tasks_and_check(const Executor* executor, RunSettings settings,
                                 std::optional<double>& ccsd_energy) const;
  /// The settings of a run that do not depend on the executor. Arguments as in `run`; `journal` may be null.
  RunSettings settings_of_run(Journal* journal, const std::atomic<bool>* stop,
                              std::function<void(const RunProgress&)> progress,
                              std::function<void(const std::string&)> warn) const;
  /// Compares the energies with other energies of the input and adds warnings to the result. `warn`: gets each of them;
  /// may be empty. Collective if there is a communicator. `ccsd_energy`: the CCSD energy of the right amplitudes in
  /// hartree, if it is known.
  void check_energies(CalculationResult& result, std::optional<double> ccsd_energy,
                      const std::function<void(const std::string&)>& warn) const;
  /// Sums the energies of all tasks for each omega2. `energies` [task, omega2].
  std::vector<TriplesEnergy> sum_energies(const std::vector<TaskEnergy>& energies) const;
  /// Moves the outcome of a run into the result. The energies of the result are those of the outcome. `warning`: of the
  /// journal; may be empty.
  void put_outcome(RunOutcome outcome, const std::string& warning, CalculationResult& result) const;
  /// Makes the executor in double precision for the sample of a run in mixed precision, unless `executor` has it
  /// already. If GPUs fail, it makes none and `settings.failed_device` gets the reason. Collective if there is a
  /// communicator. `panels`: the panels of this rank. `on_cores`: true if the GPUs of this rank have failed.
  void prepare_for_sample(const std::shared_ptr<const PanelStore>& panels, bool on_cores, PreparedExecutor& executor,
                          RunSettings& settings) const;
  /// Computes the sample of a run in mixed precision in double precision. Adds the work of the sample to `outcome`.
  /// Writes energies, error bars and strata to `result`. Collective if there is a communicator. `on_devices`: false if
  /// this rank has no GPUs or if they have failed. `settings`: those of the tasks in mixed precision.
  void compute_sample(RunOutcome& outcome, RunSettings settings, bool on_devices,
                      const std::shared_ptr<const PanelStore>& panels, CalculationResult& result) const;
  /// Rotates amplitudes and integrals to semicanonical orbitals if choose_orbitals() has prepared it. Collective if
  /// there is a communicator. `stop`: as in `run`; may be null. `warn`: gets each sentence about the orbitals; may be
  /// empty.
  void rotate_orbitals(const std::atomic<bool>* stop, const std::function<void(const std::string&)>& warn = {}) const;
  /// Memory of this rank during the rotation, bytes; 0 if there is no rotation.
  std::int64_t peak_of_rotation() const;
  /// Memory of this rank for rotated amplitudes and integrals after the rotation, bytes.
  std::int64_t memory_after_rotation() const;
  /// Chooses the method, and prepares the rotation if the options ask for it or the orbitals are not canonical.
  void choose_orbitals();
  /// Sets the method by what the input states about f_ov t2 and by the size of f_ov. Requires `couplings_`.
  void choose_method();
  void begin_rotation();
  void choose_formulation();
  void check_left() const;
  void check_denominators() const;
  void plan_tasks();
  void plan_memory();
  void plan_shared_memory();
  /// Largest number of workers of this rank that use shared operands at the same time.
  int users_of_operands() const;
  /// Memory that this rank may use for operands, bytes.
  std::int64_t memory_for_operands() const;
  /// Limit for panels that this rank makes from factors, bytes.
  std::int64_t memory_for_made_panels() const;
  /// Reads all operands that `reader` takes, in this process.
  std::shared_ptr<const PanelStore> read_all_operands(const PanelExecutor& reader) const;
  /// Reads all operands into panels with these tiles, in this process.
  std::shared_ptr<const PanelStore> read_all_operands(const TileSpace& tiles) const;
  /// The precision in which this rank computes the tasks of a run. CPU cores that help GPUs compute in double
  /// precision, because the emulation of mixed precision is slower.
  Precision precision_of_rank() const;
  /// Makes the executor of the options without operands. `left_out`, `stop`: as in CudaOptions.
  PreparedExecutor prepare_executor(Precision precision, std::vector<std::string>* left_out,
                                    const std::atomic<bool>* stop) const;
  CudaOptions cuda_options(Precision precision, std::vector<std::string>* left_out,
                           const std::atomic<bool>* stop) const;
  std::unique_ptr<CudaExecutor> prepare_on_devices(Precision precision, std::vector<std::string>* left_out,
                                                   const std::atomic<bool>* stop) const;

  CalculationOptions options_;
  RankOptions of_rank_;
  const TileSource* right_;
  const TileSource* left_;
  FockCouplings couplings_;  ///< of the right input; zero if it has no Fock matrix or is rotated on demand
  std::unique_ptr<SemicanonicalSource> semicanonical_right_, semicanonical_left_;
  std::vector<std::string> warnings_;  ///< sentences about the orbitals
  std::vector<DeviceInfo> devices_;
  Problem problem_;
  Tiling tiles_{};
  Plan plan_;
  double largest_denominator_ = 0.0;
  std::int64_t operand_bytes_ = 0, scratch_per_thread_ = 0, in_use_per_thread_ = 0, owned_bytes_ = 0,
               all_made_bytes_ = 0;
  std::optional<std::int64_t> memory_asked_;  ///< the user's limit of host memory, bytes
  int threads_ = 1;
  Communicator* communicator_ = nullptr;
  RankAssignment assignment_;
};

}
