#include "cxx/triples/smallest_denominator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "cxx/base/share_among_threads.hpp"

namespace trifuse {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::size_t place(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// A spin orbital. In the tables of the spin-adapted formulation both spins have the same numbers.
struct Orbital {
  std::int64_t number;  ///< in the tables
  int irrep;
  int beta;        ///< 0 or 1
  bool of_tables;  ///< the spin that chooses a table: true for beta in the spin-adapted formulation
};
using Holes = std::array<Orbital, 3>;

/// Returns all orbitals of both spins, alpha before beta.
std::vector<Orbital> orbitals_of(const TileSpace& space, Space which, bool adapted) {
  std::vector<Orbital> all;
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    const OrbitalClass of_spin = which == Space::hole ? hole_class(spin) : particle_class(spin);
    const int beta = spin == Spin::beta ? 1 : 0;
    const auto first = static_cast<std::int64_t>(adapted ? 0 : all.size());
    std::int64_t n = first;
    for (int t = space.first(of_spin); t < space.last(of_spin); ++t) {
      for (std::int64_t p = 0; p < space[t].size; ++p) all.push_back({n++, space[t].irrep, beta, adapted && beta == 1});
    }
  }
  return all;
}

/// The denominators of elements: x = constant + sum_a vector(a) + sum_(a<b) matrix(a, b) for given holes.
class Sums {
 public:
  Sums(const TripleDenominators& tables, Denominator denominator)
      : tables_(tables),
        two_body_(denominator != Denominator::one_body),
        three_body_(denominator == Denominator::three_body) {
    largest_of_holes_.assign(place(tables.holes), 0.0);
    for (const auto* const terms : {&tables.same, &tables.opposite}) {
      for (std::size_t n = 0; two_body_ && n < terms->pp.size(); ++n) largest_ = std::max(largest_, -terms->pp[n]);
      const std::size_t of_hole = place(tables.particles * tables.particles);
      for (std::size_t n = 0; three_body_ && n < terms->hpp.size(); ++n)
        largest_of_holes_[n / of_hole] = std::max(largest_of_holes_[n / of_hole], -terms->hpp[n]);
    }
  }

  double constant(const Holes& holes) const {
    double x = 0.0;
    for (std::size_t q = 0; q < 3; ++q) {
      x += tables_.h[place(holes[q].number)];
      for (std::size_t r = q + 1; two_body_ && r < 3; ++r)
        x -= of(holes[q], holes[r]).hh[place(holes[q].number * tables_.holes + holes[r].number)];
    }
    return x;
  }
  double vector(const Holes& holes, const Orbital& a) const {
    double x = -tables_.p[place(a.number)];
    for (std::size_t q = 0; two_body_ && q < 3; ++q)
      x -= of(holes[q], a).hp[place(holes[q].number * tables_.particles + a.number)];
    for (std::size_t q = 0; three_body_ && q < 3; ++q) {
      for (std::size_t r = q + 1; r < 3; ++r) {
        Orbital i = holes[q], j = holes[r];
        if (i.of_tables == j.of_tables && i.of_tables != a.of_tables) continue;
        if (i.of_tables != a.of_tables) std::swap(i, j);
        x += of(i, j).hhp[place((i.number * tables_.holes + j.number) * tables_.particles + a.number)];
      }
    }
    return x;
  }
  double matrix(const Holes& holes, const Orbital& a, const Orbital& b) const {
    if (!two_body_) return 0.0;
    const auto& terms = of(a, b);
    double x = -terms.pp[place(a.number * tables_.particles + b.number)];
    for (std::size_t q = 0; three_body_ && q < 3; ++q) {
      const Orbital& i = holes[q];
      if (a.of_tables == b.of_tables && a.of_tables != i.of_tables) continue;
      const auto [first, second] =
          a.of_tables == i.of_tables ? std::pair(a.number, b.number) : std::pair(b.number, a.number);
      x -= terms.hpp[place((i.number * tables_.particles + first) * tables_.particles + second)];
    }
    return x;
  }
  /// Returns a number that no matrix(a, b) of these holes exceeds.
  double largest_matrix(const Holes& holes) const {
    double bound = largest_;
    for (const Orbital& i : holes) bound += largest_of_holes_[place(i.number)];
    return bound;
  }

