#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/options.hpp"
#include "cxx/moments/moment_source.hpp"
#include "cxx/triples/method.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

/// What the option `methods` asks for: the sources of both sides, the quotients and the names of the energies.
namespace trifuse {

/// One energy of a result.
struct NamedEnergy {
  std::string method;    ///< e.g. "CCSD(cT)"
  std::size_t quotient;  ///< number in Problem::quotients
  /// Number of the quotient with C3 whose sum, with the overlap of the singles and doubles, divides the energy.
  std::optional<std::size_t> overlap = {};
};

/// The quotients of a problem, and the energies that are made of them.
struct WantedEnergies {
  std::vector<Quotient> quotients;
  std::vector<NamedEnergy> energies;
};

/// The methods of a calculation.
class ChosenMethods {
 public:
  /// `methods`: at least one. `right`: amplitudes with integrals; must outlive this object. `left`: may be
  /// null. Throws UsageError if the methods do not fit each other or the amplitudes, and InputError if `right` lacks
  /// arrays.
  ChosenMethods(const std::vector<TriplesMethod>& methods, const TileSource& right, const TileSource* left);

  /// Returns the energies for these values of omega2. `method`: (T) with the sets that the orbitals need.
  WantedEnergies wanted(const Method& method, const SourceInfo& right, const SourceInfo* left,
                        const std::vector<double>& omega2) const;
  /// Returns the sources of the problem: its right side, its left amplitudes and its left integrals. Null as in
  /// Problem.
  const TileSource* right() const { return right_made_ ? right_made_.get() : &right_; }
  const TileSource* left() const { return left_; }
  const TileSource* left_integrals() const;
  /// Returns the method of the problem, whose sets make S. `chosen`: as of wanted().
  Method method(const Method& chosen) const { return left_made_ ? ccsd_t_with_fock : chosen; }

  /// Returns the size of the dressed integrals, bytes.
  double bytes() const;
  /// Makes the dressed integrals. As MomentSource::make().
  void make(int threads, const moments::Contract& contract) const;

 private:
  bool asks_for(TriplesMethod method) const;

  std::vector<TriplesMethod> methods_;
  const TileSource& right_;
  const TileSource* left_;
  std::unique_ptr<moments::MomentSource> right_made_, left_made_;  ///< null: the bare source
};

}
