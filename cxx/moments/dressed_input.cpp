#include "cxx/moments/dressed_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/moments/dressed_arrays.hpp"
#include "cxx/moments/moment_arrays.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"

namespace trifuse::moments {

namespace {

/// The arrays of an input, with the amplitudes of another one and their products with integrals.
class OtherAmplitudes final : public DenseArrays {
 public:
  OtherAmplitudes(std::shared_ptr<const DenseArrays> integrals, std::shared_ptr<const DenseArrays> amplitudes)
      : integrals_(std::move(integrals)), amplitudes_(std::move(amplitudes)) {}

  const std::string& path() const override { return amplitudes_->path(); }
  ArrayWords words() const override { return amplitudes_->words(); }
  bool has(const std::string& name) const override { return of(name).has(name); }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override { return of(name).array(name); }

 private:
  const DenseArrays& of(const std::string& name) const {
    const std::string_view plain = std::string_view(name).substr(name.starts_with("asym_") ? 5 : 0);
    const bool other = plain.starts_with("t1") || plain.starts_with("t2") || plain.starts_with("kvvv");
    return other ? *amplitudes_ : *integrals_;
  }
  std::shared_ptr<const DenseArrays> integrals_, amplitudes_;
};

/// Writes F to both places of a copy of the Fock matrix.
void add_fock(DressedArrays& arrays, const MomentOperands& operands, Spin s, const std::string& name) {
  const auto fock = arrays.bare().array(name);
  const auto orbitals = static_cast<std::size_t>(fock->shape()[0]);
  double* const elements = arrays.add(name, name, {fock->shape()[0], fock->shape()[1]});
  fock->read_all({elements, orbitals * orbitals});
  const OwnedArray f = operands.fov(s);
  const auto holes = static_cast<std::size_t>(f.view().extents[0]);
  for (std::size_t i = 0; i < holes; ++i) {
    for (std::size_t p = holes; p < orbitals; ++p) {
      elements[i * orbitals + p] = elements[p * orbitals + i] = f.view().first[i * (orbitals - holes) + p - holes];
    }
  }
}

}

DressedInputs::DressedInputs(const DenseInput& input, const std::vector<std::string>& integrals, int threads,
                             Contract contract, ArrayKind diagonals)
    : input_(input),
      bare_(*input.arrays, input.header, integrals, diagonals),
      threads_(threads),
      contract_(std::move(contract)),
      operands_(bare_.inputs(), threads_, contract_) {}

std::shared_ptr<DenseInput> DressedInputs::right() const {
  return with_arrays(input_, with_moments());
}

std::shared_ptr<DressedArrays> DressedInputs::with_moments() const {
  const bool closed_shell = input_.header.restricted;
  auto arrays = std::make_shared<DressedArrays>(input_.arrays);
  MomentInputs inputs = bare_.inputs();
  const auto v = add_new(*arrays, input_.header, ArrayKind::ovvv), o = add_new(*arrays, input_.header, ArrayKind::ovoo);
  std::vector<std::shared_ptr<const DenseArray>> opened;
  for (const auto& [s, t, shape, elements] : v) {
    const ArraySpec spec = array_spec(ArrayKind::kvvv, closed_shell, s, t, s == t && inputs.antisymmetrised);
    const auto k = opened.emplace_back(open_with_shape(*input_.arrays, spec.name, shape));
    inputs.kvvv[s][t] = in_place(*k);
    if (inputs.kvvv[s][t] != nullptr) continue;
    k->read_all({elements, static_cast<std::size_t>(k->size())});
    inputs.kvvv[s][t] = elements;
  }
  MomentOperands operands(inputs, threads_, contract_);
  for (const auto& [s, t, shape, elements] : v) operands.right_ovvv(s, t, elements);
  for (const auto& [s, t, shape, elements] : o) operands.right_ovoo(s, t, elements);
  return arrays;
}

std::shared_ptr<DenseInput> DressedInputs::left() const {
  const bool closed_shell = input_.header.restricted;
  auto arrays = std::make_shared<DressedArrays>(input_.arrays);
  for (const auto& [s, t, shape, elements] : add_new(*arrays, input_.header, ArrayKind::ovvv))
    operands_.left_ovvv(s, t, elements);
  for (const auto& [s, t, shape, elements] : add_new(*arrays, input_.header, ArrayKind::ovoo))
    operands_.left_ovoo(s, t, elements);
  for (const Spin s : both_spins) {
    if (!closed_shell || s == alpha) add_fock(*arrays, operands_, s, fock_dataset(s, closed_shell));
  }
  return with_arrays(input_, std::move(arrays));
}

std::shared_ptr<DenseInput> DressedInputs::disconnected() const {
  auto arrays = std::make_shared<DressedArrays>(input_.arrays);
  for (const ArraySpec& spec : amplitude_arrays(input_.header.restricted)) {
    if (spec.kind != ArrayKind::t2 || input_.header.size(spec) == 0) continue;
    operands_.c2(spec.first, spec.second, arrays->add(spec.name, spec.name, input_.header.shape(spec)));
  }
  return with_arrays(input_, std::move(arrays));
}

std::shared_ptr<DenseInput> DressedInputs::left_of_gf() const {
  const bool closed_shell = input_.header.restricted;
  const auto arrays = with_moments();
  const Terms terms(contract_, threads_);
  for (const auto& [s, t, shape, elements] : add_new(*arrays, input_.header, ArrayKind::ovov)) {
    if (!closed_shell && s == beta && t == alpha) continue;
    OwnedArray c2 = terms.make({shape[0], shape[2], shape[1], shape[3]});
    operands_.c2(s, t, c2.result().first);
    const Result result = terms.zeros(elements, shape);
    terms.add(result, "ijab->iajb", 1.0, c2.view());
    terms.finish(result);
  }
  return with_arrays(input_, arrays);
}

DenominatorTables DressedInputs::denominators(const OrbitalVectors& semicanonical) const {
  const RotatedInputs rotated(bare_.inputs(), semicanonical, threads_);
  return DenominatorTables(MomentOperands(rotated.inputs(), threads_, contract_));
}

DenseInput with_amplitudes(const DenseInput& input, const DenseInput& amplitudes) {
  DenseInput result = input;
  result.arrays = std::make_shared<OtherAmplitudes>(input.arrays, amplitudes.arrays);
  return result;
}

}
