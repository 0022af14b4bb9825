#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/options.hpp"
#include "cxx/moments/moment_source.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "cxx/triples/method.hpp"
#include "cxx/triples/problem.hpp"
#include "cxx/triples/smallest_denominator.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tce_tiles/tiles/tile_source.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"

/// What the option `methods` asks for: the sources of both sides, the quotients and the names of the energies.
namespace trifuse {

/// One energy of a result, and the quotients of which it is made.
struct NamedEnergy {
  std::string method;    ///< e.g. "CCSD(cT)"
  std::size_t quotient;  ///< number in Problem::quotients
  /// CR-CCSD(T): number of the quotient with C3, whose sum is a part of the overlap that divides the energy.
  std::optional<std::size_t> overlap = {};
  /// Reg-GF(T): number of the quotient from which the part of S comes; nullopt: from `quotient`.
  std::optional<std::size_t> disconnected = {};
};

/// The quotients of a problem, and the energies that are made of them.
struct WantedEnergies {
  std::vector<Quotient> quotients;
  std::vector<NamedEnergy> energies;
};

/// What methods need, as far as it depends on them alone.
struct NeedsOfMethods {
  bool left_amplitudes;  ///< true: the left side has amplitudes of its own
  int moments;           ///< number of sides with moments of CCSD
  int dressed_sides;     ///< number of sides with dressed integrals; 0: one pair of sides with the same integrals
  bool second_left;      ///< true: the left sides are those of the input and dressed ones with the left amplitudes
};
/// Throws UsageError if one run cannot compute all of these methods. `methods`: not empty.
NeedsOfMethods needs_of(const std::vector<TriplesMethod>& methods);

/// The methods of a calculation.
class ChosenMethods {
 public:
  /// `methods`: not empty. `right`: amplitudes with integrals; must outlive this object. `left`: may be null.
  /// `formulation`: of the tables. `rotation`: to the orbitals of the triples, whose numbers make() reads; null: they
  /// are those of `right`. Throws UsageError if the methods do not fit each other or the amplitudes, and InputError if
  /// a source lacks arrays.
  ChosenMethods(const std::vector<TriplesMethod>& methods, const TileSource& right, const TileSource* left,
                SpinFormulation formulation, std::shared_ptr<const OrbitalRotation> rotation);

  /// Returns the energies for these values of omega2. `method`: (T) with the sets that the orbitals need.
  WantedEnergies wanted(const Method& method, const std::vector<double>& omega2) const;
  /// Returns the sources of the problem: its right side, its left sides, and the source of C3. Null as in Problem.
  /// `chosen`: as `method` of wanted().
  const TileSource* right() const { return right_made_ ? right_made_.get() : &right_; }
  LeftSide left(const Method& chosen) const;
  std::optional<LeftSide> second_left() const;
  /// Returns the amplitudes and integrals of the input, the latter without factors, beside a side that has none.
  const TileSource& bare() const { return bare_ ? static_cast<const TileSource&>(*bare_) : right_; }
  const TileSource* disconnected() const { return disconnected_.get(); }
  /// Returns the tables of denominators, which are empty before make(); null: no method needs them.
  const TripleDenominators* denominators() const { return asks_for(TriplesMethod::cr_cc23) ? &tables_ : nullptr; }

  /// Returns the size of the dressed integrals, bytes.
  double bytes() const;
  /// Returns sentences about orbitals on whose choice an energy depends.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Makes the dressed integrals and the tables. `threads`: at least 1. `contract`: computes the contractions. Throws
  /// what DressedInputs throws.
  void make(int threads, const moments::Contract& contract);
  /// Returns <exp(T1 + T2)> projected on itself in singles and doubles, without 1, for CR-CCSD(T); 0 before make().
  double overlap() const { return overlap_; }
  /// Returns the range of denominators that are sums of tables, after make(). `denominator`: one with tables.
  const DenominatorRange& range_of(Denominator denominator) const {
    return ranges_.at(static_cast<std::size_t>(denominator));
  }

 private:
  bool asks_for(TriplesMethod method) const;
  /// Returns the left side of the methods with moments on the left.
  LeftSide made_left() const;
  /// Adds the energies at one omega2. `quotient`: one of Delta - 3 omega2 of the first left side.
  void add_of_first_left(const Method& method, const Quotient& quotient, WantedEnergies& wanted) const;
  /// The numbers (aa|bb) and (ab|ab) of the orbitals of the triples.
  ArrayKind diagonals() const {
    return rotation_ != nullptr ? ArrayKind::vvvv_diag_semicanonical : ArrayKind::vvvv_diag;
  }
  void check(const TileSource* left) const;
  void warn_of_degenerate_orbitals();

  std::vector<TriplesMethod> methods_;
  const TileSource& right_;
  const TileSource* left_;
  SpinFormulation formulation_;
  std::shared_ptr<const OrbitalRotation> rotation_;
  std::optional<DenseInput> bare_arrays_;  ///< of `right_`; nullopt: no method needs them
  std::unique_ptr<WithoutFactors> bare_;   ///< of `right_`; null: `right_` has no factors
  std::optional<DenseInput> of_left_;      ///< Reg-GF(T): the integrals of `right_` with the amplitudes of `left_`
  std::unique_ptr<moments::MomentSource> right_made_, left_made_, disconnected_;  ///< null: not needed
  TripleDenominators tables_;
  std::array<DenominatorRange, 4> ranges_{};  ///< [Denominator]
  std::vector<std::string> warnings_;
  double overlap_ = 0.0;
};

}
