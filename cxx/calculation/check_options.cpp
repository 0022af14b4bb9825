#include <fmt/format.h>

#include <climits>
#include <cmath>

#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/calculation.hpp"

namespace trifuse {

void check_options(const CalculationOptions& options) {
  if (options.tile_size && (*options.tile_size < 1 || *options.tile_size > largest_tile_size)) {
    throw UsageError(
        fmt::format("A tile size of {} is not possible; give 1 to {}.", *options.tile_size, largest_tile_size));
  }
  if (options.threads < 0 || options.threads > max_threads) {
    throw UsageError(fmt::format("{} threads are not possible; give 1 to {}.", options.threads, max_threads));
  }
  if (options.memory && (*options.memory < 1 || *options.memory > max_memory)) {
    throw UsageError(
        fmt::format("A memory of {} bytes is not possible; give 1 to {} (1 PiB).", *options.memory, max_memory));
  }
  if (options.omega2.size() > max_omega2) {
    throw UsageError(fmt::format("{} values of omega2 are not possible in one calculation; give at most {}.",
                                 options.omega2.size(), max_omega2));
  }
  for (const double omega2 : options.omega2) {
    if (std::isfinite(omega2) && omega2 >= 0.0 && omega2 <= largest_omega2) continue;
    throw UsageError(
        fmt::format("An omega2 of {} is not possible; give values of 0 to {:g}, in hartree.", omega2, largest_omega2));
  }
  if (options.precision == Precision::mixed && options.executor == ExecutorKind::reference) {
    throw UsageError("The reference executor computes in double precision only; leave out mixed precision.");
  }
  if (options.target_error) {
    if (options.precision != Precision::mixed) {
      throw UsageError("A target error is for mixed precision; give --precision mixed, or leave it out.");
    }
    if (!(*options.target_error > 0.0 && *options.target_error <= largest_target_error)) {
      throw UsageError(
          fmt::format("A target error of {} is not possible; give more than 0 and at most {:g}, in hartree.",
                      *options.target_error, largest_target_error));
    }
  }
  if (options.devices.size() > max_devices) {
    throw UsageError(fmt::format("{} GPUs are not possible; name at most {}.", options.devices.size(), max_devices));
  }
  for (const int device : options.devices) {
    if (device >= 0 && device < static_cast<int>(max_devices)) continue;
    throw UsageError(fmt::format("There is no GPU {}; they are counted from 0.", device));
  }
  if (options.journal.size() >= PATH_MAX) {
    throw UsageError(fmt::format("The path of the journal has {} characters; no path has more than {}.",
                                 options.journal.size(), PATH_MAX - 1));
  }
}

}
