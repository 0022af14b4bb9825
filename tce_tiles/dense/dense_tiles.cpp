#include "tce_tiles/dense/dense_tiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/buffer_cache.hpp"
#include "cxx/base/copy_box.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/dense/block_parts.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {
namespace {

/// An array of the input.
struct Array {
  std::int64_t first;  ///< number of its first element; elements are numbered through all arrays
  ArraySpec spec;
  std::shared_ptr<const DenseArray> data;
};

/// The block that a caller wants, while it is computed.
struct TargetBlock {
  std::array<int, 4> tiles;  ///< its tiles, in the order of its indices
  double* data;              ///< its elements in C order
};

/// The elements of a box of an array, in memory.
struct BoxElements {
  const double* first;                 ///< the first element of the box
  std::array<std::int64_t, 4> stride;  ///< distance of neighbours along each axis, in elements
};

/// The place of a box in the block that is computed. The last index of the block is contiguous.
struct TargetBox {
  double* first;                       ///< the first element of the box
  std::array<std::int64_t, 4> stride;  ///< distance of neighbours along each axis of the array, in elements
  std::array<std::size_t, 4> loop;     ///< the axis of the array for each axis of the block
};

/// Adds sign * box to the target. `count`: elements along each axis of the array. The loops follow the order of the
/// target, so that the innermost loop writes contiguous elements.
void add_box(const BoxElements& box, const std::array<std::int64_t, 4>& count, double sign, const TargetBox& target) {
  const auto [w_axis, x_axis, y_axis, z_axis] = target.loop;
  const std::int64_t inner = box.stride[z_axis], run = count[z_axis];
  for (std::int64_t w = 0; w < count[w_axis]; ++w) {
    for (std::int64_t x = 0; x < count[x_axis]; ++x) {
      const double* line = box.first + w * box.stride[w_axis] + x * box.stride[x_axis];
      double* out = target.first + w * target.stride[w_axis] + x * target.stride[x_axis];
      for (std::int64_t y = 0; y < count[y_axis]; ++y, line += box.stride[y_axis], out += target.stride[y_axis]) {
        if (inner == 1) {
          for (std::int64_t z = 0; z < run; ++z) out[z] += sign * line[z];
        } else {
          for (std::int64_t z = 0; z < run; ++z) out[z] += sign * line[z * inner];
        }
      }
    }
  }
}

class DenseTiles final : public DenseSource {
 public:
  DenseTiles(std::shared_ptr<const DenseInput> input, std::int64_t hole_tile, std::int64_t particle_tile,
             std::size_t cache_bytes)
      : input_(std::move(input)),
        tiles_(TileSpace::partition(header_.ranges(), hole_tile, particle_tile, header_.restricted)),
        // A block may need two strips, and the same thread needs both again for the next block.
        strips_(static_cast<std::int64_t>(cache_bytes), 2 * static_cast<std::size_t>(available_threads())) {
    for (const auto& energies : header_.energies) energies_.insert(energies_.end(), energies.begin(), energies.end());
    for (const ArraySpec& spec : amplitude_arrays(header_.restricted)) add_array(spec);
    if (const auto integrals = present_integrals(arrays_of_input_, header_)) {
      has_integrals_ = true;
      for (const ArraySpec& spec : *integrals) add_array(spec);
      for (const ArraySpec& spec : present_exchange(arrays_of_input_, header_)) add_array(spec);
    }
    read_all_fock();
  }

  const SourceInfo& info() const override { return header_.info; }
  const TileSpace& tiles() const override { return tiles_; }
  std::span<const double> orbital_energies() const override { return energies_; }
  bool has_integrals() const override { return has_integrals_; }
  bool has_fock() const override { return has_fock_; }
  bool has_exchange_integrals() const override;
  bool concurrent_reads() const override { return true; }
  const FactorSource* factors() const override { return input_->factor_source.get(); }
  std::optional<SourceDigest> digest() const override { return input_->digest(); }
  const DenseInput& input() const override { return *input_; }

  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;
  bool opposite_spin_blocks_suffice() const override { return header_.restricted; }

