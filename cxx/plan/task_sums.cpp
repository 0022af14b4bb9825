#include "cxx/plan/task_sums.hpp"

#include <algorithm>
#include <bit>

#include "cxx/base/vector_clones.hpp"

namespace trifuse {

namespace {

constexpr double least_unit = 0x1p-52;
constexpr std::size_t elements_of_lock = 4096, locks = 512;

/// Returns the multiple of 2^-52 nearest to x. Two additions round: doubles near 1.5 2^30 are multiples of 2^-22, and
/// those near 1.5 are multiples of 2^-52. Loops of it use vectors, which have no conversion to 64-bit integers.
TRIFUSE_ALWAYS_INLINE std::int64_t in_least_units(double x) {
  constexpr double coarse = 0x1.8p30, fine = 1.5;
  const double high = x + coarse, low = (x - (high - coarse)) + fine;
  const auto multiple = [](double of, double from) {
    return std::bit_cast<std::uint64_t>(of) - std::bit_cast<std::uint64_t>(from);
  };
  return static_cast<std::int64_t>((multiple(high, coarse) << 30) + multiple(low, fine));
}

TRIFUSE_VECTOR_CLONES
void add_rounded(const double* values, std::size_t count, double scale, std::int64_t* sums) {
#pragma omp simd
  for (std::size_t n = 0; n < count; ++n) sums[n] += in_least_units(values[n] * scale);
}

}

TaskSums::TaskSums(std::span<const SummedArray> arrays)
    : sums_(arrays.size()),
      has_memory_(std::make_unique<std::once_flag[]>(arrays.size())),
      locks_(arrays.empty() ? nullptr : std::make_unique<std::mutex[]>(locks)) {
  for (const SummedArray& array : arrays) {
    scale_.push_back(least_unit / array.unit);
    sizes_.push_back(array.size);
  }
}

ZeroedVector<std::int64_t>& TaskSums::memory_of(std::size_t array) const {
  std::call_once(has_memory_[array], [&] { sums_[array] = ZeroedVector<std::int64_t>(sizes_[array]); });
  return sums_[array];
}

std::vector<ZeroedVector<std::int64_t>> TaskSums::take(bool first) {
  for (std::size_t array = first ? 0 : 1; array < sums_.size(); ++array) memory_of(array);
  return std::move(sums_);
}

void TaskSums::fetch_memory(const std::atomic<bool>& stop) {
  constexpr std::size_t part = std::size_t{1} << 20;  // elements; other changes of the memory map wait for one part
  for (std::size_t n = 0; n < arrays(); ++n) {
    ZeroedVector<std::int64_t>& array = memory_of(n);
    for (std::size_t first = 0; first < array.size() && !stop; first += part)
      fetch_pages(array.data() + first, std::min(part, array.size() - first) * sizeof(std::int64_t));
  }
}

template <typename Use>
void TaskSums::with_locks(std::size_t array, std::size_t first, std::size_t count, Use use) {
  std::int64_t* const elements = memory_of(array).data();
  for (std::size_t at = first; at < first + count;) {
    const std::size_t block = at / elements_of_lock, end = std::min(first + count, (block + 1) * elements_of_lock);
    const std::lock_guard lock(locks_[(block + 31 * array) % locks]);
    use(elements + at, at - first, end - at);
    at = end;
  }
}

void TaskSums::add(std::size_t array, std::size_t first, std::span<const double> values) {
  with_locks(array, first, values.size(), [&](std::int64_t* sums, std::size_t from, std::size_t count) {
    add_rounded(values.data() + from, count, scale_[array], sums);
  });
}

void TaskSums::add_integers(std::size_t array, std::size_t first, std::span<const std::int64_t> values) {
  with_locks(array, first, values.size(), [&](std::int64_t* sums, std::size_t from, std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) sums[n] += values[from + n];
  });
}

}
