#include "tce_tiles/nwchem_files/nwchem_payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

constexpr std::int64_t header_bytes = 16;
constexpr std::int64_t double_bytes = sizeof(double);
/// Largest number of files. NWChem writes at most one file per process.
constexpr std::int64_t max_files = 1'000'000;

std::uint64_t swapped(std::uint64_t x) {
  return __builtin_bswap64(x);
}

struct Header {
  std::int64_t files;
  std::int64_t doubles;
  bool fits(std::int64_t file_size) const {
    return files >= 1 && files <= max_files && doubles >= 0 && doubles == (file_size - header_bytes) / double_bytes &&
           file_size == header_bytes + doubles * double_bytes;
  }
};

Header read_header(const InputFile& file) {
  if (file.size() == 0) throw InputError(fmt::format("The file {} is empty; write it again with NWChem.", file.path()));
  if (file.size() < header_bytes) {
    throw InputError(
        fmt::format("The file {} is truncated: it has {} bytes, fewer than NWChem's header of {}; copy it again.",
                    file.path(), file.size(), header_bytes));
  }
  std::array<std::uint64_t, 2> words{};
  file.read(0, std::as_writable_bytes(std::span(words)));
  const Header header{std::bit_cast<std::int64_t>(words[0]), std::bit_cast<std::int64_t>(words[1])};
  if (header.fits(file.size())) return header;
  const Header other{std::bit_cast<std::int64_t>(swapped(words[0])), std::bit_cast<std::int64_t>(swapped(words[1]))};
  if (other.fits(file.size())) {
    throw InputError(
        fmt::format("The file {} was written on a machine of the opposite byte order; write it again on a "
                    "little-endian machine.",
                    file.path()));
  }
  // The number of files is plausible, but the number of doubles differs from the size of the file.
  if (header.files >= 1 && header.files <= max_files && header.doubles >= 0) {
    throw InputError(fmt::format(
        "The file {} is {}: its header announces {} doubles, but {} bytes follow; copy it again or "
        "write it again with NWChem.",
        file.path(), header.doubles > (file.size() - header_bytes) / double_bytes ? "truncated" : "too long",
        header.doubles, file.size() - header_bytes));
  }
  throw InputError(
      fmt::format("The file {} does not start with NWChem's header (number of files, number of doubles); it is "
                  "damaged or another kind of file: write it again with NWChem.",
                  file.path()));
}

/// Returns true if an integral, an amplitude or a Fock matrix element can have this value. The lower limit is far below
/// rounding noise.
bool plausible(double x) {
  return x == 0.0 || (std::abs(x) < 1e8 && std::abs(x) > 1e-100);
}

}

std::string first_numbered_file(const std::string& stem) {
  namespace fs = std::filesystem;
  // NWChem's suffix has two to six digits; the search accepts one to nine.
  std::vector<std::string> found;
  for (std::size_t digits = 1; digits <= 9; ++digits) {
    std::string path = stem + "." + std::string(digits, '0');
    std::error_code error;
    if (fs::exists(path, error)) found.push_back(std::move(path));
  }
  if (found.size() > 1) {
    throw InputError(
        fmt::format("Both {} and {} exist, from runs with different `set tce:filedgts`; remove the one that does "
                    "not belong to the calculation.",
                    found[0], found[1]));
  }
  return found.empty() ? std::string() : found.front();
}

