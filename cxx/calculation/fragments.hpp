#pragma once

#include <functional>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/moments/fragments.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// The energies of the fragments of an input, each of two runs.
class FragmentRuns {
 public:
  /// Computes the energies of a problem whose right operands are these, see CalculationOptions::right_operands.
  using Run = std::function<CalculationResult(const TileSource& operands)>;

  /// Reads the projectors. `right`: must outlive this object. Throws InputError as moments::Fragments, and UsageError
  /// if the options ask for a method without fragments.
  FragmentRuns(const TileSource& right, const CalculationOptions& options);

  /// Returns the number of runs.
  std::size_t count() const { return fragments_.count() * moments::fragment_sides.size(); }
  /// Makes all runs. `threads`: at least 1, to make operands. Collective if `ranks` is not null. Throws what `run`
  /// throws.
  void compute(int threads, Communicator* ranks, const Run& run);
  /// Adds the energies of the fragments, and the warnings of their runs that are new, to a result of the same values of
  /// omega2. Without fragments it does nothing.
  void add_to(CalculationResult& result) const;

 private:
  moments::Fragments fragments_;
  std::vector<std::vector<FragmentEnergy>> energies_;  ///< [omega2][fragment]
  std::vector<std::string> warnings_;
};

}
