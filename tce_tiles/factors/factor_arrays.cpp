#include "tce_tiles/factors/factor_arrays.hpp"

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
#include "cxx/base/communicator.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/factors/factor_bands.hpp"
#include "tce_tiles/factors/factor_rows.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

/// Returns true if factors have elements.
bool has_rows(const DenseHeader& header, const FactorSpec& spec) {
  return header.size(spec.p) > 0 && header.size(spec.q) > 0;
}

/// Returns true if an array is not [p,q,r,s] = sum_Q B[Q,p,q] B[Q,r,s].
bool contains_more_than_factors(ArrayKind kind) {
  return kind == ArrayKind::kvvv || kind == ArrayKind::ladder || are_diagonals(kind);
}

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
    thread_local Buffer all_left, some_left;
    all_left.reserve(static_cast<std::size_t>(pairs * auxiliary));
    double* const left = all_left.data();
    for (std::int64_t p = 0; p < count[0]; ++p) {
      const double* const rows = lefts->rows(offset[0] + p, offset[1], count[1], some_left);
      std::copy_n(rows, count[1] * auxiliary, left + p * count[1] * auxiliary);
    }
    // Blocks are read by several threads at the same time, and whole arrays by one.
    constexpr double most_of_one_thread = 1e9;
    const double operations = 2.0 * static_cast<double>(pairs * width) * static_cast<double>(auxiliary);
    const int threads = operations > most_of_one_thread ? available_threads() : 1;
    std::fill(out.begin(), out.end(), 0.0);
    share_in_turns(static_cast<std::size_t>(count[2]), threads, [&](std::size_t n) {
      thread_local Buffer some_right;
      const auto r = static_cast<std::int64_t>(n);
      const double* const rows = rights->rows(offset[2] + r, offset[3], count[3], some_right);
      multiply_add(false, true, pairs, count[3], auxiliary, 1.0, left, auxiliary, rows, auxiliary,
                   out.data() + r * count[3], width);
    });
  }

 private:
  std::array<std::int64_t, 4> shape_;
  std::shared_ptr<const Factors> left_, right_;
};

/// The arrays of an input, and the integral arrays that its factors give.
class ArraysOfFactors final : public DenseArrays, public FactorSource {
 public:
  ArraysOfFactors(std::shared_ptr<const DenseArrays> arrays, const DenseHeader& header)
      : arrays_(std::move(arrays)), header_(header) {
    refuse_stored_integrals();
    use_single_threaded_blas();
    for (const FactorSpec& spec : factor_arrays(header_.restricted)) {
      if (has_rows(header_, spec)) factors_.emplace(Pair(spec.p, spec.q), open_factors(spec));
    }
    for (const ArraySpec& spec : all_integrals()) {
      if (!contains_more_than_factors(spec.kind)) names_.emplace(spec.name, spec);
    }
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
    std::shared_ptr<const void> held = hold();
    for (const Factors* factors : factors_of_holes()) factors->rows(stop);
    return held;
  }
  std::shared_ptr<const void> acquire_factors_together(Communicator& communicator,
                                                       const std::atomic<bool>* stop) const override {
    // Otherwise ranks with different factors would wait for each other for ever.
    expect_same(communicator, shapes());
    std::shared_ptr<const void> held = hold();
    for (const Factors* factors : factors_of_holes()) factors->read_together(communicator, stop);
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

  /// Returns an object that frees the memory of the factors when it ceases to exist. It may outlive this source.
  std::shared_ptr<const void> hold() const {
    const auto forget = [all = factors_](const void*) {
      for (const auto& [pair, factors] : all) factors->forget();
    };
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const void> held = held_.lock();
    if (!held) {
      held = std::shared_ptr<const void>(this, forget);
      held_ = held;
    }
    return held;
  }

  /// Returns the factors that have a hole.
  std::vector<const Factors*> factors_of_holes() const {
    std::vector<const Factors*> all;
    for (const auto& [pair, factors] : factors_) {
      if (space_of(pair.first) == Space::hole) all.push_back(factors.get());
    }
    return all;
  }

  /// Returns the numbers of auxiliary functions and of orbitals.
  std::vector<double> shapes() const {
    std::vector<double> numbers = {static_cast<double>(auxiliary_), header_.restricted ? 1.0 : 0.0};
    for (const OrbitalClass c : orbital_classes) numbers.push_back(static_cast<double>(header_.size(c)));
    return numbers;
  }

  std::vector<ArraySpec> all_integrals() const {
    std::vector<ArraySpec> all = integral_arrays(header_.restricted);
    for (const auto& more : {exchange_arrays(header_.restricted), moment_arrays(header_.restricted)}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

  /// Returns the factors of two classes; null if they have no elements. For a restricted reference these are factors of
  /// alpha orbitals.
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
  const DenseHeader header_;
  std::int64_t auxiliary_ = 0;  ///< number of auxiliary functions
  std::map<Pair, std::shared_ptr<const Factors>> factors_;
  std::map<std::string, ArraySpec> names_;  ///< the integral arrays
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const void> held_;  ///< what acquire_factors() has returned
};

/// Returns the names of the non-empty factors in `arrays`; none if there are no factors. Throws InputError if some are
/// missing.
std::vector<std::string> present_factors(const DenseArrays& arrays, const DenseHeader& header) {
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

}

void use_factors(DenseInput& input) {
  input.factors = present_factors(*input.arrays, input.header);
  if (input.factors.empty()) return;
  auto arrays = std::make_shared<ArraysOfFactors>(std::move(input.arrays), input.header);
  input.arrays = arrays;
  input.factor_source = std::move(arrays);
}

}
