#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "tce_tiles/hdf5/hdf5_chunks.hpp"
#include "tce_tiles/hdf5/hdf5_tree.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t max_index = std::uint64_t{1} << 60;

std::uint64_t chunks_along(std::uint64_t extent, std::uint64_t chunk) {
  return extent / chunk + (extent % chunk == 0 ? 0 : 1);
}

/// Calls `visit` for each chunk of the dataset. `index`: number of the chunk in the index, in ascending order. `n`: its
/// number in C order. An index numbers the chunks of the largest extents that the dataset may have. In this numbering
/// an axis without a limit varies slowest.
void for_each_chunk(const Hdf5Structure& structure, const Hdf5ChunkList& list,
                    const std::function<void(std::uint64_t index, std::uint64_t n)>& visit) {
  const Hdf5Chunks& chunks = list.chunks();
  const std::size_t rank = chunks.shape.size();
  struct Axis {
    std::uint64_t count, index_step, step, at;
  };
  std::vector<Axis> axes(rank);
  std::vector<std::uint64_t> most(rank);
  std::uint64_t step = 1;
  for (std::size_t k = rank; k-- > 0;) {
    axes[k] = {chunks_along(chunks.extent[k], chunks.shape[k]), 0, step, 0};
    most[k] = chunks.most[k] == unlimited ? unlimited : chunks_along(chunks.most[k], chunks.shape[k]);
    step *= axes[k].count;
  }
  const auto open = std::find(most.begin(), most.end(), unlimited);
  if (open != most.end()) {
    const auto first = axes.begin() + (open - most.begin());
    std::rotate(axes.begin(), first, first + 1);
    std::rotate(most.begin(), open, open + 1);
  }
  step = 1;
  for (std::size_t k = rank; k-- > 0;) {
    axes[k].index_step = step;
    const std::uint64_t along = k == 0 ? axes[0].count : most[k];
    Hdf5Cursor(structure.file(), {}, list.what()).require(along <= max_index / step);
    step *= std::max<std::uint64_t>(along, 1);
  }
  std::uint64_t index = 0, n = 0;
  for (std::uint64_t done = 0; done < chunks.count; ++done) {
    visit(index, n);
    for (std::size_t k = rank; k-- > 0;) {
      Axis& axis = axes[k];
      index += axis.index_step, n += axis.step;
      if (++axis.at < axis.count) break;
      index -= axis.count * axis.index_step, n -= axis.count * axis.step;
      axis.at = 0;
    }
  }
}

/// An element of an index, which describes a chunk: its address and, if there are filters, its size and the omitted
/// filters.
class Element {
 public:
  Element(const Hdf5Structure& structure, const Hdf5ChunkList& list)
      : structure_(structure), list_(list), filtered_(!list.chunks().filters.empty()) {}

  /// Sets the size of an element. `filtered`, `bytes`: numbers in the head of the index.
  void set_size(Hdf5Cursor& in, std::uint64_t filtered, std::uint64_t bytes) {
    const std::uint64_t least = structure_.address_bytes() + (filtered_ ? 5 : 0);
    in.require(filtered == (filtered_ ? 1 : 0) && bytes >= least && bytes <= least + (filtered_ ? 7 : 0));
    bytes_ = bytes;
  }
  std::uint64_t bytes() const { return bytes_; }
  Hdf5Chunk read(Hdf5Cursor& in) const {
    Hdf5Chunk chunk{in.number(structure_.address_bytes()), list_.chunks().bytes, 0};
    if (!filtered_) return chunk;
    chunk.stored = in.number(bytes_ - structure_.address_bytes() - 4);
    chunk.skipped = in.number(4);
    return chunk;
  }

 private:
  const Hdf5Structure& structure_;
  const Hdf5ChunkList& list_;
  bool filtered_;
  std::uint64_t bytes_ = 0;
};

/// A page: consecutive elements in the file, followed by their checksum. Keeps the page that was read last.
class ElementPage {
 public:
  ElementPage(const Hdf5Structure& structure, const Hdf5ChunkList& list, const Element& element)
      : structure_(structure), list_(list), element_(element) {}

