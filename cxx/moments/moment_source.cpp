#include "cxx/moments/moment_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "cxx/base/error.hpp"
#include "cxx/moments/dressed_input.hpp"
#include "tce_tiles/dense/dense_tiles.hpp"

namespace trifuse::moments {

namespace {

const DenseInput& input_of(const TileSource& source) {
  const DenseInput* const input = source.factors() == nullptr ? dense_input_of(source) : nullptr;
  if (input != nullptr) return *input;
  throw InputError(fmt::format(
      "{} ({}) has no whole arrays of integrals, from which the methods ct, cr-t, 2t and cr-cc23 make their operands; "
      "give "
      "a dump or arrays of whole integrals (the exporter writes such a dump with --moments and without --density-fit).",
      source.info().path, source.info().format));
}

/// Calls `use` with each array of a kind that an input of this reference has.
template <typename Use>
void for_each_spec(ArrayKind kind, bool restricted, Use use) {
  for (const auto& list : {integral_arrays(restricted), exchange_arrays(restricted), moment_arrays(restricted)}) {
    for (const ArraySpec& spec : list) {
      if (spec.kind == kind) use(spec);
    }
  }
}

}

const MomentSide right_moments = {
    {ArrayKind::ovvv, ArrayKind::ovoo, ArrayKind::ovov, ArrayKind::oovv, ArrayKind::oooo, ArrayKind::kvvv},
    right_input};
const MomentSide left_moments = {{ArrayKind::ovvv, ArrayKind::ovoo, ArrayKind::ovov}, left_input};

MomentSource::MomentSource(const TileSource& bare, const MomentSide& side)
    : WrappedSource(bare),
      side_(side),
      input_(input_of(bare)),
      tiles_(open_dense(std::make_shared<DenseInput>(input_), dense_hole_tile, dense_particle_tile)->tiles()) {
  const bool restricted = input_.header.restricted;
  const DenseArrays& arrays = *input_.arrays;
  std::vector<std::string> absent;
  for (const ArrayKind kind : side.arrays) {
    for_each_spec(kind, restricted, [&](const ArraySpec& spec) {
      const auto other = antisymmetrised_alternative(spec);
      if (input_.header.size(spec) > 0 && !arrays.has(spec.name) && !(other && arrays.has(other->name)))
        absent.push_back(spec.name);
    });
  }
  if (!bare.has_fock()) absent.push_back(restricted ? "fock" : "fock_a and fock_b");
  if (absent.empty()) return;
  throw InputError(
      fmt::format("{} lacks {}, which the methods ct, cr-t, 2t and cr-cc23 need; {} them (the page of the dump format "
                  "says how they are "
                  "defined; the exporter writes them with --moments).",
                  arrays.path(), fmt::join(absent, ", "), arrays.words().write));
}

void MomentSource::make(int threads, const Contract& contract) {
  if (made_ != nullptr) return;
  made_ = open_dense(side_.make(input_, threads, contract), dense_hole_tile, dense_particle_tile);
}

double MomentSource::bytes() const {
  double numbers = 0.0;
  for (const ArrayKind kind : {ArrayKind::ovvv, ArrayKind::ovoo}) {
    for_each_spec(kind, input_.header.restricted,
                  [&](const ArraySpec& spec) { numbers += static_cast<double>(input_.header.size(spec)); });
  }
  return numbers * sizeof(double);
}

void MomentSource::read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const {
  if (made_ == nullptr) throw std::logic_error("Dressed integrals are read before they are made.");
  made_->read_block(tensor, tiles, block);
}

}
