#pragma once

#include <string>

#include "cxx/parallel/team.hpp"

namespace trifuse::cli {

/// Whether this path leads all ranks to one and the same regular file, not to copies of it: collective. Judged by the
/// number of the file, its size and its time, so that hosts may have mounted its disk in different places. False where
/// any rank does not find a file.
bool same_file(Team& team, const std::string& path);

}  // namespace trifuse::cli
