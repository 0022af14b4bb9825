#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/shared_array.hpp"
#include "cxx/operands/own_panels.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/operands/remote_panels.hpp"

namespace trifuse {

/// A panel in memory, where it stays while this lives: vectors over the contracted index, each contiguous, `stride`
/// doubles apart; of pairs the block.
struct Panel {
  const double* data = nullptr;
  std::int64_t stride = 0;
  PanelHold hold = {};
};

/// The memory of the panels of a layout, filled from the tile sources of a problem.
///
/// This process has all panels, or it is one of the ranks of a team: then each rank reads its own sections from the
/// tile sources, and fetches the panels of others when it needs them.
class PanelStore {
 public:
  /// Everything in this process, filled.
  PanelStore(const Problem& problem, const TileSpace& tiles);

  /// The part of one rank of a team. All ranks make an array of these `pieces`, `fill` theirs, and `open` it when all
  /// have come so far; those that read panels say that they will `fetch_others`. `shares`: of each rank.
  PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares);
  /// In the order of the layout.
  std::vector<SharedSegment> pieces() const;
  /// What is read on the way takes at most `buffer_bytes`, unless a single block does.
  void fill(const Problem& problem, std::unique_ptr<SharedArray> array, std::int64_t buffer_bytes);
  void open() { array_->sync(); }  ///< collective
  /// Panels of others take at most `cache_bytes` here, unless those in use at a time take more.
  void fetch_others(std::int64_t cache_bytes);

  const PanelLayout& layout() const { return layout_; }
  const TileSpace& tiles() const { return layout_.tiles(); }

  /// Null data if the problem has no such panel. Any thread may call this and all that follow.
  Panel acquire(const PanelKey& key) const;
  /// Says that a panel will be acquired soon.
  void prefetch(const PanelKey& key) const;
  /// Whether other processes have panels.
  bool has_others() const { return others_ != nullptr; }

  /// [hole, particle] over all orbitals, and `vector_margin` zeros: t1 for set 0, f_ov for set 1.
  std::span<const double> t1_factor(std::size_t set) const { return t1_factors_[set]; }
  /// Of all orbitals, hartree, and `vector_margin` zeros.
  std::span<const double> orbital_energies() const { return eps_; }

  /// Bytes of this process's own sections, of those that others have, and of what was read from the sources to fill
  /// its own.
  std::int64_t own_bytes() const { return own_.bytes(); }
  std::int64_t bytes_of_others() const;
  std::int64_t bytes_read() const { return bytes_read_; }
  PanelTraffic traffic() const { return others_ ? others_->traffic() : PanelTraffic{}; }
  /// Bytes that others have of what these tasks, cut as the panels are, read: what must at least be fetched for them.
  std::int64_t bytes_to_fetch(std::span<const Task> tasks) const;

 private:
  PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares,
             Buffer alone);
  void fill_own(const Problem& problem, std::int64_t most_buffered);

  PanelLayout layout_;
  OwnPanels own_;
  std::vector<double> eps_;
  std::vector<std::vector<double>> t1_factors_;  ///< by set
  Buffer alone_;                                 ///< if there are no others
  std::unique_ptr<SharedArray> array_;           ///< else
  std::unique_ptr<RemotePanels> others_;
  std::int64_t bytes_read_ = 0;
};

}  // namespace trifuse
