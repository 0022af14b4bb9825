#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tce_tiles/hdf5/hdf5_structure.hpp"

namespace trifuse {

/// Calls `take` with each record of the version 2 B-tree at `address`, in the order of the tree. `type`: the HDF5
/// number of the record type. `what` names the tree in error messages. Throws InputError if a checksum is wrong, if a
/// node occurs twice, or if the records have another type.
void read_tree(const Hdf5Structure& structure, std::uint64_t address, std::uint64_t type, std::string_view what,
               const std::function<void(std::string_view record)>& take);

}
