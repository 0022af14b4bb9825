#include "tce_tiles/dense/dense_source.hpp"

#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {

const DenseInput* dense_input_of(const TileSource& source) {
  if (const auto* wrapper = dynamic_cast<const InterruptibleSource*>(&source)) return dense_input_of(wrapper->source());
  const auto* dense = dynamic_cast<const OfDenseInput*>(&source);
  return dense == nullptr ? nullptr : &dense->input();
}

}
