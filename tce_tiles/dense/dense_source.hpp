#pragma once

#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Something whose numbers are those of dense arrays.
class OfDenseInput {
 public:
  virtual ~OfDenseInput() = default;
  virtual const DenseInput& input() const = 0;
};

/// A source whose blocks are parts of dense arrays. The arrays are in a dump, or a calling program has them.
class DenseSource : public TileSource, public OfDenseInput {};

/// Returns the input of a source of dense arrays, also of one inside an InterruptibleSource; null for every other
/// source.
const DenseInput* dense_input_of(const TileSource& source);

}
