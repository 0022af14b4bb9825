#pragma once

#include <string>
#include <vector>

namespace trifuse {

/// Returns the name among `names` that `word` most probably means; empty if none is similar. Two names are similar if
/// the characters to insert, remove or replace are at most a third of the longer name.
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);

}
