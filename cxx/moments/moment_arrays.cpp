#include "cxx/moments/moment_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "cxx/base/error.hpp"
#include "cxx/base/shape_text.hpp"

namespace trifuse::moments {

namespace {

/// Integrals, by their names in a dump.
struct Member {
  const char* name;
  ArrayKind kind;
  ArrayOfSpins MomentInputs::*blocks;
};
constexpr std::array<Member, 5> members = {{{"oooo", ArrayKind::oooo, &MomentInputs::oooo},
                                            {"ovoo", ArrayKind::ovoo, &MomentInputs::ovoo},
                                            {"oovv", ArrayKind::oovv, &MomentInputs::oovv},
                                            {"ovov", ArrayKind::ovov, &MomentInputs::ovov},
                                            {"ovvv", ArrayKind::ovvv, &MomentInputs::ovvv}}};

}

const double* in_place(const DenseArray& array) {
  const auto view = array.view();
  if (!view) return nullptr;
  const ArrayView c_order(view->data, {array.shape().begin(), array.shape().end()});
  const bool same =
      std::equal(view->stride.begin(), view->stride.end(), c_order.strides.begin(), c_order.strides.end());
  return same ? view->data : nullptr;
}

std::shared_ptr<const DenseArray> open_with_shape(const DenseArrays& arrays, const std::string& name,
                                                  const std::vector<std::int64_t>& shape) {
  auto array = arrays.array(name);
  if (!std::equal(shape.begin(), shape.end(), array->shape().begin(), array->shape().end())) {
    throw InputError(fmt::format("{} has the shape {}, but the orbitals need {}; {} all elements.",
                                 array->label().text(), array->text_of_shape(), shape_text(shape),
                                 arrays.words().write));
  }
  return array;
}

MomentArrays::MomentArrays(const DenseArrays& arrays, const DenseHeader& header,
                           const std::vector<std::string>& integrals, ArrayKind diagonals) {
  const bool closed_shell = header.restricted;
  const Input input{arrays, header, diagonals};
  inputs_.closed_shell = closed_shell;
  for (const Spin s : both_spins) {
    if (closed_shell && s == beta) break;
    read_spin(input, s);
    for (const Spin t : both_spins) {
      if (!closed_shell || t == beta) read_spins(input, integrals, s, t);
    }
  }
  if (!plain_.empty() && !antisymmetrised_.empty()) {
    throw InputError(
        fmt::format("{}: {} {} is antisymmetrised, and {} is not; {} all integrals of equal spins in one form.",
                    arrays.path(), arrays.words().array, antisymmetrised_, plain_, arrays.words().write));
  }
  inputs_.antisymmetrised = !antisymmetrised_.empty();
}

const double* MomentArrays::first(const Input& input, const std::string& name, const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return nullptr;
  const auto array = opened_.emplace_back(open_with_shape(input.arrays, name, shape));
  if (const double* const elements = in_place(*array)) return elements;
  Buffer& buffer = memory_.emplace_back(static_cast<std::size_t>(array->size()));
  array->read_all(buffer.span());
  return buffer.data();
}

const double* MomentArrays::integrals_of(const Input& input, const ArraySpec& spec) {
  const auto other = antisymmetrised_alternative(spec);
  const bool antisymmetrised = other && !input.arrays.has(spec.name) && input.arrays.has(other->name);
  const std::string& used = antisymmetrised ? other->name : spec.name;
  const double* const elements = first(input, used, input.header.shape(spec));
  if (other && elements != nullptr) (antisymmetrised ? antisymmetrised_ : plain_) = used;
  return elements;
}

void MomentArrays::read_spin(const Input& input, Spin s) {
  const bool closed_shell = inputs_.closed_shell;
  const ArraySpec t1 = array_spec(ArrayKind::t1, closed_shell, s, s);
  const auto shape = input.header.shape(t1);
  const std::int64_t holes = shape[0], particles = shape[1];
  inputs_.holes[s] = holes;
  inputs_.particles[s] = particles;
  inputs_.t1[s] = first(input, t1.name, shape);
  inputs_.fock[s] = first(input, fock_dataset(s, closed_shell), {holes + particles, holes + particles});
}

void MomentArrays::read_spins(const Input& input, const std::vector<std::string>& integrals, Spin s, Spin t) {
  const bool closed_shell = inputs_.closed_shell;
  for (const auto& [name, kind, blocks] : members) {
    // These blocks are the same for beta, alpha.
    const bool once = s == beta && t == alpha && (kind == ArrayKind::oooo || kind == ArrayKind::ovov);
    if (once || std::find(integrals.begin(), integrals.end(), name) == integrals.end()) continue;
    (inputs_.*blocks)[s][t] = integrals_of(input, array_spec(kind, closed_shell, s, t));
  }
  if (s == beta && t == alpha) return;
  const ArraySpec t2 = array_spec(ArrayKind::t2, closed_shell, s, t),
                  diagonals = array_spec(input.diagonals, closed_shell, s, t);
  inputs_.t2[s][t] = first(input, t2.name, input.header.shape(t2));
  if (!input.arrays.has(diagonals.name)) return;
  const auto shape = input.header.shape(diagonals);
  inputs_.vvvv_coulomb[s][t] = first(input, diagonals.name, shape);
  if (diagonals.matrices > 1) inputs_.vvvv_exchange[s] = inputs_.vvvv_coulomb[s][t] + shape[1] * shape[2];
}

}
