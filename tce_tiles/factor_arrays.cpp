#include "tce_tiles/factor_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "cxx/base/blas.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/free_memory.hpp"
#include "cxx/base/large_pages.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/consistency.hpp"
#include "tce_tiles/dump_arrays.hpp"
#include "tce_tiles/dump_boxes.hpp"
#include "tce_tiles/interruptible_source.hpp"
#include "tce_tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

/// Largest difference of B[Q,p,q] and B[Q,q,p], absolute up to 1, relative above.
constexpr double symmetry_tolerance = 1e-7;

/// True if factors have elements.
bool has_rows(const DumpHeader& header, const FactorSpec& spec) {
  return header.size(spec.p) > 0 && header.size(spec.q) > 0;
}

/// The factors of one pair of spaces in memory: for each pair of orbitals p and q a row over the auxiliary functions Q.
/// Symmetric factors have rows only for p >= q.
class Factors {
 public:
  /// `array`: the factors, of shape [naux,p_count,q_count], or [naux,p_count(p_count+1)/2] with p >= q. `symmetric`:
  /// true if p and q are orbitals of one space.
  Factors(std::shared_ptr<const DenseArray> array, std::int64_t p_count, std::int64_t q_count, bool symmetric)
      : array_(std::move(array)),
        symmetric_(symmetric),
        auxiliary_(array_->shape()[0]),
        p_count_(p_count),
        q_count_(q_count) {}

  /// Reads the factors if they have not been read. Thread-safe. Throws InputError if the elements are not valid, and
  /// Interrupted if `stop` is not null and becomes true.
  void load(const std::atomic<bool>* stop) {
    std::call_once(loaded_, [&] { read(*array_, stop); });
  }

  std::int64_t auxiliary() const { return auxiliary_; }

  // Call load() before these functions.
  /// Returns the rows of orbital p with the orbitals q, q + 1, ..., q + count - 1: an array [count,naux]. It is in
  /// `buffer` unless the rows stand side by side in memory.
  const double* rows(std::int64_t p, std::int64_t q, std::int64_t count, Buffer& buffer) const {
    if (!symmetric_ || q + count <= p + 1) return row(p, q);
    buffer.reserve(static_cast<std::size_t>(count * auxiliary_));
    for (std::int64_t k = 0; k < count; ++k) std::copy_n(row(p, q + k), auxiliary_, buffer.data() + k * auxiliary_);
    return buffer.data();
  }

  /// Returns the row of a pair of orbitals, [naux].
  const double* row(std::int64_t p, std::int64_t q) const { return rows_.data() + number_of(p, q) * auxiliary_; }

 private:
  /// Throws SystemError if the memory does not suffice. A damaged file may say that it has any number of elements.
  void require_memory(std::int64_t rows, const ArrayLabel& label) const {
    const double need = 8.0 * static_cast<double>(rows) * static_cast<double>(auxiliary_), free = free_memory();
    if (need <= free) return;
    throw SystemError(fmt::format("{} takes {} of memory, but {} are free; use a machine with more memory.",
                                  label.text(), format_bytes(need), format_bytes(free)));
  }

  std::int64_t number_of(std::int64_t p, std::int64_t q) const {
    return symmetric_ ? pair_number(p, q) : p * q_count_ + q;
  }

