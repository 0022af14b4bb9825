#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <utility>

#include "fortran_iface/caller_source.hpp"
#include "fortran_iface/handles.hpp"
#include "tce_tiles/sources/open_source.hpp"

using namespace trifuse::c_interface;

namespace {

/// Opens amplitudes without verification.
std::shared_ptr<Amplitudes> open_unverified(const char* path, bool integrals_needed) {
  trifuse::NwchemLocation location;
  location.prefix = text(path);
  location.integrals_needed = integrals_needed;
  auto handle = std::make_shared<Amplitudes>();
  handle->source = trifuse::open_source(location);
  return handle;
}

/// Opens and verifies amplitudes. `right`: amplitudes with the integrals; null: the opened files have them. `doubtful`:
/// true if a failed witness is no error in this call.
trifuse_amplitudes open(const char* path, const Amplitudes* right, bool doubtful = false) {
  auto handle = open_unverified(path, right == nullptr);
  verify(*handle, right == nullptr ? *handle : *right, doubtful);
  return amplitudes_table().add(std::move(handle));
}

/// Returns the tensor with a number. Throws UsageError if there is none.
trifuse_tensor tensor_of(std::int32_t tensor) {
  if (tensor < TRIFUSE_FOCK || tensor > TRIFUSE_V2) {
    throw trifuse::UsageError("The tensor must be one of the values of trifuse_tensor.");
  }
  return static_cast<trifuse_tensor>(tensor);
}

/// Returns the blocks of a tensor that these amplitudes have.
const trifuse::BlockIndex& blocks_of(Amplitudes& handle, std::int32_t number) {
  const trifuse_tensor tensor = tensor_of(number);
  std::optional<trifuse::BlockIndex>& index = handle.blocks[static_cast<std::size_t>(tensor)];
  if (index) return *index;
  const trifuse::TileSource& source = *handle.source;
  switch (tensor) {
    case TRIFUSE_FOCK:
      index = source.has_fock() ? trifuse::f1_blocks(source.tiles()) : trifuse::BlockIndex();
      break;
    case TRIFUSE_T1:
      index = trifuse::t1_blocks(source.tiles());
      break;
    case TRIFUSE_T2:
      index = trifuse::t2_blocks(source.tiles());
      break;
    case TRIFUSE_V2:
      // From files, only the blocks that all files have.
      index = !source.has_integrals()
                  ? trifuse::BlockIndex()
                  : trifuse::triples_v2_blocks(source.tiles(), handle.described && source.has_exchange_integrals());
      break;
  }
  return *index;
}

/// Finds a block {h p|h p}, which blocks_of() may not list. Returns null if the amplitudes do not have it.
const trifuse::Block* exchange_block(Amplitudes& handle, std::int64_t key) {
  if (!handle.source->has_exchange_integrals()) return nullptr;
  if (!handle.exchange_blocks) handle.exchange_blocks = trifuse::exchange_v2_blocks(handle.source->tiles());
  return handle.exchange_blocks->find(key);
}

/// Finds a block by its tiles. Throws UsageError if there is no such block.
const trifuse::Block& block_of(Amplitudes& handle, std::int32_t tensor, const std::int64_t* tiles) {
  const trifuse::BlockIndex& index = blocks_of(handle, tensor);
  if (tiles == nullptr) throw trifuse::UsageError("The tiles of a block are needed, but they are null.");
  const trifuse::TileSpace& space = handle.source->tiles();
  const auto tile = [&](std::size_t n) {
    return tiles[n] >= 0 && tiles[n] < space.size() ? static_cast<int>(tiles[n]) : -1;
  };
  const std::int64_t key = tensor == TRIFUSE_FOCK ? trifuse::checked_f1_key(space, tile(0), tile(1))
                           : tensor == TRIFUSE_T1 ? trifuse::checked_t1_key(space, tile(0), tile(1))
                           : tensor == TRIFUSE_T2 ? trifuse::checked_t2_key(space, tile(0), tile(1), tile(2), tile(3))
                                                  : trifuse::checked_v2_key(space, tile(0), tile(1), tile(2), tile(3));
  const trifuse::Block* block = index.find(key);
  if (block == nullptr && tensor == TRIFUSE_V2) block = exchange_block(handle, key);
  if (block == nullptr) {
    throw trifuse::UsageError(
        "There is no block of these tiles; trifuse_get_block_tiles lists the blocks that exist by spin and symmetry.");
  }
  return *block;
}

[[noreturn]] void throw_no_energy() {
  throw trifuse::UsageError(
      "These amplitudes have no CCSD energy: they are left-hand amplitudes, or have no integrals.");
}

/// Returns the witnesses of the last check. Checks the amplitudes first if they have not been checked.
std::vector<trifuse::Witness> witnesses(Amplitudes& handle) {
  static_assert(static_cast<int>(trifuse::WitnessStatus::passed) == TRIFUSE_WITNESS_PASSED &&
                static_cast<int>(trifuse::WitnessStatus::unknown) == TRIFUSE_WITNESS_UNKNOWN &&
                static_cast<int>(trifuse::WitnessStatus::failed) == TRIFUSE_WITNESS_FAILED);
  if (const auto last = handle.check.last()) return last->witnesses;
  if (handle.source->has_integrals()) return check(handle, handle).witnesses;
  throw trifuse::UsageError(
      "These left-hand amplitudes have not been checked; trifuse_run checks them with the integrals of the right-hand "
      "input.");
}

/// Throws UsageError if the caller's array does not fit the block.
void check_size(const trifuse::Block& block, std::int64_t size, const void* numbers) {
  if (numbers == nullptr || size != block.size) {
    throw trifuse::UsageError(fmt::format("This block has {} numbers, but the array has room for {}.", block.size,
                                          numbers == nullptr ? 0 : size));
  }
}

}

