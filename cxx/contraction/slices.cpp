#include "cxx/contraction/slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/contraction/index_space.hpp"

namespace trifuse::contraction {

namespace {

bool is_contracted(const Index& index) {
  return index.index_class == IndexClass::contracted;
}

/// Values of each index in a slice.
using Steps = std::vector<std::int64_t>;

Steps whole(const Contraction& contraction) {
  Steps steps;
  for (const Index& index : contraction.indices) steps.push_back(index.extent);
  return steps;
}

/// Rounds up, for full tiles, if a step is so long that this costs little.
std::int64_t rounded(std::int64_t step) {
  constexpr std::int64_t multiple = 8, shortest = 64;
  return step < shortest ? step : IndexSpace::divide_up(step, multiple) * multiple;
}

/// Returns the step that divides `extent` into equal parts of at most `most` values.
std::int64_t equal_step(std::int64_t extent, std::int64_t most) {
  const std::int64_t step = IndexSpace::divide_up(extent, IndexSpace::divide_up(extent, most));
  return std::min(rounded(step), most);
}

/// Returns the cuts of these steps. The order of the classes: batch, `outer`, the other external one, contracted.
std::vector<Slices::Cut> cuts_of(const Contraction& contraction, const Steps& steps, IndexClass outer) {
  std::vector<Slices::Cut> cuts;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    if (steps[n] < contraction.indices[n].extent) cuts.push_back({n, steps[n]});
  }
  const auto rank = [&](const Slices::Cut& cut) {
    const IndexClass found = contraction.indices[cut.index].index_class;
    return found == outer ? 1 : found == IndexClass::batch ? 0 : is_contracted(contraction.indices[cut.index]) ? 3 : 2;
  };
  std::stable_sort(cuts.begin(), cuts.end(),
                   [&](const Slices::Cut& x, const Slices::Cut& y) { return rank(x) < rank(y); });
  return cuts;
}

constexpr double most_slices = 1e6;

double ranges(const Index& index, std::int64_t step) {
  return index.extent == 0 ? 1.0 : static_cast<double>(IndexSpace::divide_up(index.extent, step));
}

/// Shortens the steps of contracted indices until a sum has at most `most` terms. Tensors whose elements are near each
/// other may have more if values share elements.
void limit_terms(const Contraction& contraction, std::int64_t most, Steps& steps) {
  for (;;) {
    double terms = 1.0;
    std::size_t longest = steps.size();
    for (std::size_t n = 0; n < steps.size(); ++n) {
      if (!is_contracted(contraction.indices[n])) continue;
      terms *= static_cast<double>(steps[n]);
      if (longest == steps.size() || steps[n] > steps[longest]) longest = n;
    }
    if (terms <= static_cast<double>(most)) return;
    steps[longest] = equal_step(contraction.indices[longest].extent, IndexSpace::divide_up(steps[longest], 2));
  }
}

/// The distances of the elements of slices in one tensor.
class Reach {
 public:
  Reach(const Contraction& contraction, Tensor tensor, Steps& steps)
      : indices_(contraction.indices), tensor_(tensor), steps_(steps) {}

  /// Shortens the steps until the elements of a slice are less than `most` apart.
  void limit(std::int64_t most) {
    // Contracted indices are cut only if it does not suffice to cut all other ones.
    while (sum(is_contracted) >= most) {
      const std::size_t n = widest(true);
      const std::int64_t stride = std::abs(indices_[n].stride[tensor_]);
      shorten(n, most - 1 - sum([&](const Index& index) {
                   return &index != &indices_[n] && (is_contracted(index) || std::abs(index.stride[tensor_]) < stride);
                 }));
    }
    while (sum([](const Index&) { return true; }) >= most) {
      const std::size_t n = widest(false);
      shorten(n, most - 1 - sum([&](const Index& index) { return &index != &indices_[n]; }));
    }
  }

 private:
  std::int64_t span(std::size_t n) const { return std::abs(indices_[n].stride[tensor_]) * (steps_[n] - 1); }
  template <typename Chosen>
  std::int64_t sum(const Chosen& chosen) const {
    std::int64_t found = 0;
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (chosen(indices_[n])) found += span(n);
    }
    return found;
  }
  /// Returns the index with the largest stride that can be cut.
  std::size_t widest(bool contracted) const {
    std::size_t found = steps_.size();
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (is_contracted(indices_[n]) != contracted || span(n) == 0) continue;
      const auto stride = [&](std::size_t k) { return std::abs(indices_[k].stride[tensor_]); };
      if (found == steps_.size() || stride(n) > stride(found)) found = n;
    }
    return found;
  }
  void shorten(std::size_t n, std::int64_t allowed) {
    const std::int64_t most = std::max<std::int64_t>(0, allowed) / std::abs(indices_[n].stride[tensor_]) + 1;
    steps_[n] = equal_step(indices_[n].extent, std::min(most, std::max<std::int64_t>(1, steps_[n] - 1)));
  }

  const std::vector<Index>& indices_;
  Tensor tensor_;
  Steps& steps_;
};