  /// A box of the file is `auxiliary_at_once` elements along the auxiliary functions. These elements are neighbours in
  /// a row: with few of them, threads would write into the same cache lines again and again.
  void read(const DenseArray& array, const std::atomic<bool>* stop) {
    const std::int64_t rows = symmetric_ ? pair_count(p_count_) : p_count_ * q_count_;
    require_memory(rows, array.label());
    rows_ = Buffer(static_cast<std::size_t>(std::max<std::int64_t>(1, rows * auxiliary_)));
    advise_large_pages(rows_.data(), rows_.size() * sizeof(double));
    const bool packed = array.shape().size() == 2;
    // A square needs whole planes for the comparison of both triangles. Other boxes have about 2^20 elements. Their
    // rows do not begin at multiples of a page, where few lines of a cache could hold them.
    const std::int64_t planes = array.shape()[1], width = packed ? 1 : q_count_;
    const bool square = symmetric_ && !packed;
    constexpr std::int64_t row_elements = (std::int64_t{1} << 15) - 8;
    const std::int64_t auxiliary_at_once = square ? 8 : 32;
    const std::int64_t planes_at_once =
        square ? planes : std::clamp<std::int64_t>(row_elements / std::max<std::int64_t>(1, width), 1, planes);
    const std::int64_t boxes = (planes + planes_at_once - 1) / planes_at_once,
                       steps = (auxiliary_ + auxiliary_at_once - 1) / auxiliary_at_once;
    const auto all = static_cast<std::size_t>(boxes * steps);
    share_among_threads<Buffer>(all, available_threads(), [&](std::size_t n, Buffer& buffer) {
      stop_reading(stop);
      const auto number = static_cast<std::int64_t>(n);
      const std::int64_t begin = number / boxes * auxiliary_at_once, first = number % boxes * planes_at_once;
      std::vector<std::int64_t> offset(array.shape().size(), 0), extent(array.shape().begin(), array.shape().end());
      offset[0] = begin;
      extent[0] = std::min(auxiliary_at_once, auxiliary_ - begin);
      offset[1] = first;
      extent[1] = std::min(planes_at_once, planes - first);
      const auto size = static_cast<std::size_t>(extent[0] * extent[1] * width);
      buffer.reserve(size);
      const std::span<double> box = buffer.span().first(size);
      array.read(offset, extent, box);
      check_finite(box, array.label());
      square ? store_square(box.data(), begin, extent[0], array)
             : store_rows(box.data(), begin, extent[0], first * width, extent[1] * width);
    });
    check_squares(rows, array.label());
  }

  /// Stores elements of the auxiliary functions [begin, begin + count) of consecutive rows from `first` on. `box`
  /// [count,rows].
  void store_rows(const double* box, std::int64_t begin, std::int64_t count, std::int64_t first, std::int64_t rows) {
    for (std::int64_t n = 0; n < rows; ++n) {
      double* const to = rows_.data() + (first + n) * auxiliary_ + begin;
      for (std::int64_t k = 0; k < count; ++k) to[k] = box[k * rows + n];
    }
  }

  /// Stores the lower triangle of whole planes and compares it with the upper triangle. `planes`
  /// [count,p_count,p_count].
  void store_square(const double* planes, std::int64_t begin, std::int64_t count, const DenseArray& array) {
    const std::int64_t size = p_count_ * q_count_;
    for (std::int64_t p = 0; p < p_count_; ++p) {
      for (std::int64_t q = 0; q <= p; ++q) {
        double* const to = rows_.data() + number_of(p, q) * auxiliary_ + begin;
        const double *const lower = planes + p * q_count_ + q, *const upper = planes + q * q_count_ + p;
        for (std::int64_t k = 0; k < count; ++k) {
          to[k] = lower[k * size];
          check_symmetry(to[k], upper[k * size], begin + k, p, q, array);
        }
      }
    }
  }

  /// Throws InputError if an integral (pq|pq) is beyond any reasonable size. No integral (pq|rs) is larger than the
  /// root of (pq|pq) (rs|rs).
  void check_squares(std::int64_t rows, const ArrayLabel& label) const {
    constexpr std::int64_t at_once = 256;
    const auto parts = static_cast<std::size_t>((rows + at_once - 1) / at_once);
    share_in_turns(parts, available_threads(), [&](std::size_t n) {
      const std::int64_t begin = static_cast<std::int64_t>(n) * at_once, end = std::min(rows, begin + at_once);
      for (std::int64_t row = begin; row < end; ++row) {
        const double* const factors = rows_.data() + row * auxiliary_;
        double square = 0.0;
#pragma omp simd reduction(+ : square)
        for (std::int64_t x = 0; x < auxiliary_; ++x) square += factors[x] * factors[x];
        check_size(square, largest_integral, label);
      }
    });
  }

  static void check_symmetry(double x, double y, std::int64_t auxiliary, std::int64_t p, std::int64_t q,
                             const DenseArray& array) {
    if (std::abs(x - y) <= symmetry_tolerance * std::max(1.0, std::abs(x))) return;
    throw InputError(
        fmt::format("{}: element [{},{},{}] is {:.10g}, but [{},{},{}] is {:.10g}; the factors are symmetric in their "
                    "last two indices, {} them so.",
                    array.label().text(), auxiliary, p, q, x, auxiliary, q, p, y, array.label().words.write));
  }

  const std::shared_ptr<const DenseArray> array_;
  const bool symmetric_;
  const std::int64_t auxiliary_, p_count_, q_count_;
  std::once_flag loaded_;
  Buffer rows_;
};

