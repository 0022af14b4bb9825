#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tests/support/held_arrays.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Molecules with right numbers, from data/numbers (see make_right_numbers.py).
namespace trifuse::testing {

using Dataset = RawDump::Dataset;
using Datasets = std::map<std::string, Dataset>;

/// What the name of an array says: `ovvv_aabb` has the stem `ovvv`, the axes `ovvv` and the spins `aabb`.
struct ArrayName {
  explicit ArrayName(const std::string& name) {
    const std::size_t end = name.find_last_of('_');
    const std::string last = end == std::string::npos ? "" : name.substr(end + 1);
    const bool has_spins = !last.empty() && last.find_first_not_of("ab") == std::string::npos;
    stem = has_spins ? name.substr(0, end) : name;
    static const std::map<std::string, std::string> known = {
        {"t1", "ov"},          {"t2", "oovv"},        {"eps_occ", "o"},      {"eps_vir", "v"},   {"fock", "ff"},
        {"factors_oo", "qoo"}, {"factors_ov", "qov"}, {"factors_vv", "qvv"}, {"irrep_occ", "o"}, {"irrep_vir", "v"}};
    const auto found = known.find(stem);
    axes = found != known.end() ? found->second : stem;
    if (has_spins) spins = stem == "t2" ? last + last : last.size() == 1 ? std::string(axes.size(), last[0]) : last;
    if (!has_spins) spins = std::string(axes.size(), ' ');
  }
  bool amplitudes() const { return stem == "t1" || stem == "t2"; }
  bool integers() const { return stem.starts_with("irrep"); }
  bool factors() const { return axes[0] == 'q'; }
  bool integrals() const { return axes.size() == 4 && stem != "t2"; }

  std::string stem;
  std::string axes;   ///< a letter for each axis: o, v, f (all orbitals), q (auxiliary functions)
  std::string spins;  ///< a letter for each axis: a, b, or a space for a restricted reference
};

/// The right numbers of a molecule.
class RightNumbers {
 public:
  explicit RightNumbers(const std::string& molecule) : name(molecule) {
    const Hdf5File file =
        Hdf5File::open((test_data().parent_path() / "fuzz" / "data" / "numbers" / (molecule + ".h5")).string());
    const Hdf5Attributes& attributes = file.attributes();
    const std::string kind = attributes.string("reference").value();
    info.path = molecule;
    info.reference = kind == "RHF" ? Reference::rhf : kind == "UHF" ? Reference::uhf : Reference::rohf;
    info.fock_in_triples = FockInTriples::enters;
    info.convergence = attributes.real("convergence").value();
    for (const char* set : {"", "left_", "moved_", "moved_left_"}) {
      const std::string key = std::string(set) + "correlation_energy";
      energies[key] = attributes.real(key).value();
    }
    info.correlation_energy = energies.at("correlation_energy");
    for (const std::string& member : file.members("/")) {
      const Hdf5Dataset stored = file.dataset(member);
      Dataset data{{stored.shape().begin(), stored.shape().end()}, {}};
      data.values.resize(static_cast<std::size_t>(stored.size()));
      if (stored.is_integer()) data.type = Hdf5Writer::Type::integer;
      stored.read_all(data.values);
      const std::size_t colon = member.find(':');
      if (colon != std::string::npos) {
        sets[member.substr(0, colon)][member.substr(colon + 1)] = std::move(data);
      } else {
        factored[member] = member.starts_with("factors_vv") ? unpacked(data) : std::move(data);
      }
    }
    for (const auto& [array, data] : factored) {
      if (!ArrayName(array).factors()) multiplied[array] = data;
    }
    for (const auto& [array, data] : factored) {
      for (const auto& [other, with] : factored) multiply(array, data, other, with);
    }
  }

  bool restricted() const { return info.reference == Reference::rhf; }

  std::string name;
  SourceInfo info;
  /// Correlation energies of the sets of amplitudes, hartree: `correlation_energy`, `left_correlation_energy`, ...
  std::map<std::string, double> energies;
  Datasets factored;    ///< all arrays, with factors
  Datasets multiplied;  ///< all arrays, with the integrals that the factors give
  /// Other amplitudes: `lambda`, `left` (regularised), and `moved`, `moved_lambda`, `moved_left` of a second geometry.
  std::map<std::string, Datasets> sets;

 private:
  static Dataset unpacked(const Dataset& packed) {
    if (packed.shape.size() == 3) return packed;
    std::int64_t v = 1;
    while (v * (v + 1) / 2 < packed.shape[1]) ++v;
    Dataset data{{packed.shape[0], v, v}, {}};
    for (std::int64_t q = 0; q < packed.shape[0]; ++q) {
      for (std::int64_t b = 0; b < v; ++b) {
        for (std::int64_t c = 0; c < v; ++c) {
          const std::int64_t at = std::max(b, c) * (std::max(b, c) + 1) / 2 + std::min(b, c);
          data.values.push_back(packed.values[static_cast<std::size_t>(q * packed.shape[1] + at)]);
        }
      }
    }
    return data;
  }

  /// Adds the integrals that two arrays of factors give, if a dump has such integrals.
  void multiply(const std::string& bra, const Dataset& x, const std::string& ket, const Dataset& y) {
    const ArrayName first(bra), second(ket);
    if (!first.factors() || !second.factors()) return;
    const std::string stem = first.axes.substr(1) + second.axes.substr(1);
    const bool opposite = first.spins[0] != second.spins[0];
    if (stem != "ovvv" && stem != "ovoo" && stem != "ovov" && stem != "oovv") return;
    if (opposite && (stem == "oovv" || (stem == "ovov" && first.spins[0] == 'b'))) return;
    const std::string s = restricted() ? "" : "_" + first.spins.substr(0, 2) + second.spins.substr(0, 2);
    Dataset& data = multiplied[stem + s];
    data.shape = {x.shape[1], x.shape[2], y.shape[1], y.shape[2]};
    const auto n = static_cast<std::size_t>(x.shape[1] * x.shape[2]),
               m = static_cast<std::size_t>(y.shape[1] * y.shape[2]);
    data.values.assign(n * m, 0.0);
    for (std::size_t q = 0; q < static_cast<std::size_t>(x.shape[0]); ++q) {
      for (std::size_t k = 0; k < n; ++k) {
        const double factor = x.values[q * n + k];
        const double* from = y.values.data() + q * m;
        double* to = data.values.data() + k * m;
        for (std::size_t l = 0; l < m; ++l) to[l] += factor * from[l];
      }
    }
  }
};

}