 private:
  const TripleDenominators::Terms& of(const Orbital& p, const Orbital& q) const {
    return tables_.of(p.of_tables == q.of_tables);
  }
  const TripleDenominators& tables_;
  bool two_body_, three_body_;
  double largest_ = 0.0;
  std::vector<double> largest_of_holes_;  ///< [i]
};

/// The search over all elements. Elements with x < -s cannot change the result, if s is an absolute value that was
/// found before; upper bounds of x leave most of them out.
class Search {
 public:
  Search(const TripleDenominators& tables, Denominator denominator, const TileSpace& space)
      : sums_(tables, denominator) {
    const bool adapted =
        tables.holes != space.orbitals(OrbitalClass::hole_alpha) + space.orbitals(OrbitalClass::hole_beta);
    holes_ = orbitals_of(space, Space::hole, adapted);
    particles_ = orbitals_of(space, Space::particle, adapted);
    most_beta_ = adapted ? 1 : 3;
  }

  DenominatorRange run(int threads) {
    const std::size_t n = holes_.size();
    share_among_threads<Work>(n * n, threads, [&](std::size_t pair, Work& work) {
      // The holes of highest energies come first: their elements have the denominators nearest to 0.
      const std::size_t k = n - 1 - pair / n, j = n - 1 - pair % n;
      for (std::size_t i = j; j < k && i-- > 0;) visit({holes_[i], holes_[j], holes_[k]}, work);
    });
    return {smallest_, largest_};
  }

 private:
  /// Arrays over the particles.
  struct Work {
    std::vector<double> vector, with_a;
  };

  bool cannot_count(double bound) const {
    constexpr double rounding = 1e-10;
    return bound < -smallest_.load(std::memory_order_relaxed) - rounding;
  }
  void visit(const Holes& holes, Work& work) {
    const int beta = holes[0].beta + holes[1].beta + holes[2].beta;
    if (beta > most_beta_) return;
    work.vector.resize(particles_.size());
    work.with_a.resize(particles_.size());
    double largest = -infinite;
    for (std::size_t a = 0; a < particles_.size(); ++a)
      largest = std::max(largest, work.vector[a] = sums_.vector(holes, particles_[a]));
    const double constant = sums_.constant(holes), of_pair = sums_.largest_matrix(holes);
    for (std::size_t a = 0; a < particles_.size(); ++a) {
      const double with_a = constant + work.vector[a];
      if (particles_[a].beta > beta || cannot_count(with_a + 2.0 * largest + 3.0 * of_pair)) continue;
      double next = -infinite;
      for (std::size_t b = a + 1; b < particles_.size(); ++b)
        next = std::max(next, work.with_a[b] = work.vector[b] + sums_.matrix(holes, particles_[a], particles_[b]));
      for (std::size_t b = a + 1; b < particles_.size(); ++b) {
        const double with_b = with_a + work.with_a[b];
        if (!cannot_count(with_b + next + of_pair)) visit_last(holes, {a, b}, with_b, work);
      }
    }
  }
  /// Visits the elements with two given particles. `x`: the part of x without the third one.
  void visit_last(const Holes& holes, std::pair<std::size_t, std::size_t> ab, double x, const Work& work) {
    const Orbital &a = particles_[ab.first], &b = particles_[ab.second];
    int irrep = a.irrep ^ b.irrep, beta = -a.beta - b.beta;
    for (const Orbital& i : holes) {
      irrep ^= i.irrep;
      beta += i.beta;
    }
    double smallest = infinite, largest = -infinite;
    for (std::size_t c = ab.second + 1; c < particles_.size(); ++c) {
      if (particles_[c].irrep != irrep || particles_[c].beta != beta) continue;
      const double value = x + work.with_a[c] + sums_.matrix(holes, b, particles_[c]);
      smallest = std::min(smallest, std::abs(value));
      largest = std::max(largest, value);
    }
    if (smallest >= smallest_ && largest <= largest_) return;
    const std::lock_guard lock(mutex_);
    smallest_ = std::min(smallest_.load(), smallest);
    largest_ = std::max(largest_.load(), largest);
  }

  Sums sums_;
  std::vector<Orbital> holes_, particles_;
  int most_beta_;  ///< elements with more orbitals beta are those of the other spin
  std::mutex mutex_;
  std::atomic<double> smallest_{infinite}, largest_{-infinite};
};

}

DenominatorRange range_of_denominators(const TripleDenominators& tables, Denominator denominator,
                                       const TileSpace& space, int threads) {
  return Search(tables, denominator, space).run(threads);
}

}
