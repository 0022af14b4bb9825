#include "cxx/rotation/semicanonical.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cxx/base/copy_box.hpp"
#include "cxx/base/error.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/memory_source.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse {

namespace {

/// A matrix in rotated orbitals between two orbital ranges.
struct RotatedMatrix {
  const OrbitalRotation::Range* upper = nullptr;
  const OrbitalRotation::Range* lower = nullptr;
  std::vector<double> values;  ///< [upper orbital, lower orbital]
};
/// The matrices by the numbers of their upper and lower orbital range.
using RotatedMatrices = std::map<std::pair<std::size_t, std::size_t>, RotatedMatrix>;

/// Returns the offset of the block of two tiles in the matrix of their orbital ranges.
std::int64_t offset_of(const RotatedMatrix& matrix, const Tile& upper, const Tile& lower) {
  return (upper.offset - matrix.upper->offset) * matrix.lower->size + (lower.offset - matrix.lower->offset);
}

/// Reads all blocks of F1 or T1, those of `index`, and rotates both indices.
RotatedMatrices rotated_matrices(const TileSource& source, TensorKind tensor, const BlockIndex& index,
                                 const OrbitalRotation& rotation) {
  const TileSpace& space = source.tiles();
  RotatedMatrices matrices;
  std::vector<double> block;
  for (const Block& b : index.blocks()) {
    const Tile &u = space[b.tiles[0]], &l = space[b.tiles[1]];
    const std::pair ranges{rotation.range_of(u), rotation.range_of(l)};
    RotatedMatrix& matrix = matrices[ranges];
    if (matrix.values.empty()) {
      matrix.upper = &rotation.ranges()[ranges.first];
      matrix.lower = &rotation.ranges()[ranges.second];
      matrix.values.resize(static_cast<std::size_t>(matrix.upper->size * matrix.lower->size));
    }
    block.resize(static_cast<std::size_t>(b.size));
    source.read_block(tensor, b.tiles, block);
    copy_matrix(u.size, l.size, block.data(), l.size, matrix.values.data() + offset_of(matrix, u, l),
                matrix.lower->size);
  }
  for (auto& [ranges, matrix] : matrices) {
    std::vector<double> turned(matrix.values.size());
    rotate_index(*matrix.lower, 1, matrix.upper->size, matrix.values.data(), turned.data());
    rotate_index(*matrix.upper, matrix.lower->size, 1, turned.data(), matrix.values.data());
  }
  return matrices;
}

/// Copies the block [u, l] of two tiles to `block`.
void copy_block(const RotatedMatrices& matrices, const OrbitalRotation& rotation, const Tile& u, const Tile& l,
                std::span<double> block) {
  const RotatedMatrix& matrix = matrices.at({rotation.range_of(u), rotation.range_of(l)});
  copy_matrix(u.size, l.size, matrix.values.data() + offset_of(matrix, u, l), matrix.lower->size, block.data(), l.size);
}

/// Returns all blocks, or with `opposite_spins` only those with the spins alpha, beta, alpha, beta.
BlockIndex needed_blocks(const TileSpace& space, BlockIndex all, bool opposite_spins) {
  if (!opposite_spins) return all;
  BlockIndex needed;
  for (const Block& block : all.blocks()) {
    const auto is = [&](std::size_t d, Spin spin) { return space[block.tiles[d]].spin() == spin; };
    if (!is(0, Spin::alpha) || !is(1, Spin::beta) || !is(2, Spin::alpha) || !is(3, Spin::beta)) continue;
    needed.add(block.tiles, block.key, block.size);
  }
  return needed;
}

BlockIndex rotated_t2_blocks(const TileSpace& space, bool opposite_spins) {
  return needed_blocks(space, t2_blocks(space), opposite_spins);
}

/// Returns the blocks of V2 that are rotated: the blocks that triples need, or none if there are factors.
BlockIndex rotated_v2_blocks(const TileSource& source, bool opposite_spins) {
  if (!source.has_integrals() || source.factors() != nullptr) return {};
  return needed_blocks(source.tiles(), triples_v2_blocks(source.tiles()), opposite_spins);
}

}

double RotationCost::peak(int ranks) const {
  return RotatedTensor::peak_bytes(bytes / ranks, largest_group) + factor_bytes;
}

