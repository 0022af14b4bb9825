#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/factors/factor_slabs.hpp"

namespace trifuse {

/// Checks that the integrals (ia|bc) and (ij|bc) that irreps forbid are zero, if integrals are made from factors. It
/// makes each integral with c <= b once. It stores neither these integrals nor all factors: it reads the factors of a
/// few particles b at a time. The processes of a job share the particles b. Each process has as many small b as large
/// b, so that all have the same work.
class FactorIrreps {
 public:
  /// `input` must have factors and irreps, and outlive the check.
  explicit FactorIrreps(const DenseInput& input);

  /// Checks part `part` of `parts` on at most `threads` threads. Requires factors of holes in memory, see
  /// FactorSource::acquire_factors(). Throws InputError if a forbidden integral is above `irrep_tolerance`; throws
  /// Interrupted soon after `*stop` becomes true. `stop` may be null.
  ///
  /// Reads all factors once in each of rounds() rounds. `communicator`: the ranks that have the parts, with shared
  /// arrays. All ranks together then read the factors once in a round. The call is collective, and if one rank throws,
  /// all ranks throw. If it is null, this process reads alone.
  void run(int part, int parts, int threads, const std::atomic<bool>* stop, Communicator* communicator = nullptr) const;

  /// Returns the number of rounds in which `parts` processes check the integrals of `holes` and `particles` of one
  /// spin.
  static std::int64_t rounds(std::int64_t holes, std::int64_t particles, int parts) {
    const std::int64_t all = std::max<std::int64_t>(1, parts * slab_particles(holes, particles));
    return (particles + all - 1) / all;
  }

  /// Returns the number of particles b whose factors a process stores at a time. They take no more memory than the
  /// factors of holes and particles. `holes`, `particles`: numbers of orbitals of one spin.
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
  /// Returns the slabs of a part in a round, without memory.
  std::vector<FactorSlab> slabs_of_round(const Group& group, int part, int parts, std::int64_t round) const;
  std::int64_t rounds_of(const Group& group, int parts) const;
  void check_slab(const Group& group, const Slab& slab, int threads, const std::atomic<bool>* stop) const;
  /// Checks the integrals of one hole p.
  void check_hole(const ArraySpec& array, std::int64_t p, const Slab& slab) const;

  const DenseInput& input_;
  std::vector<Group> groups_;
};

}