/// An integral array [p,q,r,s] = sum_Q left[Q,p,q] right[Q,r,s].
class ArrayOfFactors final : public DenseArray {
 public:
  ArrayOfFactors(ArrayLabel label, std::array<std::int64_t, 4> shape, std::shared_ptr<Factors> left,
                 std::shared_ptr<Factors> right)
      : DenseArray(std::move(label)), shape_(shape), left_(std::move(left)), right_(std::move(right)) {}

  std::span<const std::int64_t> shape() const override { return shape_; }
  bool is_integer() const override { return false; }
  Access access() const override { return Access::boxes; }

  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    if (out.empty()) return;
    left_->load(nullptr);
    right_->load(nullptr);
    const std::int64_t auxiliary = left_->auxiliary(), pairs = count[0] * count[1], width = count[2] * count[3];
    thread_local Buffer all_left, some_left, some_right;
    all_left.reserve(static_cast<std::size_t>(pairs * auxiliary));
    for (std::int64_t p = 0; p < count[0]; ++p) {
      const double* const rows = left_->rows(offset[0] + p, offset[1], count[1], some_left);
      std::copy_n(rows, count[1] * auxiliary, all_left.data() + p * count[1] * auxiliary);
    }
    std::fill(out.begin(), out.end(), 0.0);
    for (std::int64_t r = 0; r < count[2]; ++r) {
      const double* const rows = right_->rows(offset[2] + r, offset[3], count[3], some_right);
      multiply_add(false, true, pairs, count[3], auxiliary, 1.0, all_left.data(), auxiliary, rows, auxiliary,
                   out.data() + r * count[3], width);
    }
  }

 private:
  std::array<std::int64_t, 4> shape_;
  std::shared_ptr<Factors> left_, right_;
};

/// Arrays, and the integral arrays that their factors give.
class ArraysOfFactors final : public DenseArrays, public FactorSource {
 public:
  ArraysOfFactors(std::shared_ptr<const DenseArrays> arrays, const DumpHeader& header)
      : arrays_(std::move(arrays)), header_(header) {
    refuse_stored_integrals();
    use_single_threaded_blas();
    for (const FactorSpec& spec : factor_arrays(header_.restricted)) {
      if (has_rows(header_, spec)) factors_.emplace(Pair(spec.p, spec.q), open_factors(spec));
    }
    for (const ArraySpec& spec : all_integrals()) names_.emplace(spec.name, spec);
  }

