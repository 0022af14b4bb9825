#pragma once

#include <span>
#include <string>

#include "cxx/base/communicator.hpp"

namespace trifuse {

/// Returns true if these paths lead to the same regular files on all ranks, not to copies of them. Collective. Compares
/// inode number, size and time of the files. A path may belong to different mounts on different hosts. Returns false if
/// a rank does not find a file, or has no paths.
bool same_files(Communicator& communicator, std::span<const std::string> paths);

}
