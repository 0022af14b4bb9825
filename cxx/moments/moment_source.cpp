#include "cxx/moments/moment_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>

#include "cxx/base/error.hpp"
#include "cxx/moments/block_arrays.hpp"
#include "cxx/moments/factored_arrays.hpp"
#include "tce_tiles/dense/dense_tiles.hpp"

namespace trifuse::moments {

namespace {

/// Calls `use` with each array of a kind that an input of this reference has.
template <typename Use>
void for_each_spec(ArrayKind kind, bool restricted, Use use) {
  for (const auto& list : {integral_arrays(restricted), exchange_arrays(restricted), moment_arrays(restricted)}) {
    for (const ArraySpec& spec : list) {
      if (spec.kind == kind) use(spec);
    }
  }
}

double bytes_of(const DenseInput& input, const MomentSide& side) {
  double numbers = 0.0;
  for (const ArrayKind kind : side.integrals) {
    if (kind != ArrayKind::ovvv && kind != ArrayKind::ovoo) continue;
    for_each_spec(kind, input.header.restricted,
                  [&](const ArraySpec& spec) { numbers += static_cast<double>(input.header.size(spec)); });
  }
  return numbers * sizeof(double);
}

/// Returns the arrays of a source as they are. Throws as arrays_of().
DenseInput own_arrays_of(const TileSource& source, const OrbitalsToBe& semicanonical) {
  if (const DenseInput* const input = dense_input_of(source)) return *input;
  if (source.has_all_integrals()) return arrays_of_blocks(source, semicanonical);
  throw InputError(
      fmt::format("{} ({}) has no integrals of four virtual orbitals, from which methods with moments make their "
                  "operands; use a dump or arrays.",
                  source.info().path, source.info().format));
}

}

DenseInput arrays_of(const TileSource& source, const TileSource* amplitudes, const OrbitalsToBe& semicanonical) {
  DenseInput input = own_arrays_of(source, semicanonical);
  if (amplitudes != nullptr) input = with_amplitudes(input, own_arrays_of(*amplitudes, {}));
  return input.factor_source != nullptr ? with_products_of_factors(input, semicanonical) : input;
}

void require_arrays(const DenseInput& input, std::span<const ArrayKind> kinds) {
  const bool restricted = input.header.restricted;
  const DenseArrays& arrays = *input.arrays;
  std::vector<std::string> absent;
  for (const ArrayKind kind : kinds) {
    for_each_spec(kind, restricted, [&](const ArraySpec& spec) {
      const auto other = antisymmetrised_alternative(spec);
      if (input.header.size(spec) > 0 && !arrays.has(spec.name) && !(other && arrays.has(other->name)))
        absent.push_back(spec.name);
    });
  }
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    const std::string fock = fock_dataset(spin, restricted);
    if ((spin == Spin::alpha || !restricted) && !arrays.has(fock)) absent.push_back(fock);
  }
  if (absent.empty()) return;
  throw InputError(fmt::format(
      "{} lacks {}, which methods with moments of CCSD need; {} them (the page of the dump format says how they are "
      "defined; the exporter writes them with --moments).",
      arrays.path(), fmt::join(absent, ", "), arrays.words().write));
}

const MomentSide right_moments = {
    {ArrayKind::ovvv, ArrayKind::ovoo, ArrayKind::ovov, ArrayKind::oovv, ArrayKind::oooo, ArrayKind::kvvv},
    &DressedInputs::right};
const MomentSide left_moments = {{ArrayKind::ovvv, ArrayKind::ovoo, ArrayKind::ovov}, &DressedInputs::left};
const MomentSide disconnected_triples = {{}, &DressedInputs::disconnected};
const MomentSide left_moments_of_gf = {right_moments.integrals, &DressedInputs::left_of_gf};

MomentSource::MomentSource(const TileSource& bare, const DenseInput& input, const MomentSide& side)
    : WrappedSource(bare),
      side_(side),
      bare_(input),
      bytes_(bytes_of(input, side)),
      tiles_(open_dense(std::make_shared<DenseInput>(input), dense_hole_tile, dense_particle_tile)->tiles()) {
  require_arrays(input, side.integrals);
}

std::vector<std::shared_ptr<const DenseArray>> MomentSource::other_arrays() const {
  std::vector<std::shared_ptr<const DenseArray>> found;
  const auto add = [&](const std::string& name) {
    if (bare_.arrays->has(name)) found.push_back(bare_.arrays->array(name));
  };
  const bool restricted = bare_.header.restricted;
  for (const ArrayKind kind :
       {ArrayKind::oovv, ArrayKind::oooo, ArrayKind::kvvv, ArrayKind::vvvv_diag, ArrayKind::vvvv_diag_semicanonical}) {
    for_each_spec(kind, restricted, [&](const ArraySpec& spec) {
      add(spec.name);
      if (const auto other = antisymmetrised_alternative(spec)) add(other->name);
    });
  }
  for (const Spin spin : distinct_spins(restricted)) add(fock_dataset(spin, restricted));
  return found;
}

void MomentSource::make(const DressedInputs& inputs) {
  if (made_ == nullptr) made_ = open_dense((inputs.*side_.make)(), dense_hole_tile, dense_particle_tile);
}

void MomentSource::read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const {
  if (made_ == nullptr) throw std::logic_error("Dressed integrals are read before they are made.");
  made_->read_block(tensor, tiles, block);
}

}
