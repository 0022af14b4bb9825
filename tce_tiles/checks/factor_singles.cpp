#include "tce_tiles/checks/factor_singles.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "cxx/base/blas.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/factors/factor_rounds.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {
namespace {

/// Returns the first `count` doubles of a buffer.
std::span<double> doubles(Buffer& buffer, std::int64_t count) {
  buffer.reserve(at(count));
  return buffer.span().first(at(count));
}

/// Returns the orbitals n that have a sum Y_n.
std::vector<std::int64_t> orbitals_with_sums(const std::vector<Buffer>& sums) {
  std::vector<std::int64_t> orbitals;
  for (std::int64_t n = 0; n < std::ssize(sums); ++n) {
    if (sums[at(n)].size() > 0) orbitals.push_back(n);
  }
  return orbitals;
}

/// The exchange of the sums Y_n[f,Q] of one spin. Before it, a rank has the sums for a few orbitals n and all functions
/// Q. Afterwards it has them for all orbitals and its part of the functions. In a round every rank copies the sums of a
/// few of its orbitals to its segment of a shared array. A segment contains the parts of all ranks one after another,
/// each as [n,f,Q], so that a rank gets its part of a segment at once.
class SumExchange {
 public:
  /// `particles`, `auxiliary`: numbers of f and Q. `communicator`, `stop`: as of FactorSingles::share().
  SumExchange(Communicator& communicator, std::int64_t particles, std::int64_t auxiliary, const std::atomic<bool>* stop)
      : communicator_(communicator), particles_(particles), auxiliary_(auxiliary), stop_(stop) {}

  /// Replaces the sums before the exchange by the sums after it. Collective. `buffer_bytes`: as of
  /// FactorSingles::share().
  void run(std::vector<Buffer>& sums, std::int64_t buffer_bytes) {
    if (sums.empty()) return;
    find_orbitals(sums);
    std::vector<AuxiliaryRange> parts;
    for (const std::vector<std::int64_t>& of_rank : orbitals_) parts.push_back({0, std::ssize(of_rank)});
    FactorRounds rounds(communicator_, parts, std::max<std::int64_t>(1, particles_ * auxiliary_), buffer_bytes);
    std::vector<Buffer> received(sums.size());
    run_collectively(&communicator_, [&] { allocate(received); });
    rounds.run([&](const AuxiliaryRange& items, double* segment) { send(items, segment, sums); },
               [&](const FactorRounds::Segment& segment) { receive(segment, received); });
    sums = std::move(received);
  }

 private:
  AuxiliaryRange part_of(int rank) const { return part_of_rank(auxiliary_, rank, communicator_.size()); }

  /// Finds the orbitals of all ranks. Collective.
  void find_orbitals(const std::vector<Buffer>& sums) {
    std::vector<double> mine;
    for (const Buffer& sum : sums) mine.push_back(sum.size() > 0 ? 1.0 : 0.0);
    const std::vector<double> all = allgather(communicator_, mine);
    orbitals_.resize(at(communicator_.size()));
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (all[n] > 0.0) orbitals_[n / sums.size()].push_back(static_cast<std::int64_t>(n % sums.size()));
    }
  }

  void allocate(std::vector<Buffer>& received) const {
    const auto size = at(particles_ * part_of(communicator_.rank()).count);
    for (const std::vector<std::int64_t>& of_rank : orbitals_) {
      for (const std::int64_t n : of_rank) {
        if (received[at(n)].size() == 0) received[at(n)] = Buffer::zeros(size);
      }
    }
  }

  /// Returns some of the orbitals of a rank.
  std::span<const std::int64_t> orbitals(int rank, const AuxiliaryRange& items) const {
    return std::span(orbitals_[at(rank)]).subspan(at(items.begin), at(items.count));
  }

  /// Copies sums of this rank to its segment, and frees their memory.
  void send(const AuxiliaryRange& items, double* to, std::vector<Buffer>& sums) const {
    stop_reading(stop_);
    const std::span<const std::int64_t> of_round = orbitals(communicator_.rank(), items);
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const AuxiliaryRange functions = part_of(rank);
      for (const std::int64_t n : of_round) {
        const double* from = sums[at(n)].data() + functions.begin;
        for (std::int64_t f = 0; f < particles_; ++f, from += auxiliary_) to = std::copy_n(from, functions.count, to);
      }
    }
    for (const std::int64_t n : of_round) sums[at(n)] = Buffer();
  }

  /// Adds the part of this rank from a segment to the sums that it receives.
  void receive(const FactorRounds::Segment& segment, std::vector<Buffer>& received) {
    const AuxiliaryRange mine = part_of(communicator_.rank());
    const std::int64_t width = particles_ * mine.count, count = segment.functions().count;
    if (width == 0) return;
    stop_reading(stop_);
    const double* from = segment.read(count * particles_ * mine.begin, count * width, buffer_);
    for (const std::int64_t n : orbitals(segment.rank(), segment.functions())) {
      double* const to = received[at(n)].data();
      for (std::int64_t x = 0; x < width; ++x) to[x] += *from++;
    }
  }

  Communicator& communicator_;
  const std::int64_t particles_, auxiliary_;
  const std::atomic<bool>* stop_;
  std::vector<std::vector<std::int64_t>> orbitals_;  ///< [rank]: the orbitals whose sums it has before the exchange
  Buffer buffer_;
};

}

