#include "cxx/moments/shared_contractions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/workplace.hpp"

namespace trifuse::moments {

namespace {

/// The part of a contraction that a rank computes: some values of the longest index of C.
struct Part {
  contraction::Contraction contraction;
  contraction::Index index;  ///< the divided index with its whole extent
  std::int64_t begin, end;   ///< the values of this rank

  Part(const contraction::Contraction& whole, int rank, int ranks) : contraction(whole) {
    contraction::Index* longest = nullptr;
    for (contraction::Index& each : contraction.indices) {
      const bool of_c = contraction::in_tensor(each, contraction::C);
      if (of_c && (longest == nullptr || each.extent > longest->extent)) longest = &each;
    }
    index = *longest;
    begin = index.extent * rank / ranks;
    end = index.extent * (rank + 1) / ranks;
    longest->extent = end - begin;
  }
  void compute(contraction::Workplace& workplace, double factor, const double* a, const double* b, double* c) const {
    using enum contraction::Tensor;
    if (begin == end) return;
    workplace.add(contraction, factor, a + begin * index.stride[A], b + begin * index.stride[B],
                  c + begin * index.stride[C]);
  }
  /// Sets the elements of all other parts to 0.
  void clear_others(std::span<double> c) const {
    const std::int64_t step = index.stride[contraction::C];
    for (double* first = c.data(); first < c.data() + c.size(); first += step * index.extent) {
      std::fill(first, first + step * begin, 0.0);
      std::fill(first + step * end, first + step * index.extent, 0.0);
    }
  }
};

/// The cores of all ranks.
class CoresOfRanks final : public contraction::Workplace {
 public:
  CoresOfRanks(Communicator& communicator, Contract own, const WorthSharing& worth)
      : communicator_(communicator), own_(std::move(own)), worth_(worth) {}

  /// Returns true if all ranks have thrown an exception together.
  bool all_know() const { return all_know_; }

  void add(const contraction::Contraction& contraction, double factor, const double* a, const double* b,
           double* c) override {
    double size = 1.0;
    for (const contraction::Index& index : contraction.indices)
      size *= contraction::in_tensor(index, contraction::C) ? static_cast<double>(index.extent) : 1.0;
    const double operations = contraction::operations(contraction);
    if (size < 2.0 || operations < std::max(worth_.operations, worth_.per_element * size))
      return own_->add(contraction, factor, a, b, c);
    const Part part(contraction, communicator_.rank(), communicator_.size());
    try {
      run_collectively(&communicator_, [&] { part.compute(*own_, factor, a, b, c); });
    } catch (...) {
      all_know_ = true;
      throw;
    }
    const std::span<double> all(c, static_cast<std::size_t>(size));
    part.clear_others(all);
    communicator_.allreduce_sum(all);  // exact: the other numbers are 0
  }
  void set_to_zero(double* first, std::int64_t size) override { own_->set_to_zero(first, size); }
  void finish(double* first, std::int64_t size) override { own_->finish(first, size); }
  void forget(const double* first) override { own_->forget(first); }
  bool is_host() const override { return true; }

 private:
  Communicator& communicator_;
  Contract own_;
  WorthSharing worth_;
  bool all_know_ = false;
};

}

WorthSharing worth_sharing(int threads, int ranks) {
  constexpr double exchange = 16e-9;  // seconds for each element
  constexpr double rate = 2e10;       // operations per second of a thread
  return {.per_element = exchange * rate * threads * ranks / std::max(1, ranks - 1)};
}

void share_contractions(Communicator& communicator, const Contract& own, const WorthSharing& worth,
                        const std::function<void(const Contract&)>& make) {
  const auto shared = std::make_shared<CoresOfRanks>(communicator, own, worth);
  // A rank that fails between shared contractions tells the others when they begin the next one, or at the end.
  std::exception_ptr failure;
  try {
    make(shared);
  } catch (...) {
    failure = std::current_exception();
  }
  if (shared->all_know()) std::rethrow_exception(failure);
  propagate_failure(communicator, failure);
}

}
