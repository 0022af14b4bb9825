#pragma once

#include <string>

#include "cxx/base/communicator.hpp"

namespace trifuse {

/// True if this path leads to the same regular file on all ranks, not to copies of it. Collective. Compares inode
/// number, size and time of the file. The path may belong to different mounts on different hosts. False if a rank does
/// not find the file.
bool same_file(Communicator& communicator, const std::string& path);

}  // namespace trifuse