 private:
  void add_array(const ArraySpec& spec) {
    if (header_.size(spec) == 0) return;
    Array array{elements_, spec, open_array(arrays_of_input_, header_, spec)};
    elements_ += array.data->size();
    if (spec.kind == ArrayKind::t1) {
      auto& values = t1_[spec.first == Spin::alpha ? 0 : 1];
      values.resize(static_cast<std::size_t>(array.data->size()));
      array.data->read_all(values);
      check_finite(values, array.data->label());
    }
    arrays_.emplace(std::tuple(spec.kind, spec.first, spec.second), std::move(array));
  }

  void read_all_fock() {
    std::array<std::shared_ptr<const DenseArray>, 2> fock;
    const std::size_t spins = header_.restricted ? 1 : 2;
    for (std::size_t s = 0; s < spins; ++s)
      fock[s] = open_fock(arrays_of_input_, header_, s == 0 ? Spin::alpha : Spin::beta);
    if (spins == 2 && (fock[0] != nullptr) != (fock[1] != nullptr)) {
      const ArrayWords words = arrays_of_input_.words();
      throw InputError(fmt::format("{}: only one of the {}s 'fock_a' and 'fock_b' is present; {} both or none.",
                                   arrays_of_input_.path(), words.array, words.write));
    }
    has_fock_ = fock[0] != nullptr;
    for (std::size_t s = 0; has_fock_ && s < spins; ++s) {
      fock_[s].resize(static_cast<std::size_t>(fock[s]->size()));
      fock[s]->read_all(fock_[s]);
      check_finite(fock_[s], fock[s]->label());
    }
  }

  bool alpha(int t) const { return tiles_[t].spin() == Spin::alpha; }

  const Array& find(ArrayKind kind, Spin first, Spin second) const {
    if (header_.restricted) {
      first = Spin::alpha;
      second = Spin::beta;
    }
    return arrays_.at({kind, first, second});
  }

  /// Throws std::logic_error if the caller asks for a block that does not exist or passes memory of a wrong size.
  void check_request(bool exists, std::initializer_list<int> tiles, std::size_t size) const {
    std::int64_t expected = 1;
    for (const int t : tiles) expected *= tiles_[t].size;
    if (exists && size == static_cast<std::size_t>(expected)) return;
    throw std::logic_error(
        fmt::format("Block {} of {} numbers was requested, but it does not exist.", fmt::join(tiles, " "), size));
  }

  /// Checks a request and sets the block to zero.
  TargetBlock target(std::array<int, 4> t, std::span<double> block) const {
    check_request(t[0] <= t[1] && t[2] <= t[3] && block_exists(tiles_, t[0], t[1], t[2], t[3]),
                  {t[0], t[1], t[2], t[3]}, block.size());
    std::fill(block.begin(), block.end(), 0.0);
    return {t, block.data()};
  }

  /// The functions add_ add to the target.
  void add_parts(const std::vector<BlockPart>& parts, const TargetBlock& target) const;
  void add_from_array(const Array& array, const std::array<std::size_t, 4>& axes, double sign,
                      const TargetBlock& target) const;
  void add_planes(const Array& array, const std::array<std::int64_t, 4>& offset,
                  const std::array<std::int64_t, 4>& count, double sign, const TargetBox& target) const;
  BufferCache::Use strip(const Array& array, const std::array<std::int64_t, 3>& offset,
                         const std::array<std::int64_t, 3>& count) const;