  /// Reads element `n` of the page at `address`. The page has `front` bytes and then `count` elements.
  Hdf5Chunk read(std::uint64_t address, std::uint64_t front, std::uint64_t count, std::uint64_t n) {
    if (address_ != address || content_.empty()) {
      Hdf5Cursor(structure_.file(), {}, list_.what()).require(count <= structure_.file().size());
      content_ = structure_.read_checked(address, front + count * element_.bytes(), list_.what());
      address_ = address;
    }
    Hdf5Cursor in = structure_.cursor(content_, list_.what());
    in.skip(front + n * element_.bytes());
    return element_.read(in);
  }
  /// Returns the bytes of the page that was read last.
  const std::string& content() const { return content_; }

 private:
  const Hdf5Structure& structure_;
  const Hdf5ChunkList& list_;
  const Element& element_;
  std::uint64_t address_ = 0;
  std::string content_;
};

bool bit_of(std::string_view bits, std::uint64_t n) {
  return (static_cast<unsigned char>(bits[n / 8]) & 0x80U >> n % 8) != 0;
}

/// The index of a dataset with limited extents: a table, which is divided into pages if it is long.
class FixedArray {
 public:
  FixedArray(const Hdf5Structure& structure, Hdf5ChunkList& list, std::uint64_t address)
      : structure_(structure), list_(list), element_(structure, list), page_(structure, list, element_) {
    const std::size_t a = structure.address_bytes(), l = structure.length_bytes();
    const std::string head = structure.read_checked(address, 8 + l + a, list.what());
    Hdf5Cursor in = structure.cursor(head, list.what());
    in.expect({"FAHD\0", 5});
    const std::uint64_t filtered = in.number(1);
    element_.set_size(in, filtered, in.number(1));
    const std::uint64_t page_bits = in.number(1);
    count_ = in.number(l);
    block_ = in.number(a);
    in.require(page_bits < 32);
    page_count_ = std::uint64_t{1} << page_bits;
    if (structure.undefined(block_) || count_ <= page_count_) return;
    in.require(count_ / page_count_ <= structure.file().size());
    const std::uint64_t pages = chunks_along(count_, page_count_);
    const std::string front = structure.read_checked(block_, front_bytes() + (pages + 7) / 8, list.what());
    check_block(front);
    pages_begin_ = block_ + front.size() + 4;
    written_ = front.substr(front_bytes());
  }

  Hdf5Chunk find(std::uint64_t n) {
    if (n >= count_) structure_.file().damaged(list_.what());
    if (structure_.undefined(block_)) return {.address = block_};
    if (count_ <= page_count_) {
      const Hdf5Chunk chunk = page_.read(block_, front_bytes(), count_, n);
      check_block(page_.content());
      return chunk;
    }
    const std::uint64_t page = n / page_count_;
    if (!bit_of(written_, page)) return {.address = ~std::uint64_t{0} >> (64 - 8 * structure_.address_bytes())};
    return page_.read(pages_begin_ + page * (page_count_ * element_.bytes() + 4), 0,
                      std::min(page_count_, count_ - page * page_count_), n % page_count_);
  }

 private:
  std::uint64_t front_bytes() const { return 6 + structure_.address_bytes(); }
  void check_block(std::string_view content) const { structure_.cursor(content, list_.what()).expect({"FADB\0", 5}); }

  const Hdf5Structure& structure_;
  const Hdf5ChunkList& list_;
  Element element_;
  ElementPage page_;
  std::uint64_t count_ = 0, block_ = 0, page_count_ = 0, pages_begin_ = 0;
  std::string written_;  ///< a bit for each page: set if the page was written
};