/// A search for slices that fit into the memory of a device.
class MemorySearch {
 public:
  explicit MemorySearch(const Contraction& contraction) : contraction_(contraction), steps_(whole(contraction)) {}

  /// Cuts until the slices fit. Returns false if that needs too many of them.
  bool fit(double memory) {
    MemorySearch other = *this;
    const bool fits = cut_until_fit(memory, false), other_fits = other.cut_until_fit(memory, true);
    constexpr double far_more = 2.0;
    if (other_fits && (!fits || traffic() > far_more * other.traffic())) steps_ = other.steps_;
    return fits || other_fits;
  }

  /// Cuts external and batch indices until there are `wanted` series, as long as this moves hardly more bytes.
  void divide(double wanted) {
    const double least = traffic();
    while (slices(false) < wanted) {
      const std::optional<Choice> choice = best(false, 0.0);
      constexpr double hardly = 1.1;
      if (!choice || choice->traffic > hardly * least) return;
      steps_ = choice->steps;
    }
  }

  Slices result() const { return Slices(contraction_, cuts_of(contraction_, steps_, outer(steps_))); }

 private:
  struct Choice {
    Steps steps;
    double traffic, saved;  ///< bytes that move; bytes that a slice has less
  };

  bool cut(const Steps& steps, std::size_t n) const { return steps[n] < contraction_.indices[n].extent; }

  double slices(bool with_contracted) const {
    double count = 1.0;
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (with_contracted || !is_contracted(contraction_.indices[n]))
        count *= ranges(contraction_.indices[n], steps_[n]);
    }
    return count;
  }
  double ranges_of(const Steps& steps, IndexClass of) const {
    double count = 1.0;
    for (std::size_t n = 0; n < steps.size(); ++n) {
      if (contraction_.indices[n].index_class == of) count *= ranges(contraction_.indices[n], steps[n]);
    }
    return count;
  }

  /// Returns the bytes of two slices on a device. `twice`: counts each tensor twice, also one that is not cut.
  double bytes(const Steps& steps, bool twice) const {
    double sum = 0.0;
    for (const Tensor t : {A, B, C}) {
      double part = sizeof(double);
      bool two = twice;
      for (std::size_t n = 0; n < steps.size(); ++n) {
        const Index& index = contraction_.indices[n];
        if (!in_tensor(index, t) || index.stride[t] == 0) continue;
        part *= static_cast<double>(steps[n]);
        two = two || cut(steps, n);
      }
      sum += two ? 2.0 * part : part;
    }
    return sum;
  }

  /// Returns the bytes that move if the slices of external indices of this class are the outer loop.
  double traffic(const Steps& steps, IndexClass outer) const {
    const double of_a = ranges_of(steps, IndexClass::external_a), of_b = ranges_of(steps, IndexClass::external_b);
    const bool k_cut = ranges_of(steps, IndexClass::contracted) > 1.0, a_outer = outer == IndexClass::external_a;
    const double times_a = k_cut || (!a_outer && of_a > 1.0) ? of_b : 1.0;
    const double times_b = k_cut || (a_outer && of_b > 1.0) ? of_a : 1.0;
    return sizeof(double) *
           (times_a * elements(contraction_, A) + times_b * elements(contraction_, B) + elements(contraction_, C));
  }
  double traffic() const { return traffic(steps_, outer(steps_)); }
  IndexClass outer(const Steps& steps) const {
    return traffic(steps, IndexClass::external_b) < traffic(steps, IndexClass::external_a) ? IndexClass::external_b
                                                                                           : IndexClass::external_a;
  }

  /// Returns the best index of a kind to halve: few bytes move, slices become much smaller. `least`: part of the bytes
  /// of a slice that this must save.
  std::optional<Choice> best(bool contracted, double least) const {
    std::optional<Choice> found;
    const double before = bytes(steps_, true);
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (is_contracted(contraction_.indices[n]) != contracted || steps_[n] == 1) continue;
      Choice choice{steps_, 0.0, 0.0};
      choice.steps[n] = equal_step(contraction_.indices[n].extent,
                                   std::min(steps_[n] - 1, rounded(IndexSpace::divide_up(steps_[n], 2))));
      choice.traffic = traffic(choice.steps, outer(choice.steps));
      choice.saved = before - bytes(choice.steps, true);
      constexpr double alike = 1.01;
      const bool better = !found || choice.traffic * alike < found->traffic ||
                          (choice.traffic < found->traffic * alike && choice.saved > found->saved * alike);
      if (choice.saved >= least * before && better) found = std::move(choice);
    }
    return found;
  }

  /// `contracted_first`: prefers to cut contracted indices.
  bool cut_until_fit(double memory, bool contracted_first) {
    while (bytes(steps_, false) > memory) {
      constexpr double much = 1.0 / 8.0;
      std::optional<Choice> choice = best(contracted_first, much);
      if (!choice) choice = best(!contracted_first, much);
      if (!choice) choice = best(false, 0.0);
      if (!choice) choice = best(true, 0.0);
      if (!choice || slices(true) > most_slices) return false;
      steps_ = choice->steps;
    }
    return true;
  }

  Contraction contraction_;
  Steps steps_;
};

}

