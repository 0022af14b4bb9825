#include "tce_tiles/dump_files/dump_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/output_file.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dump_files/dump_file.hpp"
#include "tce_tiles/dump_files/dump_seal.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/dense_blocks.hpp"

namespace trifuse {
namespace {

/// Approximate number of elements in a compressed chunk. Readers read boxes of a few rows, so larger chunks would cost
/// them time.
constexpr std::int64_t chunk_doubles = 4096;

OutputRules rules_of(const WriteOptions& options) {
  OutputRules rules;
  rules.cure = "check the name and the permissions there";
  rules.kept = "this file exists already; give another name, or allow overwriting it (--overwrite)";
  rules.overwrite = options.overwrite;
  rules.refuse = options.refuse;
  return rules;
}

void expect_no_directory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw UsageError(fmt::format("{}: this is a directory; give a file name for the dump.", path));
  }
}

/// Returns the axes of an array on which the indices u1, u2, l1, l2 of <u1 u2||l1 l2> or t_{l1 l2}^{u1 u2} are.
std::array<std::size_t, 4> block_order(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::ovvv:
      return {1, 2, 0, 3};
    case ArrayKind::ovoo:
      return {3, 1, 2, 0};
    case ArrayKind::ovov:
      return {1, 3, 0, 2};
    case ArrayKind::oovv:
      return {0, 2, 1, 3};
    default:
      return {2, 3, 0, 1};
  }
}

class Writer {
 public:
  Writer(const TileSource& source, const std::string& path, const WriteOptions& options)
      : source_(source), space_(source.tiles()), options_(options), output_(path, rules_of(options)) {
    unsigned irreps = 0;
    for (const Tile& tile : space_.tiles()) irreps |= 1U << tile.irrep;
    compressed_ = options.layout == WriteOptions::Layout::compressed ||
                  (options.layout == WriteOptions::Layout::automatic && (irreps & (irreps - 1)) != 0);
    labelled_ = irreps > 1;
    choose_arrays();
    check_space(path);
    file_ = Hdf5Writer::create(output_.open(), path);
  }

  void run() {
    write_attributes();
    for (const OrbitalClass c : orbital_classes) {
      if (!restricted() || spin_of(c) == Spin::alpha) write_orbitals(c);
    }
    for (const ArraySpec& spec : amplitude_arrays(restricted())) {
      if (spec.kind != ArrayKind::t1) continue;
      write_whole(spec.name, {space_.orbitals(spec.axes[0]), space_.orbitals(spec.axes[1])},
                  dense_t1(source_, spec.first));
    }
    for (const Spin spin : distinct_spins(restricted())) {
      if (!source_.has_fock()) break;
      const std::int64_t n = space_.orbitals(hole_class(spin)) + space_.orbitals(particle_class(spin));
      write_whole(fock_dataset(spin, restricted()), {n, n}, dense_fock(source_, spin));
    }
    for (const ArraySpec& spec : arrays_) write_array(spec);
    for (const auto& array : copied_) copy_array(*array);
    seal_dump(*file_, written_, available_threads());
    file_->close();
    output_.finish();
  }

 private:
  bool restricted() const { return space_.restricted(); }
  std::int64_t offset_in_class(int t) const { return space_.offset_in_class(t); }

  void choose_arrays();
  void check_space(const std::string& path) const;
  void write_attributes();
  void write_orbitals(OrbitalClass c);
  void write_array(const ArraySpec& spec);
  void add_block(ArrayKind kind, const std::array<int, 4>& tiles, Buffer& scratch, double* box, std::int64_t row,
                 const std::array<std::int64_t, 3>& count);
  void copy_array(const DenseArray& array);
  void show_progress(std::size_t elements);
  void write_whole(const std::string& name, std::vector<std::int64_t> shape, std::span<const double> values,
                   Hdf5Writer::Type type = Hdf5Writer::Type::real);

  const TileSource& source_;
  const TileSpace& space_;
  const WriteOptions& options_;
  OutputFile output_;
  std::optional<Hdf5Writer> file_;
  bool compressed_ = false;
  bool labelled_ = false;          ///< true if the dump gets irreps
  std::vector<ArraySpec> arrays_;  ///< arrays that are collected from the blocks of the source
  /// Other arrays: factors, or the integrals that they give, the arrays for dressed moments, and fragments.
  std::vector<std::shared_ptr<const DenseArray>> copied_;
  std::int64_t factors_doubles_ = 0;  ///< number of elements of factors that are multiplied out
  std::int64_t version_ = stored_integrals_version;
  std::vector<std::string> written_;  ///< names of the datasets
  std::int64_t total_ = 0;
  std::int64_t done_ = 0;
};