  const std::string& path() const override { return arrays_->path(); }
  ArrayWords words() const override { return arrays_->words(); }
  bool has(const std::string& name) const override { return names_.contains(name) || arrays_->has(name); }

  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    const auto found = names_.find(name);
    if (found == names_.end()) return arrays_->array(name);
    const ArraySpec& spec = found->second;
    std::array<std::int64_t, 4> shape{};
    for (std::size_t k = 0; k < 4; ++k) shape[k] = header_.size(spec.axes[k]);
    return std::make_shared<ArrayOfFactors>(label(name), shape, factors_of(spec.axes[0], spec.axes[1]),
                                            factors_of(spec.axes[2], spec.axes[3]));
  }

  std::int64_t auxiliary() const override { return auxiliary_; }
  void load(const std::atomic<bool>* stop) const override {
    for (const auto& [pair, factors] : factors_) factors->load(stop);
  }

  void read_vv(const ClassOrbitals& p, const ClassOrbitals& d, std::span<double> out) const override {
    if (out.empty()) return;
    Factors& factors = *factors_of(p.orbital_class, d.orbital_class);
    factors.load(nullptr);
    // Whole cache lines are read and written: `width` rows with `width` auxiliary functions at a time.
    constexpr std::int64_t width = 8;
    for (std::int64_t n = 0; n < p.count; ++n) {
      double* const plane = out.data() + n * auxiliary_ * d.count;
      for (std::int64_t first = 0; first < d.count; first += width) {
        const std::int64_t rows = std::min(width, d.count - first);
        std::array<const double*, width> row{};
        for (std::int64_t k = 0; k < rows; ++k) {
          row[static_cast<std::size_t>(k)] = factors.row(p.begin + n, d.begin + first + k);
        }
        for (std::int64_t x = 0; x < auxiliary_; ++x) {
          double* const to = plane + x * d.count + first;
          for (std::int64_t k = 0; k < rows; ++k) to[k] = row[static_cast<std::size_t>(k)][x];
        }
      }
    }
  }

  void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const override {
    if (out.empty()) return;
    Factors& factors = *factors_of(h.orbital_class, p.orbital_class);
    factors.load(nullptr);
    double* to = out.data();
    for (std::int64_t n = 0; n < h.count; ++n) {
      for (std::int64_t k = 0; k < p.count; ++k)
        to = std::copy_n(factors.row(h.begin + n, p.begin + k), auxiliary_, to);
    }
  }

 private:
  using Pair = std::pair<OrbitalClass, OrbitalClass>;

  std::vector<ArraySpec> all_integrals() const {
    std::vector<ArraySpec> all = integral_arrays(header_.restricted);
    for (const ArraySpec& spec : exchange_arrays(header_.restricted)) all.push_back(spec);
    return all;
  }

  /// The factors of two classes; null if they have no elements. A restricted reference has factors of alpha orbitals.
  std::shared_ptr<Factors> factors_of(OrbitalClass p, OrbitalClass q) const {
    const auto stored = [&](OrbitalClass c) {
      if (!header_.restricted) return c;
      return space_of(c) == Space::hole ? OrbitalClass::hole_alpha : OrbitalClass::particle_alpha;
    };
    const auto found = factors_.find({stored(p), stored(q)});
    return found == factors_.end() ? nullptr : found->second;
  }

  void refuse_stored_integrals() const {
    for (const ArraySpec& spec : all_integrals()) {
      for (const auto& form : {std::optional(spec), antisymmetrised_alternative(spec)}) {
        if (!form || !arrays_->has(form->name)) continue;
        throw InputError(fmt::format("{}: there are factors and also the integrals '{}'; {} only one of them.",
                                     arrays_->path(), form->name, arrays_->words().write));
      }
    }
  }

  /// Opens the factors of a pair of spaces.
  std::shared_ptr<Factors> open_factors(const FactorSpec& spec) {
    const auto array = arrays_->array(spec.name);
    const auto shape = array->shape();
    const std::int64_t p_count = header_.size(spec.p), q_count = header_.size(spec.q);
    const std::int64_t pairs = pair_count(p_count);
    const bool square = shape.size() == 3 && shape[1] == p_count && shape[2] == q_count;
    const bool packed = spec.symmetric() && shape.size() == 2 && shape[1] == pairs;
    if (!square && !packed) {
      throw InputError(fmt::format(
          "{} has shape {}, but the orbital energies ask for [naux,{},{}]{}; {} all arrays from one calculation.",
          array->label().text(), array->text_of_shape(), p_count, q_count,
          spec.symmetric() ? fmt::format(" or [naux,{}]", pairs) : "", words().write));
    }
    if (auxiliary_ == 0) auxiliary_ = shape[0];
    if (shape[0] < 1 || shape[0] > max_auxiliary || shape[0] != auxiliary_) {
      throw InputError(fmt::format("{} has {} auxiliary functions{}; {} all factors with the same ones, 1 to {}.",
                                   array->label().text(), shape[0],
                                   shape[0] != auxiliary_ ? fmt::format(", but other factors have {}", auxiliary_) : "",
                                   words().write, max_auxiliary));
    }
    return std::make_shared<Factors>(array, p_count, q_count, spec.symmetric());
  }

  std::shared_ptr<const DenseArrays> arrays_;
  const DumpHeader header_;
  std::int64_t auxiliary_ = 0;  ///< number of auxiliary functions
  std::map<Pair, std::shared_ptr<Factors>> factors_;
  std::map<std::string, ArraySpec> names_;  ///< the integral arrays
};

/// The names of the non-empty factors that `arrays` have; empty if they have none. Throws InputError if only some are
/// present.
std::vector<std::string> present_factors(const DenseArrays& arrays, const DumpHeader& header) {
  std::vector<std::string> present;
  std::string absent;
  for (const FactorSpec& spec : factor_arrays(header.restricted)) {
    if (!has_rows(header, spec)) continue;
    if (arrays.has(spec.name)) {
      present.push_back(spec.name);
    } else if (absent.empty()) {
      absent = spec.name;
    }
  }
  if (present.empty() || absent.empty()) return present;
  throw InputError(fmt::format("{} is missing although '{}' is present; {} all factors or none.",
                               arrays.label(absent).text(), present.front(), arrays.words().write));
}

}  // namespace

void use_factors(DenseInput& input) {
  input.factors = present_factors(*input.arrays, input.header);
  if (input.factors.empty()) return;
  auto arrays = std::make_shared<ArraysOfFactors>(std::move(input.arrays), input.header);
  input.arrays = arrays;
  input.factor_source = std::move(arrays);
}

}  // namespace trifuse
