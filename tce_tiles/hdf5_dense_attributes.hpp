#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// The messages of attributes that the newer file format keeps outside the header of the root group, in a heap with an
/// index, where they are more than eight. `info` is the message that tells where. None where there is no such heap.
std::vector<std::string> dense_attributes(const Hdf5Structure& structure, std::string_view info);

}  // namespace trifuse
