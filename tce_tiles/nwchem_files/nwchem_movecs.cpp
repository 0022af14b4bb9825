#include "tce_tiles/nwchem_files/nwchem_movecs.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_file.hpp"

namespace trifuse {

namespace {

/// Largest number of basis functions. No correlated calculation has more.
constexpr std::int64_t max_functions = 100'000;
constexpr std::int64_t marker_bytes = 4;
/// Largest length of a text record, in bytes. The first record has checksums of basis and geometry, SCF type and date.
constexpr std::uint32_t longest_text = 4096;

[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  throw InputError(
      fmt::format("The file {} is not an undamaged NWChem movecs file: {}; copy it again or name the right one with "
                  "--nwchem-movecs FILE.",
                  path, why));
}

/// Reads a Fortran sequential file. Before and after each record is a marker with the record's length in bytes.
class Records {
 public:
  explicit Records(const std::string& path) : file_(path) {
    if (file_.size() == 0) damaged(path, "it is empty");
  }

  std::vector<std::byte> text() { return record(0, longest_text); }

  std::int64_t integer() { return integers(1).front(); }
  std::vector<std::int64_t> integers(std::size_t count) {
    const std::vector<std::byte> bytes = record(8 * count, 8 * count);
    std::vector<std::int64_t> values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<double> doubles(std::int64_t count) {
    const auto size = static_cast<std::size_t>(8 * count);
    const std::vector<std::byte> bytes = record(size, size);
    std::vector<double> values(static_cast<std::size_t>(count));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  /// Skips `count` records of `size` bytes each. Checks the first and the last one.
  void skip(std::int64_t count, std::int64_t size) {
    if (count == 0) return;
    length(static_cast<std::size_t>(size), static_cast<std::size_t>(size));
    position_ += (count - 1) * (size + 2 * marker_bytes);
    length(static_cast<std::size_t>(size), static_cast<std::size_t>(size));
    position_ += size + 2 * marker_bytes;
  }

 private:
  std::uint32_t marker(std::int64_t position) const {
    if (position + marker_bytes > file_.size()) damaged(file_.path(), "it is truncated");
    std::uint32_t value = 0;
    file_.read(position, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// Returns the length in bytes of the record at the current position. Throws InputError if it is not in [least,
  /// most].
  std::size_t length(std::size_t least, std::size_t most) const {
    const std::uint32_t size = marker(position_);
    if (size < least || size > most) {
      const std::uint32_t other = __builtin_bswap32(size);
      if (position_ == 0 && other >= least && other <= most) damaged(file_.path(), "it is in the opposite byte order");
      damaged(file_.path(), fmt::format("the record at byte {} has {} bytes", position_, size));
    }
    if (position_ + size + 2 * marker_bytes > file_.size()) damaged(file_.path(), "it is truncated");
    if (marker(position_ + marker_bytes + size) != size) {
      damaged(file_.path(), fmt::format("the record at byte {} does not end as it begins", position_));
    }
    return size;
  }
  std::vector<std::byte> record(std::size_t least, std::size_t most) {
    std::vector<std::byte> bytes(length(least, most));
    file_.read(position_ + marker_bytes, bytes);
    position_ += static_cast<std::int64_t>(bytes.size()) + 2 * marker_bytes;
    return bytes;
  }

  InputFile file_;
  std::int64_t position_ = 0;
};

std::string printable(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    const char c = static_cast<char>(b);
    text += c >= ' ' && c <= '~' ? c : ' ';
  }
  const auto end = text.find_last_not_of(' ');
  return end == std::string::npos ? std::string() : text.substr(0, end + 1);
}

/// Counts the occupied orbitals: those with an occupation of at least `least`. Throws InputError if an occupation is
/// not 0, 1 or 2, or if an occupied orbital follows an empty one.
std::int64_t count_occupied(const std::string& path, std::span<const double> occupations, double least) {
  std::int64_t count = 0;
  bool ended = false;
  for (const double n : occupations) {
    if (n != 0.0 && n != 1.0 && n != 2.0) damaged(path, fmt::format("an orbital has the occupation {}", n));
    const bool occupied = n >= least;
    if (occupied && ended) damaged(path, "an occupied orbital follows an empty one");
    ended = ended || !occupied;
    count += occupied ? 1 : 0;
  }
  return count;
}

}

NwchemMovecs read_nwchem_movecs(const std::string& path) {
  Records records(path);
  NwchemMovecs movecs;
  movecs.path = path;
  records.text();  // identification
  records.text();  // module that made the orbitals
  records.integer();
  movecs.title = printable(records.text());
  records.integer();
  records.text();  // name of the basis
  const std::int64_t sets = records.integer();
  if (sets != 1 && sets != 2) damaged(path, fmt::format("it announces {} sets of orbitals", sets));
  const std::int64_t functions = records.integer();
  if (functions < 1 || functions > max_functions)
    damaged(path, fmt::format("it announces {} basis functions", functions));
  const std::vector<std::int64_t> counts = records.integers(static_cast<std::size_t>(sets));
  for (const std::int64_t count : counts) {
    if (count < 1 || count > functions || count != counts.front()) {
      damaged(path, fmt::format("it announces {} orbitals for {} basis functions", count, functions));
    }
  }
  movecs.orbitals = counts.front();
  std::array<std::vector<double>, 2> occupations;
  for (std::size_t s = 0; s < static_cast<std::size_t>(sets); ++s) {
    occupations[s] = records.doubles(functions);
    movecs.energies[s] = records.doubles(functions);
    // If linear dependences were removed, both records end with values that are not set.
    occupations[s].resize(static_cast<std::size_t>(movecs.orbitals));
    movecs.energies[s].resize(static_cast<std::size_t>(movecs.orbitals));
    for (const double e : movecs.energies[s]) {
      if (!std::isfinite(e)) damaged(path, "an orbital energy is not finite");
    }
    records.skip(movecs.orbitals, 8 * functions);
  }
  if (sets == 2) {
    movecs.reference = Reference::uhf;
    for (std::size_t s = 0; s < 2; ++s) movecs.occupied[s] = count_occupied(path, occupations[s], 1.0);
  } else {
    movecs.energies[1] = movecs.energies[0];
    movecs.occupied[0] = count_occupied(path, occupations[0], 1.0);
    movecs.occupied[1] = count_occupied(path, occupations[0], 2.0);
    movecs.reference = movecs.occupied[0] == movecs.occupied[1] ? Reference::rhf : Reference::rohf;
  }
  return movecs;
}

}
