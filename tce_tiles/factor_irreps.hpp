#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "tce_tiles/dump_layout.hpp"

namespace trifuse {

/// The check that the integrals (ia|bc) and (ij|bc) which the irreps forbid vanish, from factors. It makes each
/// integral with c <= b once, but stores neither these integrals nor all factors: it reads the factors of a few
/// particles b at a time. The processes of a job share the particles b.
class FactorIrreps {
 public:
  /// `input`: has factors and irreps, and must outlive the check.
  explicit FactorIrreps(const DenseInput& input);

  /// Checks part `part` of `parts` on at most `threads` threads. Requires factors of holes in memory, see
  /// FactorSource::acquire_factors(). Throws InputError if a forbidden integral is above `irrep_tolerance`; throws
  /// Interrupted soon after `*stop` becomes true. `stop` may be null.
  void run(int part, int parts, int threads, const std::atomic<bool>* stop) const;

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
  void check_slab(const Group& group, const Slab& slab, int threads, const std::atomic<bool>* stop) const;
  /// Checks the integrals of one hole p.
  void check_hole(const ArraySpec& array, std::int64_t p, const Slab& slab) const;

  const DenseInput& input_;
  std::vector<Group> groups_;
};

}  // namespace trifuse
