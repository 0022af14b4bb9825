#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "cxx/triples/task.hpp"
#include "tests/support/tile_spaces.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

/// The number after "total no. of tasks" of the last (T) in an output, or 0.
std::size_t printed_tasks(const std::filesystem::path& output) {
  std::ifstream file(output);
  const std::string label = "total no. of tasks  ";
  std::size_t tasks = 0;
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(label);
    if (at != std::string::npos) tasks = std::stoul(line.substr(at + label.size()));
  }
  return tasks;
}

/// The same tiles with at least three orbitals each. NWChem also counts blocks that vanish by antisymmetry, because it
/// does not look at the sizes of tiles.
TileSpace with_large_tiles(const TileSpace& space) {
  std::vector<Tile> tiles(space.tiles().begin(), space.tiles().end());
  for (Tile& t : tiles) t.size = 3;
  return {tiles, space.restricted()};
}

TEST(TaskCount, AgreesWithTheOutputOfNwchem) {
  std::size_t compared = 0;
  for (const std::string& name : good_dumps()) {
    const std::size_t printed = printed_tasks(nwchem_data() / name / "c.out");
    if (printed == 0) continue;
    const TileSpace space = open_dump_of(name)->tiles();
    EXPECT_EQ(enumerate_tasks(with_large_tiles(space), SpinFormulation::spin_orbital).size(), printed) << name;
    EXPECT_LE(enumerate_tasks(space, SpinFormulation::spin_orbital).size(), printed) << name;
    ++compared;
  }
  EXPECT_GT(compared, 20u);
}

}
}
