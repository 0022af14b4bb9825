#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tce_tiles/witnesses.hpp"

namespace trifuse::cli {

/// One line for each witness: passed with its value and limit, not known with the reason, or failed with the sentence.
/// `left`: of amplitudes for the left side, or null.
std::string describe_checks(const CheckReport& right, const CheckReport* left);
/// A list with an object for each witness.
nlohmann::ordered_json json_checks(const CheckReport& right, const CheckReport* left);

}  // namespace trifuse::cli
