#include "cxx/calculation/fragments.hpp"

#include <algorithm>
#include <memory>

#include "cxx/base/error.hpp"

namespace trifuse {

FragmentRuns::FragmentRuns(const TileSource& right, const CalculationOptions& options) : fragments_(right) {
  const auto has_fragments = [](TriplesMethod x) { return x == TriplesMethod::t || x == TriplesMethod::reg_t; };
  if (count() == 0 || std::all_of(options.methods.begin(), options.methods.end(), has_fragments)) return;
  throw UsageError("Energies of fragments are known for the methods t and reg-t only; leave the fragments out.");
}

void FragmentRuns::compute(int threads, Communicator* ranks, const Run& run) {
  if (ranks != nullptr) expect_same(*ranks, fragments_.digest());
  for (std::size_t fragment = 0; fragment < fragments_.count(); ++fragment) {
    for (const moments::FragmentSide side : moments::fragment_sides) {
      std::unique_ptr<TileSource> operands;
      run_collectively(ranks, [&] { operands = fragments_.side(fragment, side, threads); });
      const CalculationResult result = run(*operands);
      energies_.resize(result.energies.size(), std::vector<FragmentEnergy>(fragments_.count()));
      for (std::size_t w = 0; w < result.energies.size(); ++w) {
        // P changes each of three holes, but the energy of a fragment counts one.
        constexpr double one_hole = 1.0 / 3.0;
        energies_[w][fragment].energy += one_hole * result.energies[w].total;
        energies_[w][fragment].error_bar += one_hole * result.energies[w].error_bar;
      }
      warnings_.insert(warnings_.end(), result.warnings.begin(), result.warnings.end());
    }
  }
}

void FragmentRuns::add_to(CalculationResult& result) const {
  for (std::size_t w = 0; w < energies_.size(); ++w) result.energies.at(w).fragments = energies_[w];
  for (const std::string& warning : warnings_) {
    if (std::find(result.warnings.begin(), result.warnings.end(), warning) == result.warnings.end())
      result.warnings.push_back(warning);
  }
}

}
