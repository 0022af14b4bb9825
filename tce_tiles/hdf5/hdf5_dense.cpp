#include "tce_tiles/hdf5/hdf5_dense.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_checksums.hpp"
#include "tce_tiles/hdf5/hdf5_tree.hpp"

namespace trifuse {
namespace {

constexpr std::string_view what = "the heap of names or attributes of a group";
constexpr std::uint64_t max_block_bytes = std::uint64_t{1} << 24;
constexpr std::uint64_t max_total_bytes = std::uint64_t{1} << 24;

[[noreturn]] void unsupported(const Hdf5Structure& structure) {
  throw InputError(
      fmt::format("{}: the names or attributes of a group are too many or too long to be checked; leave out all that a "
                  "dump does not need.",
                  structure.file().path()));
}

/// Reads objects of a fractal heap. An object is found by its offset in the heap.
class FractalHeap {
 public:
  FractalHeap(const Hdf5Structure& structure, std::uint64_t address) : structure_(structure) {
    const std::size_t a = structure.address_bytes(), l = structure.length_bytes();
    const std::string head = structure.read_checked(address, 22 + 12 * l + 3 * a, what);
    Hdf5Cursor in = structure.cursor(head, what);
    in.expect({"FRHP\0", 5});
    id_bytes_ = in.number(2);
    if (in.number(2) != 0) unsupported(structure);  // compressed
    checksums_ = (in.number(1) & 2U) != 0;
    in.skip(4 + l + a + l + a + 8 * l);
    width_ = in.number(2);
    start_bytes_ = in.number(l);
    max_direct_ = in.number(l);
    offset_bytes_ = (in.number(2) + 7) / 8;
    in.skip(2);
    root_ = in.number(a);
    rows_ = in.number(2);
    in.require(width_ > 0 && width_ <= 64 && start_bytes_ > 0 && start_bytes_ <= max_block_bytes &&
               max_direct_ <= max_block_bytes && rows_ <= 64 && offset_bytes_ >= 1 && offset_bytes_ <= 8 &&
               id_bytes_ > 1 + offset_bytes_ && id_bytes_ <= 1 + offset_bytes_ + 4);
  }

  std::uint64_t id_bytes() const { return id_bytes_; }

  std::string object(std::string_view id) {
    Hdf5Cursor in = structure_.cursor(id, what);
    if (in.number(1) != 0) unsupported(structure_);  // a large object, which is stored outside the heap
    const std::uint64_t offset = in.number(offset_bytes_), length = in.number(id_bytes_ - 1 - offset_bytes_);
    std::uint64_t begin = 0, bytes = start_bytes_, block = root_;
    if (rows_ > 0) block = find_block(offset, begin, bytes);
    in.require(offset - begin <= bytes && length <= bytes - (offset - begin));
    if (block != block_) read_block(block, bytes);
    in.require(content_.size() == bytes);
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
    in.require(sum == hdf5_lookup3(content_));
  }

  /// Returns the address of the first-level block that holds `offset`. Sets `begin` to the offset of the block in the
  /// heap and `bytes` to its size.
  std::uint64_t find_block(std::uint64_t offset, std::uint64_t& begin, std::uint64_t& bytes) const {
    const std::size_t a = structure_.address_bytes();
    const std::uint64_t head = 5 + a + offset_bytes_;
    const std::string table = structure_.read_checked(root_, head + rows_ * width_ * a, what);
    Hdf5Cursor in = structure_.cursor(table, what);
    in.expect({"FHIB\0", 5});
    in.skip(head - 5);
    for (std::uint64_t row = 0; row < rows_; ++row) {
      // In the first two rows all blocks have the same size. In each further row the size doubles.
      if (row > 1) bytes *= 2;
      if (bytes > max_direct_) unsupported(structure_);
      for (std::uint64_t column = 0; column < width_; ++column) {
        const std::uint64_t block = in.number(a);
        if (offset - begin < bytes) return block;
        begin += bytes;
      }
    }
    structure_.file().damaged(what);
  }

  const Hdf5Structure& structure_;
  std::uint64_t id_bytes_ = 0, width_ = 0, start_bytes_ = 0, max_direct_ = 0, offset_bytes_ = 0, root_ = 0, rows_ = 0;
  bool checksums_ = false;
  std::optional<std::uint64_t> block_;
  std::string content_;  ///< the bytes of this block
};

}

std::vector<std::string> dense_messages(const Hdf5Structure& structure, std::string_view info, Hdf5Dense kind) {
  const bool links = kind == Hdf5Dense::links;
  Hdf5Cursor in = structure.cursor(info, what);
  in.require(in.number(1) == 0);
  if ((in.number(1) & 1U) != 0) in.skip(links ? 8 : 2);
  const std::size_t a = structure.address_bytes();
  const std::uint64_t heap_address = in.number(a), tree = in.number(a);
  if (structure.undefined(heap_address)) return {};
  FractalHeap heap(structure, heap_address);
  // Record of a link: hash of the name, id. Record of an attribute: id, flags, number, hash of the name.
  constexpr std::uint64_t link_names = 5, attribute_names = 8;
  const std::uint64_t id_at = links ? 4 : 0, rest = links ? 0 : 9;
  const std::uint64_t record_bytes = id_at + heap.id_bytes() + rest;
  std::vector<std::string> messages;
  std::uint64_t total = 0;
  read_tree(structure, tree, links ? link_names : attribute_names, what, [&](std::string_view record) {
    in.require(record.size() == record_bytes);
    if (!links && record[heap.id_bytes()] != 0) unsupported(structure);  // shared with other objects
    messages.push_back(heap.object(record.substr(id_at, heap.id_bytes())));
    total += messages.back().size();
    if (total > max_total_bytes) unsupported(structure);
  });
  return messages;
}

}
