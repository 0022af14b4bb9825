#include <fmt/format.h>
#include <xxhash.h>

#include <memory>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/calculation.hpp"
#include "tce_tiles/blocks.hpp"
#include "tce_tiles/memory_source.hpp"

namespace trifuse {

namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState()) {
    if (!state_ || XXH3_128bits_reset(state_.get()) != XXH_OK) throw SystemError("No memory for a checksum.");
  }
  void add(const void* data, std::size_t size) {
    if (XXH3_128bits_update(state_.get(), data, size) != XXH_OK) throw Error("A checksum could not be computed.");
  }
  void add(std::span<const double> numbers) { add(numbers.data(), numbers.size_bytes()); }
  void add(const std::string& text) { add(text.data(), text.size()); }
  Fingerprint digest() const {
    const XXH128_hash_t value = XXH3_128bits_digest(state_.get());
    return {value.high64, value.low64};
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { static_cast<void>(XXH3_freeState(state)); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

/// Whether a block of four tiles tells what others do not.
bool tells(const TileSource& source, const std::array<int, 4>& tiles) {
  if (!source.opposite_spins_tell_all()) return true;
  const auto spin = [&](std::size_t d) { return source.tiles()[tiles[d]].spin(); };
  return spin(0) == Spin::alpha && spin(1) == Spin::beta && spin(2) == Spin::alpha && spin(3) == Spin::beta;
}

template <typename Wanted, typename Read>
void add_blocks(Hash& hash, const BlockIndex& index, Buffer& buffer, Wanted wanted, Read read) {
  for (const Block& block : index.blocks()) {
    if (!wanted(block.tiles)) continue;
    buffer.reserve(static_cast<std::size_t>(block.size));
    const std::span<double> data(buffer.data(), static_cast<std::size_t>(block.size));
    read(block.tiles, data);
    hash.add(data);
  }
}

void add_source(Hash& hash, const TileSource& source, bool integrals) {
  Buffer buffer;
  const TileSpace& space = source.tiles();
  const auto all = [](const auto&) { return true; };
  const auto telling = [&](const auto& t) { return tells(source, t); };
  hash.add(source.orbital_energies());
  add_blocks(hash, t1_blocks(space), buffer, all,
             [&](const auto& t, std::span<double> data) { source.read_t1(t[0], t[1], data); });
  add_blocks(hash, t2_blocks(space), buffer, telling,
             [&](const auto& t, std::span<double> data) { source.read_t2(t[0], t[1], t[2], t[3], data); });
  if (!integrals) return;
  add_blocks(hash, triples_v2_blocks(space), buffer, telling,
             [&](const auto& t, std::span<double> data) { source.read_v2(t[0], t[1], t[2], t[3], data); });
}

}  // namespace

Fingerprint fingerprint(const Problem& problem) {
  Hash hash;
  hash.add(fmt::format("trifuse journal 2; {}; fock in singles {}", to_string(problem.form), problem.fock_in_singles));
  hash.add(problem.omega2);
  add_source(hash, *problem.right, true);
  if (problem.two_sided()) add_source(hash, *problem.left, false);
  return hash.digest();
}

}  // namespace trifuse
