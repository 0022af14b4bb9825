#pragma once

#include <cctype>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cxx/triples/task.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

/// Made-up molecules of every kind, small enough for the reference evaluation.
namespace trifuse::testing {

inline SyntheticMolecule closed_shell(std::int64_t occupied, std::int64_t virtuals, int irreps = 1) {
  return {Reference::rhf, occupied, occupied, virtuals, virtuals, irreps, 4, 16, 1};
}

struct OpenShell {
  std::int64_t occupied_alpha, occupied_beta, virtual_alpha, virtual_beta;
};
inline SyntheticMolecule open_shell(Reference reference, OpenShell n, int irreps = 1) {
  return {reference, n.occupied_alpha, n.occupied_beta, n.virtual_alpha, n.virtual_beta, irreps, 2, 3, 1};
}

/// Returns a molecule with the same orbitals and integrals and other amplitudes.
inline SyntheticMolecule other_amplitudes(SyntheticMolecule molecule) {
  molecule.seed += 1;
  return molecule;
}

struct NamedMolecule {
  std::string name;
  SyntheticMolecule molecule;

  bool restricted() const { return molecule.reference == Reference::rhf; }
  /// Returns the spin formulations that are possible for this molecule.
  std::vector<SpinFormulation> formulations() const {
    if (!restricted()) return {SpinFormulation::spin_orbital};
    return {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted};
  }
};

inline std::ostream& operator<<(std::ostream& out, const NamedMolecule& molecule) {
  return out << molecule.name;
}

inline std::vector<NamedMolecule> closed_shells() {
  return {{"closed shell", closed_shell(4, 6)},
          {"closed shell with 2 irreps", closed_shell(4, 7, 2)},
          {"closed shell with 4 irreps", closed_shell(5, 7, 4)},
          {"closed shell with 8 irreps", closed_shell(5, 9, 8)}};
}

inline std::vector<NamedMolecule> open_shells() {
  using enum Reference;
  return {{"UHF", open_shell(uhf, {4, 3, 5, 6})},
          {"UHF with 2 irreps", open_shell(uhf, {4, 3, 5, 6}, 2)},
          {"UHF with 4 irreps", open_shell(uhf, {5, 3, 6, 8}, 4)},
          {"UHF with 8 irreps", open_shell(uhf, {6, 4, 7, 9}, 8)},
          {"ROHF", open_shell(rohf, {4, 2, 4, 6})},
          {"UHF without beta electrons", open_shell(uhf, {4, 0, 4, 8})},
          {"UHF without beta virtuals", open_shell(uhf, {4, 4, 5, 0})},
          {"UHF with one beta electron", open_shell(uhf, {3, 1, 4, 6})}};
}

inline std::vector<NamedMolecule> molecules_of_every_kind() {
  std::vector<NamedMolecule> molecules = closed_shells();
  for (NamedMolecule& molecule : open_shells()) molecules.push_back(std::move(molecule));
  return molecules;
}

/// Returns a text as the name of a parametrised test, which may contain only letters, digits and underscores.
inline std::string as_test_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}
inline const auto molecule_name = [](const auto& test) { return as_test_name(test.param.name); };

}
