#include "cxx/calculation/fingerprint.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/moments/moment_source.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/factor_source.hpp"
#include "tce_tiles/tiles/memory_source.hpp"

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

/// Returns true if a block of four tiles cannot be derived from other blocks of its source.
bool tells(const TileSource& source, const std::array<int, 4>& tiles) {
  if (!source.opposite_spin_blocks_suffice()) return true;
  const auto spin = [&](std::size_t d) { return source.tiles()[tiles[d]].spin(); };
  return spin(0) == Spin::alpha && spin(1) == Spin::beta && spin(2) == Spin::alpha && spin(3) == Spin::beta;
}

/// A block, or the elements of an array with one first index, which are read and hashed separately, so that threads and
/// ranks can share the work.
struct HashedBlock {
  const TileSource* source;  ///< null: there is an array
  TensorKind tensor;
  std::array<int, 4> tiles;
  std::int64_t size;  ///< doubles
  std::shared_ptr<const DenseArray> array = {};
  std::int64_t first = 0;  ///< the first index of the array

  void read(std::span<double> numbers) const {
    if (array == nullptr) return source->read_block(tensor, tiles, numbers);
    std::vector<std::int64_t> offset(array->shape().size(), 0), count(array->shape().begin(), array->shape().end());
    offset[0] = first;
    count[0] = 1;
    array->read(offset, count, numbers);
  }
};

/// Returns the source whose numbers make those of a source. The numbers of a source with moments are products, whose
/// bits depend on what computed them.
const TileSource& origin_of(const TileSource& source) {
  const auto* const moments = dynamic_cast<const moments::MomentSource*>(&source);
  return moments != nullptr ? moments->source() : source;
}

/// Adds the blocks of a source. If integrals are made from factors, only their blocks {h p|h h} are added.
/// hash_factors() hashes the factors of the other integrals, because making these integrals would take as many
/// operations as all panels.
void add_blocks(std::vector<HashedBlock>& blocks, const TileSource& source, bool integrals) {
  const TileSpace& space = source.tiles();
  const bool factors = integrals && source.factors() != nullptr;
  const auto add = [&](const BlockIndex& index, TensorKind tensor) {
    for (const Block& block : index.blocks()) {
      if (tensor != TensorKind::t1 && !tells(source, block.tiles)) continue;
      const bool of_factors = tensor == TensorKind::v2 && factors;
      if (of_factors && space[block.tiles[0]].space() == Space::particle) continue;
      blocks.push_back({&source, tensor, block.tiles, block.size});
    }
  };
  add(t1_blocks(space), TensorKind::t1);
  add(t2_blocks(space), TensorKind::t2);
  if (integrals) add(triples_v2_blocks(space), TensorKind::v2);
}

/// Adds the arrays that only methods with moments need. Other sources have none.
void add_arrays_of_moments(std::vector<HashedBlock>& blocks, const TileSource* source) {
  if (const auto* const rotated = dynamic_cast<const SemicanonicalSource*>(source)) source = &rotated->source();
  const auto* const moments = dynamic_cast<const moments::MomentSource*>(source);
  if (moments == nullptr) return;
  for (const auto& array : moments->other_arrays()) {
    const std::int64_t rows = array->shape()[0];
    for (std::int64_t row = 0; row < rows; ++row)
      blocks.push_back({nullptr, TensorKind::v2, {}, array->size() / rows, array, row});
  }
}

/// Divides blocks into sequences, and returns the number of the first block of each. Successive blocks share rows of a
/// dump, so a thread takes a sequence of up to 64 at a time.
std::vector<std::size_t> pieces_of(const std::vector<HashedBlock>& blocks) {
  constexpr std::size_t most_blocks = 64;
  constexpr std::int64_t most_doubles = std::int64_t{1} << 22;
  std::vector<std::size_t> begins;
  std::int64_t doubles = 0;
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    if (begins.empty() || n - begins.back() == most_blocks || doubles + blocks[n].size > most_doubles) {
      begins.push_back(n);
      doubles = 0;
    }
    doubles += blocks[n].size;
  }
  return begins;
}

/// Splits a hash into four doubles of 32 bits each. They stay exact when ranks add zeros.
constexpr std::size_t numbers_of_hash = 4;
std::array<double, numbers_of_hash> as_numbers(const Fingerprint& hash) {
  constexpr std::uint64_t low = 0xffffffffu;
  return {static_cast<double>(hash[0] >> 32), static_cast<double>(hash[0] & low), static_cast<double>(hash[1] >> 32),
          static_cast<double>(hash[1] & low)};
}

/// Writes the hash of `values` to `numbers`.
void write_hash(std::span<const double> values, double* numbers) {
  Hash hash;
  hash.add(values);
  const auto found = as_numbers(hash.digest());
  std::copy(found.begin(), found.end(), numbers);
}