void trifuse::c_interface::Amplitudes::forget_outdated_check() {
  if (read == nullptr) return;
  std::optional<CheckReport> last = check.last();
  if (last && has_failed(*last)) {
    forget_check();
    last.reset();
  }
  if (!last) read->reset_hashes();
}

std::uint64_t trifuse::c_interface::Amplitudes::new_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

trifuse::CheckReport trifuse::c_interface::check(Amplitudes& amplitudes, const Amplitudes& integrals,
                                                 const trifuse::CheckShare& share) {
  amplitudes.forget_outdated_check();
  if (const auto known = amplitudes.check.with(integrals.number)) return *known;
  BoxReaderMark::refuse(amplitudes, "a function that checks");
  BoxReaderMark::refuse(integrals, "a function that checks");
  if (amplitudes.filled != nullptr) amplitudes.filled->check_complete();
  CheckReport report = check_source(*amplitudes.source, *integrals.source, share);
  amplitudes.check.set(report, integrals.number);
  return report;
}

trifuse::CheckReport trifuse::c_interface::verify(Amplitudes& amplitudes, const Amplitudes& integrals, bool trust_input,
                                                  const CheckShare& share) {
  CheckReport report = check(amplitudes, integrals, share);
  enforce_witnesses(report, trust_input);
  return report;
}

trifuse_amplitudes trifuse_new_amplitudes(trifuse_status* status, const trifuse_description* description,
                                          trifuse_block_reader reader, void* context) {
  return guarded(status, trifuse_amplitudes{}, [&] {
    if (description == nullptr) throw trifuse::UsageError("A description is needed, but it is null.");
    auto handle = std::make_shared<Amplitudes>();
    handle->described = true;
    if (reader != nullptr) {
      auto read =
          std::make_unique<trifuse::WatchedSource>(std::make_unique<CallerSource>(*description, reader, context));
      handle->read = read.get();
      handle->source = std::move(read);
      return amplitudes_table().add(std::move(handle));
    }
    trifuse::TileSpace space = tile_space(*description);
    std::vector<double> energies = energies_of_orbitals(*description, space);
    auto filled = std::make_unique<trifuse::MemorySource>(
        std::move(space), std::move(energies), source_info(*description),
        trifuse::MemorySource::Contents{description->has_integrals != 0, description->has_fock != 0,
                                        description->has_exchange_integrals != 0});
    handle->filled = filled.get();
    handle->source = std::move(filled);
    return amplitudes_table().add(std::move(handle));
  });
}

void trifuse_set_block(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, const int64_t* tiles,
                       int64_t size, const double* block) {
  guarded(status, [&] {
    const auto held = checked(amplitudes);
    Amplitudes& handle = *held;
    if (handle.filled == nullptr) {
      throw trifuse::UsageError("Blocks of these amplitudes come from files or from a reader; they cannot be set.");
    }
    const trifuse::Block& place = block_of(handle, tensor, tiles);
    check_size(place, size, block);
    handle.forget_check();
    const std::span<const double> numbers(block, static_cast<std::size_t>(size));
    const auto& t = place.tiles;
    switch (tensor_of(tensor)) {
      case TRIFUSE_FOCK:
        return handle.filled->set_fock(t[0], t[1], numbers);
      case TRIFUSE_T1:
        return handle.filled->set_t1(t[0], t[1], numbers);
      case TRIFUSE_T2:
        return handle.filled->set_t2(t[0], t[1], t[2], t[3], numbers);
      case TRIFUSE_V2:
        return handle.filled->set_v2(t[0], t[1], t[2], t[3], numbers);
    }
  });
}

void trifuse_get_block(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, const int64_t* tiles,
                       int64_t size, double* block) {
  guarded(status, [&] {
    const auto held = checked(amplitudes);
    Amplitudes& handle = *held;
    BoxReaderMark::refuse(handle, "trifuse_get_block");
    const trifuse::Block& place = block_of(handle, tensor, tiles);
    check_size(place, size, block);
    handle.source->read_block(static_cast<trifuse::TensorKind>(tensor), place.tiles,
                              {block, static_cast<std::size_t>(size)});
  });
}