NwchemPayload NwchemPayload::open_numbered(const std::string& stem) {
  const std::string first = first_numbered_file(stem);
  if (first.empty()) throw InputError(fmt::format("The file {}.000000 does not exist; check the prefix.", stem));
  const std::size_t digits = first.size() - stem.size() - 1;

  NwchemPayload payload;
  std::int64_t files = 1;
  std::int64_t share = 0;
  for (std::int64_t k = 0; k < files; ++k) {
    const std::string path = fmt::format("{}.{:0{}}", stem, k, digits);
    std::error_code error;
    if (k > 0 && !std::filesystem::exists(path, error)) {
      throw InputError(
          fmt::format("The file {} is missing: {} says that the tensor was written to {} files; copy all of them.",
                      path, first, files));
    }
    InputFile file(path);
    const Header header = read_header(file);
    if (k == 0) {
      files = header.files;
      share = header.doubles;
    }
    // All files except the last hold the same number of doubles. The last file also holds the remainder, which is less
    // than one double per file.
    const bool last = k + 1 == files;
    if (header.files != files || (!last && header.doubles != share) ||
        (last && (header.doubles < share || header.doubles - share >= files))) {
      throw InputError(
          fmt::format("The headers of {} and {} do not belong to one tensor ({} files, {} doubles in the first; {} "
                      "files, {} doubles); the files come from different runs: write them again.",
                      first, path, files, share, header.files, header.doubles));
    }
    payload.add(std::move(file), header_bytes, header.doubles);
  }
  payload.check_byte_order();
  return payload;
}

NwchemPayload NwchemPayload::open_plain(const std::string& path) {
  InputFile file(path);
  if (file.size() == 0) throw InputError(fmt::format("The file {} is empty; write it again with NWChem.", path));
  if (file.size() % double_bytes != 0) {
    throw InputError(fmt::format(
        "The file {} is truncated: its {} bytes are not a whole number of doubles; copy it again.", path, file.size()));
  }
  NwchemPayload payload;
  const std::int64_t count = file.size() / double_bytes;
  payload.add(std::move(file), 0, count);
  payload.check_byte_order();
  return payload;
}

void NwchemPayload::add(InputFile file, std::int64_t header, std::int64_t count) {
  parts_.push_back({std::move(file), header, doubles_, count});
  doubles_ += count;
}

const NwchemPayload::Part& NwchemPayload::part_of(std::int64_t offset) const {
  // The last part that starts at or before the offset. (A part without doubles has the start of the next part.)
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), offset,
                                      [](std::int64_t o, const Part& part) { return o < part.first; });
  return *std::prev(after);
}

void NwchemPayload::read(std::int64_t offset, std::span<double> values) const {
  if (offset < 0 || offset + static_cast<std::int64_t>(values.size()) > doubles_) {
    throw InputError(
        fmt::format("The file {} ends before double {}; it is truncated or belongs to another calculation.", path(),
                    offset + static_cast<std::int64_t>(values.size())));
  }
  while (!values.empty()) {
    const Part& part = part_of(offset);
    const std::int64_t begin = offset - part.first;
    const auto count = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(values.size()), part.count - begin));
    part.file.read(part.header + begin * double_bytes, std::as_writable_bytes(values.first(count)));
    values = values.subspan(count);
    offset += static_cast<std::int64_t>(count);
  }
}

std::string NwchemPayload::not_finite(std::int64_t position, double value, const std::string& what) const {
  const Part& part = part_of(position);
  return fmt::format(
      "The file {} holds a value that is not finite ({}) in {}, double {} of the file; repeat the NWChem calculation.",
      part.file.path(), value, what, position - part.first + 1);
}

void NwchemPayload::check_byte_order() const {
  std::vector<double> sample(static_cast<std::size_t>(std::min<std::int64_t>(doubles_, 4096)));
  if (sample.empty()) return;
  read(0, sample);
  std::size_t nonzero = 0;
  std::size_t sane = 0;
  std::size_t sane_swapped = 0;
  for (const double x : sample) {
    if (x == 0.0) continue;
    ++nonzero;
    sane += plausible(x) ? 1 : 0;
    sane_swapped += plausible(std::bit_cast<double>(swapped(std::bit_cast<std::uint64_t>(x)))) ? 1 : 0;
  }
  if (2 * sane < nonzero && 10 * sane_swapped > 9 * nonzero) {
    throw InputError(
        fmt::format("The numbers in {} make sense only in the opposite byte order; write the file again on a "
                    "little-endian machine.",
                    path()));
  }
}

}
