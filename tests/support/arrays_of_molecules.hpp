#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tests/support/held_arrays.hpp"
#include "tests/support/molecules.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {

/// The numbers of a made-up molecule as dense arrays in the memory of a caller.
class ArraysOfMolecule {
 public:
  ArraysOfMolecule(const SyntheticMolecule& molecule, HeldArrays::Layout layout, bool packed = false)
      : ArraysOfMolecule(raw_dump_of(molecule, packed), molecule.reference, layout, packed) {}
  ArraysOfMolecule(const RawDump& raw, Reference reference, HeldArrays::Layout layout, bool packed = false)
      : held_(raw, layout, packed) {
    SourceInfo info;
    info.path = "arrays";
    info.reference = reference;
    info.fock_in_triples = FockInTriples::left_out;  // as in the source of the made-up molecule
    source_ = held_.open(std::move(info));
  }

  const TileSource& source() const { return *source_; }
  const std::vector<CallerArray>& arrays() const { return held_.arrays(); }

  static RawDump raw_dump_of(const SyntheticMolecule& molecule, bool packed = false) {
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "dump.h5").string();
    write_dump(*make_synthetic_source(molecule), path);
    RawDump raw = read_raw_dump(path);
    if (packed) make_symmetric(raw);
    return raw;
  }

 private:
  HeldArrays held_;
  std::unique_ptr<TileSource> source_;
};

}
