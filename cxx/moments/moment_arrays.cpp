#include "cxx/moments/moment_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/shape_text.hpp"

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

}

const double* in_place(const DenseArray& array) {
  const auto view = array.view();
  if (!view) return nullptr;
  const ArrayView c_order(view->data, {array.shape().begin(), array.shape().end()});
  const bool same =
      std::equal(view->stride.begin(), view->stride.end(), c_order.strides.begin(), c_order.strides.end());
  return same ? view->data : nullptr;
}

std::string letters_of_pairs(Spin s, Spin t) {
  return {'_', letter(s), letter(s), letter(t), letter(t)};
}

std::vector<std::int64_t> shape_of(const DenseHeader& header, std::string_view spaces, const std::vector<Spin>& spins) {
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 0; axis < spaces.size(); ++axis) {
    shape.push_back(header.size(spaces[axis] == 'o' ? hole_class(spins[axis]) : particle_class(spins[axis])));
  }
  return shape;
}

bool is_empty(const std::vector<std::int64_t>& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
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
                           const std::vector<std::string>& integrals) {
  const bool closed_shell = header.restricted;
  const Input input{arrays, header};
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
  if (is_empty(shape)) return nullptr;
  const auto array = opened_.emplace_back(open_with_shape(input.arrays, name, shape));
  if (const double* const elements = in_place(*array)) return elements;
  Buffer& buffer = memory_.emplace_back(static_cast<std::size_t>(array->size()));
  array->read_all(buffer.span());
  return buffer.data();
}

const double* MomentArrays::of_equal_spins(const Input& input, const std::string& name,
                                           const std::vector<std::int64_t>& shape) {
  const bool antisymmetrised = !input.arrays.has(name) && input.arrays.has("asym_" + name);
  const std::string used = (antisymmetrised ? "asym_" : "") + name;
  const double* const elements = first(input, used, shape);
  if (elements != nullptr) (antisymmetrised ? antisymmetrised_ : plain_) = used;
  return elements;
}

void MomentArrays::read_spin(const Input& input, Spin s) {
  const std::string spin = inputs_.closed_shell ? "" : std::string("_") + letter(s);
  const auto shape = shape_of(input.header, "ov", {s, s});
  const std::int64_t holes = shape[0], particles = shape[1];
  inputs_.holes[s] = holes;
  inputs_.particles[s] = particles;
  inputs_.t1[s] = first(input, "t1" + spin, shape);
  inputs_.fock[s] = first(input, "fock" + spin, {holes + particles, holes + particles});
}

void MomentArrays::read_spins(const Input& input, const std::vector<std::string>& integrals, Spin s, Spin t) {
  const bool closed_shell = inputs_.closed_shell;
  for (const auto& [name, blocks] : members) {
    // One block is enough of those that are the same for beta, alpha.
    const bool once = s == beta && t == alpha && (blocks == &MomentInputs::oooo || blocks == &MomentInputs::ovov);
    if (once || std::find(integrals.begin(), integrals.end(), name) == integrals.end()) continue;
    const std::string of_spins = name + (closed_shell ? "" : letters_of_pairs(s, t));
    const auto shape = shape_of(input.header, name, {s, s, t, t});
    (inputs_.*blocks)[s][t] =
        !closed_shell && s == t ? of_equal_spins(input, of_spins, shape) : first(input, of_spins, shape);
  }
  if (s == beta && t == alpha) return;
  const std::string spins = closed_shell ? "" : std::string("_") + letter(s) + letter(t);
  inputs_.t2[s][t] = first(input, "t2" + spins, shape_of(input.header, "oovv", {s, t, s, t}));
  if (!input.arrays.has("vvvv_diag" + spins)) return;
  const bool exchange = closed_shell || s == t;
  const auto shape = shape_of(input.header, "vv", {s, t});
  inputs_.vvvv_coulomb[s][t] = first(input, "vvvv_diag" + spins, {exchange ? 2 : 1, shape[0], shape[1]});
  if (exchange) inputs_.vvvv_exchange[s] = inputs_.vvvv_coulomb[s][t] + shape[0] * shape[1];
}

}
