#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cxx/contraction/gpu_program.hpp"

/// Programs that were measured to be faster than the first choice of the model, and the file in which later runs find
/// them. Each model of a GPU has a file of its own, and each version of Trifuse, in the folder for such files
/// (cxx/base/stored_texts.hpp). The file has the name of a candidate for each contraction. So whatever the file has,
/// programs are right, and a file that cannot be used only means that the model chooses.
namespace trifuse::contraction {

/// The file of a GPU. A process reads it once.
struct TunedPlans {
  std::string file;       ///< empty: there is none, because there is no folder for it or the GPU has no name
  std::size_t count = 0;  ///< tuned plans in the file
};
TunedPlans tuned_plans(const GpuModel& gpu);

/// Returns the program of a run: the tuned one, or else that of program_for_gpu(), to which this also applies.
GpuProgram program_of_run(const Contraction& contraction, const GpuModel& gpu);

/// What a tuner found out about a contraction.
struct Tuning {
  GpuProgram first, best;              ///< the first choice of the model, and the fastest program
  double first_seconds, best_seconds;  ///< medians
  std::size_t measured;                ///< number of programs

  double first_to_best() const { return first_seconds / best_seconds; }
  /// Returns true if the best program is faster than the first choice by more than two measurements differ.
  bool is_better() const { return first_to_best() > 1.02; }
};

/// Runs a program so many times, after a run that warms up, and returns the seconds of each run. May throw
/// DeviceMemoryError.
using MeasureProgram = std::function<std::vector<double>(const GpuProgram& program, int repeats)>;

/// Measures the best programs by the model: at most 64, and those whose predicted time is at most twice that of the
/// first one. Programs for which there is no memory are left out. The tuned plans have no influence. For `contraction`
/// see plan_for_gpu(). Throws DeviceMemoryError if there is no memory for any program, and what `measure` throws.
Tuning tune(const Contraction& contraction, const GpuModel& gpu, const MeasureProgram& measure);

/// Prepares the file of a GPU for store_tuning(). Returns a warning if there is no folder for the file, or if there was
/// a file that could not be used, which this replaces; else an empty text. Throws SystemError if the file cannot be
/// written, and UsageError if it is a symbolic link.
std::string prepare_tuned_plans(const GpuModel& gpu);

/// Stores the best program of a contraction if it is better than the first choice; otherwise removes the tuned plan of
/// the contraction. Does nothing if there is no folder for the file. This and later processes then use it. Other
/// processes may store plans at the same time. Throws as prepare_tuned_plans().
void store_tuning(const Contraction& contraction, const GpuModel& gpu, const Tuning& tuning);

}