void Writer::choose_arrays() {
  for (ArraySpec& spec : amplitude_arrays(restricted())) {
    if (spec.kind != ArrayKind::t1) arrays_.push_back(std::move(spec));
  }
  const DenseInput* const dense = dense_input_of(source_);
  const bool factors = dense != nullptr && !dense->factors.empty();
  if (factors && !options_.multiply_factors) {
    version_ = dump_version;
    for (const std::string& name : dense->factors) copied_.push_back(dense->arrays->array(name));
  } else if (source_.has_integrals()) {
    std::vector<ArraySpec> integrals = integral_arrays(restricted());
    if (source_.has_exchange_integrals()) {
      for (ArraySpec& spec : exchange_arrays(restricted())) integrals.push_back(std::move(spec));
    }
    for (const ArraySpec& spec : integrals) {
      if (factors) {
        copied_.push_back(open_array(*dense->arrays, dense->header, spec));
      } else {
        arrays_.push_back(antisymmetrised_alternative(spec).value_or(spec));
      }
    }
    if (dense != nullptr && !factors) {
      for (const ArraySpec& spec : present_for_moments(*dense->arrays, dense->header)) {
        copied_.push_back(open_array(*dense->arrays, dense->header, spec));
      }
    }
  }
  for (const Spin spin : distinct_spins(restricted())) {
    const std::string fragments = fragments_dataset(spin, restricted());
    if (dense != nullptr && dense->arrays->has(fragments)) copied_.push_back(dense->arrays->array(fragments));
  }
  for (const ArraySpec& spec : arrays_) {
    std::int64_t n = 1;
    for (const OrbitalClass c : spec.axes) n *= space_.orbitals(c);
    total_ += n;
  }
  for (const auto& array : copied_) total_ += array->size();
  if (!factors || version_ == dump_version) return;
  for (const std::string& name : dense->factors) factors_doubles_ += dense->arrays->array(name)->size();
}

/// Throws SystemError if the disk is too full. The writer finds this out before hours of reading.
void Writer::check_space(const std::string& path) const {
  if (compressed_) return;
  const std::filesystem::path directory = std::filesystem::absolute(path).parent_path();
  std::error_code error;
  const auto space = std::filesystem::space(directory, error);
  const double need = 8.0 * static_cast<double>(total_);
  if (error || static_cast<double>(space.available) >= need) return;
  throw SystemError(fmt::format(
      "{}: the dump needs {:.3g} GB{}, but {:.3g} GB are free in {}; free some space{} or write it elsewhere.", path,
      need / 1e9, factors_doubles_ > 0 ? " with all factors multiplied out" : "",
      static_cast<double>(space.available) / 1e9, directory.string(),
      factors_doubles_ > 0 ? fmt::format(", keep the factors ({:.3g} GB)", 8e-9 * static_cast<double>(factors_doubles_))
                           : ""));
}

void Writer::write_attributes() {
  const SourceInfo& info = source_.info();
  file_->set_attribute("format", std::string_view("trifuse-dump"));
  file_->set_attribute("version", version_);
  file_->set_attribute("reference", std::string_view(to_string(info.reference)));
  file_->set_attribute("amplitudes", std::string_view(to_string(info.amplitudes)));
  if (info.amplitudes == AmplitudeKind::regularized_ccsd) file_->set_attribute("omega2", info.omega2);
  if (info.fock_in_triples != FockInTriples::not_stated) {
    file_->set_attribute("fock_in_triples", std::int64_t{info.fock_in_triples == FockInTriples::enters ? 1 : 0});
  }
  if (info.correlation_energy) file_->set_attribute("correlation_energy", *info.correlation_energy);
  if (info.scf_energy) file_->set_attribute("scf_energy", *info.scf_energy);
  if (info.convergence) file_->set_attribute("convergence", *info.convergence);

  std::string comment;
  const auto remark = [&](const std::string& text) { comment += (comment.empty() ? "" : "; ") + text; };
  std::vector<std::string> named;
  for (const auto& [key, value] : info.provenance) {
    const bool own =
        key == "program" || key == "molecule" || key == "basis" || key == "factorization" || key == "auxiliary_basis";
    if (own && std::find(named.begin(), named.end(), key) == named.end()) {
      file_->set_attribute(key, std::string_view(value));
      named.push_back(key);
    } else {
      remark(key == "comment" ? value : key + ": " + value);
    }
  }
  if (info.printed_triples) {
    remark(fmt::format("printed E[T] {:.12f} and E(T) {:.12f}", info.printed_triples->first,
                       info.printed_triples->second));
  }
  if (!info.format.empty() && !info.format.starts_with("Trifuse dump")) remark("converted from " + info.format);
  if (!comment.empty()) file_->set_attribute("comment", std::string_view(comment));
}

