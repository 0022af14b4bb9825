#include "tce_tiles/hdf5/hdf5_dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cxx/base/box_pieces.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/shape_text.hpp"
#include "tce_tiles/hdf5/block_sums.hpp"
#include "tce_tiles/hdf5/hdf5_chunk_reader.hpp"

namespace trifuse {
namespace {

/// `read_plain_box` reads pieces of fewer than `least_piece` elements through a window of `window_elements` elements.
constexpr std::int64_t least_piece = 256, window_elements = 512;
constexpr std::size_t piece_bytes = 65536;

}

Hdf5Dataset::Hdf5Dataset(std::shared_ptr<const Hdf5Structure> file, std::string name,
                         std::shared_ptr<const Hdf5Description> description)
    : file_(std::move(file)), name_(std::move(name)), description_(std::move(description)) {
  if (std::holds_alternative<Hdf5Chunks>(description_->storage)) {
    chunks_ = std::make_shared<Hdf5ChunkReader>(file_, name_, description_);
  }
}

std::int64_t Hdf5Dataset::size() const {
  return elements_of(shape());
}

void Hdf5Dataset::read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                       std::span<double> out) const {
  if (out.empty()) return;
  if (!sums_) return read_unverified(offset, count, out);
  if (sums_->known() && BoxPieces::inside(shape(), offset, count)) return sums_->read(*this, offset, count, out);
  read_unverified(offset, count, out);
  // The caller now has the whole array. A later read must not deliver other numbers.
  if (std::ssize(out) == size()) sums_->set(sums_->compute(out), BlockSums::Origin::read);
}

void Hdf5Dataset::read_all(std::span<double> out) const {
  read(std::vector<std::int64_t>(shape().size(), 0), shape(), out);
}

void Hdf5Dataset::read_unverified(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                                  std::span<double> out) const {
  if (!BoxPieces::inside(shape(), offset, count) || elements_of(count) != std::ssize(out)) {
    throw InputError(fmt::format("{}: reading dataset '{}' failed (the box from {} on, {} elements, is not inside {}).",
                                 file_->file().path(), name_, shape_text(offset), shape_text(count),
                                 shape_text(shape())));
  }
  chunks_ ? chunks_->read(offset, count, out) : read_plain_box(offset, count, out);
}

void Hdf5Dataset::read_plain_box(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                                 std::span<double> out) const {
  BoxPieces pieces(shape(), offset, count);
  const std::int64_t piece = pieces.length(), all = size();
  const bool together = piece < least_piece && pieces.count() > 1;
  std::vector<double> window;
  std::int64_t window_begin = 0;
  for (std::int64_t n = 0; n < pieces.count(); ++n, pieces.next()) {
    const std::span<double> into = out.subspan(static_cast<std::size_t>(n * piece), static_cast<std::size_t>(piece));
    const std::int64_t first = pieces.first();
    if (!together) {
      read_plain_piece(first, into);
      continue;
    }
    if (first < window_begin || first + piece > window_begin + std::ssize(window)) {
      window_begin = first;
      window.resize(static_cast<std::size_t>(std::min(window_elements, all - first)));
      read_plain_piece(first, window);
    }
    std::copy_n(window.begin() + (first - window_begin), piece, into.begin());
  }
}

void Hdf5Dataset::read_plain_piece(std::int64_t first, std::span<double> out) const {
  const Hdf5Number& number = description_->number;
  const std::uint64_t begin = static_cast<std::uint64_t>(first) * number.bytes;
  if (const auto* compact = std::get_if<std::string>(&description_->storage)) {
    return convert_numbers(number, compact->data() + begin, out);
  }
  std::uint64_t at = std::get<std::uint64_t>(description_->storage) + begin;
  const char* why = nullptr;
  if (number.is_native_double()) {
    why = file_->read_into(at, {reinterpret_cast<char*>(out.data()), out.size_bytes()});
    out = {};
  }
  std::vector<char> piece(out.empty() ? 0 : std::min(piece_bytes, out.size() * number.bytes));
  while (!out.empty() && why == nullptr) {
    const std::span<double> now = out.first(std::min(out.size(), piece.size() / number.bytes));
    const std::span<char> bytes = std::span(piece).first(now.size() * number.bytes);
    why = file_->read_into(at, bytes);
    convert_numbers(number, bytes.data(), now);
    at += bytes.size();
    out = out.subspan(now.size());
  }
  if (why == nullptr) return;
  throw InputError(fmt::format("{}: reading dataset '{}' failed ({}); write or copy the file again.",
                               file_->file().path(), name_, why));
}

void Hdf5Dataset::read_piece(std::int64_t first, std::span<double> out) const {
  if (!chunks_) return read_plain_piece(first, out);
  for_each_box_of_piece(shape(), first, std::ssize(out), [&](const auto& offset, const auto& count, std::int64_t box) {
    chunks_->read(offset, count, out.first(static_cast<std::size_t>(box)));
    out = out.subspan(static_cast<std::size_t>(box));
  });
}

}
