#include "tce_tiles/sources/array_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_tiles.hpp"
#include "tce_tiles/factors/factor_arrays.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"

namespace trifuse {
namespace {

/// Throws InputError if the name of an array is unknown. Otherwise a misspelt name of an optional array would make the
/// checks weaker, and nobody would notice.
void check_names(const SourceInfo& info, const std::vector<CallerArray>& arrays) {
  const std::vector<std::string> known = array_names(info.reference == Reference::rhf);
  for (const CallerArray& array : arrays) {
    if (std::find(known.begin(), known.end(), array.name) != known.end()) continue;
    throw InputError(fmt::format("{}: the array name '{}' is unknown; the names for the reference {} are {}.",
                                 info.path, array.name, to_string(info.reference), fmt::join(known, ", ")));
  }
}

}

std::unique_ptr<TileSource> open_arrays(SourceInfo info, std::vector<CallerArray> arrays) {
  check_names(info, arrays);
  auto input = std::make_shared<DenseInput>();
  input->arrays = std::make_shared<CallerArrays>(info.path, std::move(arrays));
  input->header = read_dense_header(*input->arrays, std::move(info));
  use_factors(*input);
  return open_dense(std::move(input), dense_hole_tile, dense_particle_tile);
}

}
