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
constexpr std::array<std::pair<const char*, ArrayOfSpins MomentInputs::*>, 5> members = {
    {{"oooo", &MomentInputs::oooo},
     {"ovoo", &MomentInputs::ovoo},
     {"oovv", &MomentInputs::oovv},
     {"ovov", &MomentInputs::ovov},
     {"ovvv", &MomentInputs::ovvv}}};

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

std::string letters_of_pairs(Spin s, Spin t) {
  return {'_', letter(s), letter(s), letter(t), letter(t)};
}

MomentArrays::MomentArrays(const DenseArrays& arrays, bool closed_shell, const std::vector<std::string>& integrals) {
  inputs_.closed_shell = closed_shell;
  for (const Spin s : both_spins) {
    if (closed_shell && s == beta) break;
    read_spin(arrays, s);
    for (const Spin t : both_spins) {
      if (!closed_shell || t == beta) read_spins(arrays, integrals, s, t);
    }
  }
  if (!plain_.empty() && !antisymmetrised_.empty()) {
    throw InputError(
        fmt::format("{}: {} {} is antisymmetrised, and {} is not; {} all integrals of equal spins in one form.",
                    arrays.path(), arrays.words().array, antisymmetrised_, plain_, arrays.words().write));
  }
  inputs_.antisymmetrised = !antisymmetrised_.empty();
}

const double* MomentArrays::first(const DenseArrays& arrays, const std::string& name) {
  const auto array = opened_.emplace_back(arrays.array(name));
  if (const double* const elements = in_place(*array)) return elements;
  Buffer& buffer = memory_.emplace_back(static_cast<std::size_t>(array->size()));
  array->read_all(buffer.span());
  return buffer.data();
}

const double* MomentArrays::of_equal_spins(const DenseArrays& arrays, const std::string& name) {
  const bool antisymmetrised = !arrays.has(name) && arrays.has("asym_" + name);
  std::string& used = antisymmetrised ? antisymmetrised_ : plain_;
  used = antisymmetrised ? "asym_" + name : name;
  return first(arrays, used);
}

void MomentArrays::read_spin(const DenseArrays& arrays, Spin s) {
  const std::string spin = inputs_.closed_shell ? "" : std::string("_") + letter(s);
  inputs_.t1[s] = first(arrays, "t1" + spin);
  const auto shape = opened_.back()->shape();
  inputs_.holes[s] = shape[0];
  inputs_.particles[s] = shape[1];
  inputs_.fock[s] = first(arrays, "fock" + spin);
}

void MomentArrays::read_spins(const DenseArrays& arrays, const std::vector<std::string>& integrals, Spin s, Spin t) {
  const bool closed_shell = inputs_.closed_shell;
  for (const auto& [name, blocks] : members) {
    // One block is enough of those that are the same for beta, alpha.
    const bool once = s == beta && t == alpha && (blocks == &MomentInputs::oooo || blocks == &MomentInputs::ovov);
    if (once || std::find(integrals.begin(), integrals.end(), name) == integrals.end()) continue;
    const std::string of_spins = name + (closed_shell ? "" : letters_of_pairs(s, t));
    (inputs_.*blocks)[s][t] = !closed_shell && s == t ? of_equal_spins(arrays, of_spins) : first(arrays, of_spins);
  }
  if (s == beta && t == alpha) return;
  const std::string spins = closed_shell ? "" : std::string("_") + letter(s) + letter(t);
  inputs_.t2[s][t] = first(arrays, "t2" + spins);
  if (!arrays.has("vvvv_diag" + spins)) return;
  inputs_.vvvv_coulomb[s][t] = first(arrays, "vvvv_diag" + spins);
  if (closed_shell || s == t) {
    inputs_.vvvv_exchange[s] = inputs_.vvvv_coulomb[s][t] + inputs_.particles[s] * inputs_.particles[s];
  }
}

}
