#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

void TileSource::read_block(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const {
  const auto [p, q, r, s] = tiles;
  switch (tensor) {
    case TensorKind::fock:
      return read_fock(p, q, block);
    case TensorKind::t1:
      return read_t1(p, q, block);
    case TensorKind::t2:
      return read_t2(p, q, r, s, block);
    case TensorKind::v2:
      return read_v2(p, q, r, s, block);
  }
}

std::string to_string(Reference reference) {
  switch (reference) {
    case Reference::rhf:
      return "RHF";
    case Reference::uhf:
      return "UHF";
    case Reference::rohf:
      return "ROHF";
  }
  return "?";
}

std::string to_string(AmplitudeKind kind) {
  switch (kind) {
    case AmplitudeKind::ccsd:
      return "ccsd";
    case AmplitudeKind::regularized_ccsd:
      return "reg-ccsd";
    case AmplitudeKind::lambda:
      return "lambda";
    case AmplitudeKind::made_up:
      return "made-up";
  }
  return "?";
}

}
