#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/zeroed_vector.hpp"
#include "cxx/calculation/derivative_arrays.hpp"
#include "cxx/operands/panel_blocks.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/plan/complete_sums.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/dense/dense_adjoint.hpp"

namespace trifuse {

/// Begins the names of arrays of left amplitudes.
inline const char* const of_left_side = "left/";

/// Makes derivatives from the sums of the tasks. It may outlive the problem.
class MadeDerivatives final : public DerivativeArrays {
 public:
  /// The derivatives by small arrays, and by factors, are made now. `layout`: the panels of the sums. `operands`: the
  /// sums by operands. `sums`: the others, see DerivativeSums. `threads`: at least 1, now and later.
  MadeDerivatives(const Problem& problem, const PanelLayout& layout, std::shared_ptr<const CompleteSums> operands,
                  const std::vector<ZeroedVector<std::int64_t>>& sums, int threads);

  /// Returns the sums by operands. Not after free_sums().
  const CompleteSums& sums() const { return *sums_; }
  /// Returns the arrays that have been made.
  const std::map<std::string, DerivativeArray>& made() const { return made_; }
  /// Makes all arrays and frees the sums. With factors the arrays are smaller.
  void free_sums();

 private:
  /// An array that is made from the sums when it is asked for.
  struct Source {
    std::size_t side;  ///< in `sides_`
    DenseAdjoint::Array array;
  };
  struct OfSide {
    std::vector<PanelBlocks::Use> uses;
    DenseAdjoint adjoint;
  };

  void make(std::size_t index, std::int64_t first, std::int64_t count, std::span<double> values) const override;
  void make_slice(const Source& source, const ArraySlice& slice, std::span<double> values) const;
  /// Copies numbers on several threads.
  void copy_numbers(std::span<const double> from, std::span<double> to) const;
  void add_side(const Problem& problem, const TileSource& source, const std::vector<ArrayKind>& kinds,
                const std::string& prefix);
  template <typename Name>
  void add_ov(std::span<const std::int64_t> sums, double factor, Name name);
  void add_ov_tensors(const Problem& problem, std::span<const ZeroedVector<std::int64_t>> sums);
  void add_energies(std::span<const std::int64_t> energies, std::int64_t omega2);
  /// Makes an array of zeros, unless it is there. The spins of a restricted reference have the same arrays.
  void add_array(const std::string& name, const std::vector<std::int64_t>& shape);
  void list_arrays();

  const PanelLayout layout_;
  const int threads_;
  std::shared_ptr<const CompleteSums> sums_;
  std::vector<OfSide> sides_;
  std::map<std::string, Source> sources_;
  std::map<std::string, DerivativeArray> made_;

  /// The last array that could not be made in slices.
  struct Whole {
    std::string name;
    ZeroedVector<double> values;
  };
  mutable std::mutex mutex_;
  mutable Whole whole_;  ///< guarded by `mutex_`
};

}
