#include "tce_tiles/dense/array_specs.hpp"

#include <array>

namespace trifuse {
namespace {

constexpr std::array<ArrayKind, 3> integral_kinds = {ArrayKind::ovvv, ArrayKind::ovoo, ArrayKind::ovov};
constexpr std::array<Spin, 2> spins = {Spin::alpha, Spin::beta};

char letter(Spin s) {
  return s == Spin::alpha ? 'a' : 'b';
}

std::string stem(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::t1:
      return "t1";
    case ArrayKind::t2:
      return "t2";
    case ArrayKind::ovvv:
      return "ovvv";
    case ArrayKind::ovoo:
      return "ovoo";
    case ArrayKind::ovov:
      return "ovov";
    case ArrayKind::oovv:
      return "oovv";
    case ArrayKind::oooo:
      return "oooo";
    case ArrayKind::kvvv:
      return "kvvv";
    case ArrayKind::ladder:
      return "ladder";
    case ArrayKind::vvvv_diag:
      return "vvvv_diag";
    case ArrayKind::vvvv_diag_semicanonical:
      return "vvvv_diag_semicanonical";
  }
  return "?";
}

/// Returns true if the indices of an array are two electrons in bra and ket, as those of t2; they are not pairs
/// (pq|rs).
bool by_electrons(ArrayKind kind) {
  return kind == ArrayKind::t1 || kind == ArrayKind::t2 || kind == ArrayKind::ladder || are_diagonals(kind);
}

}

std::string orbital_count_name(OrbitalClass c, bool restricted) {
  std::string name = space_of(c) == Space::hole ? "o" : "v";
  if (!restricted) name += letter(spin_of(c));
  return name;
}

ArraySpec array_spec(ArrayKind kind, bool restricted, Spin first, Spin second, bool antisymmetrised) {
  ArraySpec spec{kind, first, second, antisymmetrised, (antisymmetrised ? "asym_" : "") + stem(kind), {}};
  switch (kind) {
    case ArrayKind::t1:
      spec.axes = {hole_class(first), particle_class(first)};
      break;
    case ArrayKind::t2:
    case ArrayKind::ladder:
      spec.axes = {hole_class(first), hole_class(second), particle_class(first), particle_class(second)};
      break;
    case ArrayKind::ovvv:
    case ArrayKind::kvvv:
      spec.axes = {hole_class(first), particle_class(first), particle_class(second), particle_class(second)};
      break;
    case ArrayKind::ovoo:
      spec.axes = {hole_class(first), particle_class(first), hole_class(second), hole_class(second)};
      break;
    case ArrayKind::ovov:
      spec.axes = {hole_class(first), particle_class(first), hole_class(second), particle_class(second)};
      break;
    case ArrayKind::oovv:
      spec.axes = {hole_class(first), hole_class(first), particle_class(second), particle_class(second)};
      break;
    case ArrayKind::oooo:
      spec.axes = {hole_class(first), hole_class(first), hole_class(second), hole_class(second)};
      break;
    case ArrayKind::vvvv_diag:
    case ArrayKind::vvvv_diag_semicanonical:
      // (ab|ab) of two spins is zero.
      spec.matrices = restricted || first == second ? 2 : 1;
      spec.axes = {particle_class(first), particle_class(second)};
      break;
  }
  if (restricted) return spec;
  spec.name += '_';
  spec.name += letter(first);
  if (kind == ArrayKind::t1) return spec;
  if (!by_electrons(kind)) spec.name += {letter(first), letter(second)};
  spec.name += letter(second);
  return spec;
}

std::vector<ArraySpec> amplitude_arrays(bool restricted) {
  if (restricted) {
    return {array_spec(ArrayKind::t1, true, Spin::alpha, Spin::alpha),
            array_spec(ArrayKind::t2, true, Spin::alpha, Spin::beta)};
  }
  return {array_spec(ArrayKind::t1, false, Spin::alpha, Spin::alpha),
          array_spec(ArrayKind::t1, false, Spin::beta, Spin::beta),
          array_spec(ArrayKind::t2, false, Spin::alpha, Spin::alpha),
          array_spec(ArrayKind::t2, false, Spin::alpha, Spin::beta),
          array_spec(ArrayKind::t2, false, Spin::beta, Spin::beta)};
}

