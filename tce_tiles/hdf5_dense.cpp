#include "tce_tiles/hdf5_dense.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

constexpr std::string_view what = "the heap of names or attributes of a group";
constexpr std::uint64_t most_block_bytes = std::uint64_t{1} << 24;

[[noreturn]] void unsupported(const Hdf5Structure& structure) {
  throw InputError(
      fmt::format("{}: a group has too many or too long names or attributes to be checked; leave out those "
                  "that a dump does not need.",
                  structure.file().path()));
}

/// The checksum of HDF5's metadata: lookup3 by Bob Jenkins.
std::uint32_t lookup3(std::string_view bytes) {
  std::uint32_t a = 0xdeadbeefU + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < 4 && at + k < bytes.size(); ++k) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + k])) << (8 * k);
    }
    return value;
  };
  std::size_t at = 0;
  for (; bytes.size() - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  if (at == bytes.size()) return c;
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= std::rotl(b, 14);
  a ^= c, a -= std::rotl(c, 11);
  b ^= a, b -= std::rotl(a, 25);
  c ^= b, c -= std::rotl(b, 16);
  a ^= c, a -= std::rotl(c, 4);
  b ^= a, b -= std::rotl(a, 14);
  c ^= b, c -= std::rotl(b, 24);
  return c;
}

/// Bytes whose last four are their checksum; returns the others.
std::string read_checked(const Hdf5Structure& structure, std::uint64_t address, std::uint64_t bytes) {
  std::string piece = structure.read(address, bytes + 4, what);
  Hdf5Cursor in = structure.cursor(std::string_view(piece).substr(bytes), what);
  const std::uint64_t sum = in.number(4);
  piece.resize(bytes);
  in.require(sum == lookup3(piece));
  return piece;
}

/// Pieces of a fractal heap, found by their offset in it.
class FractalHeap {
 public:
  FractalHeap(const Hdf5Structure& structure, std::uint64_t address) : structure_(structure) {
    const std::size_t a = structure.address_bytes(), l = structure.length_bytes();
    const std::string head = read_checked(structure, address, 22 + 12 * l + 3 * a);
    Hdf5Cursor in = structure.cursor(head, what);
    in.expect({"FRHP\0", 5});
    id_bytes_ = in.number(2);
    if (in.number(2) != 0) unsupported(structure);  // compressed
    checksums_ = (in.number(1) & 2U) != 0;
    in.skip(4 + l + a + l + a + 8 * l);
    width_ = in.number(2);
    start_bytes_ = in.number(l);
    most_direct_ = in.number(l);
    offset_bytes_ = (in.number(2) + 7) / 8;
    in.skip(2);
    root_ = in.number(a);
    rows_ = in.number(2);
    in.require(width_ > 0 && width_ <= 64 && start_bytes_ > 0 && start_bytes_ <= most_block_bytes &&
               most_direct_ <= most_block_bytes && rows_ <= 64 && offset_bytes_ >= 1 && offset_bytes_ <= 8 &&
               id_bytes_ > 1 + offset_bytes_ && id_bytes_ <= 1 + offset_bytes_ + 4);
  }

  std::uint64_t id_bytes() const { return id_bytes_; }

  std::string object(std::string_view id) {
    Hdf5Cursor in = structure_.cursor(id, what);
    if (in.number(1) != 0) unsupported(structure_);  // a large object, which stands elsewhere
    const std::uint64_t offset = in.number(offset_bytes_), length = in.number(id_bytes_ - 1 - offset_bytes_);
    std::uint64_t begin = 0, bytes = start_bytes_, block = root_;
    if (rows_ > 0) block = find_block(offset, begin, bytes);
    in.require(offset - begin <= bytes && length <= bytes - (offset - begin));
    if (block != block_) read_block(block, bytes);
    return content_.substr(offset - begin, length);
  }

 private:
  void read_block(std::uint64_t address, std::uint64_t bytes) {
    content_ = structure_.read(address, bytes, what);
    block_ = address;
    Hdf5Cursor in = structure_.cursor(content_, what);
    in.expect({"FHDB\0", 5});
    in.skip(structure_.address_bytes() + offset_bytes_);
    if (!checksums_) return;
    const std::size_t at = content_.size() - in.left();
    const std::uint64_t sum = in.number(4);
    std::fill_n(content_.begin() + static_cast<std::ptrdiff_t>(at), 4, '\0');
    in.require(sum == lookup3(content_));
  }

