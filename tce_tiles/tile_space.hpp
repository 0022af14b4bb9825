#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// The tiles of NWChem's Tensor Contraction Engine (TCE).
///
/// Active spin orbitals stand in the sorted order
///     occupied alpha | occupied beta | virtual alpha | virtual beta,
/// inside each of these four classes irrep by irrep, and inside an irrep by ascending orbital number. Each run of
/// orbitals of one class and irrep is cut into tiles of nearly equal size. Tiles are numbered from 0 here (from 1 in
/// NWChem).
namespace trifuse {

/// The values are TCE's, so that sums of spins can be compared as TCE does.
enum class Spin : std::uint8_t { alpha = 1, beta = 2 };
enum class Space : std::uint8_t { hole, particle };

constexpr int spin_number(Spin s) {
  return static_cast<int>(s);
}

/// The four classes of spin orbitals in sorted order.
enum class OrbitalClass : std::uint8_t { hole_alpha, hole_beta, particle_alpha, particle_beta };
inline constexpr std::array<OrbitalClass, 4> orbital_classes = {
    OrbitalClass::hole_alpha, OrbitalClass::hole_beta, OrbitalClass::particle_alpha, OrbitalClass::particle_beta};
constexpr Spin spin_of(OrbitalClass c) {
  return c == OrbitalClass::hole_alpha || c == OrbitalClass::particle_alpha ? Spin::alpha : Spin::beta;
}
constexpr Space space_of(OrbitalClass c) {
  return c == OrbitalClass::hole_alpha || c == OrbitalClass::hole_beta ? Space::hole : Space::particle;
}

struct Tile {
  OrbitalClass orbital_class;
  int irrep;            ///< 0..7; the product of two irreps is their bitwise exclusive or
  std::int64_t size;    ///< orbitals in the tile, at least 1
  std::int64_t offset;  ///< first orbital in the sorted order, from 0
  int partner;          ///< restricted: the alpha tile of the same spatial orbitals; else the tile itself

  Spin spin() const { return spin_of(orbital_class); }
  Space space() const { return space_of(orbital_class); }
};

/// A run of sorted orbitals that tiles must not cross: one class, one irrep, and with NWChem's ROHF `2eorb` storage
/// only doubly occupied or only singly occupied orbitals.
struct OrbitalRun {
  OrbitalClass orbital_class;
  int irrep;
  std::int64_t size;
};

/// Spin orbitals of a space. The elements of a tensor with four indices can then be counted, also in bytes.
inline constexpr std::int64_t max_spin_orbitals = 30000;

class TileSpace {
 public:
  TileSpace() = default;
  /// `tiles` in sorted order with class, irrep and size; offsets and partners are computed. Throws InputError when the
  /// order is not the sorted one, a size is below 1, there are more than `max_spin_orbitals`, or a restricted space
  /// has different alpha and beta tiles.
  TileSpace(std::vector<Tile> tiles, bool restricted);

  /// Cuts runs by TCE's rule (see `tile_cuts`), holes into tiles of at most `hole_size`, particles of at most
  /// `particle_size`.
  static TileSpace partition(std::span<const OrbitalRun> runs, std::int64_t hole_size, std::int64_t particle_size,
                             bool restricted);

  std::span<const Tile> tiles() const& { return tiles_; }
  void tiles() const&& = delete;  // a loop over a temporary's would dangle
  const Tile& operator[](int t) const { return tiles_[static_cast<std::size_t>(t)]; }
  int size() const { return static_cast<int>(tiles_.size()); }
  bool restricted() const { return restricted_; }

  /// Tiles [first(c), last(c)) belong to class c.
  int first(OrbitalClass c) const { return class_start_[static_cast<std::size_t>(c)]; }
  int last(OrbitalClass c) const { return class_start_[static_cast<std::size_t>(c) + 1]; }
  int hole_tiles() const { return first(OrbitalClass::particle_alpha); }  ///< TCE's noab
  int particle_tiles() const { return size() - hole_tiles(); }            ///< TCE's nvab

  std::int64_t orbitals() const { return orbitals_; }
  std::int64_t orbitals(OrbitalClass c) const;
  std::int64_t largest_tile() const;

  /// Sorted orbitals [offset, offset + size) of one class and irrep; size 0 if there are none.
  struct Range {
    std::int64_t offset = 0;
    std::int64_t size = 0;
  };
  Range range(OrbitalClass c, int irrep) const {
    return ranges_[static_cast<std::size_t>(c)][static_cast<std::size_t>(irrep)];
  }

  /// The runs that this space cuts, neighbouring tiles of one class and irrep taken together.
  std::vector<OrbitalRun> runs() const;
  /// The same orbitals cut into tiles of another size.
  TileSpace retiled(std::int64_t hole_size, std::int64_t particle_size) const;
  /// The same orbitals with every tile cut further, where it is larger than the sizes given; no new tile crosses an old
  /// one.
  TileSpace refined(std::int64_t hole_size, std::int64_t particle_size) const;

  /// The same orbitals cut for executors that work in steps of `granule` orbitals: every run into tiles of the size
  /// given, rounded down to a multiple of `granule` where it is not smaller than that, with the rest in the run's last
  /// tile.
  TileSpace retiled_aligned(std::int64_t hole_size, std::int64_t particle_size, std::int64_t granule) const;

  bool operator==(const TileSpace& other) const;

 private:
  std::vector<Tile> tiles_;
  std::array<int, 5> class_start_{};
  std::array<std::array<Range, 8>, 4> ranges_{};
  std::int64_t orbitals_ = 0;
  bool restricted_ = false;
};

/// TCE's partition rule: `n` orbitals in the least number of tiles of at most `tile_size`, as even as possible; tile k
/// of m holds the orbitals floor(k n/m) .. floor((k+1) n/m). Returns the sizes, in order.
std::vector<std::int64_t> tile_cuts(std::int64_t n, std::int64_t tile_size);

/// What of the reference function decides the sorted order and TCE's tiling. Orbitals in the order of the program that
/// made them (ascending energy); irreps empty means no symmetry.
struct OrbitalCounts {
  std::array<std::int64_t, 2> orbitals{};        ///< all orbitals, alpha and beta
  std::array<std::int64_t, 2> occupied{};        ///< occupied ones, frozen included
  std::array<std::int64_t, 2> frozen_core{};     ///< dropped from the bottom
  std::array<std::int64_t, 2> frozen_virtual{};  ///< dropped from the top
  std::array<std::vector<int>, 2> irreps;        ///< irrep of every orbital, or empty
};

struct SortedOrbitals {
  std::vector<OrbitalRun> runs;
  std::vector<std::int64_t> orbital;  ///< for each sorted position the orbital number of its spin, from 0
};

/// TCE's sorted order. With `split_open_shells` (ROHF in `2eorb` storage) the singly occupied orbitals form runs of
/// their own: after the doubly occupied ones among alpha holes, before the empty ones among beta particles.
SortedOrbitals sort_orbitals(const OrbitalCounts& counts, bool split_open_shells);

std::string to_string(OrbitalClass c);

}  // namespace trifuse
