#pragma once

#include <string>
#include <vector>

namespace trifuse {

/// The name among `names` that `word` most probably means; empty if none is similar. Two names are similar if at most a
/// third of the longer one must be inserted, removed or replaced.
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);

}
