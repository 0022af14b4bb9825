#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tce_tiles/witnesses.hpp"

namespace trifuse::cli {

/// One line for each witness: passed with its value and limit, not known with the reason, or failed with the sentence.
/// Warnings follow. `left`: of amplitudes for the left side, or null.
std::string describe_checks(const CheckReport& right, const CheckReport* left);
/// Sentences about numbers that are possible but rare, and about witnesses that failed in an input that is trusted.
std::vector<std::string> check_warnings(const CheckReport& right, const CheckReport* left);
/// A list with an object for each witness.
nlohmann::ordered_json json_checks(const CheckReport& right, const CheckReport* left);

}  // namespace trifuse::cli