int64_t trifuse_block_count(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor) {
  return guarded(status, int64_t{0},
                 [&] { return static_cast<int64_t>(blocks_of(*checked(amplitudes), tensor).blocks().size()); });
}

void trifuse_get_block_tiles(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, int64_t index,
                             int64_t* tiles, int64_t* size) {
  guarded(status, [&] {
    const auto held = checked(amplitudes);
    const auto& blocks = blocks_of(*held, tensor).blocks();
    if (index < 0 || index >= std::ssize(blocks)) throw trifuse::UsageError("There is no block with this number.");
    const trifuse::Block& block = blocks[static_cast<std::size_t>(index)];
    if (tiles != nullptr) std::copy(block.tiles.begin(), block.tiles.end(), tiles);
    if (size != nullptr) *size = block.size;
  });
}

int64_t trifuse_tile_count(trifuse_status* status, trifuse_amplitudes amplitudes) {
  return guarded(status, int64_t{0}, [&] { return int64_t{checked(amplitudes)->source->tiles().size()}; });
}

void trifuse_get_tile(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t index, trifuse_tile* tile) {
  guarded(status, [&] {
    const auto held = checked(amplitudes);
    const trifuse::TileSpace& space = held->source->tiles();
    if (index < 0 || index >= space.size()) throw trifuse::UsageError("There is no tile with this number.");
    const trifuse::Tile& found = space[static_cast<int>(index)];
    if (tile != nullptr) *tile = {static_cast<int32_t>(found.orbital_class), found.irrep, found.size};
  });
}

void trifuse_get_orbital_energies(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t count,
                                  double* energies) {
  guarded(status, [&] {
    const auto held = checked(amplitudes);
    const std::span<const double> found = held->source->orbital_energies();
    if (energies == nullptr || count != std::ssize(found)) {
      throw trifuse::UsageError(fmt::format("There are {} orbital energies, but the array has room for {}.",
                                            found.size(), energies == nullptr ? 0 : count));
    }
    std::copy(found.begin(), found.end(), energies);
  });
}

trifuse_amplitudes trifuse_open_amplitudes(trifuse_status* status, const char* path) {
  return guarded(status, trifuse_amplitudes{}, [&] { return open(path, nullptr); });
}

trifuse_amplitudes trifuse_open_left_amplitudes(trifuse_status* status, const char* path, trifuse_amplitudes right) {
  return guarded(status, trifuse_amplitudes{}, [&] { return open(path, checked(right).get()); });
}

trifuse_amplitudes trifuse_open_doubtful_amplitudes(trifuse_status* status, const char* path,
                                                    trifuse_amplitudes right) {
  return guarded(status, trifuse_amplitudes{}, [&] {
    constexpr bool doubtful = true;
    return right == nullptr ? open(path, nullptr, doubtful) : open(path, checked(right).get(), doubtful);
  });
}

trifuse_amplitudes trifuse_open_unverified_amplitudes(trifuse_status* status, const char* path, int32_t is_left) {
  return guarded(status, trifuse_amplitudes{},
                 [&] { return amplitudes_table().add(open_unverified(path, is_left == 0)); });
}

int64_t trifuse_witness_count(trifuse_status* status, trifuse_amplitudes amplitudes) {
  return guarded(status, int64_t{0}, [&] { return static_cast<int64_t>(witnesses(*checked(amplitudes)).size()); });
}

void trifuse_get_witness(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t index,
                         trifuse_witness* witness) {
  guarded(status, [&] {
    const auto held = checked(amplitudes);
    const auto all = witnesses(*held);
    if (index < 0 || index >= std::ssize(all)) throw trifuse::UsageError("There is no witness with this number.");
    if (witness == nullptr) return;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const trifuse::Witness& found = all[static_cast<std::size_t>(index)];
    copy_text(found.name, witness->name, sizeof witness->name);
    witness->result = static_cast<int32_t>(found.status);
    witness->value = found.value.value_or(none);
    witness->limit = found.limit.value_or(none);
    copy_text(found.note, witness->note, sizeof witness->note);
  });
}

double trifuse_correlation_energy(trifuse_status* status, trifuse_amplitudes amplitudes) {
  return guarded(status, 0.0, [&] {
    const auto held = checked(amplitudes);
    Amplitudes& handle = *held;
    // Left amplitudes cannot be checked here, because a check needs the integrals of the right amplitudes.
    if (!handle.source->has_integrals()) throw_no_energy();
    const std::optional<double> energy = verify(handle, handle, false).ccsd_energy;
    if (!energy) throw_no_energy();
    return *energy;
  });
}

int32_t trifuse_delete_amplitudes(trifuse_amplitudes* amplitudes) {
  return delete_handle(amplitudes, amplitudes_table());
}
