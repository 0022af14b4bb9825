#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/shared_array.hpp"
#include "cxx/operands/remote_panels.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// A panel in memory, where it stays while this lives: vectors over the inner index, each contiguous, `stride` doubles
/// apart.
struct Panel {
  const double* data = nullptr;
  std::int64_t stride = 0;
  PanelHold hold = {};
};

/// Which amplitudes a product is made of.
enum class Side : std::uint8_t { right, left };

/// All operands of a problem in the shape in which matrix products read them, built once from the tile sources.
///
/// The rows of a left panel (p, h, h') stand as [p, h', h], those of a right panel (p, p', h) as [p', p, h], the first
/// being the fastest, and each row holds its inner index contiguously: particles d, then holes l. Two-sided problems
/// keep one right panel for both sides, with rows t2_left(l) | v2(d) | t2_right(l), of which either side reads a
/// contiguous part, so integrals are stored once.
///
/// All panels stand in one line, in an order that depends on the problem and its tiles alone. This process has all of
/// the line, or it is one of the ranks of a team: then each has a part of it, in one or more pieces that follow each
/// other, reads from the tile sources what lands there, and fetches the panels of others when it needs them.
class PanelStore {
 public:
  /// Everything in this process, filled.
  PanelStore(const Problem& problem, const TileSpace& tiles);

  /// The part of one rank of a team. All ranks make an array of these `pieces`, `fill` theirs, and `open` it when all
  /// have come so far; those that read panels say that they will `fetch_others`. `shares`: of each rank.
  PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares);
  /// In the order of the line.
  std::vector<SharedSegment> pieces() const;
  /// What is read on the way takes at most `buffer_bytes`, unless a single block does.
  void fill(const Problem& problem, std::unique_ptr<SharedArray> array, std::int64_t buffer_bytes);
  void open() { array_->sync(); }  ///< collective
  /// Panels of others take at most `cache_bytes` here, unless those in use at a time take more.
  void fetch_others(std::int64_t cache_bytes);

  /// Null data where the panel has no inner index. For any thread, and so is what follows.
  Panel left(const PanelTiles& tiles, Side side) const;
  Panel right(const PanelTiles& tiles, Side side) const;

  /// Where panels are in the line.
  struct Place {
    std::int64_t begin, doubles;
  };
  using Shelf = std::unordered_map<std::int64_t, Place>;
  /// Disconnected factors of the left side: one (t1, v2) and with Fock in the singles one more (f, t2).
  struct Disconnected {
    std::vector<double> lone;  ///< [orbitals, orbitals], particle fastest
    Shelf pairs;               ///< blocks [p', p, h', h], p' fastest
  };
  const std::vector<Disconnected>& disconnected() const { return disconnected_; }
  PanelHold pair_block(const Disconnected& factors, int p1, int p2, int h1, int h2) const;

  /// Calls, in the order of the line, the function for the kind of each panel.
  struct PanelVisitor {
    std::function<void(const PanelTiles&, Side, const Place&)> left;
    std::function<void(const PanelTiles&, const Place&)> right;
    std::function<void(std::size_t factors, const std::array<int, 4>& p1_p2_h1_h2, const Place&)> pairs;
  };
  void visit(const PanelVisitor& visitor) const;
  bool two_sided() const { return two_sided_; }
  int owner(const Place& place) const;  ///< the rank that has it

  /// Whether other processes have panels.
  bool has_others() const { return others_ != nullptr; }
  /// Says that a task, or a piece of one, will want its panels soon.
  void ask(const Task& task, const ContractionList& contractions) const;
  void ask_left(const PanelTiles& tiles, Side side) const { ask(find(left_shelf(side), key(tiles))); }
  void ask_right(const PanelTiles& tiles) const { ask(find(right_, key(tiles))); }
  void ask_pairs(const Disconnected& factors, int p1, int p2, int h1, int h2) const {
    ask(find(factors.pairs, pair_key(p1, p2, h1, h2)));
  }

  std::span<const double> orbital_energies() const { return eps_; }
  const TileSpace& tiles() const { return tiles_; }

  /// Bytes of this process's own piece, of those that others have, and of what was read from the sources to fill it.
  std::int64_t own_bytes() const;
  std::int64_t bytes_of_others() const;
  std::int64_t bytes_read() const { return bytes_read_; }
  PanelTraffic traffic() const { return others_ ? others_->traffic() : PanelTraffic{}; }
  /// Bytes that others have of what these tasks, cut as the panels are, read: what must at least be fetched for them.
  std::int64_t bytes_to_fetch(std::span<const Task> tasks) const;

  /// What all processes together hold, in doubles, without building it.
  static std::int64_t required_doubles(const Problem& problem, const TileSpace& tiles);
  /// What a task of the CPU executor has in use at once, at most.
  static std::int64_t doubles_in_use(const Problem& problem, const TileSpace& tiles);

 private:
  friend class PanelLoader;
  enum class Kind : std::uint8_t { left, right };
  /// Rows of a panel are `stride` apart. A side reads `extent` doubles from `begin` on; particles and holes start at
  /// their parts.
  struct Layout {
    std::int64_t stride, begin, particle_part, hole_part;
  };
  Layout layout(Kind kind, const PanelTiles& tiles, Side side) const;
  PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares,
             Buffer alone);
  void plan_line(std::span<const OperandShare> shares);
  template <typename Left, typename Right, typename Pairs>
  void walk_line(Left left, Right right, Pairs pairs) const;
  void fill_own(const Problem& problem, std::int64_t most_buffered);
  std::int64_t key(const PanelTiles& tiles) const;
  std::int64_t pair_key(int p1, int p2, int h1, int h2) const;
  const Shelf& left_shelf(Side side) const { return two_sided_ && side == Side::left ? left_of_left_side_ : left_; }
  static const Place* find(const Shelf& shelf, std::int64_t key);

  bool owns(const Place& place) const { return place.begin >= own_begin_ && place.begin < own_end_; }
  std::size_t piece_of(const Place& place) const;
  /// Of a place that this process owns.
  double* own(const Place& place) const;
  PanelHold hold(const Place& place) const;
  void ask(const Place* place) const;
  /// Calls `use` with the place of every panel that a task reads.
  template <typename Use>
  void for_each_place(const Task& task, const ContractionList& contractions, Use use) const;

  SpinFormulation formulation_;
  bool two_sided_;
  TileSpace tiles_;
  std::vector<double> eps_;
  Shelf left_, left_of_left_side_, right_;
  std::vector<Disconnected> disconnected_;
  std::vector<std::int64_t> begins_;  ///< of the pieces, and their end
  std::vector<int> ranks_;            ///< that have them
  int rank_ = 0;
  std::int64_t own_begin_ = 0, own_end_ = 0;
  std::vector<double*> own_;            ///< where the pieces of this process are; null for those of others
  Buffer alone_;                        ///< where there are no others
  std::unique_ptr<SharedArray> array_;  ///< else
  std::unique_ptr<RemotePanels> others_;
  std::atomic<std::int64_t> bytes_read_{0};
};

}  // namespace trifuse
