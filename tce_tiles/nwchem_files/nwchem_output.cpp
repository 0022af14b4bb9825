#include "tce_tiles/nwchem_files/nwchem_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_file.hpp"

namespace trifuse {

namespace {

constexpr std::string_view tce_banner = "NWChem Extensible Many-Electron Theory Module";
/// NWChem's own limit on the number of tiles.
constexpr std::size_t max_tiles = 10'000;
/// Largest number of spin orbitals. No file could hold the integrals of more.
constexpr std::size_t max_orbitals = 100'000;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t end = 0;
  while (words.size() < 16) {
    const auto begin = line.find_first_not_of(" \t", end);
    if (begin == std::string_view::npos) break;
    end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
  }
  return words;
}

/// Parses a number of orbitals or electrons. It is bounded, so that sums of many cannot overflow.
std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value > 100 * static_cast<std::int64_t>(max_orbitals)) return std::nullopt;
  return value;
}

std::optional<double> number(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), 'D', 'E');
  if (plain.starts_with('+')) plain.erase(0, 1);
  double value = 0.0;
  const auto result = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (result.ec != std::errc() || result.ptr != plain.data() + plain.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<Spin> spin(std::string_view word) {
  if (word == "alpha") return Spin::alpha;
  if (word == "beta") return Spin::beta;
  return std::nullopt;
}

/// Takes the lines of one output in order. Keeps the state that gives a line its meaning.
class Parser {
 public:
  explicit Parser(NwchemOutput& output) : output_(output) {}

  void line(std::string_view text) {
    if (contains(text, tce_banner)) {
      finish();
    } else if (in_table_) {
      in_table_ = table_row(text);
    } else if (!keyed(text) && !sorted_row(text)) {
      energy(text);
    }
  }

  void finish() {
    // Calculations of other kinds, and calculations that ended before any useful result, are left out.
    if (!now_.tiles.empty() || now_.reference || now_.correlation_energy) {
      output_.calculations.push_back(std::move(now_));
    }
    now_ = {};
    now_.group = group_;
    now_.scf_energy = scf_energy_;
  }

 private:
  bool table_row(std::string_view text) {
    const auto words = words_of(text);
    if (words.size() == 1 && words[0].find_first_not_of('-') == std::string_view::npos) return now_.tiles.empty();
    // The number of the block may not fit in its three columns, so only the order of the lines counts.
    if (words.size() != 7 || words[4] != "doubles") return false;
    const auto s = spin(words[1]);
    const auto size = integer(words[3]);
    const auto offset = integer(words[5]);
    if (!s || !size || !offset || now_.tiles.size() >= max_tiles) return false;
    now_.tiles.push_back({*s, std::string(words[2]), *size, *offset});
    return true;
  }

  bool keyed(std::string_view text) {
    if (contains(text, "Block") && contains(text, "Irrep") && contains(text, "Offset")) {
      now_.tiles.clear();
      in_table_ = true;
      return true;
    }
    if (contains(text, "4-electron integrals stored in orbital form")) return now_.orbital_storage = true;
    if (contains(text, "maxiter exceeded")) return now_.out_of_iterations = true;
    if (trimmed(text).starts_with("Group name ")) {
      // NWChem prints the group with the geometry, before the calculations.
      group_ = std::string(trimmed(trimmed(text).substr(10)));
      now_.group = group_;
      return true;
    }
    if (trimmed(text).starts_with("Maximum block size ")) {
      const auto words = words_of(text);
      if (words.size() == 5 && words[4] == "doubles") now_.tile_size = integer(words[3]);
      return true;
    }
    if (output_.version.empty() && contains(text, "Northwest Computational Chemistry Package (NWChem)")) {
      output_.version = std::string(trimmed(text.substr(text.find(')') + 1)));
      return true;
    }
    const auto colon = text.find(" : ");
    if (colon == std::string_view::npos) return false;
    return general(trimmed(text.substr(0, colon)), trimmed(text.substr(colon + 3)));
  }

  bool general(std::string_view key, std::string_view value) {
    if (key == "Wavefunction type") {
      now_.kohn_sham = contains(value, "Kohn-Sham");
      if (value.starts_with("Restricted open-shell"))
        now_.reference = Reference::rohf;
      else if (value.starts_with("Restricted"))
        now_.reference = Reference::rhf;
      else if (value.starts_with("Unrestricted"))
        now_.reference = Reference::uhf;
      return true;
    }
    if (key == "Use of symmetry is") {
      now_.symmetry = value == "on";
      return true;
    }
    const std::pair<std::string_view, std::optional<std::int64_t>*> counts[] = {
        {"Alpha electrons", &now_.electrons[0]},
        {"Beta electrons", &now_.electrons[1]},
        {"Alpha frozen cores", &now_.frozen_core[0]},
        {"Beta frozen cores", &now_.frozen_core[1]},
        {"Alpha frozen virtuals", &now_.frozen_virtual[0]},
        {"Beta frozen virtuals", &now_.frozen_virtual[1]},
        {"Alpha orbitals", &now_.orbitals},
        {"Number of AO functions", &now_.ao_functions}};
    for (const auto& [name, count] : counts) {
      if (key != name) continue;
      *count = integer(value);
      return true;
    }
    return false;
  }

  bool sorted_row(std::string_view text) {
    if (trimmed(text) == "Sorted") {
      now_.sorted.clear();
      return true;
    }
    if (!contains(text, "irep=") || !contains(text, "eval=")) return false;
    // A line is "1  spin=  1  irep=  0  eval=  -11.26". The list numbers its lines from 1.
    const auto words = words_of(text);
    if (words.size() != 7 || words[1] != "spin=" || words[3] != "irep=" || words[5] != "eval=") return false;
    const auto s = integer(words[2]);
    const auto irrep = integer(words[4]);
    const auto value = number(words[6]);
    if (!s || (*s != 1 && *s != 2) || !irrep || *irrep < 0 || *irrep > 7 || !value) return false;
    if (integer(words[0]) != static_cast<std::int64_t>(now_.sorted.size()) + 1 || now_.sorted.size() >= max_orbitals) {
      return false;
    }
    now_.sorted.push_back({static_cast<Spin>(*s), static_cast<int>(*irrep), *value});
    return true;
  }

  void energy(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return;
    const auto name = trimmed(text.substr(0, equals));
    const auto value = [&] { return number(trimmed(text.substr(equals + 1))); };
    if (name == "Total SCF energy") {
      scf_energy_ = value();
      // An SCF energy after the tile table belongs to the next calculation in this output.
      if (now_.tiles.empty()) now_.scf_energy = scf_energy_;
    } else if (name == "CCSD correlation energy / hartree") {
      // These are new amplitudes. Triples energies that were printed before belong to earlier ones.
      now_.correlation_energy = value();
      for (const auto& [later, energy] : energies_of(now_)) energy->reset();
    } else {
      for (const auto& [known, energy] : energies_of(now_)) {
        if (name == known) *energy = value();
      }
    }
  }

  /// Returns the energies that NWChem prints after the CCSD correlation energy, with their names.
  static std::array<std::pair<std::string_view, std::optional<double>*>, 7> energies_of(TceCalculation& calculation) {
    return {{{"CCSD total energy / hartree", &calculation.total},
             {"CCSD[T]  correction energy / hartree", &calculation.bracket_triples},
             {"CCSD[T] correlation energy / hartree", &calculation.bracket_correlation},
             {"CCSD[T] total energy / hartree", &calculation.bracket_total},
             {"CCSD(T)  correction energy / hartree", &calculation.triples},
             {"CCSD(T) correlation energy / hartree", &calculation.triples_correlation},
             {"CCSD(T) total energy / hartree", &calculation.triples_total}}};
  }

  NwchemOutput& output_;
  TceCalculation now_;
  std::string group_;
  std::optional<double> scf_energy_;
  bool in_table_ = false;
};

[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  throw InputError(
      fmt::format("The tile table in {} cannot be used: {}; name an undamaged output of this calculation with "
                  "--nwchem-output FILE.",
                  path, why));
}

/// Returns the number of tiles of each of the four classes.
std::array<std::size_t, 4> class_counts(const TceCalculation& calculation, const std::string& path) {
  const auto& rows = calculation.tiles;
  std::array<std::size_t, 4> counts{};
  std::size_t row = 0;
  const bool counted =
      calculation.electrons[0] && calculation.electrons[1] && calculation.frozen_core[0] && calculation.frozen_core[1];
  for (std::size_t c = 0; c < 4; ++c) {
    const Spin wanted = spin_of(orbital_classes[c]);
    // The number of occupied orbitals bounds an occupied class. If a class is empty, the spins of the rows are not
    // enough to separate the classes.
    const bool bounded = counted && c < 2;
    std::int64_t left = bounded ? *calculation.electrons[c] - *calculation.frozen_core[c] : 0;
    while (row < rows.size() && rows[row].spin == wanted && (!bounded || left > 0)) {
      left -= rows[row].size;
      ++counts[c];
      ++row;
    }
    if (bounded && left != 0) damaged(path, "its occupied tiles do not add up to the active electrons");
  }
  if (row != rows.size()) damaged(path, "its spins are out of order");
  // With `set tce:vcut`, NWChem drops virtual orbitals by their energy and does not count them as frozen.
  for (std::size_t s = 0; s < 2 && counted && calculation.orbitals; ++s) {
    if (!calculation.frozen_virtual[s]) continue;
    const std::size_t begin = counts[0] + counts[1] + (s == 0 ? 0 : counts[2]);
    std::int64_t left = *calculation.orbitals - *calculation.electrons[s] - *calculation.frozen_virtual[s];
    for (std::size_t k = begin; k < begin + counts[2 + s]; ++k) left -= rows[k].size;
    if (left < 0) damaged(path, "its virtual tiles hold more orbitals than the occupied and frozen ones leave");
  }
  if (!counted && std::find(counts.begin(), counts.end(), 0u) != counts.end()) {
    damaged(path, "the numbers of electrons and frozen cores (General Information) are missing");
  }
  return counts;
}

}

