#include "tce_tiles/factor_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
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
#include "cxx/base/threads.hpp"
#include "tce_tiles/dump_arrays.hpp"
#include "tce_tiles/factor_bands.hpp"
#include "tce_tiles/interruptible_source.hpp"
#include "tce_tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

/// True if factors have elements.
bool has_rows(const DumpHeader& header, const FactorSpec& spec) {
  return header.size(spec.p) > 0 && header.size(spec.q) > 0;
}

/// Throws SystemError if the memory does not suffice. A damaged file may say that it has any number of elements.
void require_memory(double doubles, const ArrayLabel& label) {
  const double need = sizeof(double) * doubles, free = free_memory();
  if (need <= free) return;
  throw SystemError(fmt::format("{} takes {} of memory, but {} are free; use a machine with more memory.", label.text(),
                                format_bytes(need), format_bytes(free)));
}

/// The factors of one pair of spaces in memory: for each pair of orbitals p and q a row over the auxiliary functions Q.
/// Symmetric factors have rows only for p >= q.
class FactorRows {
 public:
  /// Reads the factors. Throws InputError if the elements are not valid. `stop`: as of FactorSource::acquire_factors().
  FactorRows(const FactorBands& bands, const std::atomic<bool>* stop)
      : symmetric_(bands.symmetric()), auxiliary_(bands.auxiliary()), q_count_(bands.q_count()) {
    const std::int64_t p_count = bands.p_count(), rows = symmetric_ ? pair_count(p_count) : p_count * q_count_;
    require_memory(static_cast<double>(rows) * static_cast<double>(auxiliary_), bands.array().label());
    rows_ = Buffer(static_cast<std::size_t>(std::max<std::int64_t>(1, rows * auxiliary_)));
    advise_large_pages(rows_.data(), rows_.size() * sizeof(double));
    bands.visit(0, auxiliary_, available_threads(), [&](const FactorBands::Band& band) {
      stop_reading(stop);
      const std::int64_t plane = p_count * q_count_;
      for (std::int64_t p = 0; p < p_count; ++p) {
        for (std::int64_t q = 0; q < (symmetric_ ? p + 1 : q_count_); ++q) {
          const double* const from = band.planes + p * q_count_ + q;
          double* const to = rows_.data() + number_of(p, q) * auxiliary_ + band.begin;
          for (std::int64_t k = 0; k < band.count; ++k) to[k] = from[k * plane];
        }
      }
    });
  }

  /// Returns the rows of orbital p with the orbitals q, q + 1, ..., q + count - 1: an array [count,naux]. It is in
  /// `buffer` unless the rows stand side by side in memory.
  const double* rows(std::int64_t p, std::int64_t q, std::int64_t count, Buffer& buffer) const {
    if (!symmetric_ || q + count <= p + 1) return row(p, q);
    buffer.reserve(static_cast<std::size_t>(count * auxiliary_));
    for (std::int64_t k = 0; k < count; ++k) std::copy_n(row(p, q + k), auxiliary_, buffer.data() + k * auxiliary_);
    return buffer.data();
  }

  /// Copies the rows of all pairs of orbitals p and q to `out` [p,q,naux].
  void copy(const ClassOrbitals& p, const ClassOrbitals& q, std::span<double> out) const {
    double* to = out.data();
    for (std::int64_t n = 0; n < p.count; ++n) {
      for (std::int64_t k = 0; k < q.count; ++k) to = std::copy_n(row(p.begin + n, q.begin + k), auxiliary_, to);
    }
  }

 private:
  /// Returns the row of a pair of orbitals, [naux].
  const double* row(std::int64_t p, std::int64_t q) const { return rows_.data() + number_of(p, q) * auxiliary_; }
  std::int64_t number_of(std::int64_t p, std::int64_t q) const {
    return symmetric_ ? pair_number(p, q) : p * q_count_ + q;
  }

  const bool symmetric_;
  const std::int64_t auxiliary_, q_count_;
  Buffer rows_;
};

/// The factors of one pair of spaces: in bands, or in memory.
class Factors {
 public:
  explicit Factors(FactorBands bands) : bands_(std::move(bands)) {}

  const FactorBands& bands() const { return bands_; }
  /// The factors in memory. Reads them if they are not there. Thread-safe. Throws InputError if the elements are not
  /// valid. `stop`: as of FactorSource::acquire_factors().
  std::shared_ptr<const FactorRows> rows(const std::atomic<bool>* stop) const {
    const std::lock_guard lock(mutex_);
    if (!rows_) rows_ = std::make_shared<const FactorRows>(bands_, stop);
    return rows_;
  }
  /// Frees the memory when no thread uses it. A later call of rows() reads the factors again.
  void forget() const {
    const std::lock_guard lock(mutex_);
    rows_.reset();
  }