FactorSingles::FactorSingles(const FactorSource& factors, const std::array<std::int64_t, 2>& occupied,
                             const std::array<std::int64_t, 2>& virtuals)
    : factors_(factors), occupied_(occupied), virtuals_(virtuals), functions_{0, factors.auxiliary()} {
  for (std::size_t s = 0; s < 2; ++s) {
    sums_[s].resize(at(occupied[s]));
    residual_[s].assign(at(occupied[s] * virtuals[s]), 0.0);
  }
}

ClassOrbitals FactorSingles::all_virtuals(int s) const {
  return {particles_of(s), 0, virtuals(s)};
}

std::int64_t FactorSingles::thread_bytes() const {
  return 2 * static_cast<std::int64_t>(sizeof(double)) * std::max(virtuals(0), virtuals(1)) * factors_.auxiliary();
}

void FactorSingles::add(int u, int s, std::int64_t n, const double* tau) {
  const std::int64_t v_u = virtuals(u), v_s = virtuals(s), auxiliary = factors_.auxiliary();
  if (v_u * v_s * occupied(s) == 0) return;
  thread_local Buffer rows;
  const std::span<double> of_i = doubles(rows, v_s * auxiliary);
  Buffer sum(at(v_u * auxiliary));
  std::fill_n(sum.data(), sum.size(), 0.0);
  for (std::int64_t i = 0; i < occupied(s); ++i) {
    factors_.read_ov({holes_of(s), i, 1}, all_virtuals(s), of_i);
    multiply_add(false, false, v_u, auxiliary, v_s, 1.0, tau + i * v_u * v_s, of_i.data(), sum.data());
  }
  add_to_sum(u, n, std::move(sum));
}

void FactorSingles::add_exchange(int u, std::int64_t n, const double* t1) {
  const std::int64_t o = occupied(u), v = virtuals(u), auxiliary = factors_.auxiliary();
  if (o * v == 0) return;
  thread_local Buffer rows;
  const std::span<double> of_n = doubles(rows, o * auxiliary);
  factors_.read_oo({holes_of(u), 0, o}, {holes_of(u), n, 1}, of_n);
  Buffer sum(at(v * auxiliary));
  std::fill_n(sum.data(), sum.size(), 0.0);
  multiply_add(true, false, v, auxiliary, o, -1.0, t1, of_n.data(), sum.data());
  add_to_sum(u, n, std::move(sum));
}

void FactorSingles::add_to_sum(int u, std::int64_t n, Buffer part) {
  const std::lock_guard lock(mutex_);
  Buffer& to = sums_[at(u)][at(n)];
  if (to.size() == 0) {
    to = std::move(part);
    return;
  }
  for (std::size_t k = 0; k < to.size(); ++k) to.data()[k] += part.data()[k];
}

void FactorSingles::share(Communicator& communicator, std::int64_t buffer_bytes, const std::atomic<bool>* stop) {
  for (int u = 0; u < 2; ++u) {
    SumExchange(communicator, virtuals(u), factors_.auxiliary(), stop).run(sums_[at(u)], buffer_bytes);
  }
  functions_ = part_of_rank(factors_.auxiliary(), communicator.rank(), communicator.size());
}

AuxiliaryRange FactorSingles::functions(int u) const {
  return orbitals_with_sums(sums_[at(u)]).empty() ? AuxiliaryRange{0, 0} : functions_;
}

void FactorSingles::add_band(int u, const FactorBand& band) {
  const std::int64_t v = virtuals(u), width = band.count * v;
  const std::vector<std::int64_t> orbitals = orbitals_with_sums(sums_[at(u)]);
  const std::int64_t count = std::ssize(orbitals);
  if (count == 0) return;
  thread_local Buffer buffer;
  const std::span<double> sums = doubles(buffer, count * width);  // [n,Q,f]
  for (std::int64_t k = 0; k < count; ++k) {
    const double* from = sums_[at(u)][at(orbitals[at(k)])].data() + band.begin - functions_.begin;
    for (std::int64_t f = 0; f < v; ++f, from += functions_.count) {
      for (std::int64_t q = 0; q < band.count; ++q) sums[at(k * width + q * v + f)] = from[q];
    }
  }
  std::vector<double> part(at(count * v), 0.0);
  multiply_add(false, false, count, v, width, 1.0, sums.data(), band.planes, part.data());
  const std::lock_guard lock(mutex_);
  for (std::int64_t k = 0; k < count; ++k) {
    double* const to = residual_[at(u)].data() + orbitals[at(k)] * v;
    for (std::int64_t a = 0; a < v; ++a) to[a] += part[at(k * v + a)];
  }
}

std::vector<double> FactorSingles::take_residual(int u) {
  for (Buffer& sum : sums_[at(u)]) sum = Buffer();
  return std::move(residual_[at(u)]);
}

}