NwchemOutput read_nwchem_output(const std::string& path) {
  NwchemOutput output;
  output.path = path;
  Parser parser(output);
  LineReader reader(path);
  std::string_view line;
  while (reader.next(line)) parser.line(line);
  parser.finish();
  return output;
}

bool mentions_tce(const std::string& path) {
  LineReader reader(path);
  std::string_view line;
  while (reader.next(line)) {
    if (contains(line, tce_banner) || contains(line, "CCSD correlation energy / hartree")) return true;
  }
  return false;
}

std::optional<int> irrep_number(std::string_view label, bool d2) {
  if (d2 && label == "b1") return 1;
  if (d2 && label == "b2") return 2;
  static constexpr std::pair<std::string_view, int> numbers[] = {
      {"a", 0},   {"a'", 0},  {"ag", 0},  {"a1", 0},                            // totally symmetric
      {"a\"", 1}, {"au", 1},  {"b", 1},   {"a2", 1},                            // cs; ci, c2h, d2h; c2; c2v
      {"b1", 2},  {"b2", 3},  {"b3", 3},                                        // c2v; b3 d2
      {"bg", 2},  {"bu", 3},                                                    // c2h
      {"b1g", 2}, {"b1u", 3}, {"b2g", 4}, {"b2u", 5}, {"b3g", 6}, {"b3u", 7}};  // d2h
  for (const auto& [name, irrep] : numbers) {
    if (name == label) return irrep;
  }
  return std::nullopt;
}

