#include "tce_tiles/hdf5_dense_attributes.hpp"

#include <fmt/format.h>

#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

constexpr std::string_view what = "the heap of the attributes of the root group";
constexpr std::uint64_t most_block_bytes = std::uint64_t{1} << 24;

[[noreturn]] void unsupported(const Hdf5Structure& structure) {
  throw InputError(
      fmt::format("{}: the attributes of the root group are too many or too long to be read as strings of "
                  "variable length; write them as strings of fixed length.",
                  structure.file().path()));
}

/// Pieces of a fractal heap, found by their offset in it.
class FractalHeap {
 public:
  FractalHeap(const Hdf5Structure& structure, std::uint64_t address) : structure_(structure) {
    const std::size_t a = structure.address_bytes(), l = structure.length_bytes();
    const std::string head = structure.read(address, 22 + 12 * l + 3 * a, what);
    Hdf5Cursor in = structure.cursor(head, what);
    in.expect({"FRHP\0", 5});
    id_bytes_ = in.number(2);
    if (in.number(2) != 0) unsupported(structure);  // compressed
    in.skip(1 + 4 + l + a + l + a + 8 * l);
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

  std::string object(std::string_view id) const {
    Hdf5Cursor in = structure_.cursor(id, what);
    if (in.number(1) != 0) unsupported(structure_);  // a large object, which stands elsewhere
    const std::uint64_t offset = in.number(offset_bytes_), length = in.number(id_bytes_ - 1 - offset_bytes_);
    std::uint64_t begin = 0, bytes = start_bytes_, block = root_;
    if (rows_ > 0) block = find_block(offset, begin, bytes);
    in.require(offset - begin <= bytes && length <= bytes - (offset - begin) && structure_.contains(block, bytes));
    in.require(structure_.read(block, 4, what) == "FHDB");
    return structure_.read(block + offset - begin, length, what);
  }

 private:
  /// The block of the first level that holds `offset`, where it begins in the heap, and its size.
  std::uint64_t find_block(std::uint64_t offset, std::uint64_t& begin, std::uint64_t& bytes) const {
    const std::size_t a = structure_.address_bytes();
    const std::uint64_t head = 5 + a + offset_bytes_;
    const std::string table = structure_.read(root_, head + rows_ * width_ * a, what);
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
};

}  // namespace

std::vector<std::string> dense_attributes(const Hdf5Structure& structure, std::string_view info) {
  Hdf5Cursor in = structure.cursor(info, what);
  in.require(in.number(1) == 0);
  if ((in.number(1) & 1U) != 0) in.skip(2);
  const std::size_t a = structure.address_bytes();
  const std::uint64_t heap_address = in.number(a), tree = in.number(a);
  if (structure.undefined(heap_address)) return {};
  const FractalHeap heap(structure, heap_address);
  const std::string head = structure.read(tree, 18 + a + structure.length_bytes(), what);
  Hdf5Cursor tree_in = structure.cursor(head, what);
  tree_in.expect({"BTHD\0\10", 6});
  const std::uint64_t node_bytes = tree_in.number(4), record_bytes = tree_in.number(2), depth = tree_in.number(2);
  tree_in.skip(2);
  const std::uint64_t root = tree_in.number(a), records = tree_in.number(2);
  tree_in.require(node_bytes <= most_block_bytes && record_bytes == heap.id_bytes() + 9);
  if (depth > 0) unsupported(structure);
  const std::string leaf = structure.read(root, node_bytes, what);
  Hdf5Cursor leaf_in = structure.cursor(leaf, what);
  leaf_in.expect({"BTLF\0\10", 6});
  std::vector<std::string> messages;
  for (std::uint64_t n = 0; n < records; ++n) {
    const std::string_view id = leaf_in.take(heap.id_bytes());
    if (leaf_in.number(1) != 0) unsupported(structure);  // shared with other objects
    leaf_in.skip(8);
    messages.push_back(heap.object(id));
  }
  return messages;
}

}  // namespace trifuse