  std::shared_ptr<const DenseInput> input_;
  const DenseArrays& arrays_of_input_ = *input_->arrays;
  const DenseHeader& header_ = input_->header;
  TileSpace tiles_;
  std::vector<double> energies_;
  std::map<std::tuple<ArrayKind, Spin, Spin>, Array> arrays_;
  std::array<std::vector<double>, 2> t1_;
  std::array<std::vector<double>, 2> fock_;
  bool has_integrals_ = false;
  bool has_fock_ = false;
  std::int64_t elements_ = 0;   ///< of all arrays
  mutable BufferCache strips_;  ///< by the number of their first element
};

void DenseTiles::read_fock(int g6, int g5, std::span<double> block) const {
  if (!has_fock_) {
    const ArrayLabel label = arrays_of_input_.label(fock_dataset(Spin::alpha, header_.restricted));
    throw InputError(fmt::format("{}: this {} has no Fock matrix; {} {} '{}'.", label.path, label.words.all,
                                 label.words.write, label.words.array, label.name));
  }
  check_request(block_exists(tiles_, g6, g5), {g6, g5}, block.size());
  const Spin spin = tiles_[g6].spin();
  const std::int64_t holes = header_.size(hole_class(spin)), n = holes + header_.size(particle_class(spin));
  const auto position = [&](int g) {
    return tiles_.offset_in_class(g) + (tiles_[g].space() == Space::particle ? holes : 0);
  };
  const std::vector<double>& fock = fock_[alpha(g6) || header_.restricted ? 0 : 1];
  double* out = block.data();
  for (std::int64_t row = position(g6); row < position(g6) + tiles_[g6].size; ++row) {
    out = std::copy_n(fock.begin() + row * n + position(g5), tiles_[g5].size, out);
  }
}

void DenseTiles::read_t1(int p, int h, std::span<double> block) const {
  check_request(block_exists(tiles_, p, h), {p, h}, block.size());
  const std::vector<double>& t1 = t1_[alpha(p) || header_.restricted ? 0 : 1];
  const std::int64_t row = header_.size(tiles_[p].orbital_class);
  double* out = block.data();
  for (std::int64_t a = tiles_.offset_in_class(p); a < tiles_.offset_in_class(p) + tiles_[p].size; ++a) {
    for (std::int64_t i = tiles_.offset_in_class(h); i < tiles_.offset_in_class(h) + tiles_[h].size; ++i) {
      *out++ = t1[static_cast<std::size_t>(i * row + a)];
    }
  }
}

void DenseTiles::read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const {
  const TargetBlock t = target({p1, p2, h3, h4}, block);
  add_parts(parts_of_t2(tiles_, t.tiles), t);
}

void DenseTiles::read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const {
  if (!has_integrals_) {
    throw InputError(fmt::format(
        "{0}: this {1} has no integrals and can only be a left-hand {1}; name a {1} with ovvv, ovoo and ovov.",
        arrays_of_input_.path(), arrays_of_input_.words().all));
  }
  const auto particle = [&](int g) { return tiles_[g].space() == Space::particle; };
  const auto spin = [&](int g) { return tiles_[g].spin(); };
  const bool exchange = !particle(g3) && particle(g4) && !particle(g1) && particle(g2);
  const bool delivered =
      exchange ? has_exchange_integrals() && spin(g3) == spin(g1) && (header_.restricted || spin(g3) == spin(g4))
               : particle(g4) && !particle(g1) && (particle(g3) || !particle(g2));
  if (!delivered) {
    throw InputError(
        fmt::format("{}: the requested integrals are not in a {}; it has only <pp||hh>, <hp||hh> and <pp||hp> (p "
                    "virtual, h occupied), and the <hp||hp> that follow from its arrays of (ij|ab).",
                    arrays_of_input_.path(), arrays_of_input_.words().all));
  }
  const TargetBlock t = target({g3, g4, g1, g2}, block);
  add_parts(
      parts_of_v2(tiles_, t.tiles, [&](ArrayKind kind, Spin of) { return find(kind, of, of).spec.antisymmetrised; }),
      t);
}

void DenseTiles::add_parts(const std::vector<BlockPart>& parts, const TargetBlock& target) const {
  std::int64_t size = 1;
  for (const int t : target.tiles) size *= tiles_[t].size;
  const DenseArray* last = nullptr;
  for (const BlockPart& part : parts) {
    const Array& array = find(part.kind, part.first, part.second);
    add_from_array(array, part.axes, part.sign, target);
    last = array.data.get();
  }
  // Elements of an array that is read in strips are checked when they are read.
  if (last != nullptr && last->access() == DenseArray::Access::boxes)
    check_finite({target.data, static_cast<std::size_t>(size)}, last->label());
}

/// Returns true if the dump has all non-empty arrays oovv. A plain (not antisymmetrised) oovv also needs a plain ovov.
bool DenseTiles::has_exchange_integrals() const {
  bool all = has_integrals_;
  for (const ArraySpec& spec : exchange_arrays(header_.restricted)) {
    if (header_.size(spec) == 0) continue;
    const auto found = arrays_.find({spec.kind, spec.first, spec.second});
    if (found == arrays_.end()) return false;
    const bool plain = !found->second.spec.antisymmetrised;
    all = all && !(plain && find(ArrayKind::ovov, spec.first, spec.second).spec.antisymmetrised);
  }
  return all;
}

/// Adds sign * array to the target. Axis k of the array belongs to tile `axes[k]` of the target.
void DenseTiles::add_from_array(const Array& array, const std::array<std::size_t, 4>& axes, double sign,
                                const TargetBlock& target) const {
  std::array<std::int64_t, 4> offset{}, count{};
  TargetBox into{target.data, {}, {}};
  for (std::size_t k = 0; k < 4; ++k) {
    offset[k] = tiles_.offset_in_class(target.tiles[axes[k]]);
    count[k] = tiles_[target.tiles[axes[k]]].size;
    into.loop[axes[k]] = k;
  }
  std::int64_t stride = 1;
  for (std::size_t d = 4; d-- > 0; stride *= count[into.loop[d]]) into.stride[into.loop[d]] = stride;
  const DenseArray& data = *array.data;
  if (const auto view = data.view()) {
    const double* first = view->data;
    for (std::size_t k = 0; k < 4; ++k) first += offset[k] * view->stride[k];
    add_box({first, view->stride}, count, sign, into);
    return;
  }
  if (data.access() == DenseArray::Access::boxes) {
    thread_local Buffer box;
    const auto size = static_cast<std::size_t>(count[0] * count[1] * count[2] * count[3]);
    box.reserve(size);
    data.read(offset, count, box.span().first(size));
    add_box({box.data(), strides_of(count)}, count, sign, into);
    return;
  }
  if (data.access() == DenseArray::Access::planes) {
    add_planes(array, offset, count, sign, into);
    return;
  }
  const std::int64_t row = data.shape()[3];
  const BufferCache::Use strips = strip(array, {offset[0], offset[1], offset[2]}, {count[0], count[1], count[2]});
  add_box({strips.data() + offset[3], strides_of({count[0], count[1], count[2], row})}, count, sign, into);
}

/// Adds a box of an array that is read in whole planes of its last two axes. A strip contains a few planes.
void DenseTiles::add_planes(const Array& array, const std::array<std::int64_t, 4>& offset,
                            const std::array<std::int64_t, 4>& count, double sign, const TargetBox& target) const {
  constexpr std::int64_t planes_of_strip = 8;
  const std::int64_t rows = array.data->shape()[2], row = array.data->shape()[3];
  for (std::int64_t i = 0; i < count[0]; ++i) {
    for (std::int64_t a = 0; a < count[1]; a += planes_of_strip) {
      const std::int64_t planes = std::min(planes_of_strip, count[1] - a);
      const BufferCache::Use strips = strip(array, {offset[0] + i, offset[1] + a, 0}, {1, planes, rows});
      TargetBox part = target;
      part.first += i * target.stride[0] + a * target.stride[1];
      add_box({strips.data() + offset[2] * row + offset[3], strides_of({1, planes, rows, row})},
              {1, planes, count[2], count[3]}, sign, part);
    }
  }
}

/// Returns a strip: the box of `count` elements from `offset` on along the first three axes, and the whole last axis. A
/// block needs only a few neighbouring elements of each row, but a strip consists of few and long runs of a file, and
/// other blocks need its other elements. For one `offset` the caller always uses the same `count`. Throws InputError if
/// a value is not finite.
BufferCache::Use DenseTiles::strip(const Array& array, const std::array<std::int64_t, 3>& offset,
                                   const std::array<std::int64_t, 3>& count) const {
  const auto shape = array.data->shape();
  const std::int64_t first = ((offset[0] * shape[1] + offset[1]) * shape[2] + offset[2]) * shape[3];
  return strips_.get(array.first + first, count[0] * count[1] * count[2] * shape[3], [&](std::span<double> values) {
    array.data->read(std::array{offset[0], offset[1], offset[2], std::int64_t{0}},
                     std::array{count[0], count[1], count[2], shape[3]}, values);
    check_finite(values, array.data->label());
  });
}

}

std::unique_ptr<DenseSource> open_dense(std::shared_ptr<const DenseInput> input, std::int64_t hole_tile,
                                        std::int64_t particle_tile, std::size_t cache_bytes) {
  return std::make_unique<DenseTiles>(std::move(input), hole_tile, particle_tile, cache_bytes);
}

}
