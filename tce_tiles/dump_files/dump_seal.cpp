#include "tce_tiles/dump_files/dump_seal.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/shape_text.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"

namespace trifuse {
namespace {

constexpr std::int64_t min_block_elements = 1024, max_blocks = std::int64_t{1} << 23;
constexpr std::int64_t max_block_elements = std::int64_t{1} << 40;
/// Approximate number of elements that are read at a time to compute checksums.
constexpr std::int64_t doubles_per_read = std::int64_t{1} << 16;

const std::string group = "seal";
const std::string header_dataset = "seal/header";

std::int64_t block_for(std::int64_t elements) {
  std::int64_t block = min_block_elements;
  while (block < max_block_elements && elements / block >= max_blocks) block *= 2;
  return block;
}

/// Returns attributes and shapes as the text whose checksum is the dataset `seal/header`.
std::string header_text(const Hdf5Attributes& attributes,
                        const std::map<std::string, std::vector<std::int64_t>>& shapes) {
  std::string text;
  for (const auto& [name, kind] : attributes.kinds()) {
    text += name + "=";
    switch (kind) {
      case Hdf5Attribute::Kind::string:
        text += attributes.string(name).value_or("");
        break;
      case Hdf5Attribute::Kind::integer:
        text += fmt::to_string(attributes.integer(name).value_or(0));
        break;
      case Hdf5Attribute::Kind::real:
        text += fmt::format("{:016x}", std::bit_cast<std::uint64_t>(attributes.real(name).value_or(0.0)));
        break;
      default:
        break;
    }
    text += '\n';
  }
  for (const auto& [name, shape] : shapes) text += name + " " + shape_text(shape) + "\n";
  return text;
}

std::uint32_t crc_of(const std::string& text) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

/// A part of an array that is read at a time. It consists of whole blocks.
template <typename Dataset>
struct BlockRange {
  const Dataset* dataset;
  const BlockSums* sums;
  std::int64_t first, size;  ///< first element and number of elements
  std::size_t at;            ///< position of its first checksum among the checksums of all datasets
};

/// Adds the ranges of a dataset, whose first checksum has the position `at`.
template <typename Dataset>
void add_ranges(std::vector<BlockRange<Dataset>>& ranges, const Dataset& dataset, const BlockSums& sums,
                std::size_t at) {
  const std::int64_t step = std::max<std::int64_t>(1, doubles_per_read / sums.block()) * sums.block();
  for (std::int64_t first = 0; first < sums.size(); first += step) {
    ranges.push_back({&dataset, &sums, first, std::min(step, sums.size() - first),
                      at + static_cast<std::size_t>(first / sums.block())});
  }
}

/// Calls `store(position, sum)` with each checksum. Several threads may call it at the same time, for different
/// positions.
template <typename Dataset, typename Store>
void compute_checksums(const std::vector<BlockRange<Dataset>>& ranges, int threads, Store store) {
  const auto most = static_cast<int>(std::clamp<std::int64_t>(std::ssize(ranges), 1, threads));
  share_among_threads<Buffer>(ranges.size(), most, [&](std::size_t n, Buffer& buffer) {
    const BlockRange<Dataset>& range = ranges[n];
    buffer.reserve(static_cast<std::size_t>(range.size));
    const std::span<double> values = buffer.span().first(static_cast<std::size_t>(range.size));
    range.dataset->read_piece(range.first, values);
    std::size_t at = range.at;
    for (const std::uint32_t sum : range.sums->compute(values)) store(at++, sum);
  });
}

/// Converts checksums that are stored as floats. Returns nullopt if a value is outside the range of
/// 32-bit integers.
std::optional<std::vector<std::uint32_t>> checksums_of(std::span<const double> values) {
  std::vector<std::uint32_t> result;
  result.reserve(values.size());
  for (const double value : values) {
    if (!(value >= 0.0 && value < 0x1p32)) return std::nullopt;
    result.push_back(static_cast<std::uint32_t>(value));
  }
  return result;
}

}

std::shared_ptr<DumpSeal> DumpSeal::open(Hdf5File& file) {
  auto seal = std::make_shared<DumpSeal>();
  seal->path_ = file.path();
  seal->read_seal(file);
  file.verify_with([seal](const Hdf5Dataset& dataset) { return seal->sums_of(dataset); });
  return seal;
}

void DumpSeal::read_seal(const Hdf5File& file) {
  const auto damaged = [&](const std::string& what) {
    return InputError(
        fmt::format("{}: {}; copy or write the file again, or seal it as the format page says.", path_, what));
  };
  const std::int64_t minor = file.attributes().integer("minor_version").value_or(0);
  const auto block = file.attributes().integer("seal_block");
  const bool present = file.has(group);
  if (minor < 0) throw damaged(fmt::format("attribute 'minor_version' of the root group is {}", minor));
  minor_version_ = minor;
  sealed_ = minor >= first_sealed_version;
  if (!sealed_) {
    // A damaged attribute name must not make a sealed dump look unsealed.
    if (present || block) {
      throw damaged("the dump has a seal, but attribute 'minor_version' of the root group is missing or 0");
    }
    return;
  }
  if (!present) throw damaged("the dump should have a seal, but group 'seal' is missing");
  if (!block || *block < min_block_elements || *block > max_block_elements ||
      !std::has_single_bit(static_cast<std::uint64_t>(*block))) {
    throw damaged(
        fmt::format("attribute 'seal_block' of the root group is {}, but it must be a power of two from {} on",
                    block ? fmt::to_string(*block) : "absent", min_block_elements));
  }
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::vector<std::pair<std::shared_ptr<BlockSums>, std::string>> tables;
  for (const std::string& name : file.members(group)) {
    if (name == "header") continue;
    if (!file.has(name)) throw damaged(fmt::format("dataset '{}' was sealed, but is missing", name));
    const Hdf5Dataset dataset = file.dataset(name);
    shapes.emplace(name, std::vector<std::int64_t>(dataset.shape().begin(), dataset.shape().end()));
    tables.emplace_back(std::make_shared<BlockSums>(path_, name, dataset.size(), dataset.is_integer(), *block),
                        group + "/" + name);
    sums_.emplace(name, tables.back().first);
  }
  header_ = header_text(file.attributes(), shapes);
  if (!file.has(header_dataset)) throw damaged("the dump should have a seal, but dataset 'seal/header' is missing");
  const Hdf5Dataset header = file.dataset(header_dataset);
  double sum = -1.0;
  if (header.size() == 1) header.read_all(std::span(&sum, 1));
  if (sum != crc_of(header_)) {
    throw InputError(
        fmt::format("{}: the attributes of the root group, or the shapes of the datasets, do not match the seal; the "
                    "file was damaged or changed after it was written; copy or write it again.",
                    path_));
  }
  for (const auto& [sums, name] : tables) {
    const Hdf5Dataset table = file.dataset(name);
    if (table.shape().size() != 1 || table.size() != sums->count() || sums->count() > max_blocks) {
      throw damaged(
          fmt::format("dataset '{}' has shape {} instead of [{}]", name, shape_text(table.shape()), sums->count()));
    }
    std::vector<double> values(static_cast<std::size_t>(table.size()));
    table.read_all(values);
    auto found = checksums_of(values);
    if (!found) throw damaged(fmt::format("dataset '{}' does not hold 32-bit integers", name));
    sums->set(*std::move(found), BlockSums::Origin::seal);
  }
}

std::shared_ptr<BlockSums> DumpSeal::find(const std::string& dataset) const {
  const std::lock_guard lock(mutex_);
  const auto found = sums_.find(dataset);
  return found == sums_.end() ? nullptr : found->second;
}

std::shared_ptr<BlockSums> DumpSeal::sums_of(const Hdf5Dataset& dataset) {
  const std::lock_guard lock(mutex_);
  const auto found = sums_.find(dataset.name());
  if (found != sums_.end()) return found->second;
  if (sealed_) {
    throw InputError(
        fmt::format("{}: dataset '{}' has no seal and may have been added later; write the dump again, or seal it as "
                    "the format page says.",
                    path_, dataset.name()));
  }
  auto sums = std::make_shared<BlockSums>(path_, dataset.name(), dataset.size(), dataset.is_integer(),
                                          block_for(dataset.size()));
  sums_.emplace(dataset.name(), sums);
  return sums;
}

std::vector<double> DumpSeal::compute(const Hdf5File& file, std::span<const std::string> datasets, int part, int parts,
                                      int threads) const {
  if (sealed_) return {};
  std::vector<Hdf5Dataset> opened;
  for (const std::string& name : datasets) opened.push_back(file.dataset(name));
  std::vector<BlockRange<Hdf5Dataset>> ranges;
  std::size_t count = 0;
  for (const Hdf5Dataset& dataset : opened) {
    const std::shared_ptr<BlockSums> sums = find(dataset.name());
    add_ranges(ranges, dataset, *sums, count);
    count += static_cast<std::size_t>(sums->count());
  }
  std::vector<BlockRange<Hdf5Dataset>> mine;
  for (std::size_t n = static_cast<std::size_t>(part); n < ranges.size(); n += static_cast<std::size_t>(parts)) {
    mine.push_back(ranges[n]);
  }
  std::vector<double> result(count, 0.0);
  compute_checksums(mine, threads, [&](std::size_t n, std::uint32_t sum) { result[n] = sum; });
  return result;
}

void DumpSeal::accept(std::span<const std::string> datasets, std::span<const double> sums) {
  if (sealed_) return;
  for (const std::string& name : datasets) {
    const std::shared_ptr<BlockSums> table = find(name);
    const auto count = static_cast<std::size_t>(table->count());
    table->set(checksums_of(sums.first(count)).value(), BlockSums::Origin::read);
    sums = sums.subspan(count);
  }
}

std::array<std::uint64_t, 2> DumpSeal::digest(const std::string& more) const {
  const std::lock_guard lock(mutex_);
  std::string text = more + '\n' + header_;
  for (const auto& [name, table] : sums_) {
    const std::span<const std::uint32_t> sums = table->sums();
    text += fmt::format("{} {} {:016x}\n", name, table->size(), XXH3_64bits(sums.data(), sums.size_bytes()));
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

void seal_dump(Hdf5Writer& file, std::span<const std::string> datasets, int threads) {
  std::int64_t largest = 0;
  for (const std::string& name : datasets) largest = std::max(largest, file.dataset(name).size());
  const std::int64_t block = block_for(largest);
  file.set_attribute("minor_version", dump_minor_version);
  file.set_attribute("seal_block", block);
  file.create_group(group);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const std::string& name : datasets) {
    const Hdf5NewDataset dataset = file.dataset(name);
    const BlockSums sums(file.path(), dataset.name(), dataset.size(), dataset.is_integer(), block);
    std::vector<BlockRange<Hdf5NewDataset>> ranges;
    add_ranges(ranges, dataset, sums, 0);
    std::vector<double> values(static_cast<std::size_t>(sums.count()));
    compute_checksums(ranges, threads, [&](std::size_t n, std::uint32_t sum) { values[n] = sum; });
    const std::array shape = {sums.count()};
    file.create_dataset(group + "/" + dataset.name(), shape, Hdf5Writer::Type::word)
        .write(std::array{std::int64_t{0}}, shape, values);
    shapes.emplace(dataset.name(), std::vector<std::int64_t>(dataset.shape().begin(), dataset.shape().end()));
  }
  const std::array one = {std::int64_t{1}};
  const double header = crc_of(header_text(file.attributes(), shapes));
  file.create_dataset(header_dataset, one, Hdf5Writer::Type::word)
      .write(std::array{std::int64_t{0}}, one, std::span(&header, 1));
}

}
