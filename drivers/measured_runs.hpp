#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/prediction/prediction.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse::cli {

/// A run on GPUs, as its report describes it.
struct MeasuredRun {
  std::string path;                                             ///< path of the report
  SpinFormulation formulation = SpinFormulation::spin_adapted;  ///< spin formulation of the energy
  Precision precision = Precision::fp64;                        ///< precision of the tasks
  bool restricted = true;                                       ///< true for an RHF reference
  std::array<std::int64_t, 2> occupied{}, virtuals{};           ///< number of orbitals: alpha, beta
  int irreps = 1;                                               ///< number of irreps in use
  std::int64_t auxiliary = 0;                                   ///< auxiliary functions of factors; 0: stored integrals
  std::optional<TileSpace> tiles;                               ///< tiles of the plan, if the report contains them
  int ranks = 1, gpus = 1;                                      ///< numbers of processes and of GPUs
  int nodes = 0;                                                ///< number of hosts; 0: not known
  bool shared_operands = false;                                 ///< true if the ranks shared the operands
  double memory_budget = 0.0;                                   ///< allowed memory of each GPU, bytes; 0: not known
  double seconds_tasks = 0.0, seconds_loading = 0.0;            ///< times of the tasks and of reading operands
  double peak_host = 0.0, peak_gpu = 0.0;  ///< most memory of the process and of a GPU, bytes; 0: not known
  std::optional<double> bytes_sent;        ///< bytes sent to all GPUs, from hosts and from other GPUs

  /// Returns a made-up molecule with as many orbitals as the run, spread evenly over the irreps.
  std::unique_ptr<TileSource> molecule() const;
};

/// Reads reports of `trifuse run` and of `trifuse bench --device cuda`. A report of `bench` may contain several runs.
/// Throws InputError if a file is not such a report or has no run on GPUs.
std::vector<MeasuredRun> read_measured_runs(const std::vector<std::string>& paths);

/// A run and the prediction for it.
struct ComparedRun {
  MeasuredRun run;
  Prediction prediction;
};

}
