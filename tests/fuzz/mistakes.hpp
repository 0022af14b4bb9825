#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/right_numbers.hpp"

/// Plausible mistakes in right numbers: one row of the table for each class.
namespace trifuse::testing {

/// What somebody passes: arrays and the facts about them.
struct Input {
  SourceInfo info;
  Datasets arrays;
};

using Index = std::vector<std::int64_t>;

inline Index index_of(const Dataset& data, std::size_t n) {
  Index p(data.shape.size());
  auto rest = static_cast<std::int64_t>(n);
  for (std::size_t k = p.size(); k-- > 0; rest /= data.shape[k]) p[k] = rest % data.shape[k];
  return p;
}
inline std::size_t position_of(const Dataset& data, const Index& p) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < p.size(); ++k) at = at * data.shape[k] + p[k];
  return static_cast<std::size_t>(at);
}

/// new[p] = old[source(p)].
template <typename Source>
void rearrange(Dataset& data, Source source) {
  const Dataset old = data;
  for (std::size_t n = 0; n < data.values.size(); ++n) {
    Index p = index_of(old, n);
    source(p);
    data.values[n] = old.values[position_of(old, p)];
  }
}

/// The positions of the elements that the symmetry of the array ties to the element p, with p itself.
inline std::set<std::size_t> tied_positions(const ArrayName& name, const Dataset& data, const Index& p) {
  std::vector<std::vector<std::size_t>> exchanges;
  const std::string& stem = name.stem;
  const bool one_spin = name.spins.find_first_not_of(name.spins[0]) == std::string::npos;
  if (stem == "t2" && name.spins == "    ") exchanges = {{1, 0, 3, 2}};
  if (stem == "t2" && name.spins != "    " && one_spin) exchanges = {{1, 0, 2, 3}, {0, 1, 3, 2}};
  if (stem == "ovvv" || stem == "ovoo") exchanges = {{0, 1, 3, 2}};
  if (stem == "ovov" && one_spin) exchanges = {{2, 3, 0, 1}};
  if (stem == "oovv") exchanges = {{1, 0, 2, 3}, {0, 1, 3, 2}};
  if (stem == "fock") exchanges = {{1, 0}};
  if (stem == "factors_oo" || stem == "factors_vv") exchanges = {{0, 2, 1}};
  std::vector<Index> open = {p};
  std::set<std::size_t> found;
  while (!open.empty()) {
    const Index q = open.back();
    open.pop_back();
    if (!found.insert(position_of(data, q)).second) continue;
    for (const auto& exchange : exchanges) {
      Index r(q.size());
      for (std::size_t k = 0; k < q.size(); ++k) r[k] = q[exchange[k]];
      open.push_back(std::move(r));
    }
  }
  return found;
}

inline void scale(Dataset& data, double factor) {
  for (double& x : data.values) x *= factor;
}

/// A class of mistakes. `make` changes the input and returns what it did; empty if the class does not fit the input.
struct Mistake {
  std::string name;
  std::function<std::string(Input&, const RightNumbers&, Mutation&)> make;
};

/// The names of the arrays of floats that satisfy `wanted`.
template <typename Wanted>
std::vector<std::string> names_in(const Input& input, Wanted wanted) {
  std::vector<std::string> names;
  for (const auto& [name, data] : input.arrays) {
    const ArrayName parts(name);
    if (!parts.integers() && !data.values.empty() && wanted(parts)) names.push_back(name);
  }
  return names;
}
inline std::vector<std::string> all_names(const Input& input) {
  return names_in(input, [](const ArrayName&) { return true; });
}
template <typename T>
const T& one_of(const std::vector<T>& list, Mutation& dice) {
  return list[dice.below(list.size())];
}

/// One array, all spins of an array, or all amplitudes.
inline std::vector<std::string> some_arrays(const Input& input, Mutation& dice) {
  const std::string first = one_of(all_names(input), dice);
  const std::string stem = ArrayName(first).stem;
  switch (dice.below(4)) {
    case 0:
      return {first};
    case 1:
      return names_in(input, [](const ArrayName& name) { return name.amplitudes(); });
    default:
      return names_in(input, [&](const ArrayName& name) { return name.stem == stem; });
  }
}
inline std::string list_of(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, " "));
}

