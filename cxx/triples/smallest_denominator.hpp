#pragma once

#include "cxx/triples/quotient.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse {

/// The denominators of all triples nearest to 0, hartree. Usual denominators are negative.
struct DenominatorRange {
  double smallest;  ///< the smallest absolute value; infinite if there are no triples
  double largest;   ///< the largest value; above 0 if a denominator is positive; minus infinity without triples
};

/// Returns the range of x over all spin elements that spin and irreps allow. `space`: the orbitals of the tables.
/// `denominator`: one with tables. `threads`: at least 1. Most elements are left out by bounds, so that this takes a
/// small part of the time of the triples even on one thread. Throws std::bad_alloc.
DenominatorRange range_of_denominators(const TripleDenominators& tables, Denominator denominator,
                                       const TileSpace& space, int threads);

}
