#include "tce_tiles/array_source.hpp"

#include <utility>

#include "tce_tiles/caller_arrays.hpp"
#include "tce_tiles/dump_source.hpp"

namespace trifuse {

std::unique_ptr<TileSource> open_arrays(SourceInfo info, std::vector<CallerArray> arrays) {
  auto input = std::make_shared<DenseInput>();
  input->arrays = std::make_shared<CallerArrays>(info.path, std::move(arrays));
  input->header = read_dump_header(*input->arrays, std::move(info));
  return open_input(std::move(input), dump_hole_tile, dump_particle_tile);
}

}  // namespace trifuse
