#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tce_tiles/checks/witnesses.hpp"

namespace trifuse {

/// Describes the result of a check, one line for each witness: passed with its value and limit, not known with the
/// reason, or failed with a sentence. The warnings follow. `left`: result for the left amplitudes, or null.
std::string describe_checks(const CheckReport& right, const CheckReport* left);
/// Returns the warnings of both results: sentences about numbers that are possible but rare, and about failed witnesses
/// of an input that the user trusts. `left` may be null.
std::vector<std::string> check_warnings(const CheckReport& right, const CheckReport* left);
/// Returns the witnesses as a JSON list of objects. `left`: result for the left amplitudes, or null.
nlohmann::ordered_json json_checks(const CheckReport& right, const CheckReport* left);

}
