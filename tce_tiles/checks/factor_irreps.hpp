#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/factors/factor_slabs.hpp"

namespace trifuse {

/// The check that the integrals (ia|bc) and (ij|bc) which the irreps forbid vanish, from factors. It makes each
/// integral with c <= b once, but stores neither these integrals nor all factors: it reads the factors of a few
/// particles b at a time. The processes of a job share the particles b. Each of them has few small b and as many large
/// b, so that all have the same work.
class FactorIrreps {
 public:
  /// `input`: has factors and irreps, and must outlive the check.
  explicit FactorIrreps(const DenseInput& input);

  /// Checks part `part` of `parts` on at most `threads` threads. Requires factors of holes in memory, see
  /// FactorSource::acquire_factors(). Throws InputError if a forbidden integral is above `irrep_tolerance`; throws
  /// Interrupted soon after `*stop` becomes true. `stop` may be null.
  ///
  /// Reads all factors once for each rounds() of its particles. `communicator`: the ranks whose parts these are, with
  /// shared arrays; then all of them together read the factors once in a round, the call is collective, and if one rank
  /// throws, all ranks throw. Null: this process reads alone.
  void run(int part, int parts, int threads, const std::atomic<bool>* stop, Communicator* communicator = nullptr) const;

  /// Number of rounds in which `parts` processes check the integrals of `holes` and `particles` of one spin.
  static std::int64_t rounds(std::int64_t holes, std::int64_t particles, int parts) {
    const std::int64_t all = std::max<std::int64_t>(1, parts * slab_particles(holes, particles));
    return (particles + all - 1) / all;
  }

  /// Number of particles b whose factors a process stores at a time. They take no more memory than the factors of holes
  /// and particles. `holes`, `particles`: their numbers for one spin.
  static std::int64_t slab_particles(std::int64_t holes, std::int64_t particles) {
    return std::min(particles, std::max<std::int64_t>(1, holes));
  }

 private:
  /// The factors B[Q,b,c] of the particles b, [b,Q,c] with c < width.
  struct Slab {
    std::int64_t begin, count, width;
    const double* values;
  };
  /// Integral arrays [p,q,b,c] with the same class of b and c.
  struct Group {
    OrbitalClass particles;
    std::vector<ArraySpec> arrays;
  };
  /// The slabs of a part in a round, without memory.
  std::vector<FactorSlab> slabs_of_round(const Group& group, int part, int parts, std::int64_t round) const;
  std::int64_t rounds_of(const Group& group, int parts) const;
  void check_slab(const Group& group, const Slab& slab, int threads, const std::atomic<bool>* stop) const;
  /// Checks the integrals of one hole p.
  void check_hole(const ArraySpec& array, std::int64_t p, const Slab& slab) const;

  const DenseInput& input_;
  std::vector<Group> groups_;
};

}