inline std::string change_sign(Input& input, const RightNumbers&, Mutation& dice) {
  const auto names = some_arrays(input, dice);
  for (const std::string& name : names) scale(input.arrays[name], -1.0);
  return list_of(names);
}
inline std::string change_factor(Input& input, const RightNumbers&, Mutation& dice) {
  const double factor = one_of<double>({0.5, 2.0, 1.0001, 0.9999, 1.05, 0.5291772}, dice);
  const auto names = some_arrays(input, dice);
  for (const std::string& name : names) scale(input.arrays[name], factor);
  return fmt::format("{} times {}", list_of(names), factor);
}
inline std::string make_zero(Input& input, const RightNumbers&, Mutation& dice) {
  auto names = some_arrays(input, dice);
  if (dice.one_in(2)) {
    const std::string stem = dice.one_in(2) ? "t1" : "t2";
    names = names_in(input, [&](const ArrayName& name) { return name.stem == stem; });
  }
  for (const std::string& name : names) scale(input.arrays[name], 0.0);
  return list_of(names);
}

inline std::string exchange_orbitals(Input& input, const RightNumbers&, Mutation& dice) {
  const std::string name = one_of(all_names(input), dice);
  const ArrayName parts(name);
  Dataset& data = input.arrays[name];
  const std::size_t axis = dice.below(parts.axes.size());
  if (parts.axes[axis] == 'q' || data.shape[axis] < 2) return "";
  const auto n = static_cast<std::size_t>(data.shape[axis]);
  const auto p = static_cast<std::int64_t>(dice.below(n));
  const auto q = static_cast<std::int64_t>((static_cast<std::size_t>(p) + 1 + dice.below(n - 1)) % n);
  rearrange(data, [&](Index& at) {
    for (std::size_t k = 0; k < at.size(); ++k) {
      if (parts.axes[k] != parts.axes[axis] || parts.spins[k] != parts.spins[axis]) continue;
      if (at[k] == p || at[k] == q) at[k] = p + q - at[k];
    }
  });
  return fmt::format("{} {} and {} in {}", parts.axes[axis], p, q, name);
}

/// Exchanges what fits of an array with its partner of the other spin.
inline std::string exchange_spins(Input& input, const RightNumbers&, Mutation& dice) {
  const std::vector<std::string> names =
      names_in(input, [](const ArrayName& name) { return name.spins[0] == 'a' && name.spins.back() != 'b'; });
  if (names.empty()) return "";
  const std::string name = one_of(names, dice);
  std::string other = name;
  for (std::size_t k = name.find_last_of('_'); k < other.size(); ++k) other[k] = other[k] == 'a' ? 'b' : other[k];
  Dataset &x = input.arrays[name], &y = input.arrays[other];
  for (std::size_t n = 0; n < x.values.size(); ++n) {
    const Index p = index_of(x, n);
    bool inside = true;
    for (std::size_t k = 0; k < p.size(); ++k) inside = inside && p[k] < y.shape[k];
    if (inside) std::swap(x.values[n], y.values[position_of(y, p)]);
  }
  return name + " and " + other;
}

inline std::string transpose_axes(Input& input, const RightNumbers&, Mutation& dice) {
  const auto names = names_in(input, [](const ArrayName& name) { return name.axes.size() > 1; });
  const std::string name = one_of(names, dice);
  Dataset& data = input.arrays[name];
  const std::size_t x = dice.below(data.shape.size()), y = dice.below(data.shape.size());
  if (x == y || data.shape[x] != data.shape[y]) return "";
  rearrange(data, [&](Index& p) { std::swap(p[x], p[y]); });
  return fmt::format("axes {} and {} of {}", x, y, name);
}

/// 2 t - t^T or t - t^T, as spin-adapted programs store amplitudes.
inline std::string adapt_spins(Input& input, const RightNumbers&, Mutation& dice) {
  if (!input.arrays.contains("t2")) return "";
  Dataset &t2 = input.arrays["t2"], other = t2;
  const double factor = dice.one_in(2) ? 2.0 : 1.0;
  rearrange(other, [](Index& p) { std::swap(p[2], p[3]); });
  for (std::size_t n = 0; n < t2.values.size(); ++n) t2.values[n] = factor * t2.values[n] - other.values[n];
  return fmt::format("{} t2 less exchanged", factor);
}

