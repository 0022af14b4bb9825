#pragma once

#include <cstdint>
#include <string>

#pragma GCC visibility push(default)

namespace trifuse {

struct RankAssignment;

/// The host memory of one rank, in bytes: what a calculation needs, what the rank may use, and how many threads this
/// allows. It is arithmetic only. The executors of GPUs plan the memory of GPUs.
///
/// Call order: set limit and needs, check_dressed(), check_rotation(), check_sums(), fit_threads(), share() if ranks
/// share the operands.
struct MemoryPlan {
  /// The limit if the user sets none.
  static constexpr std::int64_t default_limit = std::int64_t{2} << 30;

  /// Limit of the scratch and of the panels that are made from factors; with shared operands and `limit_asked`: limit
  /// of all that this rank stores.
  std::int64_t limit = default_limit;
  bool limit_asked = false;  ///< true: the user has set the limit
  int threads = 1;           ///< number of threads of this process
  int gpus = 0;              ///< number of GPUs of this process

  std::int64_t rotated = 0;          ///< amplitudes and integrals in semicanonical orbitals, all ranks together
  std::int64_t rotated_of_rank = 0;  ///< the part of this rank; it stays in memory besides the operands
  std::int64_t rotation_peak = 0;    ///< most memory of this rank during the rotation of the orbitals

  /// Integrals dressed with amplitudes, for methods with moments of CCSD. Each rank has all of them.
  std::int64_t dressed = 0;
  /// Sums of derivatives in memory of the host. Each rank has all of them.
  std::int64_t sums = 0;

  std::int64_t operands = 0;            ///< all operands: panels of amplitudes and integrals
  std::int64_t scratch_per_thread = 0;  ///< scratch of one thread
  std::int64_t in_use_per_thread = 0;   ///< operands that one thread, or one GPU, uses at once
  std::int64_t all_made = 0;            ///< all panels that can be made from factors

  bool shared = false;            ///< true: several ranks share the operands
  std::int64_t owned = 0;         ///< approximate size of the shared operands that this rank stores
  std::int64_t for_operands = 0;  ///< shared operands, fetched panels and made panels that this rank may store

  /// Returns what each rank has besides operands and scratch, however many ranks share the operands.
  std::int64_t of_each_rank() const { return dressed + sums; }
  /// Returns the scratch of all threads.
  std::int64_t scratch() const { return scratch_per_thread * threads; }
  /// Returns the limit of the panels that are made from factors and kept for later tasks.
  std::int64_t limit_of_made() const;
  /// Returns the same, at most as much as there are such panels; 0 without factors.
  std::int64_t made() const;
  /// Returns the least memory, besides an equal part of the operands, that a rank needs to compute with one thread. It
  /// includes the last panel of the rank's part, because a part ends with a whole panel.
  std::int64_t working() const { return scratch_per_thread + 2 * in_use_per_thread; }

  /// Throws UsageError if the user has set a limit for this process without GPUs, into which the dressed integrals of
  /// `path`, or the sums of its derivatives, do not fit.
  void check_dressed(const std::string& path) const;
  void check_sums(const std::string& path) const;
  /// Throws UsageError if the rotation of the orbitals of `path` does not fit into the limit. `ranks`: number of ranks
  /// that share the rotated numbers.
  void check_rotation(const std::string& path, int ranks) const;
  /// Reduces the number of threads until their scratch fits into the limit. Throws UsageError if one thread needs more.
  void fit_threads();
  /// Plans the memory of one of `ranks` ranks that share the operands. Reduces the number of threads until the part of
  /// this rank fits. `assignment`: what this rank does, and the memory of its host. Throws UsageError if it does not
  /// fit.
  void share(const RankAssignment& assignment, int ranks);

 private:
  void check_whole(const char* what, std::int64_t bytes, const std::string& path) const;
};

}

#pragma GCC visibility pop
