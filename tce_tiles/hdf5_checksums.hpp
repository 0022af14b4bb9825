#pragma once

#include <cstdint>
#include <string_view>

/// The checksums of HDF5 files.
namespace trifuse {

/// Of metadata in the newer file formats: lookup3 by Bob Jenkins.
std::uint32_t hdf5_lookup3(std::string_view bytes);

/// Of chunks that went through the filter of this name.
std::uint32_t hdf5_fletcher32(std::string_view bytes);

}  // namespace trifuse
