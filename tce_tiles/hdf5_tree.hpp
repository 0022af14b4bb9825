#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// Calls `take` with each record of the version 2 B-tree at `address`, in the order of the tree. `type`: HDF5's number
/// for what the records describe. `what`: the name of the tree in the sentence. Throws InputError if a checksum is
/// wrong, a node occurs twice, or the records are of another type.
void read_tree(const Hdf5Structure& structure, std::uint64_t address, std::uint64_t type, std::string_view what,
               const std::function<void(std::string_view record)>& take);

}  // namespace trifuse
