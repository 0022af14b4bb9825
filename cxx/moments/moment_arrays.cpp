#include "cxx/moments/moment_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse::moments {

namespace {

char letter(Spin s) {
  return s == alpha ? 'a' : 'b';
}

/// Integrals, by their names in a dump.
constexpr std::array<std::pair<const char*, ArrayOfSpins MomentInputs::*>, 6> integrals = {
    {{"oooo", &MomentInputs::oooo},
     {"ovoo", &MomentInputs::ovoo},
     {"oovv", &MomentInputs::oovv},
     {"ovov", &MomentInputs::ovov},
     {"ovvv", &MomentInputs::ovvv},
     {"kvvv", &MomentInputs::kvvv}}};

/// Returns the elements if they are in memory in C order without gaps, else null.
const double* in_place(const DenseArray& array) {
  const auto view = array.view();
  if (!view) return nullptr;
  const ArrayView c_order(view->data, {array.shape().begin(), array.shape().end()});
  const bool same =
      std::equal(view->stride.begin(), view->stride.end(), c_order.strides.begin(), c_order.strides.end());
  return same ? view->data : nullptr;
}

}

MomentArrays::MomentArrays(const DenseArrays& arrays, bool closed_shell) {
  inputs_.closed_shell = closed_shell;
  for (const Spin s : both_spins) {
    if (closed_shell && s == beta) break;
    read_spin(arrays, s);
    for (const Spin t : both_spins) {
      if (!closed_shell || t == beta) read_spins(arrays, s, t);
    }
  }
  if (!plain_.empty() && !antisymmetrised_.empty()) {
    throw InputError(
        fmt::format("{}: {} {} is antisymmetrised, and {} is not; {} all integrals of equal spins in one form.",
                    arrays.path(), arrays.words().array, antisymmetrised_, plain_, arrays.words().write));
  }
  inputs_.antisymmetrised = !antisymmetrised_.empty();
}

const double* MomentArrays::first(const DenseArrays& arrays, const std::string& name, bool required) {
  if (!required && !arrays.has(name)) return nullptr;
  const auto array = opened_.emplace_back(arrays.array(name));
  if (const double* const elements = in_place(*array)) return elements;
  Buffer& buffer = memory_.emplace_back(static_cast<std::size_t>(array->size()));
  array->read_all(buffer.span());
  return buffer.data();
}

const double* MomentArrays::of_equal_spins(const DenseArrays& arrays, const std::string& name) {
  if (const double* const elements = first(arrays, name)) {
    plain_ = name;
    return elements;
  }
  const double* const elements = first(arrays, "asym_" + name);
  if (elements != nullptr) antisymmetrised_ = "asym_" + name;
  return elements;
}

void MomentArrays::read_spin(const DenseArrays& arrays, Spin s) {
  const std::string spin = inputs_.closed_shell ? "" : std::string("_") + letter(s);
  inputs_.t1[s] = first(arrays, "t1" + spin, true);
  const auto shape = opened_.back()->shape();
  inputs_.holes[s] = shape[0];
  inputs_.particles[s] = shape[1];
  inputs_.fock[s] = first(arrays, "fock" + spin, true);
}

void MomentArrays::read_spins(const DenseArrays& arrays, Spin s, Spin t) {
  const bool closed_shell = inputs_.closed_shell;
  const std::string pairs = closed_shell ? "" : std::string("_") + letter(s) + letter(s) + letter(t) + letter(t);
  for (const auto& [name, blocks] : integrals) {
    const bool equal = !closed_shell && s == t;
    (inputs_.*blocks)[s][t] = equal ? of_equal_spins(arrays, name + pairs) : first(arrays, name + pairs);
  }
  if (s == beta && t == alpha) return;  // the same as for alpha, beta
  const std::string spins = closed_shell ? "" : std::string("_") + letter(s) + letter(t);
  inputs_.t2[s][t] = first(arrays, "t2" + spins, true);
  const double* const diagonals = first(arrays, "vvvv_diag" + spins);
  inputs_.vvvv_coulomb[s][t] = diagonals;
  if (diagonals != nullptr && (closed_shell || s == t)) {
    inputs_.vvvv_exchange[s] = diagonals + inputs_.particles[s] * inputs_.particles[s];
  }
}

}