Slices::Slices(Contraction contraction, std::vector<Cut> cuts)
    : contraction_(std::move(contraction)), cuts_(std::move(cuts)) {
  for (const Cut& cut : cuts_) {
    const Index& index = contraction_.indices[cut.index];
    (is_contracted(index) ? length_ : series_) *= IndexSpace::divide_up(index.extent, cut.step);
  }
}

Slice Slices::slice(std::int64_t series, std::int64_t n) const {
  Slice found{contraction_, {}, n > 0};
  for (std::size_t k = cuts_.size(); k-- > 0;) {
    Index& index = found.contraction.indices[cuts_[k].index];
    const std::int64_t ranges = IndexSpace::divide_up(index.extent, cuts_[k].step);
    std::int64_t& number = is_contracted(index) ? n : series;
    const std::int64_t first = number % ranges * cuts_[k].step;
    number /= ranges;
    for (const Tensor t : {A, B, C}) found.offset[t] += first * index.stride[t];
    index.extent = std::min(cuts_[k].step, index.extent - first);
  }
  return found;
}

bool Slices::cuts_tensor(Tensor tensor) const {
  return std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) {
    const Index& index = contraction_.indices[cut.index];
    return in_tensor(index, tensor) && index.stride[tensor] != 0;
  });
}

std::string Slices::text() const {
  std::string cuts;
  for (const Cut& cut : cuts_) {
    cuts += fmt::format("{}{} of {}", cuts.empty() ? ": " : ", ", cut.step, contraction_.indices[cut.index].name);
  }
  const std::int64_t count = series_ * length_;
  return fmt::format("{} {}{}", count, count == 1 ? "slice" : "slices", cuts);
}

std::vector<Slice> slice_to_reach(const Contraction& contraction, std::int64_t most) {
  Steps steps = whole(contraction);
  if (!contraction.empty_result()) {
    for (const Tensor t : {A, B, C}) {
      if (t == C || !contraction.empty_sum()) Reach(contraction, t, steps).limit(most);
    }
    limit_terms(contraction, most, steps);
  }
  double count = 1.0;
  for (std::size_t n = 0; n < steps.size(); ++n) count *= ranges(contraction.indices[n], steps[n]);
  if (count > most_slices) {
    throw UsageError(
        fmt::format("A contraction on a GPU would have {:.3g} slices, because elements of a tensor are too far apart "
                    "or the sum has too many terms; copy the tensors without gaps, or divide the contraction.",
                    count));
  }
  const Slices slices(contraction, cuts_of(contraction, steps, IndexClass::external_a));
  std::vector<Slice> found;
  for (std::int64_t series = 0; series < slices.series(); ++series) {
    for (std::int64_t n = 0; n < slices.length(); ++n) found.push_back(slices.slice(series, n));
  }
  return found;
}

Slices slices_for_memory(const Contraction& contraction, std::int64_t memory) {
  if (contraction.empty_result() || contraction.empty_sum()) return Slices(contraction);
  MemorySearch search(contraction);
  if (!search.fit(static_cast<double>(memory))) {
    throw UsageError(fmt::format(
        "With {} bytes of memory on a GPU, a contraction would have too many slices; give more memory.", memory));
  }
  constexpr double bytes_of_slice = 64 << 20, most_series = 32.0;
  search.divide(std::min(most_series, bytes(contraction, false) / bytes_of_slice));
  return search.result();
}

double bytes_on_device(const Slices& slices) {
  const Contraction part = slices.slice(0, 0).contraction;
  double sum = 0.0;
  for (const Tensor t : {A, B, C}) sum += sizeof(double) * elements(part, t) * (slices.cuts_tensor(t) ? 2.0 : 1.0);
  return sum;
}

}