inline void add_to_energies(Input& input, const std::string& stem, double shift, bool also_fock) {
  for (auto& [name, data] : input.arrays) {
    const ArrayName parts(name);
    if (parts.stem == stem) {
      for (double& x : data.values) x += shift;
    }
    if (parts.stem != "fock" || !also_fock) continue;
    const std::string spin = parts.spins[0] == ' ' ? "" : std::string("_") + parts.spins[0];
    const std::int64_t o = input.arrays.at("eps_occ" + spin).shape[0];
    for (std::int64_t p = 0; p < data.shape[0]; ++p) {
      if ((p < o) == (stem == "eps_occ")) data.values[position_of(data, {p, p})] += shift;
    }
  }
}
inline std::string shift_levels(Input& input, const RightNumbers&, Mutation& dice) {
  const double shift = one_of<double>({1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5}, dice) * (dice.one_in(4) ? -1.0 : 1.0);
  const std::string stem = dice.one_in(4) ? "eps_occ" : "eps_vir";
  const bool fock = dice.one_in(2);
  add_to_energies(input, stem, shift, fock);
  return fmt::format("{} of {}{}", shift, stem, fock ? " and Fock matrix" : "");
}
inline std::string use_electronvolts(Input& input, const RightNumbers&, Mutation& dice) {
  constexpr double hartree_in_ev = 27.211386;
  const bool fock = dice.one_in(2);
  for (auto& [name, data] : input.arrays) {
    if (name.starts_with("eps") || (fock && name.starts_with("fock"))) scale(data, hartree_in_ev);
  }
  return fock ? "energies and Fock matrix" : "energies";
}

/// Copies `stem` of other amplitudes, or all of them if `stem` is empty. False if there are none.
inline bool copy_amplitudes(Input& input, const RightNumbers& right, const std::string& of_set,
                            const std::string& stem) {
  const auto found = of_set.empty() ? &right.factored : right.sets.contains(of_set) ? &right.sets.at(of_set) : nullptr;
  if (found == nullptr) return false;
  for (const auto& [name, data] : *found) {
    const ArrayName parts(name);
    if (parts.amplitudes() && (stem.empty() || parts.stem == stem)) input.arrays[name] = data;
  }
  return true;
}
inline std::string amplitude_set(const Input& input) {
  if (input.info.amplitudes == AmplitudeKind::lambda) return "lambda";
  return input.info.amplitudes == AmplitudeKind::regularized_ccsd ? "left" : "";
}

/// The correlation energy of the same kind of amplitudes at the second geometry.
inline double moved_energy(const Input& input, const RightNumbers& right) {
  const std::string own = amplitude_set(input);
  return right.energies.at("moved_" + own + (own.empty() ? "" : "_") + "correlation_energy");
}

inline std::string move_atoms(Input& input, const RightNumbers& right, Mutation& dice) {
  const std::string own = amplitude_set(input), stem = one_of<std::string>({"t1", "t2", ""}, dice);
  if (!copy_amplitudes(input, right, own.empty() ? "moved" : "moved_" + own, stem)) return "";
  const bool energy = input.info.correlation_energy && stem.empty() && dice.one_in(2);
  if (energy) input.info.correlation_energy = moved_energy(input, right);
  return (stem.empty() ? "t1 and t2" : stem) + (energy ? " and the correlation energy" : "");
}
inline std::string change_omega2(Input& input, const RightNumbers& right, Mutation& dice) {
  if (input.info.amplitudes == AmplitudeKind::lambda) return "";
  if (input.info.amplitudes == AmplitudeKind::regularized_ccsd && dice.one_in(2)) {
    input.info.omega2 = one_of<double>({0.1001, 0.0999, 0.11, 0.2, 0.01, 1.0}, dice);
    return fmt::format("stated omega2 = {}", input.info.omega2);
  }
  const std::string stem = one_of<std::string>({"t1", "t2", ""}, dice);
  const std::string other = input.info.amplitudes == AmplitudeKind::regularized_ccsd ? "" : "left";
  return copy_amplitudes(input, right, other, stem) ? "amplitudes " + stem : "";
}
inline std::string use_other_side(Input& input, const RightNumbers& right, Mutation& dice) {
  const std::string stem = one_of<std::string>({"t1", "t2", ""}, dice);
  const std::string other = amplitude_set(input) == "lambda" ? "" : "lambda";
  return copy_amplitudes(input, right, other, stem) ? (other.empty() ? "right " : "lambda ") + stem : "";
}

