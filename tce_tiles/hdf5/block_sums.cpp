#include "tce_tiles/hdf5/block_sums.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "cxx/base/box_pieces.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"

namespace trifuse {
namespace {

/// Approximate number of elements that are read and summed at a time. They fit in the cache.
constexpr std::int64_t doubles_per_read = std::int64_t{1} << 15;

/// Returns the bits of a number as a sealed file stores it, lowest byte first.
std::uint64_t word_of(double value, bool integer) {
  // A value outside this range is no 64-bit integer. Its bits as a float still differ for different values.
  const bool fits = std::abs(value) < 0x1p63;
  auto word = integer && fits ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                              : std::bit_cast<std::uint64_t>(value);
  if constexpr (std::endian::native == std::endian::big) {
    std::array<unsigned char, 8> bytes{};
    std::memcpy(bytes.data(), &word, sizeof word);
    std::reverse(bytes.begin(), bytes.end());
    std::memcpy(&word, bytes.data(), sizeof word);
  }
  return word;
}

std::uint32_t crc(std::uint32_t before, const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(::crc32_z(before, static_cast<const unsigned char*>(data), bytes));
}

}

BlockSums::BlockSums(std::string path, std::string dataset, std::int64_t size, bool integer, std::int64_t block)
    : path_(std::move(path)), dataset_(std::move(dataset)), size_(size), block_(block), integer_(integer) {}

std::span<const std::uint32_t> BlockSums::sums() const {
  return known() ? std::span<const std::uint32_t>(sums_) : std::span<const std::uint32_t>();
}

void BlockSums::set(std::vector<std::uint32_t> sums, Origin origin) {
  const std::lock_guard lock(mutex_);
  if (known()) {
    const auto [mine, other] = std::mismatch(sums_.begin(), sums_.end(), sums.begin(), sums.end());
    if (mine != sums_.end() || other != sums.end()) refuse(mine - sums_.begin());
    return;
  }
  sums_ = std::move(sums);
  origin_ = origin;
  known_.store(true, std::memory_order_release);
}

std::uint32_t BlockSums::sum_of(std::span<const double> values) const {
  if (!integer_ && std::endian::native == std::endian::little) return crc(0, values.data(), values.size_bytes());
  std::array<std::uint64_t, 256> words{};
  std::uint32_t sum = 0;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), words.size());
    for (std::size_t n = 0; n < count; ++n) words[n] = word_of(values[n], integer_);
    sum = crc(sum, words.data(), count * sizeof(std::uint64_t));
    values = values.subspan(count);
  }
  return sum;
}

std::vector<std::uint32_t> BlockSums::compute(std::span<const double> values) const {
  std::vector<std::uint32_t> sums;
  const auto block = static_cast<std::size_t>(block_);
  for (std::size_t at = 0; at < values.size(); at += block) {
    sums.push_back(sum_of(values.subspan(at, std::min(block, values.size() - at))));
  }
  return sums;
}

void BlockSums::verify(std::int64_t first, std::span<const double> values) const {
  const auto block = static_cast<std::size_t>(block_);
  for (std::size_t at = 0; at < values.size(); at += block, ++first) {
    const std::uint32_t sum = sum_of(values.subspan(at, std::min(block, values.size() - at)));
    if (sum != sums_[static_cast<std::size_t>(first)]) refuse(first);
  }
}

void BlockSums::refuse(std::int64_t block) const {
  const std::string where = fmt::format("{}: block {} of dataset '{}' (elements {} to {})", path_, block, dataset_,
                                        block * block_, std::min((block + 1) * block_, size_) - 1);
  if (origin_ == Origin::seal) {
    throw InputError(
        where +
        " does not match the seal; the file was damaged or changed after it was written; copy or write it again.");
  }
  throw InputError(where +
                   " has changed since it was checked; make sure that no program writes to the file during the run, "
                   "and start again.");
}

void BlockSums::read(const Hdf5Dataset& dataset, std::span<const std::int64_t> offset,
                     std::span<const std::int64_t> count, std::span<double> out) const {
  BoxPieces pieces(dataset.shape(), offset, count);
  const std::int64_t piece = pieces.length();
  thread_local Buffer scratch;
  // Pieces of the box that touch the same block or neighbouring blocks are read together.
  const std::int64_t max_blocks = std::max<std::int64_t>(1, doubles_per_read / block_);
  std::int64_t done = 0;
  while (done < pieces.count()) {
    const std::int64_t begin = pieces.first();
    if (piece >= doubles_per_read) {
      read_piece(dataset, begin, out.subspan(static_cast<std::size_t>(done * piece), static_cast<std::size_t>(piece)));
      ++done;
      pieces.next();
      continue;
    }
    const std::int64_t first = begin / block_;
    std::int64_t last = (begin + piece - 1) / block_, together = 1;
    BoxPieces ahead = pieces;
    while (done + together < pieces.count()) {
      ahead.next();
      const std::int64_t end_block = (ahead.first() + piece - 1) / block_;
      if (ahead.first() / block_ > last + 1 || end_block - first >= max_blocks) break;
      last = end_block;
      ++together;
    }
    const std::int64_t from = first * block_, to = std::min((last + 1) * block_, size_);
    scratch.reserve(static_cast<std::size_t>(to - from));
    const std::span<double> blocks = scratch.span().first(static_cast<std::size_t>(to - from));
    dataset.read_piece(from, blocks);
    verify(first, blocks);
    for (std::int64_t n = 0; n < together; ++n, ++done, pieces.next()) {
      std::copy_n(blocks.data() + (pieces.first() - from), piece, out.data() + done * piece);
    }
  }
}

void BlockSums::read_piece(const Hdf5Dataset& dataset, std::int64_t first, std::span<double> out) const {
  thread_local Buffer scratch;
  const std::int64_t step = std::max<std::int64_t>(1, doubles_per_read / block_) * block_;
  const std::int64_t end = first + std::ssize(out);
  while (first < end) {
    const std::int64_t begin = first / block_ * block_;
    const std::int64_t block_end = std::min(begin + block_, size_);
    std::int64_t stop = std::min(end, begin + step);
    // Stop at the end of the last whole block, if there is one.
    if (stop < size_ && stop % block_ != 0 && stop - stop % block_ > first) stop -= stop % block_;
    const bool whole = begin == first && stop >= block_end;
    if (whole) {
      const std::span<double> into = out.first(static_cast<std::size_t>(stop - first));
      dataset.read_piece(first, into);
      verify(first / block_, into);
    } else {
      stop = std::min(end, block_end);
      scratch.reserve(static_cast<std::size_t>(block_end - begin));
      const std::span<double> values = scratch.span().first(static_cast<std::size_t>(block_end - begin));
      dataset.read_piece(begin, values);
      verify(begin / block_, values);
      std::copy_n(values.data() + (first - begin), stop - first, out.data());
    }
    out = out.subspan(static_cast<std::size_t>(stop - first));
    first = stop;
  }
}

}
