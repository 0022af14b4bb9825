#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

/// The tiles of NWChem's Tensor Contraction Engine (TCE).
///
/// The sorted order of the active spin orbitals is
///     occupied alpha | occupied beta | virtual alpha | virtual beta.
/// Inside each of these four classes the orbitals are sorted by irrep, and inside an irrep by orbital number. The
/// orbitals of one class and one irrep form an orbital range. Each orbital range is cut into tiles of nearly equal
/// size. Tiles are numbered from 0 here and from 1 in NWChem.
namespace trifuse {

/// A spin with TCE's value: TCE compares sums of these values.
enum class Spin : std::uint8_t { alpha = 1, beta = 2 };
/// Hole: occupied orbital. Particle: virtual orbital.
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
/// The class of the holes or of the particles of a spin.
constexpr OrbitalClass hole_class(Spin s) {
  return s == Spin::alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta;
}
constexpr OrbitalClass particle_class(Spin s) {
  return s == Spin::alpha ? OrbitalClass::particle_alpha : OrbitalClass::particle_beta;
}

/// The spins that have arrays of their own: alpha for a restricted reference, else alpha and beta.
inline std::span<const Spin> distinct_spins(bool restricted) {
  static constexpr std::array both = {Spin::alpha, Spin::beta};
  return std::span(both).first(restricted ? 1 : 2);
}

/// The tensors that consist of blocks: the Fock matrix F1, T1, T2, and the antisymmetrised integrals V2.
enum class TensorKind : std::uint8_t { fock, t1, t2, v2 };

/// Consecutive sorted orbitals of one class and one irrep.
struct Tile {
  OrbitalClass orbital_class;
  int irrep;            ///< 0 to 7; the product of two irreps is their bitwise exclusive or
  std::int64_t size;    ///< number of orbitals, at least 1
  std::int64_t offset;  ///< position of the first orbital in the sorted order, from 0
  int partner;          ///< in a restricted space the alpha tile with the same spatial orbitals, else this tile

  Spin spin() const { return spin_of(orbital_class); }
  Space space() const { return space_of(orbital_class); }
};

/// An orbital range: consecutive sorted orbitals of one class and one irrep. No tile crosses its end. With NWChem's
/// ROHF `2eorb` storage, singly occupied orbitals have orbital ranges of their own.
struct OrbitalRange {
  OrbitalClass orbital_class;
  int irrep;
  std::int64_t size;
};

/// The largest number of spin orbitals. With it, the size in bytes of a tensor with four indices fits in 64 bits.
inline constexpr std::int64_t max_spin_orbitals = 30000;

/// The tiles of all active spin orbitals, in sorted order.
class TileSpace {
 public:
  TileSpace() = default;
  /// `tiles` must be in sorted order. Class, irrep and size must be set; the constructor computes offsets and partners.
  /// `restricted`: alpha and beta orbitals share their spatial orbitals. Throws InputError if the order is not the
  /// sorted one, if a size is below 1, if an irrep is not 0 to 7, if there are more than `max_spin_orbitals` orbitals,
  /// or if a restricted space has different alpha and beta tiles.
  TileSpace(std::vector<Tile> tiles, bool restricted);

  /// Cuts `runs` by TCE's rule (see `divide_into_tiles`): holes into tiles of at most `hole_size` orbitals, particles
  /// into tiles of at most `particle_size`. Throws UsageError if a size is below 1, and InputError as the constructor
  /// does.
  static TileSpace partition(std::span<const OrbitalRange> ranges, std::int64_t hole_size, std::int64_t particle_size,
                             bool restricted);

  std::span<const Tile> tiles() const& { return tiles_; }
  void tiles() const&& = delete;  // the span would outlive a temporary
  /// Returns tile t, 0 <= t < size().
  const Tile& operator[](int t) const { return tiles_[static_cast<std::size_t>(t)]; }
  /// Returns the number of tiles.
  int size() const { return static_cast<int>(tiles_.size()); }
  bool restricted() const { return restricted_; }

  /// The tiles [first(c), last(c)) belong to class c.
  int first(OrbitalClass c) const { return class_start_[static_cast<std::size_t>(c)]; }
  int last(OrbitalClass c) const { return class_start_[static_cast<std::size_t>(c) + 1]; }
  int hole_tiles() const { return first(OrbitalClass::particle_alpha); }  ///< TCE's noab
  int particle_tiles() const { return size() - hole_tiles(); }            ///< TCE's nvab

