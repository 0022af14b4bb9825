#include "cxx/moments/shared_contractions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include "cxx/contraction/description.hpp"

namespace trifuse::moments {

namespace {

/// The part of a contraction that a rank computes: some values of the longest index of C.
struct Part {
  contraction::Contraction contraction;
  contraction::Index index;  ///< the divided index with its whole extent
  std::int64_t begin, end;   ///< the values of this rank
  std::int64_t size = 1;     ///< elements of C

  Part(const contraction::Contraction& whole, int rank, int ranks) : contraction(whole) {
    contraction::Index* longest = nullptr;
    for (contraction::Index& each : contraction.indices) {
      if (!contraction::in_tensor(each, contraction::C)) continue;
      size *= each.extent;
      if (longest == nullptr || each.extent > longest->extent) longest = &each;
    }
    index = *longest;
    begin = index.extent * rank / ranks;
    end = index.extent * (rank + 1) / ranks;
    longest->extent = end - begin;
  }
  void compute(const Contract& contract, double factor, const double* a, const double* b, double* c) const {
    using enum contraction::Tensor;
    if (begin == end) return;
    contract(contraction, factor, a + begin * index.stride[A], b + begin * index.stride[B],
             c + begin * index.stride[C]);
  }
  /// Sets the elements of all other parts to 0.
  void clear_others(double* c) const {
    const std::int64_t step = index.stride[contraction::C];
    for (double* first = c; first < c + size; first += step * index.extent) {
      std::fill(first, first + step * begin, 0.0);
      std::fill(first + step * end, first + step * index.extent, 0.0);
    }
  }
};

}

void share_contractions(Communicator* communicator, const Contract& own, double least,
                        const std::function<void(const Contract&)>& make) {
  if (communicator == nullptr || communicator->size() == 1) return run_collectively(communicator, [&] { make(own); });
  // A rank that fails elsewhere tells the others when they begin the next shared contraction, or at the end.
  bool told = false;
  std::exception_ptr failure;
  const Contract shared = [&](const contraction::Contraction& contraction, double factor, const double* a,
                              const double* b, double* c) {
    const auto of_c = [](const contraction::Index& index) { return contraction::in_tensor(index, contraction::C); };
    const bool has_parts = std::any_of(contraction.indices.begin(), contraction.indices.end(), of_c);
    if (!has_parts || contraction.empty_result() || contraction::operations(contraction) < least)
      return own(contraction, factor, a, b, c);
    const Part part(contraction, communicator->rank(), communicator->size());
    try {
      run_collectively(communicator, [&] { part.compute(own, factor, a, b, c); });
    } catch (...) {
      told = true;
      throw;
    }
    part.clear_others(c);
    communicator->allreduce_sum(std::span(c, static_cast<std::size_t>(part.size)));
  };
  try {
    make(shared);
  } catch (...) {
    failure = std::current_exception();
  }
  if (told) std::rethrow_exception(failure);
  propagate_failure(*communicator, failure);
}

}
