#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse {

/// Number of stages of make_dense_check().
inline constexpr int dense_check_stages = 3;

/// Describes the check of an input.
struct DenseCheck {
  bool integrals = true;  ///< false for a left-hand input, whose integrals are not used
  /// The input with the integrals and the Fock matrix for the CCSD energy and the singles equation. Null: neither is
  /// evaluated.
  const DenseInput* test_with = nullptr;
  int part = 0;  ///< this process checks part `part` of the parts 0 to `parts` - 1
  int parts = 1;
  int threads = 0;                                   ///< largest number of threads; 0: as many as OpenMP allows
  const std::atomic<bool>* stop = nullptr;           ///< the check throws Interrupted soon after it becomes true
  std::int64_t box_doubles = std::int64_t{1} << 18;  ///< approximate number of elements that are read at a time
};

/// Returns the number of threads that a check may use.
int most_threads(const DenseCheck& check);

/// Makes the check of a dump or of the arrays of a caller. It reads every array in long contiguous pieces and throws
/// InputError if
///   - a value is not finite or beyond any reasonable size,
///   - an array breaks a symmetry under exchange of indices by more than 1e-7 (absolute up to 1, relative above),
///   - t2 or ovov, from which the energy is computed, breaks one by more than 1e-9 (relative to the largest element
///     nearby if that is above 1),
///   - an element that the irreps forbid is above 1e-7.
/// `open_dump` and `open_arrays` cannot find these errors, because they read each block on its own. If a part has
/// several errors, the check reports the one that a single thread would find first.
///
/// The check has three stages. The first stage reads t1, t2, ovov, ovoo, oovv and the Fock matrix and measures the CCSD
/// energy. The second stage reads ovvv, and slabs of the other arrays, for the equation of the single excitations. The
/// third stage reads the factors of two particles, once for their check and for this equation. Integrals from factors
/// are made only for the energy and this equation; the first stage checks the factors of holes. If irreps forbid
/// integrals, the second stage also makes them, see FactorIrreps. The CCSD energy has the same bits for any number of
/// parts and threads and any `box_doubles`.
///
/// `input` and `check.test_with` must outlive the check.
std::unique_ptr<SourceCheck> make_dense_check(const DenseInput& input, const DenseCheck& check = {});

/// Does all stages of one part. Returns the terms whose sum is the CCSD correlation energy, in hartree: one for the
/// singles of each spin, then one for each ordered pair of occupied orbitals. Terms of other parts are zero.
std::vector<double> check_dense(const DenseInput& input, const DenseCheck& check = {});

}
