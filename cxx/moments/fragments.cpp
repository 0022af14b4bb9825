#include "cxx/moments/fragments.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/moments/moment_arrays.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_tiles.hpp"

namespace trifuse::moments {

namespace {

/// Returns the elements of an array of an input.
Buffer read_array(const DenseArrays& arrays, const std::string& name, const std::vector<std::int64_t>& shape) {
  const auto array = open_with_shape(arrays, name, shape);
  Buffer elements(static_cast<std::size_t>(array->size()));
  array->read_all(elements.span());
  return elements;
}

/// Replaces a matrix by its symmetric part. Throws InputError if it is far from that.
void make_symmetric(double* matrix, std::size_t n, const ArrayLabel& label, std::size_t fragment) {
  constexpr double tolerance = 1e-8;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double &x = matrix[i * n + j], &y = matrix[j * n + i];
      if (std::abs(x - y) > tolerance) {
        throw InputError(fmt::format(
            "{}: the projector of fragment {}, counted from 0, is not symmetric, element [{},{}] is {:.10g} and "
            "[{},{}] is {:.10g}; {} P = u u^T of orbitals u.",
            label.text(), fragment, i, j, x, j, i, y, label.words.write));
      }
      x = y = 0.5 * (x + y);
    }
  }
}

}

Fragments::Fragments(const TileSource& source) : input_(dense_input_of(source)) {
  if (input_ == nullptr) return;
  const bool restricted = input_->header.restricted;
  const auto absent = [&](Spin s) { return !input_->arrays->has(fragments_dataset(s, restricted)); };
  if (absent(alpha) && (restricted || absent(beta))) return;
  for (const Spin s : both_spins) {
    if (!restricted || s == alpha) read(s);
  }
}

void Fragments::read(Spin spin) {
  const DenseHeader& header = input_->header;
  const std::string name = fragments_dataset(spin, header.restricted);
  const std::int64_t holes = header.size(hole_class(spin));
  if (holes == 0) return;
  if (!input_->arrays->has(name)) {
    throw InputError(fmt::format("{} is missing, but the projectors of the other spin are there; {} both.",
                                 input_->arrays->label(name).text(), input_->arrays->words().write));
  }
  const auto array = input_->arrays->array(name);
  const auto shape = array->shape();
  const bool right = shape.size() == 3 && shape[0] > 0 && shape[1] == holes && shape[2] == holes;
  if (!right || (count_ != 0 && static_cast<std::size_t>(shape[0]) != count_)) {
    throw InputError(fmt::format(
        "{} has the shape {}, but it must be [{},{},{}]: one projector on the occupied orbitals for each fragment{}.",
        array->label().text(), array->text_of_shape(), count_ != 0 ? fmt::to_string(count_) : "n", holes, holes,
        count_ != 0 ? ", as many for each spin" : ""));
  }
  count_ = static_cast<std::size_t>(shape[0]);
  std::vector<double>& values = projectors_[spin];
  values.resize(static_cast<std::size_t>(array->size()));
  array->read_all(values);
  check_finite(values, array->label());
  constexpr double largest_weight = 1e6;  // of matrices that weight orbitals; a projector has elements up to 1
  for (const double value : values) {
    if (std::abs(value) <= largest_weight) continue;
    throw InputError(
        fmt::format("{} has an element {:.3g}, but a projector has elements up to 1.", array->label().text(), value));
  }
  const auto n = static_cast<std::size_t>(holes);
  for (std::size_t f = 0; f < count_; ++f) make_symmetric(&values[f * n * n], n, array->label(), f);
}

std::array<double, 2> Fragments::digest() const {
  double sum = 0.0, weight = 0.0;
  for (const Spin s : both_spins) {
    for (const double p : projectors_[s]) sum += p * (weight += 1.0);
  }
  return {static_cast<double>(count_), sum};
}

ArrayView Fragments::projector(std::size_t fragment, Spin spin) const {
  const Spin place = input_->header.restricted ? alpha : spin;
  const std::int64_t n = input_->header.size(hole_class(place));
  return {projectors_[place].data() + fragment * static_cast<std::size_t>(n * n), {n, n}};
}

void Fragments::change_amplitudes(DressedArrays& arrays, std::size_t fragment, const Terms& terms) const {
  for (const ArraySpec& spec : amplitude_arrays(input_->header.restricted)) {
    if (spec.kind != ArrayKind::t2 || input_->header.size(spec) == 0) continue;
    const auto shape = input_->header.shape(spec);
    const Buffer elements = read_array(*input_->arrays, spec.name, shape);
    const ArrayView t2(elements.data(), shape);
    const Result changed = terms.zeros(arrays.add(spec.name, spec.name, shape), shape);
    terms.add(changed, "in,njab->ijab", 1.0, projector(fragment, spec.first), t2);
    terms.add(changed, "jn,inab->ijab", 1.0, projector(fragment, spec.second), t2);
    terms.finish(changed);
  }
}

void Fragments::change_integrals(DressedArrays& arrays, std::size_t fragment, const Terms& terms) const {
  const DenseArrays& bare = *input_->arrays;
  for (const ArrayKind kind : {ArrayKind::ovvv, ArrayKind::ovoo}) {
    const bool holes = kind == ArrayKind::ovoo;
    for (const auto& [s, t, shape, result] : add_new(arrays, input_->header, kind)) {
      const bool equal = !input_->header.restricted && s == t;
      const ArraySpec plain = array_spec(kind, input_->header.restricted, s, t);
      const bool antisymmetrised = equal && !bare.has(plain.name);
      const ArraySpec used = array_spec(kind, input_->header.restricted, s, t, antisymmetrised);
      const Buffer elements = read_array(bare, used.name, shape);
      const ArrayView v(elements.data(), shape), of_s = projector(fragment, s), of_t = projector(fragment, t);
      const Result changed = terms.zeros(result, shape);
      terms.add(changed, "in,napq->iapq", 1.0, of_s, v);
      if (holes) {
        terms.add(changed, "jn,ianl->iajl", 1.0, of_t, v);
        terms.add(changed, "ln,iajn->iajl", -1.0, of_t, v);
      }
      if (equal && !antisymmetrised) terms.antisymmetrise(changed, holes ? 0 : 1, 2);
      terms.finish(changed);
    }
  }
}

std::unique_ptr<TileSource> Fragments::side(std::size_t fragment, FragmentSide side, int threads) const {
  const Terms terms(contract_on_cores(threads), threads);
  auto arrays = std::make_shared<DressedArrays>(input_->arrays);
  if (side == FragmentSide::amplitudes) {
    change_amplitudes(*arrays, fragment, terms);
  } else {
    change_integrals(*arrays, fragment, terms);
  }
  return open_dense(with_arrays(*input_, std::move(arrays)), dense_hole_tile, dense_particle_tile);
}

}