void Writer::write_whole(const std::string& name, std::vector<std::int64_t> shape, std::span<const double> values,
                         Hdf5Writer::Type type) {
  const std::vector<std::int64_t> origin(shape.size(), 0);
  file_->create_dataset(name, shape, type).write(origin, shape, values);
  written_.push_back(name);
}

void Writer::write_orbitals(OrbitalClass c) {
  const std::int64_t n = space_.orbitals(c);
  std::vector<double> irreps;
  for (int t = space_.first(c); t < space_.last(c); ++t) {
    irreps.insert(irreps.end(), static_cast<std::size_t>(space_[t].size), space_[t].irrep);
  }
  const std::int64_t begin = n == 0 ? 0 : space_[space_.first(c)].offset;
  write_whole(class_dataset("eps", c, restricted()), {n},
              source_.orbital_energies().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n)));
  if (labelled_) write_whole(class_dataset("irrep", c, restricted()), {n}, irreps, Hdf5Writer::Type::integer);
}

void Writer::write_array(const ArraySpec& spec) {
  std::vector<std::int64_t> shape;
  for (const OrbitalClass c : spec.axes) shape.push_back(space_.orbitals(c));
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  const std::int64_t row = shape[3];
  std::vector<std::int64_t> chunk;
  if (compressed_ && !empty) chunk = {1, 1, std::min(shape[2], std::max<std::int64_t>(16, chunk_doubles / row)), row};
  const Hdf5NewDataset dataset = file_->create_dataset(spec.name, shape, Hdf5Writer::Type::real, chunk);
  written_.push_back(spec.name);
  if (empty) return;

  const auto first = [&](std::size_t axis) { return space_.first(spec.axes[axis]); };
  const auto last = [&](std::size_t axis) { return space_.last(spec.axes[axis]); };
  Buffer box;
  for (int t0 = first(0); t0 < last(0); ++t0) {
    for (int t1 = first(1); t1 < last(1); ++t1) {
      const std::int64_t outer = space_[t0].size * space_[t1].size;
      for (int begin = first(2); begin < last(2);) {
        std::int64_t rows = space_[begin].size;
        int end = begin + 1;
        while (end < last(2) && outer * (rows + space_[end].size) * row <= options_.box_doubles)
          rows += space_[end++].size;
        const auto size = static_cast<std::size_t>(outer * rows * row);
        box.reserve(size);
        std::fill_n(box.data(), size, 0.0);
        std::vector<std::array<int, 4>> blocks;
        for (int t2 = begin; t2 < end; ++t2) {
          for (int t3 = first(3); t3 < last(3); ++t3) blocks.push_back({t0, t1, t2, t3});
        }
        const int threads = source_.concurrent_reads() ? available_threads() : 1;
        share_among_threads<Buffer>(blocks.size(), threads, [&](std::size_t n, Buffer& scratch) {
          const auto [x0, x1, t2, t3] = blocks[n];
          const std::int64_t at = (offset_in_class(t2) - offset_in_class(begin)) * row + offset_in_class(t3);
          add_block(spec.kind, blocks[n], scratch, box.data() + at, row, {space_[x0].size, space_[x1].size, rows});
        });
        dataset.write(std::array{offset_in_class(t0), offset_in_class(t1), offset_in_class(begin), std::int64_t{0}},
                      std::array{space_[t0].size, space_[t1].size, rows, row}, box.span().first(size));
        show_progress(size);
        begin = end;
      }
    }
  }
}

