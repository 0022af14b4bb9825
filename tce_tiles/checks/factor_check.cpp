#include "tce_tiles/checks/factor_check.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "cxx/base/buffer.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/checks/checked_array.hpp"
#include "tce_tiles/checks/consistency.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

/// Returns the number of integrals (ab|ab) of `v` particles.
std::size_t pairs_of(std::int64_t v) {
  return static_cast<std::size_t>(pair_count(v));
}

/// Adds the part of a band of factors to (ab|ab), `squares` [pairs a >= b]. `mutex` protects them.
void add_squares(const FactorBand& band, std::mutex& mutex, std::span<double> squares) {
  const std::int64_t v = band.particles;
  thread_local Buffer buffer;
  buffer.reserve(squares.size());
  std::fill_n(buffer.data(), squares.size(), 0.0);
  for (std::int64_t q = 0; q < band.count; ++q) {
    double* to = buffer.data();
    for (std::int64_t b = 0; b < v; ++b, to += b) {
      const double* const from = band.planes + (q * v + b) * v;
      for (std::int64_t c = 0; c <= b; ++c) to[c] += from[c] * from[c];
    }
  }
  const std::lock_guard lock(mutex);
  for (std::size_t n = 0; n < squares.size(); ++n) squares[n] += buffer.data()[n];
}

}

FactorCheck::FactorCheck(const DenseInput& input) : input_(input) {
  for (const FactorSpec& spec : factor_arrays(input.header.restricted)) {
    if (input.header.size(spec.p) == 0 || input.header.size(spec.q) == 0) continue;
    (space_of(spec.p) == Space::hole ? holes_ : particles_).push_back(spec);
    if (space_of(spec.p) == Space::particle) size_ += pairs_of(input.header.size(spec.p));
  }
}

void FactorCheck::check_holes(int threads) const {
  for (const FactorSpec& spec : holes_) check_holes(spec, threads);
}

std::vector<double> FactorCheck::run(int part, int parts, int threads, const std::atomic<bool>* stop,
                                     std::span<const FactorUse> others) const {
  const FactorSource& factors = *input_.factor_source;
  std::vector<double> all(size_, 0.0);
  std::span<double> rest = all;
  std::mutex mutex;
  std::vector<FactorUse> uses(others.begin(), others.end());
  for (const FactorSpec& spec : particles_) {
    const std::span<double> squares = rest.first(pairs_of(input_.header.size(spec.p)));
    rest = rest.subspan(squares.size());
    uses.push_back({spec.p, part_of_rank(factors.auxiliary(), part, parts),
                    [&mutex, squares](const FactorBand& band) { add_squares(band, mutex, squares); }});
  }
  visit_once(factors, uses, threads, stop);
  return all;
}

void FactorCheck::accept(std::span<const double> sums) const {
  for (const FactorSpec& spec : particles_) {
    const std::span<const double> squares = sums.first(pairs_of(input_.header.size(spec.p)));
    sums = sums.subspan(squares.size());
    check_size(*std::max_element(squares.begin(), squares.end()), largest_integral, input_.arrays->label(spec.name));
  }
}

void FactorCheck::check_holes(const FactorSpec& spec, int threads) const {
  const FactorSource& factors = *input_.factor_source;
  const std::int64_t q_count = input_.header.size(spec.q), auxiliary = factors.auxiliary();
  share_among_threads<Buffer>(
      static_cast<std::size_t>(input_.header.size(spec.p)), threads, [&](std::size_t p, Buffer& buffer) {
        buffer.reserve(static_cast<std::size_t>(q_count * auxiliary));
        const std::span<double> rows = buffer.span().first(static_cast<std::size_t>(q_count * auxiliary));
        const ClassOrbitals of_p{spec.p, static_cast<std::int64_t>(p), 1}, of_q{spec.q, 0, q_count};
        spec.p == spec.q ? factors.read_oo(of_p, of_q, rows) : factors.read_ov(of_p, of_q, rows);
        for (std::int64_t q = 0; q < q_count; ++q) {
          double square = 0.0;
          for (std::int64_t x = 0; x < auxiliary; ++x) {
            const double b = rows[static_cast<std::size_t>(q * auxiliary + x)];
            square += b * b;
          }
          check_size(square, largest_integral, input_.arrays->label(spec.name));
        }
      });
}

}