inline std::string damage_element(Input& input, const RightNumbers&, Mutation& dice) {
  const std::string name = one_of(all_names(input), dice);
  Dataset& data = input.arrays[name];
  const double factor = one_of<double>({0.0, -1.0, 1.001, 1.01, 1.1, 2.0, 10.0, 100.0}, dice);
  const Index at = index_of(data, dice.below(data.values.size()));
  for (const std::size_t n : tied_positions(ArrayName(name), data, at)) data.values[n] *= factor;
  return fmt::format("{}[{}] times {}", name, fmt::join(at, ","), factor);
}
inline std::string zero_row(Input& input, const RightNumbers&, Mutation& dice) {
  const std::string name = one_of(all_names(input), dice);
  const ArrayName parts(name);
  Dataset& data = input.arrays[name];
  const std::size_t axis = dice.below(data.shape.size());
  if (parts.axes[axis] == 'q') return "";
  const auto length = static_cast<std::size_t>(data.shape[axis]);
  const auto row = static_cast<std::int64_t>(dice.one_in(2) ? length - 1 : dice.below(length));
  for (std::size_t n = 0; n < data.values.size(); ++n) {
    const Index p = index_of(data, n);
    if (p[axis] != row) continue;
    for (const std::size_t tied : tied_positions(parts, data, p)) data.values[tied] = 0.0;
  }
  return fmt::format("{}, axis {}, row {}", name, axis, row);
}
inline std::string damage_auxiliary(Input& input, const RightNumbers&, Mutation& dice) {
  const auto names = names_in(input, [](const ArrayName& name) { return name.factors(); });
  if (names.empty()) return "";
  const std::string name = one_of(names, dice);
  Dataset& data = input.arrays[name];
  const auto naux = static_cast<std::size_t>(data.shape[0]), plane = data.values.size() / naux;
  const std::size_t p = dice.one_in(2) ? naux - 1 : dice.below(naux), q = (p + 1 + dice.below(naux - 1)) % naux;
  const auto begin = [&](std::size_t n) { return data.values.begin() + static_cast<std::ptrdiff_t>(n * plane); };
  if (dice.one_in(2)) {
    std::fill(begin(p), begin(p) + static_cast<std::ptrdiff_t>(plane), 0.0);
    return fmt::format("{} zeroed in {}", p, name);
  }
  std::swap_ranges(begin(p), begin(p) + static_cast<std::ptrdiff_t>(plane), begin(q));
  return fmt::format("{} and {} exchanged in {}", p, q, name);
}

/// Another kind than that of the amplitudes, half of the time with another mistake, which must not pass under it.
inline std::string change_kind(Input& input, const RightNumbers& right, Mutation& dice) {
  using enum AmplitudeKind;
  std::vector<AmplitudeKind> others = {ccsd, lambda, regularized_ccsd, made_up};
  std::erase(others, input.info.amplitudes);
  input.info.amplitudes = one_of(others, dice);
  input.info.omega2 = input.info.amplitudes == regularized_ccsd ? 0.1 : 0.0;
  std::string what = "kind " + to_string(input.info.amplitudes);
  if (dice.one_in(2)) what += ", sign of " + change_sign(input, right, dice);
  return what;
}

