#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/sources/array_source.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {

/// The arrays of a made-up molecule with two fragments, whose projectors add up to 1. A test may change the projectors
/// before it opens them.
class FragmentsOfMolecule {
 public:
  using Shape = std::vector<std::int64_t>;
  struct Projectors {
    Shape shape;
    std::vector<double> values;
  };

  explicit FragmentsOfMolecule(const SyntheticMolecule& molecule)
      : arrays_(molecule, HeldArrays::Layout::c_order), reference_(molecule.reference) {
    const bool restricted = molecule.reference == Reference::rhf;
    for (const auto& [spin, holes] :
         {std::pair{Spin::alpha, molecule.occupied_alpha}, {Spin::beta, molecule.occupied_beta}}) {
      if (restricted && spin == Spin::beta) break;
      if (holes > 0) projectors[fragments_dataset(spin, restricted)] = complementary(holes);
    }
  }

  /// Returns a source, which this object must outlive.
  std::unique_ptr<TileSource> open() const {
    std::vector<CallerArray> arrays = arrays_.arrays();
    for (const auto& [name, each] : projectors) {
      CallerArray& array = arrays.emplace_back();
      array.name = name;
      array.data = each.values.data();
      array.shape = each.shape;
    }
    SourceInfo info;
    info.path = "arrays";
    info.reference = reference_;
    info.amplitudes = AmplitudeKind::made_up;
    info.fock_in_triples = FockInTriples::left_out;
    return open_arrays(std::move(info), std::move(arrays));
  }

  std::map<std::string, Projectors> projectors;  ///< by name

 private:
  static Projectors complementary(std::int64_t holes) {
    Projectors made{{2, holes, holes}, {}};
    for (const double sign : {1.0, -1.0}) {
      for (std::int64_t i = 0; i < holes; ++i) {
        for (std::int64_t j = 0; j < holes; ++j) {
          const double p = 1.0 / static_cast<double>(2 + i + j + i * j);
          made.values.push_back(sign * p + (sign < 0.0 && i == j ? 1.0 : 0.0));
        }
      }
    }
    return made;
  }

  ArraysOfMolecule arrays_;
  Reference reference_;
};

}
