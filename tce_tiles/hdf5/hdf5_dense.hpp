#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/hdf5/hdf5_structure.hpp"

namespace trifuse {

/// The newer file formats keep more than eight links or attributes of an object in a heap with an index.
enum class Hdf5Dense { links, attributes };

/// Returns all link messages, or all attribute messages, in such a heap. `info`: the message that gives the address of
/// the heap. If there is no heap, the result is empty. Throws InputError if a checksum is wrong or if the heap is too
/// large.
std::vector<std::string> dense_messages(const Hdf5Structure& structure, std::string_view info, Hdf5Dense kind);

}
