#include "tce_tiles/hdf5/hdf5_output.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>  // since HDF5 1.13
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace trifuse {
namespace {

/// The property list passes this to `open_file`. HDF5 copies it byte by byte.
struct AccessInfo {
  Hdf5OutputState* state;
};

struct OutputFile {
  H5FD_t base;  ///< the first member, so that a pointer to it is a pointer to this struct
  int descriptor;
  haddr_t eoa;  ///< end of the space that HDF5 has allocated
  haddr_t eof;  ///< end of the written bytes
  Hdf5OutputState* state;

  void note_failure() const {
    if (state->error == 0) state->error = errno;
  }
};

OutputFile* self(H5FD_t* file) {
  return reinterpret_cast<OutputFile*>(file);
}
const OutputFile* self(const H5FD_t* file) {
  return reinterpret_cast<const OutputFile*>(file);
}

/// Repeats a transfer until all bytes are done or the file ends. Repeats it also after an interruption by a signal.
/// `transfer` gets the number of bytes that are done, the number of remaining bytes, and the file position of the next
/// byte. It returns what pread or pwrite returns. Returns false on failure.
template <typename Transfer>
bool transfer_all(haddr_t address, std::size_t size, Transfer transfer) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = transfer(done, size - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;  // 0: end of the file
    done += static_cast<std::size_t>(n);
  }
  return true;
}

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const AccessInfo*>(H5Pget_driver_info(access));
  if (!info) return nullptr;
  const int descriptor = ::fcntl(info->state->descriptor, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) {
    info->state->error = errno;
    return nullptr;
  }
  auto* file = new (std::nothrow) OutputFile{{}, descriptor, 0, 0, info->state};
  if (!file) ::close(descriptor);
  return file ? &file->base : nullptr;
}

herr_t close_file(H5FD_t* file) {
  OutputFile* output = self(file);
  // Network file systems may report a full disk only here.
  if (output->state->error == 0 && ::fsync(output->descriptor) != 0 && errno != EINVAL) output->note_failure();
  if (::close(output->descriptor) != 0) output->note_failure();
  delete output;
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  }
  return 0;
}

haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->eoa;
}
herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file)->eoa = address;
  return 0;
}
haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->eof;
}

herr_t read_bytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  // HDF5 expects zeros beyond the end of the file.
  std::memset(buffer, 0, size);
  const bool good = transfer_all(address, size, [&](std::size_t done, std::size_t rest, off_t at) {
    return ::pread(self(file)->descriptor, static_cast<char*>(buffer) + done, rest, at);
  });
  if (!good) self(file)->note_failure();
  return 0;
}

herr_t write_bytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  OutputFile* output = self(file);
  output->eof = std::max(output->eof, address + size);
  if (output->state->error != 0) return 0;
  const bool good = transfer_all(address, size, [&](std::size_t done, std::size_t rest, off_t at) {
    return ::pwrite(output->descriptor, static_cast<const char*>(buffer) + done, rest, at);
  });
  if (!good) output->note_failure();
  return 0;
}

herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
  OutputFile* output = self(file);
  if (output->eof == output->eoa) return 0;
  output->eof = output->eoa;
  if (output->state->error != 0) return 0;
  if (::ftruncate(output->descriptor, static_cast<off_t>(output->eoa)) != 0) output->note_failure();
  return 0;
}

hid_t driver() {
  static const H5FD_class_t description = [] {
    H5FD_class_t c{};
#ifdef H5FD_CLASS_VERSION
    c.version = H5FD_CLASS_VERSION;
    c.value = static_cast<H5FD_class_value_t>(512);  // a number for drivers that are not registered
#endif
    c.name = "trifuse_output";
    c.maxaddr = (haddr_t{1} << 62) - 1;
    c.fc_degree = H5F_CLOSE_WEAK;
    c.fapl_size = sizeof(AccessInfo);
    c.open = open_file;
    c.close = close_file;
    c.query = query;
    c.get_eoa = get_eoa;
    c.set_eoa = set_eoa;
    c.get_eof = get_eof;
    c.read = read_bytes;
    c.write = write_bytes;
    c.truncate = truncate_file;
    constexpr H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), std::begin(c.fl_map));
    return c;
  }();
  static hid_t id = H5I_INVALID_HID;
  if (H5Iis_valid(id) <= 0) id = H5FDregister(&description);
  return id;
}

}

std::int64_t hdf5_output_access(Hdf5OutputState* state) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  const AccessInfo info{state};
  // Without this driver HDF5 would write to the file of this name.
  if (H5Pset_driver(access, driver(), &info) >= 0) return access;
  static_cast<void>(H5Pclose(access));
  return H5I_INVALID_HID;
}

}
