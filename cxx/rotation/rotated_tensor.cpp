#include "cxx/rotation/rotated_tensor.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "cxx/base/copy_box.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"

namespace trifuse {

namespace {

/// The pair of indices that is rotated: 0 and 1, or 2 and 3.
enum class IndexPair { upper, lower };
constexpr std::size_t first_index(IndexPair pair) {
  return pair == IndexPair::upper ? 0 : 2;
}

/// Divides the blocks of a tensor into groups that are rotated together.
std::vector<BlockGroup> groups_of(const TileSpace& space, const BlockIndex& index, const OrbitalRotation& rotation,
                                  IndexPair rotated) {
  const std::size_t turned = first_index(rotated), fixed = 2 - turned;
  std::map<std::array<std::size_t, 4>, std::size_t> numbers;
  std::vector<BlockGroup> groups;
  for (std::size_t n = 0; n < index.blocks().size(); ++n) {
    const Block& block = index.blocks()[n];
    const auto range = [&](std::size_t d) { return rotation.range_of(space[block.tiles[d]]); };
    const std::array<std::size_t, 2> ranges = {range(turned), range(turned + 1)};
    const std::array<std::size_t, 4> key = {static_cast<std::size_t>(block.tiles[fixed]),
                                            static_cast<std::size_t>(block.tiles[fixed + 1]), ranges[0], ranges[1]};
    const auto [found, is_new] = numbers.emplace(key, groups.size());
    if (is_new) {
      BlockGroup group{ranges, {}, {}, 1, 0};
      for (std::size_t d = 0; d < 2; ++d) {
        group.extent[turned + d] = rotation.ranges()[ranges[d]].size;
        group.extent[fixed + d] = space[block.tiles[fixed + d]].size;
      }
      for (const std::int64_t extent : group.extent) group.doubles *= extent;
      groups.push_back(std::move(group));
    }
    groups[found->second].blocks.push_back(n);
    groups[found->second].stored_doubles += block.size;
  }
  return groups;
}

/// Memory that a thread needs to rotate a group.
struct Scratch {
  Buffer group, turned, block;
};

/// Rotates one pair of indices of the blocks that this rank owns in `to`.
class PairRotation {
 public:
  PairRotation(const TileSpace& space, const BlockIndex& index, const OrbitalRotation& rotation, IndexPair pair)
      : space_(space), index_(index), rotation_(rotation), turned_(first_index(pair)) {}

  template <typename Read>
  void rotate(const std::vector<BlockGroup>& groups, int threads, Read read, const std::function<void()>& begin_group,
              SharedBlocks& to) const {
    share_among_threads<Scratch>(to.last_group() - to.first_group(), threads, [&](std::size_t n, Scratch& scratch) {
      begin_group();
      const BlockGroup& group = groups[to.first_group() + n];
      scratch.group.reserve(static_cast<std::size_t>(group.doubles));
      scratch.turned.reserve(static_cast<std::size_t>(group.doubles));
      for (const std::size_t block : group.blocks) {
        const auto size = static_cast<std::size_t>(index_.blocks()[block].size);
        scratch.block.reserve(size);
        read(block, std::span(scratch.block.data(), size));
        copy_to_group(group, block, scratch.block.data(), scratch.group.data());
      }
      rotate_pair(group, scratch);
      for (const std::size_t block : group.blocks) {
        const PositionInGroup position = position_in_group(group, block);
        copy_box(position.extent, scratch.group.data() + position.begin, position.in_group, to.own(block),
                 position.in_block, 1.0);
      }
    });
  }

 private:
  /// Location of a block in the array of its group.
  struct PositionInGroup {
    std::array<std::int64_t, 4> extent, in_block, in_group;  ///< shape; strides in the block and in the array
    std::int64_t begin;                                      ///< first element in the array
  };
  PositionInGroup position_in_group(const BlockGroup& group, std::size_t block) const {
    PositionInGroup position{{}, {}, strides_of(group.extent), 0};
    for (std::size_t d = 0; d < 4; ++d) position.extent[d] = tile(block, d).size;
    position.in_block = strides_of(position.extent);
    for (std::size_t d = 0; d < 2; ++d) position.begin += in_range(group, block, d) * position.in_group[turned_ + d];
    return position;
  }
  const Tile& tile(std::size_t block, std::size_t d) const { return space_[index_.blocks()[block].tiles[d]]; }
  /// Returns the first orbital of rotated index `d` of a block, counted from the begin of its orbital range.
  std::int64_t in_range(const BlockGroup& group, std::size_t block, std::size_t d) const {
    return tile(block, turned_ + d).offset - rotation_.ranges()[group.ranges[d]].offset;
  }