inline std::string reorder_fock(Input& input, const RightNumbers&, Mutation& dice) {
  const auto names = names_in(input, [](const ArrayName& name) { return name.stem == "fock"; });
  if (names.empty()) return "";
  const bool reversed = dice.one_in(2);
  for (const std::string& name : names) {
    rearrange(input.arrays[name], [&, n = input.arrays[name].shape[0]](Index& p) {
      for (std::int64_t& k : p) k = reversed ? n - 1 - k : (k + 1) % n;
    });
  }
  return reversed ? "reversed" : "rotated by one orbital";
}
inline std::string ignore_fock_ov(Input& input, const RightNumbers&, Mutation& dice) {
  const auto names = names_in(input, [](const ArrayName& name) { return name.stem == "fock"; });
  if (names.empty()) return "";
  if (dice.one_in(3)) {
    input.info.fock_in_triples = FockInTriples::not_stated;
    return "fock_in_triples not stated";
  }
  for (const std::string& name : names) {
    Dataset& data = input.arrays[name];
    for (std::size_t n = 0; n < data.values.size(); ++n) {
      const Index p = index_of(data, n);
      if (p[0] != p[1]) data.values[n] = 0.0;
    }
  }
  return "diagonal Fock matrix";
}
inline std::string change_energy(Input& input, const RightNumbers& right, Mutation& dice) {
  if (!input.info.correlation_energy) return "";
  const double shift =
      one_of<double>({moved_energy(input, right) - *input.info.correlation_energy, 1e-3, 1e-6, 1e-7}, dice);
  *input.info.correlation_energy += shift;
  return fmt::format("by {}", shift);
}

/// Rotates two orbitals of a class and spin in all arrays, so that the Fock matrix is no longer diagonal. A right input
/// has the energy of the canonical orbitals.
inline std::string rotate_orbitals(Input& input, const RightNumbers&, Mutation& dice) {
  const std::string of_energies =
      one_of(names_in(input, [](auto& name) { return name.stem.starts_with("eps"); }), dice);
  const ArrayName turned(of_energies);
  const char space = turned.axes[0], spin = turned.spins[0];
  const std::string suffix = spin == ' ' ? "" : std::string("_") + spin;
  const std::int64_t o = input.arrays.at("eps_occ" + suffix).shape[0];
  const auto n = static_cast<std::size_t>(input.arrays.at(of_energies).shape[0]);
  const auto p = static_cast<std::int64_t>(dice.below(n));
  const auto q = static_cast<std::int64_t>((static_cast<std::size_t>(p) + 1 + dice.below(n - 1)) % n);
  const double angle = one_of<double>({0.01, 0.1, 0.7}, dice), c = std::cos(angle), s = std::sin(angle);
  for (auto& [name, data] : input.arrays) {
    const ArrayName parts(name);
    for (std::size_t axis = 0; axis < parts.axes.size() && parts.axes.size() > 1; ++axis) {
      if (parts.spins[axis] != spin || (parts.axes[axis] != space && parts.axes[axis] != 'f')) continue;
      const std::int64_t first = parts.axes[axis] == 'f' && space == 'v' ? o : 0;
      for (std::size_t at = 0; at < data.values.size(); ++at) {
        Index index = index_of(data, at);
        if (index[axis] != first + p) continue;
        index[axis] = first + q;
        double &x = data.values[at], &y = data.values[position_of(data, index)];
        std::tie(x, y) = std::pair(c * x + s * y, c * y - s * x);
      }
    }
  }
  double &x = input.arrays[of_energies].values[static_cast<std::size_t>(p)],
         &y = input.arrays[of_energies].values[static_cast<std::size_t>(q)];
  std::tie(x, y) = std::pair(c * c * x + s * s * y, s * s * x + c * c * y);
  return fmt::format("{} and {} of {} by {}", p, q, of_energies, angle);
}

inline const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> table = {
      {"sign", change_sign},
      {"factor", change_factor},
      {"zeros", make_zero},
      {"exchanged orbitals", exchange_orbitals},
      {"exchanged spins", exchange_spins},
      {"transposed axes", transpose_axes},
      {"spin-adapted amplitudes", adapt_spins},
      {"level shift", shift_levels},
      {"energies in eV", use_electronvolts},
      {"another geometry", move_atoms},
      {"another omega2", change_omega2},
      {"amplitudes of other side", use_other_side},
      {"damaged element", damage_element},
      {"zeroed row", zero_row},
      {"auxiliary function", damage_auxiliary},
      {"kind", change_kind},
      {"order of Fock matrix", reorder_fock},
      {"f_ia ignored", ignore_fock_ov},
      {"correlation energy", change_energy},
      {"rotated orbitals", rotate_orbitals},
  };
  return table;
}

}
