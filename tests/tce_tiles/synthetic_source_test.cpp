#include "tce_tiles/sources/synthetic_source.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace trifuse {
namespace {

std::vector<std::int64_t> holes_of_irreps(int irreps, std::int64_t holes, bool uneven) {
  SyntheticMolecule molecule{Reference::rhf, holes, holes, 3 * holes, 3 * holes, irreps};
  molecule.uneven = uneven;
  const auto source = make_synthetic_source(molecule);
  std::vector<std::int64_t> sizes;
  for (int irrep = 0; irrep < irreps; ++irrep) {
    sizes.push_back(source->tiles().range(OrbitalClass::hole_alpha, irrep).size);
  }
  return sizes;
}

TEST(SyntheticSource, SpreadsOrbitalsOverIrrepsEvenlyOrAsMoleculesDo) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(holes_of_irreps(8, 48, false), (Sizes{6, 6, 6, 6, 6, 6, 6, 6}));
  EXPECT_EQ(holes_of_irreps(8, 48, true), (Sizes{8, 7, 7, 7, 5, 5, 5, 4}));
  EXPECT_EQ(holes_of_irreps(4, 9, true), (Sizes{3, 3, 2, 1}));
  EXPECT_EQ(holes_of_irreps(2, 30, true), (Sizes{20, 10}));
  EXPECT_EQ(holes_of_irreps(1, 7, true), (Sizes{7}));
}

}
}
