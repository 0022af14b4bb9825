#pragma once

#include <cstdint>
#include <string_view>

/// The checksums of HDF5 files.
namespace trifuse {

/// Returns the checksum of metadata in the newer file formats: lookup3 by Bob Jenkins.
std::uint32_t hdf5_lookup3(std::string_view bytes);

/// Returns the checksum that the filter fletcher32 appends to a chunk.
std::uint32_t hdf5_fletcher32(std::string_view bytes);

}
