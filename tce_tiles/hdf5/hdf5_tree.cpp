#include "tce_tiles/hdf5/hdf5_tree.hpp"

#include <bit>
#include <set>
#include <string>
#include <vector>

namespace trifuse {
namespace {

constexpr std::uint64_t max_levels = 16, max_node_bytes = 65536;
/// Size of the signature, version, type and checksum of a node, bytes.
constexpr std::uint64_t node_overhead = 10;

/// Returns the number of bytes in which HDF5 stores a number that is at most `most`.
std::size_t bytes_for(std::uint64_t most) {
  return static_cast<std::size_t>((std::bit_width(most) + 7) / 8);
}

class Tree {
 public:
  Tree(const Hdf5Structure& structure, std::uint64_t type, std::string_view what,
       const std::function<void(std::string_view)>& take)
      : structure_(structure), type_(type), what_(what), take_(take) {}

  void run(std::uint64_t address) {
    const std::size_t a = structure_.address_bytes();
    const std::string head = structure_.read_checked(address, 18 + a + structure_.length_bytes(), what_);
    Hdf5Cursor in = structure_.cursor(head, what_);
    in.expect({"BTHD\0", 5});
    in.require(in.number(1) == type_);
    const std::uint64_t node_bytes = in.number(4);
    record_bytes_ = in.number(2);
    const std::uint64_t depth = in.number(2);
    in.skip(2);
    const std::uint64_t root = in.number(a), records = in.number(2);
    in.require(record_bytes_ > 0 && depth < max_levels && node_bytes <= max_node_bytes &&
               node_bytes >= node_overhead + record_bytes_);
    // The largest number of records at each level determines how many bytes a number of records takes.
    max_records_.push_back((node_bytes - node_overhead) / record_bytes_);
    count_bytes_ = bytes_for(max_records_[0]);
    total_bytes_.push_back(0);
    std::uint64_t total = max_records_[0];
    for (std::uint64_t level = 1; level <= depth; ++level) {
      const std::uint64_t pointer = a + count_bytes_ + total_bytes_.back();
      in.require(node_bytes > node_overhead + pointer && total < std::uint64_t{1} << 40);
      max_records_.push_back((node_bytes - node_overhead - pointer) / (record_bytes_ + pointer));
      total = (max_records_.back() + 1) * total + max_records_.back();
      total_bytes_.push_back(bytes_for(total));
    }
    if (records > 0) add_node(root, records, depth);
  }

 private:
  void add_node(std::uint64_t address, std::uint64_t records, std::uint64_t level) {
    const std::size_t a = structure_.address_bytes();
    const std::uint64_t pointer = level == 0 ? 0 : a + count_bytes_ + total_bytes_[level - 1];
    Hdf5Cursor(structure_.file(), {}, what_)
        .require(records > 0 && records <= max_records_[level] && nodes_.insert(address).second);
    const std::uint64_t pointers = level == 0 ? 0 : records + 1;
    const std::string node =
        structure_.read_checked(address, node_overhead - 4 + records * record_bytes_ + pointers * pointer, what_);
    Hdf5Cursor in = structure_.cursor(node, what_);
    in.expect(level == 0 ? std::string_view("BTLF\0", 5) : std::string_view("BTIN\0", 5));
    in.require(in.number(1) == type_);
    const std::string_view own = in.take(records * record_bytes_);
    for (std::uint64_t n = 0; n <= records; ++n) {
      if (level > 0) {
        const std::uint64_t child = in.number(a), inside = in.number(count_bytes_);
        in.skip(total_bytes_[level - 1]);
        add_node(child, inside, level - 1);
      }
      if (n < records) take_(own.substr(n * record_bytes_, record_bytes_));
    }
  }

  const Hdf5Structure& structure_;
  std::uint64_t type_;
  std::string_view what_;
  const std::function<void(std::string_view)>& take_;
  std::uint64_t record_bytes_ = 0;
  std::size_t count_bytes_ = 0;
  /// By level, leaves first: largest number of records in a node, and number of bytes that store how many records are
  /// in and below it.
  std::vector<std::uint64_t> max_records_;
  std::vector<std::size_t> total_bytes_;
  std::set<std::uint64_t> nodes_;
};

}

void read_tree(const Hdf5Structure& structure, std::uint64_t address, std::uint64_t type, std::string_view what,
               const std::function<void(std::string_view)>& take) {
  Tree(structure, type, what, take).run(address);
}

}