  /// The block of the first level that holds `offset`, where it begins in the heap, and its size.
  std::uint64_t find_block(std::uint64_t offset, std::uint64_t& begin, std::uint64_t& bytes) const {
    const std::size_t a = structure_.address_bytes();
    const std::uint64_t head = 5 + a + offset_bytes_;
    const std::string table = read_checked(structure_, root_, head + rows_ * width_ * a);
    Hdf5Cursor in = structure_.cursor(table, what);
    in.expect({"FHIB\0", 5});
    in.skip(head - 5);
    for (std::uint64_t row = 0; row < rows_; ++row) {
      // Blocks of the first two rows are equally large; those of each further row are twice as large.
      if (row > 1) bytes *= 2;
      if (bytes > most_direct_) unsupported(structure_);
      for (std::uint64_t column = 0; column < width_; ++column) {
        const std::uint64_t block = in.number(a);
        if (offset - begin < bytes) return block;
        begin += bytes;
      }
    }
    structure_.file().damaged(what);
  }

  const Hdf5Structure& structure_;
  std::uint64_t id_bytes_ = 0, width_ = 0, start_bytes_ = 0, most_direct_ = 0, offset_bytes_ = 0, root_ = 0, rows_ = 0;
  bool checksums_ = false;
  std::uint64_t block_ = ~std::uint64_t{0};
  std::string content_;  ///< of that block
};

/// The index of a heap: a tree of one or two levels.
class Index {
 public:
  Index(const Hdf5Structure& structure, std::uint64_t address, std::uint64_t type, std::uint64_t record_bytes)
      : structure_(structure), type_(type), record_bytes_(record_bytes) {
    const std::string head =
        read_checked(structure, address, 18 + structure.address_bytes() + structure.length_bytes());
    Hdf5Cursor in = structure.cursor(head, what);
    in.expect({"BTHD\0", 5});
    in.require(in.number(1) == type);
    node_bytes_ = in.number(4);
    in.require(in.number(2) == record_bytes);
    const std::uint64_t depth = in.number(2);
    in.skip(2);
    const std::uint64_t root = in.number(structure.address_bytes()), records = in.number(2);
    in.require(node_bytes_ > 10 + record_bytes && node_bytes_ <= most_block_bytes);
    if (depth > 1) unsupported(structure);
    if (records > 0) depth == 0 ? add_leaf(root, records) : add_node(root, records);
  }

  const std::vector<std::string>& records() const { return records_; }

 private:
  void add_records(Hdf5Cursor& in, std::uint64_t count) {
    for (std::uint64_t n = 0; n < count; ++n) records_.emplace_back(in.take(record_bytes_));
  }
  void add_leaf(std::uint64_t address, std::uint64_t records) {
    const std::string node = read_checked(structure_, address, 6 + records * record_bytes_);
    Hdf5Cursor in = structure_.cursor(node, what);
    in.expect({"BTLF\0", 5});
    in.require(in.number(1) == type_);
    add_records(in, records);
  }
  void add_node(std::uint64_t address, std::uint64_t records) {
    const std::uint64_t most = (node_bytes_ - 10) / record_bytes_;
    const std::size_t count_bytes = static_cast<std::size_t>(std::bit_width(most) - 1) / 8 + 1,
                      a = structure_.address_bytes();
    const std::string node =
        read_checked(structure_, address, 6 + records * record_bytes_ + (records + 1) * (a + count_bytes));
    Hdf5Cursor in = structure_.cursor(node, what);
    in.expect({"BTIN\0", 5});
    in.require(in.number(1) == type_);
    add_records(in, records);
    for (std::uint64_t n = 0; n <= records; ++n) {
      const std::uint64_t child = in.number(a), inside = in.number(count_bytes);
      in.require(inside > 0 && inside <= most);
      add_leaf(child, inside);
    }
  }

  const Hdf5Structure& structure_;
  std::uint64_t type_, record_bytes_, node_bytes_ = 0;
  std::vector<std::string> records_;
};

}  // namespace

std::vector<std::string> dense_messages(const Hdf5Structure& structure, std::string_view info, Hdf5Dense kind) {
  const bool links = kind == Hdf5Dense::links;
  Hdf5Cursor in = structure.cursor(info, what);
  in.require(in.number(1) == 0);
  if ((in.number(1) & 1U) != 0) in.skip(links ? 8 : 2);
  const std::size_t a = structure.address_bytes();
  const std::uint64_t heap_address = in.number(a), tree = in.number(a);
  if (structure.undefined(heap_address)) return {};
  FractalHeap heap(structure, heap_address);
  // Records: hash of the name and id of a link; id, flags, number and hash of the name of an attribute.
  constexpr std::uint64_t link_names = 5, attribute_names = 8;
  const std::uint64_t id_at = links ? 4 : 0, rest = links ? 0 : 9;
  const Index index(structure, tree, links ? link_names : attribute_names, id_at + heap.id_bytes() + rest);
  std::vector<std::string> messages;
  for (const std::string& record : index.records()) {
    const std::string_view id = std::string_view(record).substr(id_at, heap.id_bytes());
    if (!links && record[heap.id_bytes()] != 0) unsupported(structure);  // shared with other objects
    messages.push_back(heap.object(id));
  }
  return messages;
}

}  // namespace trifuse