/// The index of a dataset that has one axis without a limit: blocks of growing size. An index block holds the first
/// elements and the addresses of the first blocks. Super blocks hold the addresses of the other blocks.
class ExtensibleArray {
 public:
  ExtensibleArray(const Hdf5Structure& structure, Hdf5ChunkList& list, std::uint64_t address)
      : structure_(structure), list_(list), element_(structure, list), page_(structure, list, element_) {
    const std::size_t a = structure.address_bytes();
    const std::string head = structure.read_checked(address, 12 + 6 * structure.length_bytes() + a, list.what());
    Hdf5Cursor in = structure.cursor(head, list.what());
    in.expect({"EAHD\0", 5});
    const std::uint64_t filtered = in.number(1);
    element_.set_size(in, filtered, in.number(1));
    count_bits_ = in.number(1);
    own_elements_ = in.number(1);
    least_elements_ = in.number(1);
    const std::uint64_t least_blocks = in.number(1), page_bits = in.number(1);
    in.skip(6 * structure.length_bytes());
    const std::uint64_t index_block = in.number(a);
    in.require(count_bits_ > 0 && count_bits_ <= 64 && std::has_single_bit(least_elements_) &&
               std::has_single_bit(least_blocks) && least_blocks > 1 && page_bits < 32);
    page_count_ = std::uint64_t{1} << page_bits;
    direct_super_blocks_ = 2 * static_cast<std::uint64_t>(std::bit_width(least_blocks) - 1);
    direct_blocks_ = 2 * (least_blocks - 1);
    const auto least_bits = static_cast<std::uint64_t>(std::bit_width(least_elements_) - 1);
    in.require(count_bits_ >= least_bits && 1 + count_bits_ - least_bits >= direct_super_blocks_);
    const std::uint64_t super_blocks = 1 + count_bits_ - least_bits - direct_super_blocks_;
    if (structure.undefined(index_block)) return;
    index_ = structure.read_checked(
        index_block, 6 + a + own_elements_ * element_.bytes() + (direct_blocks_ + super_blocks) * a, list.what());
    structure.cursor(*index_, list.what()).expect({"EAIB\0", 5});
  }

  Hdf5Chunk find(std::uint64_t n) {
    const std::size_t a = structure_.address_bytes();
    if (!index_) return {.address = nowhere()};
    Hdf5Cursor in = structure_.cursor(*index_, list_.what());
    in.skip(6 + a);
    if (n < own_elements_) {
      in.skip(n * element_.bytes());
      return element_.read(in);
    }
    in.skip(own_elements_ * element_.bytes());
    n -= own_elements_;
    // Super block s has 2^(s/2) blocks of least_elements_ * 2^((s+1)/2) elements.
    const auto s = static_cast<std::uint64_t>(std::bit_width(n / least_elements_ + 1) - 1);
    in.require(s < 48);
    const std::uint64_t blocks = std::uint64_t{1} << s / 2, size = least_elements_ << (s + 1) / 2;
    n -= ((std::uint64_t{1} << s) - 1) * least_elements_;
    const std::uint64_t block = n / size;
    if (s < direct_super_blocks_) {
      // Number of blocks before the blocks of super block s.
      const std::uint64_t before = (s % 2 == 0 ? 2 : 3) * (std::uint64_t{1} << s / 2) - 2;
      in.require(before + block < direct_blocks_ && size <= page_count_);
      in.skip((before + block) * a);
      return find_in_block(in.number(a), size, n % size);
    }
    in.skip((direct_blocks_ + s - direct_super_blocks_) * a);
    const std::uint64_t address = in.number(a);
    if (structure_.undefined(address)) return {.address = nowhere()};
    const std::uint64_t pages = size > page_count_ ? size / page_count_ : 0, bytes = blocks * ((pages + 7) / 8);
    if (super_address_ != address || super_block_.empty()) {
      super_block_ = structure_.read_checked(address, front_bytes() + bytes + blocks * a, list_.what());
      super_address_ = address;
    }
    Hdf5Cursor super = structure_.cursor(super_block_, list_.what());
    super.expect({"EASB\0", 5});
    super.skip(front_bytes() - 5);
    const std::string_view written = super.take(bytes);
    super.skip(block * a);
    if (pages > 0 && !bit_of(written, (block * size + n % size) / page_count_)) return {.address = nowhere()};
    return find_in_block(super.number(a), size, n % size);
  }

