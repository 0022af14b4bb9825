#pragma once

#include <string>
#include <utility>

#include "tce_tiles/checks/witnesses.hpp"

/// Parts of witnesses and of their sentences.
namespace trifuse {

/// Returns the paths of both inputs, or one path if they are the same.
inline std::string files_of(const SourceInfo& amplitudes, const SourceInfo& integrals) {
  return amplitudes.path + (amplitudes.path == integrals.path ? "" : " and " + integrals.path);
}

/// Returns a witness that has failed with `sentence`, or passed with `other_value`: words about a second value and its
/// limits.
inline Witness failed_if(bool failed, std::string name, double value, double limit, std::string sentence,
                         std::string other_value = "") {
  return {std::move(name), failed ? WitnessStatus::failed : WitnessStatus::passed, value, limit,
          failed ? std::move(sentence) : std::move(other_value)};
}

/// Returns the limit that decides: `least` for a value below it, else `most`.
inline double limit_of(double value, double least, double most) {
  return value < least ? least : most;
}

/// Returns a witness for which the input lacks numbers. `why`: the reason.
inline Witness unknown_witness(std::string name, std::string why) {
  return {std::move(name), WitnessStatus::unknown, {}, {}, std::move(why)};
}

}
