#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

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
