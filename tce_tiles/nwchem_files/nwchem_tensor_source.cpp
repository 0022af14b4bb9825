#include "tce_tiles/nwchem_files/nwchem_tensor_source.hpp"

#include <fmt/format.h>

#include <fmt/ranges.h>

#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {

namespace {

/// Returns the name of a block for messages, with tiles numbered from 1 as in NWChem.
std::string block_name(const char* tensor, std::initializer_list<int> tiles) {
  std::vector<int> numbers;
  for (const int t : tiles) numbers.push_back(t + 1);
  return fmt::format("{} block ({})", tensor, fmt::join(numbers, " "));
}

}

NwchemTensorSource::NwchemTensorSource(SourceInfo info, TileSpace space, std::vector<double> orbital_energies,
                                       NwchemVectors vectors)
    : info_(std::move(info)),
      space_(std::move(space)),
      energies_(std::move(orbital_energies)),
      f1_(std::move(vectors.f1)),
      t1_(std::move(vectors.t1)),
      t2_(std::move(vectors.t2)),
      f1_offsets_(PairOffsets::f1(space_)),
      t1_offsets_(PairOffsets::t1(space_)),
      t2_offsets_(QuadOffsets::t2(space_)) {
  if (vectors.v2) v2_.emplace(space_, vectors.storage, std::move(vectors.v2));
}

void NwchemTensorSource::read_fock(int g6, int g5, std::span<double> block) const {
  check(f1_ != nullptr && in_range(g6) && in_range(g5) && block_exists(space_, g6, g5), "F1", {g6, g5}, block.size());
  f1_->read_finite(f1_offsets_.offset(g6, g5), block, [&] { return block_name("F1", {g6, g5}); });
}

void NwchemTensorSource::read_t1(int p, int h, std::span<double> block) const {
  check(particle(p) && hole(h) && block_exists(space_, p, h), "T1", {p, h}, block.size());
  t1_->read_finite(t1_offsets_.offset(p, h), block, [&] { return block_name("T1", {p, h}); });
}

void NwchemTensorSource::read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const {
  check(particle(p1) && particle(p2) && hole(h3) && hole(h4) && p1 <= p2 && h3 <= h4 &&
            block_exists(space_, p1, p2, h3, h4),
        "T2", {p1, p2, h3, h4}, block.size());
  t2_->read_finite(t2_offsets_.offset(p1, p2, h3, h4), block, [&] { return block_name("T2", {p1, p2, h3, h4}); });
}

void NwchemTensorSource::read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const {
  check(v2_.has_value() && in_range(g3) && in_range(g4) && in_range(g1) && in_range(g2) && g3 <= g4 && g1 <= g2 &&
            block_exists(space_, g3, g4, g1, g2),
        "V2", {g3, g4, g1, g2}, block.size());
  v2_->read(g3, g4, g1, g2, block);
}

void NwchemTensorSource::check(bool exists, const char* tensor, std::initializer_list<int> tiles,
                               std::size_t size) const {
  std::int64_t expected = 1;
  for (const int t : tiles) expected *= in_range(t) ? space_[t].size : 0;
  if (!exists || static_cast<std::int64_t>(size) != expected) {
    throw Error(fmt::format("{} of {} does not exist or has another size than {}.", block_name(tensor, tiles),
                            info_.path, size));
  }
}

}