std::vector<ArraySpec> integral_arrays(bool restricted) {
  std::vector<ArraySpec> arrays;
  for (const ArrayKind kind : integral_kinds) {
    if (restricted) {
      arrays.push_back(array_spec(kind, true, Spin::alpha, Spin::beta));
      continue;
    }
    for (const Spin first : spins) {
      for (const Spin second : spins) {
        if (kind == ArrayKind::ovov && first == Spin::beta && second == Spin::alpha) continue;
        arrays.push_back(array_spec(kind, false, first, second));
      }
    }
  }
  return arrays;
}

std::optional<ArraySpec> antisymmetrised_alternative(const ArraySpec& spec) {
  if (spec.first != spec.second || by_electrons(spec.kind)) return std::nullopt;
  return array_spec(spec.kind, false, spec.first, spec.second, true);
}

std::vector<ArraySpec> exchange_arrays(bool restricted) {
  if (restricted) return {array_spec(ArrayKind::oovv, true, Spin::alpha, Spin::beta)};
  return {array_spec(ArrayKind::oovv, false, Spin::alpha, Spin::alpha),
          array_spec(ArrayKind::oovv, false, Spin::beta, Spin::beta)};
}

std::vector<ArraySpec> moment_arrays(bool restricted) {
  constexpr std::array kinds = {ArrayKind::oooo, ArrayKind::kvvv, ArrayKind::ladder, ArrayKind::vvvv_diag,
                                ArrayKind::vvvv_diag_semicanonical};
  std::vector<ArraySpec> arrays;
  if (!restricted) {
    arrays = {array_spec(ArrayKind::oovv, false, Spin::alpha, Spin::beta),
              array_spec(ArrayKind::oovv, false, Spin::beta, Spin::alpha)};
  }
  for (const ArrayKind kind : kinds) {
    for (const Spin first : spins) {
      for (const Spin second : spins) {
        if (restricted ? first == second || first == Spin::beta
                       : kind != ArrayKind::kvvv && first == Spin::beta && second == Spin::alpha) {
          continue;
        }
        arrays.push_back(array_spec(kind, restricted, first, second));
      }
    }
  }
  return arrays;
}

std::vector<FactorSpec> factor_arrays(bool restricted) {
  std::vector<FactorSpec> arrays;
  for (const Spin spin : spins) {
    if (restricted && spin == Spin::beta) break;
    const OrbitalClass hole = hole_class(spin), particle = particle_class(spin);
    const std::string suffix = restricted ? "" : std::string("_") + letter(spin);
    arrays.push_back({"factors_oo" + suffix, hole, hole});
    arrays.push_back({"factors_ov" + suffix, hole, particle});
    arrays.push_back({"factors_vv" + suffix, particle, particle});
  }
  return arrays;
}

std::string class_dataset(const std::string& stem, OrbitalClass c, bool restricted) {
  std::string name = stem + (space_of(c) == Space::hole ? "_occ" : "_vir");
  if (!restricted) (name += '_') += letter(spin_of(c));
  return name;
}

std::string fock_dataset(Spin spin, bool restricted) {
  return restricted ? "fock" : std::string("fock_") + letter(spin);
}

std::string fragments_dataset(Spin spin, bool restricted) {
  return restricted ? "fragments" : std::string("fragments_") + letter(spin);
}

std::vector<std::string> array_names(bool restricted) {
  std::vector<std::string> names;
  for (const auto& arrays : {amplitude_arrays(restricted), integral_arrays(restricted), exchange_arrays(restricted),
                             moment_arrays(restricted)}) {
    for (const ArraySpec& spec : arrays) {
      names.push_back(spec.name);
      if (const auto other = antisymmetrised_alternative(spec)) names.push_back(other->name);
    }
  }
  for (const FactorSpec& spec : factor_arrays(restricted)) names.push_back(spec.name);
  for (const Spin spin : spins) {
    if (restricted && spin == Spin::beta) break;
    names.push_back(fock_dataset(spin, restricted));
    names.push_back(fragments_dataset(spin, restricted));
    for (const OrbitalClass c : {hole_class(spin), particle_class(spin)}) {
      for (const char* stem : {"eps", "irrep"}) names.push_back(class_dataset(stem, c, restricted));
    }
  }
  return names;
}

}
