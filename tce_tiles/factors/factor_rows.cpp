#include "tce_tiles/factors/factor_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/free_memory.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/factors/factor_rounds.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

/// Throws SystemError if the memory does not suffice: a damaged file may claim any number of elements.
void require_memory(double doubles, const ArrayLabel& label) {
  const double need = sizeof(double) * doubles, free = free_memory();
  if (need <= free) return;
  throw SystemError(fmt::format("{} takes {} of memory, but {} are free; use a machine with more memory.", label.text(),
                                format_bytes(need), format_bytes(free)));
}

}

FactorRows::FactorRows(const FactorBands& bands)
    : symmetric_(bands.symmetric()),
      auxiliary_(bands.auxiliary()),
      p_count_(bands.p_count()),
      q_count_(bands.q_count()),
      count_(symmetric_ ? pair_count(p_count_) : p_count_ * q_count_) {}

FactorRows::FactorRows(const FactorBands& bands, const std::atomic<bool>* stop) : FactorRows(bands) {
  allocate(bands.array().label());
  read(bands, {0, auxiliary_}, stop, rows_.data(), auxiliary_);
}

FactorRows::FactorRows(const FactorBands& bands, Communicator& communicator, std::int64_t buffer_bytes,
                       const std::atomic<bool>* stop)
    : FactorRows(bands) {
  run_collectively(&communicator, [&] { allocate(bands.array().label()); });
  FactorRounds rounds(communicator, auxiliary_, count_, buffer_bytes);
  Buffer buffer;
  const int threads = available_threads();
  rounds.run([&](const AuxiliaryRange& mine, double* segment) { read(bands, mine, stop, segment, mine.count); },
             [&](const FactorRounds::Segment& segment) {
               stop_reading(stop);
               const AuxiliaryRange& part = segment.functions();
               // Copies a part of the rows at a time, so that the buffer is small. Only one thread at a time may get
               // rows of another rank.
               constexpr std::int64_t most_doubles = std::int64_t{1} << 20;
               const std::int64_t step = std::max<std::int64_t>(1, most_doubles / part.count);
               for (std::int64_t n = 0; n < count_; n += step) {
                 const std::int64_t count = std::min(step, count_ - n);
                 const double* const from = segment.read(n * part.count, count * part.count, buffer);
                 double* const to = rows_.data() + n * auxiliary_ + part.begin;
                 share_in_turns(static_cast<std::size_t>(count), threads, [&](std::size_t row) {
                   const auto k = static_cast<std::int64_t>(row);
                   std::copy_n(from + k * part.count, part.count, to + k * auxiliary_);
                 });
               }
             });
}

void FactorRows::allocate(const ArrayLabel& label) {
  require_memory(static_cast<double>(count_) * static_cast<double>(auxiliary_), label);
  rows_ = Buffer(static_cast<std::size_t>(std::max<std::int64_t>(1, count_ * auxiliary_)));
}

void FactorRows::read(const FactorBands& bands, const AuxiliaryRange& functions, const std::atomic<bool>* stop,
                      double* out, std::int64_t stride) const {
  const std::int64_t end = functions.begin + functions.count, plane = p_count_ * q_count_;
  bands.visit(functions.begin, end, available_threads(), [&](const FactorBands::Band& band) {
    stop_reading(stop);
    for (std::int64_t p = 0; p < p_count_; ++p) {
      for (std::int64_t q = 0; q < (symmetric_ ? p + 1 : q_count_); ++q) {
        const double* const from = band.planes + p * q_count_ + q;
        double* const to = out + number_of(p, q) * stride + band.begin - functions.begin;
        for (std::int64_t k = 0; k < band.count; ++k) to[k] = from[k * plane];
      }
    }
  });
}

const double* FactorRows::rows(std::int64_t p, std::int64_t q, std::int64_t count, Buffer& buffer) const {
  if (!symmetric_ || q + count <= p + 1) return row(p, q);
  buffer.reserve(static_cast<std::size_t>(count * auxiliary_));
  for (std::int64_t k = 0; k < count; ++k) std::copy_n(row(p, q + k), auxiliary_, buffer.data() + k * auxiliary_);
  return buffer.data();
}

void FactorRows::copy(const ClassOrbitals& p, const ClassOrbitals& q, std::span<double> out) const {
  double* to = out.data();
  for (std::int64_t n = 0; n < p.count; ++n) {
    for (std::int64_t k = 0; k < q.count; ++k) to = std::copy_n(row(p.begin + n, q.begin + k), auxiliary_, to);
  }
}

std::int64_t FactorRows::number_of(std::int64_t p, std::int64_t q) const {
  return symmetric_ ? pair_number(p, q) : p * q_count_ + q;
}

std::shared_ptr<const FactorRows> Factors::rows(const std::atomic<bool>* stop) const {
  const std::lock_guard lock(mutex_);
  if (!rows_) rows_ = std::make_shared<const FactorRows>(bands_, stop);
  return rows_;
}

void Factors::read_together(Communicator& communicator, const std::atomic<bool>* stop) const {
  double absent = 0.0;
  {
    const std::lock_guard lock(mutex_);
    absent = rows_ ? 0.0 : 1.0;
  }
  const std::vector<double> all = allgather(communicator, std::span(&absent, 1));
  if (std::all_of(all.begin(), all.end(), [](double each) { return each == 0.0; })) return;
  auto read = std::make_shared<const FactorRows>(bands_, communicator, exchanged_factor_bytes, stop);
  const std::lock_guard lock(mutex_);
  rows_ = std::move(read);
}

void Factors::forget() const {
  const std::lock_guard lock(mutex_);
  rows_.reset();
}

}
