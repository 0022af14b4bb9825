#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5_bytes.hpp"

/// What describes the data of an HDF5 file: superblock, object headers and groups. The HDF5 library does not read files
/// here, because it crashes or loops where they are damaged.
namespace trifuse {

/// One message of an object header.
struct Hdf5Message {
  std::uint64_t type;
  bool shared;  ///< the message only says where the real one is
  std::string data;
};

/// Where a name of a group leads.
struct Hdf5Link {
  bool hard;              ///< straight to an object of this file, not by another name
  std::uint64_t address;  ///< of the object header, if the link is hard
};

/// The links of a group by name.
using Hdf5Links = std::map<std::string, Hdf5Link>;

class Hdf5Structure {
 public:
  /// Types of messages.
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

  /// Reads superblock and header of the root group, and checks all names in it.
  explicit Hdf5Structure(const std::string& path);

  const Hdf5Bytes& file() const { return file_; }
  std::span<const Hdf5Message> root() const { return root_; }
  const Hdf5Links& root_links() const { return root_links_; }
  /// The links of the group whose header is at this address.
  Hdf5Links links(std::uint64_t address) const { return links(header(address)); }
  /// The messages of the object header at this address.
  std::vector<Hdf5Message> header(std::uint64_t address) const;
  /// Most children of a node of a tree of chunks.
  std::uint64_t most_chunk_children() const { return 2 * chunk_k_; }

  std::size_t address_bytes() const { return address_bytes_; }
  std::size_t length_bytes() const { return length_bytes_; }
  bool undefined(std::uint64_t address) const { return address == ~std::uint64_t{0} >> (64 - 8 * address_bytes_); }
  /// Bytes at an address as HDF5 counts them.
  std::string read(std::uint64_t address, std::uint64_t count, std::string_view what) const;
  /// The same bytes, which are followed by their checksum.
  std::string read_checked(std::uint64_t address, std::uint64_t count, std::string_view what) const;
  /// For data: null, or the reason for which they cannot be read.
  const char* read_into(std::uint64_t address, std::span<char> into) const {
    return file_.read_into(base_ + address, into);
  }
  bool contains(std::uint64_t address, std::uint64_t count) const;
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
  /// Tree and heap of the root group as the superblock repeats them.
  std::optional<std::string> root_symbols_;
  std::vector<Hdf5Message> root_;
  Hdf5Links root_links_;
};

}  // namespace trifuse