  /// Copies a block to `whole`, the array of its group. If the block with interchanged tiles is not stored, copies that
  /// block, too.
  void copy_to_group(const BlockGroup& group, std::size_t block, const double* values, double* whole) const {
    PositionInGroup position = position_in_group(group, block);
    copy_box(position.extent, values, position.in_block, whole + position.begin, position.in_group, 1.0);
    const auto [first, second] = std::pair{turned_, turned_ + 1};
    if (group.ranges[0] != group.ranges[1] ||
        index_.blocks()[block].tiles[first] == index_.blocks()[block].tiles[second]) {
      return;
    }
    // The block with interchanged tiles is not stored, because only its sign differs.
    const std::int64_t begin =
        in_range(group, block, 1) * position.in_group[first] + in_range(group, block, 0) * position.in_group[second];
    std::swap(position.in_group[first], position.in_group[second]);
    copy_box(position.extent, values, position.in_block, whole + begin, position.in_group, -1.0);
  }

  /// Rotates the faster index from scratch `group` to scratch `turned`, then the slower index back to `group`.
  void rotate_pair(const BlockGroup& group, Scratch& scratch) const {
    const auto& n = group.extent;
    const std::int64_t inner = turned_ == 0 ? n[2] * n[3] : 1, outer = turned_ == 0 ? 1 : n[0] * n[1];
    const auto& [slow, fast] = group.ranges;
    rotate_index(rotation_.ranges()[fast], inner, n[turned_] * outer, scratch.group.data(), scratch.turned.data());
    rotate_index(rotation_.ranges()[slow], inner * n[turned_ + 1], outer, scratch.turned.data(), scratch.group.data());
  }

  const TileSpace& space_;
  const BlockIndex& index_;
  const OrbitalRotation& rotation_;
  std::size_t turned_;  ///< first index of the rotated pair: 0 or 2
};

/// Returns the number of threads for which there is memory for their groups, at least 1.
int threads_for(const std::vector<BlockGroup>& groups, const SharedBlocks& blocks) {
  std::int64_t largest = 1;
  for (std::size_t n = blocks.first_group(); n < blocks.last_group(); ++n)
    largest = std::max(largest, groups[n].doubles);
  const double scratch = RotatedTensor::share_for_groups * static_cast<double>(blocks.own_doubles());
  const auto threads = static_cast<std::int64_t>(scratch / static_cast<double>(2 * largest));
  return static_cast<int>(std::clamp<std::int64_t>(threads, 1, available_threads()));
}

}

SharedBlocks::SharedBlocks(const BlockIndex& index, const std::vector<BlockGroup>& groups, Communicator* communicator)
    : locations_(index.blocks().size()) {
  const bool shared = communicator != nullptr && communicator->has_arrays() && communicator->size() > 1;
  const std::vector<std::string> hosts = shared ? hosts_of_ranks(*communicator) : std::vector<std::string>(1);
  const int ranks = static_cast<int>(hosts.size()), mine = shared ? communicator->rank() : 0;
  std::map<std::string, int> ranks_of_host;
  for (const std::string& host : hosts) ++ranks_of_host[host];
  std::vector<SharedSegment> segments;
  std::vector<double> ends;  // a segment ends at the first group that begins after this many doubles of the tensor
  for (int rank = 0; rank < ranks; ++rank) {
    const int segments_of_rank =
        shared ? segments_of_each_owner(ranks_of_host[hosts[static_cast<std::size_t>(rank)]]) : 1;
    for (int n = 1; n <= segments_of_rank; ++n) {
      segments.push_back({rank, 0});
      ends.push_back((rank + static_cast<double>(n) / segments_of_rank) / ranks * static_cast<double>(index.doubles()));
    }
  }
  std::size_t segment = 0;
  double before = 0.0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    while (segment + 1 < segments.size() && before >= ends[segment]) ++segment;
    auto& [rank, doubles] = segments[segment];
    for (const std::size_t block : groups[group].blocks) {
      locations_[block] = {segment, doubles};
      doubles += index.blocks()[block].size;
    }
    before += static_cast<double>(groups[group].stored_doubles);
    if (rank != mine) continue;
    if (last_group_ == 0) first_group_ = group;
    last_group_ = group + 1;
    own_doubles_ += groups[group].stored_doubles;
  }
  constexpr std::int64_t least = Buffer::alignment / sizeof(double);  // an array has no empty segments
  for (SharedSegment& each : segments) each.doubles = std::max(each.doubles, least);
  own_.assign(segments.size(), nullptr);
  if (!shared) {
    run_collectively(communicator, [&] { alone_ = Buffer(static_cast<std::size_t>(own_doubles_)); });
    own_.front() = alone_.data();
    return;
  }
  array_ = communicator->make_array(segments);
  for (std::size_t n = 0; n < segments.size(); ++n) {
    if (segments[n].rank == mine) own_[n] = array_->local(n).data();
  }
}

