#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// What the newer file format keeps in a heap with an index once there are more than eight.
enum class Hdf5Dense { links, attributes };

/// All messages of links, or of attributes, that stand in such a heap. `info` is the message that tells where; without
/// a heap there are none. Throws InputError if a checksum on the way is wrong.
std::vector<std::string> dense_messages(const Hdf5Structure& structure, std::string_view info, Hdf5Dense kind);

}  // namespace trifuse
