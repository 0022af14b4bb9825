#include "tce_tiles/hdf5/hdf5_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_checksums.hpp"
#include "tce_tiles/hdf5/hdf5_dense.hpp"

namespace trifuse {
namespace {

constexpr std::string_view signature("\x89HDF\r\n\x1a\n", 8);
/// Limit for the size of a header. It is far more than the links and attributes of a dump need; an attribute has at
/// most 64 KiB.
constexpr std::size_t max_header_bytes = std::size_t{4} << 20;
constexpr std::size_t max_chunks = 1024;
constexpr std::size_t max_heap_bytes = std::size_t{16} << 20;
constexpr std::size_t max_group_nodes = 4096;
constexpr std::uint64_t max_levels = 16;

}

/// The heap with the names of a group, in the old format.
struct Hdf5Structure::Heap {
  std::string data;
};

struct Hdf5Structure::Walk {
  std::set<std::uint64_t> nodes;
  std::string last_name;
  Hdf5Links links;
};

Hdf5Structure::Hdf5Structure(const std::string& path) : file_(path) {
  read_superblock();
  root_ = header(root_address_);
  root_links_ = links(root_);
  if (!root_symbols_) return;
  for (const Hdf5Message& message : root_) {
    if (message.type == symbol_table && !message.data.starts_with(*root_symbols_)) file_.damaged("its superblock");
  }
}

Hdf5Links Hdf5Structure::links(std::span<const Hdf5Message> messages) const {
  Hdf5Links found;
  bool symbols = false;
  for (const Hdf5Message& message : messages) {
    switch (message.type) {
      case symbol_table:
        if (symbols || message.shared) file_.damaged("the symbol table of a group");
        symbols = true;
        found.merge(symbol_table_links(message.data));
        break;
      case link:
        add_link(message.data, found);
        break;
      case link_info:
        for (const std::string& each : dense_messages(*this, message.data, Hdf5Dense::links)) add_link(each, found);
        break;
      default:
        break;
    }
  }
  return found;
}

void Hdf5Structure::add_link(std::string_view message, Hdf5Links& links) const {
  Hdf5Cursor in = cursor(message, "a name in a group");
  in.require(in.number(1) == 1);
  const std::uint64_t flags = in.number(1);
  const bool hard = (flags & 8U) == 0 || in.number(1) == 0;
  in.skip(((flags & 4U) != 0 ? 8 : 0) + ((flags & 16U) != 0 ? 1 : 0));
  const std::string name(in.take(in.number(std::size_t{1} << (flags & 3U))));
  in.require(name.find('/') == std::string::npos);
  in.require(links.emplace(name, Hdf5Link{hard, hard ? in.number(address_bytes_) : 0}).second);
}

std::string Hdf5Structure::read(std::uint64_t address, std::uint64_t count, std::string_view what) const {
  if (!contains(address, count)) file_.damaged(fmt::format("{} reaches beyond its end", what));
  return file_.read(base_ + address, count, what);
}

std::string Hdf5Structure::read_checked(std::uint64_t address, std::uint64_t count, std::string_view what) const {
  if (!contains(address, count)) file_.damaged(fmt::format("{} reaches beyond its end", what));
  std::string piece = read(address, count + 4, what);
  Hdf5Cursor in = cursor(std::string_view(piece).substr(count), what);
  const std::uint64_t sum = in.number(4);
  piece.resize(count);
  in.require(sum == hdf5_lookup3(piece));
  return piece;
}

bool Hdf5Structure::contains(std::uint64_t address, std::uint64_t count) const {
  return address <= file_.size() && file_.contains(base_ + address, count);
}

void Hdf5Structure::read_superblock() {
  std::uint64_t at = 0;
  // The superblock is at byte 0 or, after a user block, at byte 512, 1024, 2048, ...
  while (file_.contains(at, signature.size()) && file_.read(at, signature.size(), "the signature") != signature) {
    at = at == 0 ? 512 : 2 * at;
  }
  if (!file_.contains(at, signature.size())) {
    throw InputError(fmt::format("{}: this is not an HDF5 file; name a Trifuse dump.", file_.path()));
  }
  const std::uint64_t most = std::min<std::uint64_t>(file_.size() - at, 256);
  const std::string bytes = file_.read(at, most, "the superblock");
  Hdf5Cursor in = cursor(bytes, "its superblock");
  in.expect(signature);
  const std::uint64_t version = in.number(1);
  in.require(version <= 3);
  const bool old = version < 2;
  if (old) in.skip(4);
  address_bytes_ = in.number(1);
  length_bytes_ = in.number(1);
  for (const std::size_t size : {address_bytes_, length_bytes_}) in.require(size == 4 || size == 8);
  const std::uint64_t flags = in.number(1);
  if (old) {
    leaf_k_ = in.number(2);
    group_k_ = in.number(2);
    in.skip(4);
    if (version == 1) {
      chunk_k_ = in.number(2);
      in.skip(2);
    }
  }
  base_ = in.number(address_bytes_);
  in.require(base_ == at);
  const std::uint64_t extension = in.number(address_bytes_);
  const std::uint64_t end = in.number(address_bytes_);
  if (end > file_.size()) {
    throw InputError(
        fmt::format("{}: the file is truncated (it has {} bytes, but it was written with {}); write or "
                    "copy it again.",
                    file_.path(), file_.size(), end));
  }
  if (!old) {
    root_address_ = in.number(address_bytes_);
    const std::size_t length = bytes.size() - in.left();
    in.require(in.number(4) == hdf5_lookup3(std::string_view(bytes).substr(0, length)));
    constexpr std::uint64_t being_written = 5;
    if (version == 3 && (flags & being_written) != 0) {
      throw InputError(fmt::format(
          "{}: the file is in use by a writer, or its writer was stopped; wait for the writer or write it again.",
          file_.path()));
    }
    if (!undefined(extension)) read_extension(extension);
  } else {
    // A file that consists of several files has the description of a file driver here.
    in.require(undefined(in.number(address_bytes_)));
    in.skip(address_bytes_);
    root_address_ = in.number(address_bytes_);
    const std::uint64_t cached = in.number(4);
    in.require(cached <= 1);
    in.skip(4);
    if (cached == 1) root_symbols_ = in.take(2 * address_bytes_);
  }
  for (const std::uint64_t k : {leaf_k_, group_k_, chunk_k_}) in.require(k >= 1 && k <= 16384);
}

void Hdf5Structure::read_extension(std::uint64_t address) {
  for (const Hdf5Message& message : header(address)) {
    if (message.type == driver_info || message.type == cache_image) {
      throw InputError(fmt::format(
          "{}: the file is one part of several, or has its metadata in another file; make a plain copy with h5repack.",
          file_.path()));
    }
    if (message.type != tree_sizes) continue;
    Hdf5Cursor in = cursor(message.data, "its superblock");
    in.skip(1);
    chunk_k_ = in.number(2);
    group_k_ = in.number(2);
    leaf_k_ = in.number(2);
  }
}

std::vector<Hdf5Message> Hdf5Structure::header(std::uint64_t address) const {
  constexpr std::string_view what = "an object header";
  // The longest head of an object header. The file may end before that many bytes.
  constexpr std::uint64_t longest = 64;
  if (!contains(address, 16)) file_.damaged("the address of an object header");
  const std::string front = read(address, contains(address, longest) ? longest : 16, what);
  Hdf5Cursor in = cursor(front, what);
  const bool old = front[0] != 'O';
  std::uint64_t size = 0, begin = 0;
  unsigned flags = 0;
  if (old) {
    in.require(in.number(1) == 1);
    in.skip(7);
    size = in.number(4);
    begin = 16;
  } else {
    in.expect("OHDR\2");
    flags = static_cast<unsigned>(in.number(1));
    if ((flags & 0x20U) != 0) in.skip(16);
    if ((flags & 0x10U) != 0) in.skip(4);
    size = in.number(std::size_t{1} << (flags & 3U));
    begin = front.size() - in.left();
  }
  std::vector<Hdf5Message> messages;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> chunks = {{address + begin, size}};
  std::set<std::uint64_t> seen;
  std::size_t total = 0;
  for (std::size_t n = 0; n < chunks.size(); ++n) {
    const auto [at, bytes] = chunks[n];
    total += std::min<std::uint64_t>(bytes, max_header_bytes + 1);
    in.require(seen.insert(at).second && n < max_chunks && total <= max_header_bytes);
    if (old) {
      add_messages(read(at, bytes, what), old, flags, messages, chunks);
    } else if (n == 0) {
      const std::string chunk = read_checked(address, begin + bytes, what);
      add_messages(std::string_view(chunk).substr(begin), old, flags, messages, chunks);
    } else {
      in.require(bytes >= 8);
      const std::string chunk = read_checked(at, bytes - 4, what);
      in.require(chunk.starts_with("OCHK"));
      add_messages(std::string_view(chunk).substr(4), old, flags, messages, chunks);
    }
  }
  return messages;
}

void Hdf5Structure::add_messages(std::string_view chunk, bool old, unsigned flags, std::vector<Hdf5Message>& messages,
                                 std::vector<std::pair<std::uint64_t, std::uint64_t>>& chunks) const {
  const std::size_t head = old ? 8 : (flags & 4U) != 0 ? 6 : 4;
  Hdf5Cursor in = cursor(chunk, "an object header");
  // A header of the new format may end with a gap that is too short for a message.
  while (old ? in.left() > 0 : in.left() >= head) {
    const std::uint64_t type = in.number(old ? 2 : 1);
    const std::uint64_t size = in.number(2);
    const std::uint64_t message_flags = in.number(1);
    in.skip(head - (old ? 5 : 4));
    in.require(!old || size % 8 == 0);
    const std::string_view data = in.take(size);
    messages.push_back({type, (message_flags & 2U) != 0, std::string(data)});
    if (type != continuation) continue;
    Hdf5Cursor inside = cursor(data, "the continuation of an object header");
    const std::uint64_t at = inside.number(address_bytes_);
    chunks.emplace_back(at, inside.number(length_bytes_));
  }
}

Hdf5Links Hdf5Structure::symbol_table_links(std::string_view message) const {
  Hdf5Cursor in = cursor(message, "the symbol table of a group");
  const std::uint64_t tree = in.number(address_bytes_);
  const Heap heap = read_local_heap(in.number(address_bytes_));
  Walk walk;
  check_group_node(tree, max_levels + 1, heap, walk);
  return std::move(walk.links);
}

Hdf5Structure::Heap Hdf5Structure::read_local_heap(std::uint64_t address) const {
  constexpr std::string_view what = "the heap of the names of a group";
  const std::string front = read(address, 8 + 2 * length_bytes_ + address_bytes_, what);
  Hdf5Cursor in = cursor(front, what);
  in.expect({"HEAP\0", 5});
  in.skip(3);
  const std::uint64_t size = in.number(length_bytes_);
  std::uint64_t free = in.number(length_bytes_);
  const std::uint64_t at = in.number(address_bytes_);
  in.require(size >= 8 && size <= max_heap_bytes);
  Heap heap{read(at, size, what)};
  // The free blocks form a linked list. 1 ends the list.
  for (std::size_t pieces = 0; free != 1; ++pieces) {
    in.require(pieces <= size / (2 * length_bytes_) && free != 0 && free <= size && size - free >= 2 * length_bytes_);
    Hdf5Cursor piece = cursor(std::string_view(heap.data).substr(free), what);
    const std::uint64_t next = piece.number(length_bytes_);
    in.require(piece.number(length_bytes_) <= size - free);
    free = next;
  }
  return heap;
}

void Hdf5Structure::check_group_node(std::uint64_t address, std::uint64_t level, const Heap& heap, Walk& walk) const {
  constexpr std::string_view what = "the tree of the names of a group";
  const std::uint64_t bytes =
      8 + 2 * address_bytes_ + (2 * group_k_ + 1) * length_bytes_ + 2 * group_k_ * address_bytes_;
  const std::string node = read(address, bytes, what);
  Hdf5Cursor in = cursor(node, what);
  in.expect({"TREE\0", 5});
  const std::uint64_t own_level = in.number(1), children = in.number(2);
  const bool top = walk.nodes.empty();
  in.require(walk.nodes.insert(address).second && walk.nodes.size() <= max_group_nodes);
  in.require((top ? own_level < level : own_level + 1 == level) && children <= 2 * group_k_ && (top || children > 0));
  in.skip(2 * address_bytes_);
  const auto key = [&] {
    const std::uint64_t name = in.number(length_bytes_);
    in.require(name < heap.data.size() && heap.data.find('\0', name) != std::string::npos);
    return std::string(heap.data.c_str() + name);
  };
  if (children == 0) return;
  // The names in a child must be above the key before the child and not above the key after it. Otherwise a search
  // would miss names.
  walk.last_name = std::max(walk.last_name, key());
  for (std::uint64_t n = 0; n < children; ++n) {
    const std::uint64_t child = in.number(address_bytes_);
    own_level > 0 ? check_group_node(child, own_level, heap, walk) : check_symbols(child, heap, walk);
    const std::string last = key();
    in.require(walk.last_name <= last);
    walk.last_name = last;
  }
}

void Hdf5Structure::check_symbols(std::uint64_t address, const Heap& heap, Walk& walk) const {
  constexpr std::string_view what = "the names of a group";
  const std::uint64_t entry_bytes = 2 * address_bytes_ + 24;
  const std::string node = read(address, 8 + 2 * leaf_k_ * entry_bytes, what);
  Hdf5Cursor in = cursor(node, what);
  in.expect({"SNOD\1", 5});
  in.skip(1);
  const std::uint64_t symbols = in.number(2);
  in.require(walk.nodes.insert(address).second && walk.nodes.size() <= max_group_nodes);
  in.require(symbols > 0 && symbols <= 2 * leaf_k_);
  for (std::uint64_t n = 0; n < symbols; ++n) {
    const std::uint64_t offset = in.number(address_bytes_), object = in.number(address_bytes_);
    const std::uint64_t cached = in.number(4);
    in.skip(4);
    const std::uint64_t value = in.number(4);
    in.skip(12);
    in.require(offset < heap.data.size() && heap.data.find('\0', offset) != std::string::npos);
    std::string name(heap.data.c_str() + offset);
    in.require(walk.last_name < name && name.find('/') == std::string::npos);
    walk.links.emplace(name, Hdf5Link{cached != 2, object});
    walk.last_name = std::move(name);
    in.require(cached <= 2);
    if (cached == 2) {
      in.require(value < heap.data.size() && heap.data.find('\0', value) != std::string::npos);
    } else {
      in.require(contains(object, 16));
    }
  }
}

}