TileSpace tiles_of(const TceCalculation& calculation, const std::string& path) {
  const auto& rows = calculation.tiles;
  if (rows.empty()) {
    throw InputError(fmt::format("The output {} has no tile table; run NWChem without `print low`.", path));
  }
  if (!calculation.reference) damaged(path, "the line `Wavefunction type` is missing");
  const auto counts = class_counts(calculation, path);
  const bool d2 = calculation.group == "D2" ||
                  std::any_of(rows.begin(), rows.end(), [](const PrintedTile& row) { return row.irrep == "b3"; });
  std::vector<Tile> tiles;
  std::int64_t orbitals = 0;
  std::size_t row = 0;
  for (std::size_t c = 0; c < 4; ++c) {
    for (std::size_t k = 0; k < counts[c]; ++k, ++row) {
      if (rows[row].offset != orbitals)
        damaged(path, fmt::format("the offset of tile {} does not follow from the sizes", row + 1));
      if (rows[row].size < 1 || rows[row].size > static_cast<std::int64_t>(max_orbitals) - orbitals) {
        damaged(path, fmt::format("tile {} has an impossible size", row + 1));
      }
      const std::optional<int> irrep = irrep_number(rows[row].irrep, d2);
      if (!irrep) damaged(path, fmt::format("the irrep of tile {} is not an irrep of an Abelian group", row + 1));
      tiles.push_back({orbital_classes[c], *irrep, rows[row].size, 0, 0});
      orbitals += rows[row].size;
    }
  }
  try {
    return TileSpace(std::move(tiles), calculation.reference == Reference::rhf);
  } catch (const InputError& error) {
    damaged(path, error.what());
  }
}

}
