#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5/hdf5_bytes.hpp"

/// The metadata of an HDF5 file: superblock, object headers and groups. Trifuse reads files without the HDF5 library,
/// because that library crashes or loops on damaged files.
namespace trifuse {

/// One message of an object header.
struct Hdf5Message {
  std::uint64_t type;  ///< one of the message types in `Hdf5Structure`
  bool shared;         ///< true if the message only refers to another place
  std::string data;
};

/// The object that a name in a group refers to.
struct Hdf5Link {
  bool hard;              ///< true if the link gives an address in this file; false if it gives another name
  std::uint64_t address;  ///< address of the object header, if the link is hard
};

/// The links of a group by name.
using Hdf5Links = std::map<std::string, Hdf5Link>;

/// The metadata of an open file. Every function that reads throws InputError if the file is damaged. Addresses are as
/// HDF5 counts them, in bytes from the superblock.
class Hdf5Structure {
 public:
  /// Message types.
  enum : std::uint64_t {
    dataspace = 0x01,
    link_info = 0x02,
    datatype = 0x03,
    link = 0x06,
    external_files = 0x07,
    layout = 0x08,
    filters = 0x0b,
    attribute = 0x0c,
    continuation = 0x10,
    symbol_table = 0x11,
    tree_sizes = 0x13,
    driver_info = 0x14,
    attribute_info = 0x15,
    cache_image = 0x18
  };

  /// Opens the file, reads its superblock and the header of its root group, and checks all names in the root group.
  explicit Hdf5Structure(const std::string& path);

  const Hdf5Bytes& file() const { return file_; }
  /// Returns the messages of the root group.
  std::span<const Hdf5Message> root() const { return root_; }
  const Hdf5Links& root_links() const { return root_links_; }
  /// Returns the links of the group whose header is at this address.
  Hdf5Links links(std::uint64_t address) const { return links(header(address)); }
  /// Returns the messages of the object header at this address.
  std::vector<Hdf5Message> header(std::uint64_t address) const;
  /// Returns the largest number of children of a node of a version 1 B-tree of chunks.
  std::uint64_t max_chunk_children() const { return 2 * chunk_k_; }

  /// Returns the size of an address and of a length in this file, bytes: 4 or 8.
  std::size_t address_bytes() const { return address_bytes_; }
  std::size_t length_bytes() const { return length_bytes_; }
  /// Returns true if `address` is the "undefined address" of HDF5.
  bool undefined(std::uint64_t address) const { return address == ~std::uint64_t{0} >> (64 - 8 * address_bytes_); }
  /// Returns `count` bytes from `address` on. `what` names them in error messages.
  std::string read(std::uint64_t address, std::uint64_t count, std::string_view what) const;
  /// Returns `count` bytes and verifies them with the checksum behind them.
  std::string read_checked(std::uint64_t address, std::uint64_t count, std::string_view what) const;
  /// Fills `into` with the bytes from `address` on. Returns null, or the reason why they cannot be read.
  const char* read_into(std::uint64_t address, std::span<char> into) const {
    return file_.read_into(base_ + address, into);
  }
  /// Returns true if `count` bytes from `address` on lie in the file.
  bool contains(std::uint64_t address, std::uint64_t count) const;
  /// Returns a cursor over `bytes`, which were read from this file. `what` names them in error messages.
  Hdf5Cursor cursor(std::string_view bytes, std::string_view what) const { return {file_, bytes, what}; }

 private:
  struct Heap;
  struct Walk;
  void read_superblock();
  void read_extension(std::uint64_t address);
  Hdf5Links links(std::span<const Hdf5Message> messages) const;
  Hdf5Links symbol_table_links(std::string_view message) const;
  void add_link(std::string_view message, Hdf5Links& links) const;
  Heap read_local_heap(std::uint64_t address) const;
  void check_group_node(std::uint64_t address, std::uint64_t level, const Heap& heap, Walk& walk) const;
  void check_symbols(std::uint64_t address, const Heap& heap, Walk& walk) const;
  void add_messages(std::string_view chunk, bool old, unsigned flags, std::vector<Hdf5Message>& messages,
                    std::vector<std::pair<std::uint64_t, std::uint64_t>>& chunks) const;

  Hdf5Bytes file_;
  std::uint64_t base_ = 0;
  std::size_t address_bytes_ = 8, length_bytes_ = 8;
  std::uint64_t leaf_k_ = 4, group_k_ = 16, chunk_k_ = 32;
  std::uint64_t root_address_ = 0;
  /// Addresses of the tree and the heap of the root group, if the superblock repeats them.
  std::optional<std::string> root_symbols_;
  std::vector<Hdf5Message> root_;
  Hdf5Links root_links_;
};

}