RotationCost rotation_cost(const TileSource& source, bool opposite_spins) {
  const TileSpace& space = source.tiles();
  const auto [hole_tile, particle_tile] = largest_tiles(space);
  std::int64_t holes = 0, particles = 0;  // sizes of the largest orbital ranges
  for (const OrbitalClass c : orbital_classes) {
    std::int64_t& largest = space_of(c) == Space::hole ? holes : particles;
    for (int irrep = 0; irrep < 8; ++irrep) largest = std::max(largest, space.range(c, irrep).size);
  }
  // The largest group: first of both pairs of T2, then of the largest class of V2.
  std::int64_t group =
      std::max(particle_tile * particle_tile * holes * holes, hole_tile * hole_tile * particles * particles);
  if (source.has_integrals() && source.factors() == nullptr) {
    const std::int64_t lower = particle_tile * particle_tile * holes * particles;
    group = std::max({group, lower, hole_tile * particle_tile * particles * particles});
  }
  const BlockIndex t2 = rotated_t2_blocks(space, opposite_spins), v2 = rotated_v2_blocks(source, opposite_spins);
  constexpr double width = sizeof(double);
  RotationCost cost{width * static_cast<double>(t2.doubles() + v2.doubles()), width * static_cast<double>(group),
                    RotatedTensor::operations(space, t2) + RotatedTensor::operations(space, v2), 0.0};
  if (const FactorSource* const factors = source.factors()) {
    cost.operations += RotatedFactors::operations(space, factors->auxiliary());
    cost.factor_bytes = RotatedFactors::bytes(space, factors->auxiliary());
  }
  return cost;
}

struct SemicanonicalSource::Numbers {
  RotatedMatrices fock, t1;
  RotatedTensor t2;
  std::optional<RotatedTensor> v2;
};

SemicanonicalSource::SemicanonicalSource(const TileSource& source, const TileSource& fock_source, bool opposite_spins)
    : SemicanonicalSource(source, fock_source, std::make_shared<OrbitalRotation>(fock_source), opposite_spins) {}

SemicanonicalSource::SemicanonicalSource(const TileSource& source, const TileSource& fock_source,
                                         std::shared_ptr<OrbitalRotation> rotation, bool opposite_spins)
    : source_(source),
      fock_source_(fock_source),
      opposite_spins_(opposite_spins),
      rotation_(std::move(rotation)),
      cost_(rotation_cost(source, opposite_spins)) {
  if (source.factors() != nullptr) factors_ = std::make_unique<RotatedFactors>(tiles(), *source.factors());
}

SemicanonicalSource::~SemicanonicalSource() = default;

void SemicanonicalSource::rotate(Communicator* communicator, const std::atomic<bool>* stop) {
  if (numbers_) return;
  if (communicator != nullptr) rotation_->take_those_of_first(*communicator);
  RotatedMatrices fock, t1;
  run_collectively(communicator, [&] {
    // Left integrals of methods with moments come with an f_ov of their own.
    const TileSource& with_fock = source_.has_fock() ? source_ : fock_source_;
    fock = rotated_matrices(with_fock, TensorKind::fock, f1_blocks(with_fock.tiles()), *rotation_);
    t1 = rotated_matrices(source_, TensorKind::t1, t1_blocks(tiles()), *rotation_);
  });
  const auto go_on = [stop] {
    if (stop != nullptr && *stop) throw Interrupted("Stopped before the first task; nothing had been computed.");
  };
  RotatedTensor t2(source_, TensorKind::t2, rotated_t2_blocks(tiles(), opposite_spins_), *rotation_, go_on,
                   communicator);
  std::optional<RotatedTensor> v2;
  const std::shared_ptr<const void> held = acquire_factors_of_ranks(source_.factors(), communicator, stop);
  if (factors_) run_collectively(communicator, [&] { factors_->rotate(*rotation_, go_on); });
  if (has_integrals() && !factors_) {
    v2.emplace(source_, TensorKind::v2, rotated_v2_blocks(source_, opposite_spins_), *rotation_, go_on, communicator);
  }
  numbers_ = std::make_unique<const Numbers>(Numbers{std::move(fock), std::move(t1), std::move(t2), std::move(v2)});
}

std::int64_t SemicanonicalSource::own_bytes() const {
  return numbers().t2.own_bytes() + (numbers().v2 ? numbers().v2->own_bytes() : 0);
}

const SemicanonicalSource::Numbers& SemicanonicalSource::numbers() const {
  if (!numbers_) throw std::logic_error("Amplitudes were read before they had been rotated.");
  return *numbers_;
}

void SemicanonicalSource::read_fock(int g6, int g5, std::span<double> block) const {
  copy_block(numbers().fock, *rotation_, tiles()[g6], tiles()[g5], block);
}

void SemicanonicalSource::read_t1(int p, int h, std::span<double> block) const {
  copy_block(numbers().t1, *rotation_, tiles()[p], tiles()[h], block);
}

void SemicanonicalSource::read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const {
  numbers().t2.read(t2_key(tiles(), p1, p2, h3, h4), block);
}

void SemicanonicalSource::read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const {
  if (factors_) return factors_->read_v2({g3, g4, g1, g2}, block);
  if (!numbers().v2) throw std::logic_error("The requested integrals do not exist.");
  numbers().v2->read(v2_key(tiles(), g3, g4, g1, g2), block);
}

}