 private:
  const FactorBands bands_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const FactorRows> rows_;
};

/// An integral array [p,q,r,s] = sum_Q left[Q,p,q] right[Q,r,s].
class ArrayOfFactors final : public DenseArray {
 public:
  ArrayOfFactors(ArrayLabel label, std::array<std::int64_t, 4> shape, std::shared_ptr<const Factors> left,
                 std::shared_ptr<const Factors> right)
      : DenseArray(std::move(label)), shape_(shape), left_(std::move(left)), right_(std::move(right)) {}

  std::span<const std::int64_t> shape() const override { return shape_; }
  bool is_integer() const override { return false; }
  Access access() const override { return Access::boxes; }

  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    if (out.empty()) return;
    const auto lefts = left_->rows(nullptr), rights = right_->rows(nullptr);
    const std::int64_t auxiliary = left_->bands().auxiliary(), pairs = count[0] * count[1], width = count[2] * count[3];
    thread_local Buffer all_left, some_left, some_right;
    all_left.reserve(static_cast<std::size_t>(pairs * auxiliary));
    for (std::int64_t p = 0; p < count[0]; ++p) {
      const double* const rows = lefts->rows(offset[0] + p, offset[1], count[1], some_left);
      std::copy_n(rows, count[1] * auxiliary, all_left.data() + p * count[1] * auxiliary);
    }
    std::fill(out.begin(), out.end(), 0.0);
    for (std::int64_t r = 0; r < count[2]; ++r) {
      const double* const rows = rights->rows(offset[2] + r, offset[3], count[3], some_right);
      multiply_add(false, true, pairs, count[3], auxiliary, 1.0, all_left.data(), auxiliary, rows, auxiliary,
                   out.data() + r * count[3], width);
    }
  }

 private:
  std::array<std::int64_t, 4> shape_;
  std::shared_ptr<const Factors> left_, right_;
};

/// Arrays, and the integral arrays that their factors give.
class ArraysOfFactors final : public DenseArrays, public DenseFactors {
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
  std::shared_ptr<const void> acquire_factors(const std::atomic<bool>* stop) const override {
    // The object frees the memory of the factors, also if this source ceases to exist before.
    const auto forget = [all = factors_](const void*) {
      for (const auto& [pair, factors] : all) factors->forget();
    };
    std::shared_ptr<const void> held;
    {
      const std::lock_guard lock(mutex_);
      held = held_.lock();
      if (!held) {
        held = std::shared_ptr<const void>(this, forget);
        held_ = held;
      }
    }
    for (const auto& [pair, factors] : factors_) {
      if (space_of(pair.first) == Space::hole) factors->rows(stop);
    }
    return held;
  }

  void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const override {
    copy(i, j, out);
  }
  void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const override {
    copy(h, p, out);
  }
  void visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                const FactorVisitor& visit) const override {
    const auto factors = factors_of(particles, particles);
    if (factors == nullptr) return;
    const std::int64_t v = factors->bands().p_count();
    factors->bands().visit(begin, end, threads, [&](const FactorBands::Band& band) {
      visit({band.begin, band.count, v, band.planes});
    });
  }

 private:
  using Pair = std::pair<OrbitalClass, OrbitalClass>;

  /// Copies the factors of two ranges of orbitals to `out` [p,q,naux].
  void copy(const ClassOrbitals& p, const ClassOrbitals& q, std::span<double> out) const {
    if (!out.empty()) factors_of(p.orbital_class, q.orbital_class)->rows(nullptr)->copy(p, q, out);
  }

  std::vector<ArraySpec> all_integrals() const {
    std::vector<ArraySpec> all = integral_arrays(header_.restricted);
    for (const ArraySpec& spec : exchange_arrays(header_.restricted)) all.push_back(spec);
    return all;
  }

  /// The factors of two classes; null if they have no elements. A restricted reference has factors of alpha orbitals.
  std::shared_ptr<const Factors> factors_of(OrbitalClass p, OrbitalClass q) const {
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
  std::shared_ptr<const Factors> open_factors(const FactorSpec& spec) {
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
    return std::make_shared<const Factors>(FactorBands(array, p_count, q_count, spec.symmetric()));
  }

  std::shared_ptr<const DenseArrays> arrays_;
  const DumpHeader header_;
  std::int64_t auxiliary_ = 0;  ///< number of auxiliary functions
  std::map<Pair, std::shared_ptr<const Factors>> factors_;
  std::map<std::string, ArraySpec> names_;  ///< the integral arrays
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const void> held_;  ///< what acquire_factors() has returned
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