  /// Position of the first orbital of tile t among the orbitals of its class.
  std::int64_t offset_in_class(int t) const {
    const Tile& tile = (*this)[t];
    return tile.offset - (*this)[first(tile.orbital_class)].offset;
  }

  /// Number of spin orbitals, of all classes or of one.
  std::int64_t orbitals() const { return orbitals_; }
  std::int64_t orbitals(OrbitalClass c) const;
  /// Returns the number of orbitals in the largest tile; 0 if there are no tiles.
  std::int64_t largest_tile() const;

  /// Sorted orbitals [offset, offset + size) of one class and irrep; size 0 if there are none.
  struct Range {
    std::int64_t offset = 0;
    std::int64_t size = 0;
  };
  Range range(OrbitalClass c, int irrep) const {
    return ranges_[static_cast<std::size_t>(c)][static_cast<std::size_t>(irrep)];
  }

  /// Returns the orbital ranges of this space: neighbouring tiles of one class and one irrep are merged.
  std::vector<OrbitalRange> ranges() const;
  /// Returns a space of the same orbitals, cut by `partition` into tiles of at most the given sizes.
  TileSpace retiled(std::int64_t hole_size, std::int64_t particle_size) const;
  /// Returns a space of the same orbitals, in which tiles larger than the given size are cut further. No new tile
  /// crosses the end of an old one.
  TileSpace refined(std::int64_t hole_size, std::int64_t particle_size) const;

  /// Returns a space of the same orbitals, cut for executors that work in steps of `granule` orbitals. The tile size is
  /// the given size, rounded down to a multiple of `granule`; a size below `granule` stays as it is. Every orbital
  /// range is cut into tiles of that size, and its last tile holds the rest. Throws UsageError if an argument is below
  /// 1.
  TileSpace retiled_aligned(std::int64_t hole_size, std::int64_t particle_size, std::int64_t granule) const;

  /// Returns true if both spaces have the same tiles and are both restricted or both unrestricted.
  bool operator==(const TileSpace& other) const;

 private:
  std::vector<Tile> tiles_;
  std::array<int, 5> class_start_{};
  std::array<std::array<Range, 8>, 4> ranges_{};
  std::int64_t orbitals_ = 0;
  bool restricted_ = false;
};

/// Returns the tile sizes for `n` orbitals by TCE's partition rule: the smallest number of tiles of at most `tile_size`
/// orbitals, as even as possible. Tile k of m holds the orbitals [floor(k n/m), floor((k+1) n/m)). Throws UsageError if
/// `tile_size` is below 1, and InputError if n exceeds `max_spin_orbitals`.
std::vector<std::int64_t> divide_into_tiles(std::int64_t n, std::int64_t tile_size);

/// The properties of the reference that determine the sorted order and TCE's tiling. Element 0 of each array is for
/// alpha, element 1 for beta. The orbitals have the order of the program that made them (ascending energy).
struct OrbitalCounts {
  std::array<std::int64_t, 2> orbitals{};        ///< number of all orbitals
  std::array<std::int64_t, 2> occupied{};        ///< number of occupied orbitals, frozen ones included
  std::array<std::int64_t, 2> frozen_core{};     ///< number of orbitals that are dropped at the lowest energies
  std::array<std::int64_t, 2> frozen_virtual{};  ///< number of orbitals that are dropped at the highest energies
  std::array<std::vector<int>, 2> irreps;        ///< irrep of every orbital; empty without symmetry
};

/// The sorted order of the active orbitals.
struct SortedOrbitals {
  std::vector<OrbitalRange> ranges;
  std::vector<std::int64_t> orbital;  ///< orbital[position]: number of the orbital among all of its spin, from 0
};

/// Returns TCE's sorted order. If `split_open_shells` is set (ROHF in `2eorb` storage), the singly occupied orbitals
/// form orbital ranges of their own. These stand after the doubly occupied orbitals in the alpha holes, and before the
/// empty orbitals in the beta particles. Throws InputError if the counts contradict each other.
SortedOrbitals sort_orbitals(const OrbitalCounts& counts, bool split_open_shells);

/// Returns the name of a class, e.g. "occupied alpha".
std::string to_string(OrbitalClass c);

}

#pragma GCC visibility pop