/// Copies an array of the source box by box. A box has all elements of the last two axes. If the whole second axis does
/// not fit, it has only one index of the first axis.
void Writer::copy_array(const DenseArray& array) {
  const std::vector<std::int64_t> shape(array.shape().begin(), array.shape().end());
  std::int64_t below = 1;  // elements for one index of the first two axes
  for (std::size_t k = 2; k < shape.size(); ++k) below *= shape[k];
  std::vector<std::int64_t> chunk;
  if (compressed_ && array.size() > 0) {
    std::int64_t left = chunk_doubles;
    chunk.resize(shape.size());
    for (std::size_t k = shape.size(); k-- > 0; left /= chunk[k])
      chunk[k] = std::clamp<std::int64_t>(left, 1, shape[k]);
  }
  const Hdf5NewDataset dataset = file_->create_dataset(array.name(), shape, Hdf5Writer::Type::real, chunk);
  written_.push_back(array.name());
  if (array.size() == 0) return;

  const bool whole = shape[1] * below <= options_.box_doubles;
  const std::size_t cut = whole ? 0 : 1;  // the axis that boxes and threads cut
  const std::int64_t row = whole ? shape[1] * below : below;
  const std::int64_t step = std::clamp<std::int64_t>(options_.box_doubles / row, 1, shape[cut]);
  const int threads = available_threads();
  Buffer box(static_cast<std::size_t>(step * row));
  for (std::int64_t first = 0; first < (whole ? 1 : shape[0]); ++first) {
    for (std::int64_t begin = 0; begin < shape[cut]; begin += step) {
      const std::int64_t rows = std::min(step, shape[cut] - begin), share = (rows + threads - 1) / threads;
      std::vector<std::int64_t> offset(shape.size(), 0), count = shape;
      offset[0] = first;
      if (!whole) count[0] = 1;
      share_in_turns(static_cast<std::size_t>((rows + share - 1) / share), threads, [&](std::size_t n) {
        const std::int64_t at = static_cast<std::int64_t>(n) * share;
        std::vector<std::int64_t> part = offset, extent = count;
        part[cut] = begin + at;
        extent[cut] = std::min(share, rows - at);
        array.read(part, extent,
                   box.span().subspan(static_cast<std::size_t>(at * row), static_cast<std::size_t>(extent[cut] * row)));
      });
      offset[cut] = begin;
      count[cut] = rows;
      const auto size = static_cast<std::size_t>(rows * row);
      dataset.write(offset, count, box.span().first(size));
      show_progress(size);
    }
  }
}

void Writer::show_progress(std::size_t elements) {
  done_ += static_cast<std::int64_t>(elements);
  if (options_.progress) options_.progress(static_cast<double>(done_) / static_cast<double>(total_));
}

/// Copies a block of an array into a box. `tiles` are the tiles of the block, by axis of the array. `box` points to the
/// block's first element in the box. `count` are the first three extents of the box, and `row` is the fourth. `scratch`
/// is the memory of the calling thread. Thread-safe.
void Writer::add_block(ArrayKind kind, const std::array<int, 4>& tiles, Buffer& scratch, double* box, std::int64_t row,
                       const std::array<std::int64_t, 3>& count) {
  // The axes in the order of the block. The tiles of each pair ascend, as the source requires.
  auto [u1, u2, l1, l2] = block_order(kind);
  double sign = 1.0;
  if (tiles[u1] > tiles[u2]) std::swap(u1, u2), sign = -sign;
  if (tiles[l1] > tiles[l2]) std::swap(l1, l2), sign = -sign;
  if (!block_exists(space_, tiles[u1], tiles[u2], tiles[l1], tiles[l2])) return;
  const auto extent = [&](std::size_t axis) { return space_[tiles[axis]].size; };
  const auto size = static_cast<std::size_t>(extent(0) * extent(1) * extent(2) * extent(3));
  scratch.reserve(size);
  const std::span<double> block = scratch.span().first(size);
  source_.read_block(kind == ArrayKind::t2 ? TensorKind::t2 : TensorKind::v2,
                     {tiles[u1], tiles[u2], tiles[l1], tiles[l2]}, block);
  const std::array<std::int64_t, 4> stride = {count[1] * count[2] * row, count[2] * row, row, 1};
  scatter_block(block.data(), {extent(u1), extent(u2), extent(l1), extent(l2)}, sign,
                {stride[u1], stride[u2], stride[l1], stride[l2]}, box);
}

}

void expect_writable_dump(const std::string& path, const WriteOptions& options) {
  expect_no_directory(path);
  const OutputFile output(path, rules_of(options));
}

void write_dump(const TileSource& source, const std::string& path, const WriteOptions& options) {
  const SourceInfo& info = source.info();
  if (source.tiles().restricted() != (info.reference == Reference::rhf)) {
    throw InputError(fmt::format("{}: the tiles are {} but the reference is {}, so no dump can be written.", info.path,
                                 source.tiles().restricted() ? "restricted" : "unrestricted",
                                 to_string(info.reference)));
  }
  expect_no_directory(path);
  Writer(source, path, options).run();
}

}