/// Hashes the blocks of this rank. Returns [piece, number of hash]; the numbers of other ranks' blocks are zero.
std::vector<double> hash_blocks(const std::vector<HashedBlock>& blocks, std::size_t rank, std::size_t ranks) {
  std::vector<double> numbers(numbers_of_hash * blocks.size(), 0.0);
  std::int64_t largest = 1;
  bool concurrent = true;
  for (const HashedBlock& block : blocks) {
    largest = std::max(largest, block.size);
    concurrent = concurrent && (block.source == nullptr || block.source->concurrent_reads());
  }
  constexpr std::int64_t max_buffered = std::int64_t{1} << 27;
  const std::int64_t threads =
      concurrent ? std::clamp<std::int64_t>(max_buffered / largest, 1, available_threads()) : 1;
  const std::vector<std::size_t> begins = pieces_of(blocks);
  const auto hash_block = [&](std::size_t n, Buffer& buffer) {
    const auto size = static_cast<std::size_t>(blocks[n].size);
    buffer.reserve(size);
    const std::span<double> block(buffer.data(), size);
    blocks[n].read(block);
    write_hash(block, numbers.data() + numbers_of_hash * n);
  };
  // One of every `ranks` sequences belongs to this rank.
  const std::size_t mine = (begins.size() + ranks - 1 - rank) / ranks;
  share_among_threads<Buffer>(mine, static_cast<int>(threads), [&](std::size_t which, Buffer& buffer) {
    const std::size_t run = rank + which * ranks;
    const std::size_t end = run + 1 < begins.size() ? begins[run + 1] : blocks.size();
    for (std::size_t n = begins[run]; n < end; ++n) hash_block(n, buffer);
  });
  return numbers;
}

/// Hashes the factors of this rank that make integrals with two particles or more. Returns for each spin [holes +
/// auxiliary functions, number of hash]; the numbers of other ranks' factors are zero.
std::vector<double> hash_factors(const TileSource& source, int rank, int ranks) {
  const FactorSource& factors = *source.factors();
  const TileSpace& tiles = source.tiles();
  const std::int64_t auxiliary = factors.auxiliary();
  std::vector<double> all;
  for (const Spin spin : distinct_spins(tiles.restricted())) {
    const OrbitalClass hole = hole_class(spin), particle = particle_class(spin);
    const std::int64_t o = tiles.orbitals(hole), v = tiles.orbitals(particle), first = o * rank / ranks;
    std::vector<double> numbers(numbers_of_hash * static_cast<std::size_t>(o + auxiliary), 0.0);
    const auto add = [&](std::int64_t n, const double* values, std::int64_t size) {
      write_hash({values, static_cast<std::size_t>(size)},
                 numbers.data() + numbers_of_hash * static_cast<std::size_t>(n));
    };
    share_among_threads<Buffer>(
        static_cast<std::size_t>(o * (rank + 1) / ranks - first), available_threads(),
        [&](std::size_t k, Buffer& buffer) {
          const std::int64_t n = first + static_cast<std::int64_t>(k), size = v * auxiliary;
          buffer.reserve(static_cast<std::size_t>(size));
          factors.read_ov({hole, n, 1}, {particle, 0, v}, buffer.span().first(static_cast<std::size_t>(size)));
          add(n, buffer.data(), size);
        });
    const AuxiliaryRange mine = part_of_rank(auxiliary, rank, ranks);
    factors.visit_vv(particle, mine.begin, mine.begin + mine.count, available_threads(), [&](const FactorBand& band) {
      for (std::int64_t q = 0; q < band.count; ++q) {
        add(o + band.begin + q, band.planes + q * v * v, v * v);
      }
    });
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

}

Fingerprint fingerprint(const Problem& problem, Communicator* communicator, Precision precision) {
  std::vector<double> hashes;
  const TileSource& right = origin_of(*problem.right);
  const FactorSource* const factors = right.factors();
  const std::shared_ptr<const void> held = acquire_factors_of_ranks(factors, communicator, nullptr);
  run_collectively(communicator, [&] {
    std::vector<HashedBlock> blocks;
    add_blocks(blocks, right, true);
    add_arrays_of_moments(blocks, problem.right);
    if (problem.left != nullptr) add_blocks(blocks, *problem.left, false);
    const auto add_left_integrals = [&](const TileSource* integrals) {
      if (integrals == nullptr) return;
      const TileSource& left = origin_of(*integrals);
      if (&left != &right) add_blocks(blocks, left, true);
      add_arrays_of_moments(blocks, integrals);
    };
    add_left_integrals(problem.left_integrals);
    if (const auto& second = problem.second_left) {
      if (second->amplitudes != nullptr) add_blocks(blocks, *second->amplitudes, false);
      add_left_integrals(second->integrals);
    }
    const int rank = communicator != nullptr ? communicator->rank() : 0;
    const int ranks = communicator != nullptr ? communicator->size() : 1;
    hashes = hash_blocks(blocks, static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks));
    if (factors == nullptr) return;
    const std::vector<double> of_factors = hash_factors(right, rank, ranks);
    hashes.insert(hashes.end(), of_factors.begin(), of_factors.end());
  });
  if (communicator != nullptr) communicator->allreduce_sum(hashes);
  Hash hash;
  hash.add(fmt::format("trifuse journal 3; {}; {}", to_string(problem.formulation), journal_text(problem.method)));
  if (factors != nullptr) hash.add("; factors");
  if (problem.left_integrals != nullptr) hash.add("; left integrals");
  if (const auto& second = problem.second_left)
    hash.add(fmt::format("; second left side{}; {}", second->integrals != nullptr ? " with integrals" : "",
                         journal_text(second->method)));
  if (precision != Precision::fp64) hash.add("; precision " + to_string(precision));
  hash.add(problem.omega2());
  if (!problem.has_shifts_only()) {
    for (const Quotient& quotient : problem.quotients) hash.add(journal_text(quotient));
  }
  hash.add(problem.right->orbital_energies());
  if (problem.left != nullptr) hash.add(problem.left->orbital_energies());
  if (problem.second_left && problem.second_left->amplitudes != nullptr)
    hash.add(problem.second_left->amplitudes->orbital_energies());
  hash.add(hashes);
  return hash.digest();
}

}