void SharedBlocks::sync() {
  if (array_) array_->sync();
}

void SharedBlocks::read(std::size_t block, std::span<double> values) const {
  const Location& location = locations_[block];
  if (own_[location.segment] != nullptr) {
    std::copy_n(own_[location.segment] + location.offset, values.size(), values.data());
    return;
  }
  const std::lock_guard lock(reading_);
  array_->get(location.segment, location.offset, values);
}

RotatedTensor::RotatedTensor(const TileSource& source, TensorKind tensor, BlockIndex index,
                             const OrbitalRotation& rotation, const std::function<void()>& begin_group,
                             Communicator* communicator)
    : index_(std::move(index)) {
  const TileSpace& tiles = source.tiles();
  const auto half_groups = groups_of(tiles, index_, rotation, IndexPair::lower);
  SharedBlocks half(index_, half_groups, communicator);
  std::mutex reading;
  run_collectively(communicator, [&] {
    const PairRotation lower(tiles, index_, rotation, IndexPair::lower);
    const auto read_block = [&](std::size_t block, std::span<double> values) {
      std::unique_lock lock(reading, std::defer_lock);
      if (!source.concurrent_reads()) lock.lock();
      source.read_block(tensor, index_.blocks()[block].tiles, values);
    };
    lower.rotate(half_groups, threads_for(half_groups, half), read_block, begin_group, half);
  });
  half.sync();
  const auto groups = groups_of(tiles, index_, rotation, IndexPair::upper);
  blocks_ = std::make_unique<SharedBlocks>(index_, groups, communicator);
  run_collectively(communicator, [&] {
    const PairRotation upper(tiles, index_, rotation, IndexPair::upper);
    const auto fetch = [&](std::size_t block, std::span<double> values) { half.read(block, values); };
    upper.rotate(groups, threads_for(groups, *blocks_), fetch, begin_group, *blocks_);
  });
  blocks_->sync();
}

double RotatedTensor::operations(const TileSpace& tiles, const BlockIndex& index) {
  double operations = 0.0;
  for (const Block& block : index.blocks()) {
    for (const IndexPair pair : {IndexPair::lower, IndexPair::upper}) {
      const std::size_t first = first_index(pair);
      const auto range = [&](std::size_t d) {
        const Tile& tile = tiles[block.tiles[d]];
        return tiles.range(tile.orbital_class, tile.irrep);
      };
      const auto one = range(first), other = range(first + 1);
      // If both indices belong to one orbital range, only the block with ascending tiles is stored, but both blocks are
      // rotated.
      const bool stored_for_two = one.offset == other.offset && block.tiles[first] != block.tiles[first + 1];
      operations += (stored_for_two ? 4.0 : 2.0) * static_cast<double>(block.size * (one.size + other.size));
    }
  }
  return operations;
}

void RotatedTensor::read(std::int64_t key, std::span<double> block) const {
  const Block* const found = index_.find(key);
  if (found == nullptr || static_cast<std::size_t>(found->size) != block.size()) {
    throw std::logic_error("The requested block does not exist in a rotated tensor.");
  }
  blocks_->read(static_cast<std::size_t>(found - index_.blocks().data()), block);
}

std::int64_t RotatedTensor::own_bytes() const {
  return blocks_->own_doubles() * static_cast<std::int64_t>(sizeof(double));
}

}