 private:
  std::uint64_t nowhere() const { return ~std::uint64_t{0} >> (64 - 8 * structure_.address_bytes()); }
  /// Returns the size of the head of a block or super block, bytes.
  std::uint64_t front_bytes() const { return 6 + structure_.address_bytes() + (count_bits_ + 7) / 8; }

  Hdf5Chunk find_in_block(std::uint64_t address, std::uint64_t size, std::uint64_t n) {
    if (structure_.undefined(address)) return {.address = nowhere()};
    if (size <= page_count_) {
      const Hdf5Chunk chunk = page_.read(address, front_bytes(), size, n);
      structure_.cursor(page_.content(), list_.what()).expect({"EADB\0", 5});
      return chunk;
    }
    const std::uint64_t begin = front_bytes() + 4 + n / page_count_ * (page_count_ * element_.bytes() + 4);
    if (!structure_.contains(address, begin)) structure_.file().damaged(list_.what());
    return page_.read(address + begin, 0, page_count_, n % page_count_);
  }

  const Hdf5Structure& structure_;
  const Hdf5ChunkList& list_;
  Element element_;
  ElementPage page_;
  std::uint64_t count_bits_ = 0, own_elements_ = 0, least_elements_ = 0, page_count_ = 0, direct_super_blocks_ = 0,
                direct_blocks_ = 0;
  std::optional<std::string> index_;  ///< the index block
  std::uint64_t super_address_ = 0;
  std::string super_block_;  ///< the super block that was read last
};

/// Reads the index of a dataset that has several axes without a limit. A record ends with the indices of its chunk in
/// the grid of chunks.
void read_places(const Hdf5Structure& structure, Hdf5ChunkList& list, std::uint64_t address) {
  constexpr std::uint64_t unfiltered_type = 10, filtered_type = 11;
  const Hdf5Chunks& chunks = list.chunks();
  const bool filtered = !chunks.filters.empty();
  read_tree(structure, address, filtered ? filtered_type : unfiltered_type, list.what(), [&](std::string_view record) {
    Hdf5Cursor in = structure.cursor(record, list.what());
    const std::uint64_t place_bytes = 8 * chunks.shape.size();
    in.require(record.size() > place_bytes);
    Element element(structure, list);
    element.set_size(in, filtered ? 1 : 0, record.size() - place_bytes);
    const Hdf5Chunk chunk = element.read(in);
    std::vector<std::uint64_t> position;
    while (in.left() > 0) position.push_back(in.number(8));
    list.add(position, chunk);
  });
}

}

void read_chunk_index(const Hdf5Structure& structure, Hdf5ChunkList& list, const Hdf5ChunkIndex& index) {
  const std::uint64_t bytes = list.chunks().bytes;
  const auto find_all = [&](auto array) {
    for_each_chunk(structure, list, [&](std::uint64_t n, std::uint64_t to) { list.set(to, array.find(n)); });
  };
  Hdf5Cursor in = structure.cursor({}, list.what());
  switch (index.kind) {
    case Hdf5ChunkIndex::single: {
      in.require(list.chunks().count == 1);
      Hdf5Chunk only = index.only;
      only.address = index.address;
      return list.set(0, only);
    }
    case Hdf5ChunkIndex::implicit:
      in.require(list.chunks().filters.empty());
      return for_each_chunk(structure, list, [&](std::uint64_t n, std::uint64_t to) {
        in.require(n <= structure.file().size() / bytes);
        list.set(to, {index.address + n * bytes, bytes, 0});
      });
    case Hdf5ChunkIndex::fixed_array:
      return find_all(FixedArray(structure, list, index.address));
    case Hdf5ChunkIndex::extensible_array:
      return find_all(ExtensibleArray(structure, list, index.address));
    case Hdf5ChunkIndex::tree:
      return read_places(structure, list, index.address);
    default:
      structure.file().damaged(list.what());
  }
}

}
