#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {

/// The expected energies of a dump, from tests/data/nwchem/expected.json, hartree.
struct ExpectedEnergies {
  Energies plain;                                        ///< printed by NWChem, or recomputed if NWChem printed none
  std::vector<std::pair<double, Energies>> regularised;  ///< omega2 and energies
  std::optional<double> standard_rohf;                   ///< E(T) of other programs
};

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

inline ExpectedEnergies expected_energies(const std::string& dump) {
  static const nlohmann::json cases = read_json(nwchem_data() / "expected.json").at("cases");
  const nlohmann::json& entry = cases.at(dump);
  const auto pair = [](const nlohmann::json& from) { return Energies{from.at("E_[T]"), from.at("E_(T)")}; };
  ExpectedEnergies expected;
  expected.plain = pair(entry.at(entry.contains("recomputed") ? "recomputed" : "printed"));
  for (const auto& shifted : entry.at("regularised")) {
    expected.regularised.emplace_back(shifted.at("omega2"), pair(shifted));
  }
  if (entry.contains("standard_rohf")) expected.standard_rohf = entry["standard_rohf"].at("E_(T)");
  return expected;
}

inline std::filesystem::path pyscf_data() {
  return test_data().parent_path() / "pyscf" / "data";
}

}
