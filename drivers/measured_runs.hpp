#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/prediction/prediction.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::cli {

/// A run on GPUs as its report tells it.
struct MeasuredRun {
  std::string path;  ///< of the report
  SpinFormulation formulation = SpinFormulation::spin_adapted;
  bool restricted = true;
  std::array<std::int64_t, 2> occupied{}, virtuals{};  ///< alpha and beta
  int irreps = 1;
  std::optional<TileSpace> tiles;  ///< of the plan, where the report has them
  int ranks = 1, gpus = 1;
  int nodes = 0;                 ///< 0: not said
  bool shared_operands = false;  ///< between the ranks
  double memory_budget = 0.0;    ///< bytes of each GPU; 0: not said
  double seconds_tasks = 0.0, seconds_loading = 0.0;
  std::optional<double> bytes_sent;  ///< to all GPUs, from hosts and from other GPUs

  /// Orbitals like those of the run, spread evenly over the irreps.
  std::unique_ptr<TileSource> molecule() const;
};

/// Reports of `trifuse run` and of `trifuse bench --device cuda`, which may hold several runs. Throws InputError for
/// what is none.
std::vector<MeasuredRun> read_measured_runs(const std::vector<std::string>& paths);

/// A run and what it would have been predicted to take.
struct ComparedRun {
  MeasuredRun run;
  Prediction prediction;
};

}  // namespace trifuse::cli
