#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/communicator.hpp"
#include "cxx/base/shared_array.hpp"
#include "cxx/operands/made_panels.hpp"
#include "cxx/operands/own_panels.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/operands/remote_panels.hpp"

namespace trifuse {

/// A panel in memory. The panel stays in its place as long as this object lives. A left or right panel consists of rows
/// over the contracted index. Each row is contiguous.
struct Panel {
  const double* data = nullptr;  ///< first element of the first row, of the vvoo block or of the slab; null: no panel
  std::int64_t stride = 0;       ///< distance between rows, in doubles; 1 for a vvoo block and for a slab of factors
  PanelGuard guard = {};         ///< keeps the panel in its place
};

/// The panels of a layout in memory, filled from the tile sources of a problem.
///
/// Either this process stores all panels, or it is one of several ranks. In the second case each rank fills its own
/// sections from its tile sources and fetches panels of other ranks when it needs them.
class PanelStore {
 public:
  /// Stores all panels in this process and fills them. `problem`: the tile sources. `tiles`: the tiles of the panels.
  /// Throws std::bad_alloc if the memory does not suffice. Passes on exceptions of the tile sources.
  PanelStore(const Problem& problem, const TileSpace& tiles);

  /// Stores only the layout and the small arrays ov_tensor() and orbital_energies(), for an executor that reads the
  /// numbers of the panels itself. No panel may be acquired. Parameters and exceptions are those of the constructor.
  static std::shared_ptr<const PanelStore> of_small_arrays(const Problem& problem, const TileSpace& tiles);

  /// Makes the store of one of several ranks. Call order on every rank: Communicator::make_array(segments()), fill(),
  /// fill_slabs(), open(). A rank that reads panels then calls fetch_others().
  ///
  /// `problem`: the tile sources. `tiles`: the tiles of the panels. `rank`: number of this process. `shares`:
  /// shares[rank], the parts of the ranks. All ranks pass the same tiles and shares.
  PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares);
  /// Returns the segments of the shared array: one for each section, in the order of the layout.
  std::vector<SharedSegment> segments() const;
  /// Fills the sections of this rank, except for the factors of two particles. `problem`: as in the constructor.
  /// `array`: the shared array that was made with segments(). `buffer_bytes`: limit for all read buffers together; one
  /// block may exceed it. Passes on exceptions of the tile sources.
  void fill(const Problem& problem, std::unique_ptr<SharedArray> array, std::int64_t buffer_bytes);
  /// Fills the slabs of factors of two particles in the sections of all ranks. Each rank reads its part of the factors.
  /// Collective. `communicator`: made the array. `buffer_bytes`: limit for factors that wait for other ranks; 16 MiB or
  /// one auxiliary function may exceed it. Passes on exceptions of the tile sources; if one rank throws, all ranks
  /// throw.
  void fill_slabs(Communicator& communicator, const Problem& problem, std::int64_t buffer_bytes) {
    read_slabs(&communicator, problem, buffer_bytes);
  }
  void open() { array_->sync(); }  ///< makes the panels of all ranks readable; collective
  /// Allows this rank to acquire panels of other ranks. `cache_bytes`: limit for the cached panels; panels in use may
  /// exceed it.
  void fetch_others(std::int64_t cache_bytes);
  /// Limits the memory of panels that are made from factors. Panels in use may exceed it. Must be called before
  /// panels are acquired. `bytes`: the limit; without this call it is `default_made_bytes`.
  void limit_made_panels(std::int64_t bytes);
  static constexpr std::int64_t default_made_bytes = std::int64_t{2} << 30;

  const PanelLayout& layout() const { return layout_; }
  /// Returns the layout of the sums of derivatives, see layout_of_derivatives().
  const PanelLayout& layout_of_sums() const { return layout_of_sums_ ? *layout_of_sums_ : layout_; }
  const TileSpace& tiles() const { return layout_.tiles(); }
  /// Returns false if the store was made by of_small_arrays().
  bool has_panels() const { return has_panels_; }

  /// Returns a whole panel; its data are null if the problem has no such panel. Fetches a panel of another rank, and
  /// makes a panel from factors, if it is not in a cache. A panel of another rank requires an earlier
  /// fetch_others(). Passes on exceptions of the fetch. Any thread may call this and all functions below.
  Panel acquire(const PanelKey& key) const;
  /// Returns the part of a panel that the layout contains. It differs from `acquire` for a panel that is made from
  /// factors: the rows are the amplitudes of the side of `key`, over the particles d of a left panel or the holes l of
  /// a right one. The data are null if there are no amplitudes, and for a vvoo block.
  Panel acquire_stored(const PanelKey& key) const;
  /// Announces that a panel will be acquired soon. A background thread may fetch it.
  void prefetch(const PanelKey& key) const;
  /// Returns true if fetch_others() has been called, so that panels may come from other ranks.
  bool has_others() const { return others_ != nullptr; }

  /// Returns t1, or f_ov in hartree, of set `set` of the method, multiplied by the weight of the set: an array [hole,
  /// particle] over all orbitals, followed by `vector_margin` zeros.
  std::span<const double> ov_tensor(std::size_t set) const { return ov_tensors_[set]; }
  /// Returns the orbital energies, [orbitals], hartree, followed by `vector_margin` zeros.
  std::span<const double> orbital_energies() const { return eps_; }

  /// The three functions return, in bytes, the size of the sections that this rank owns, the size of the sections that
  /// other ranks own, and the size of the blocks that this rank read from its tile sources.
  std::int64_t own_bytes() const { return own_.bytes(); }
  std::int64_t bytes_of_others() const;
  std::int64_t bytes_read() const { return bytes_read_; }
  /// Returns the traffic of panels of other ranks so far.
  PanelTraffic traffic() const { return others_ ? others_->traffic() : PanelTraffic{}; }
  /// Returns the counts of panels that were made from factors so far.
  PanelTraffic made_panels() const { return made_ ? made_->traffic() : PanelTraffic{}; }

 private:
  PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares,
             Buffer alone);
  /// Fills the panels of this process, which contain zeros. `max_buffered`: as in PanelLoader.
  void fill_own(const Problem& problem, std::int64_t max_buffered);
  /// Does what fill_slabs() does. `communicator`: null if this process stores all panels.
  void read_slabs(Communicator* communicator, const Problem& problem, std::int64_t buffer_bytes);
  /// Makes room for t1 and f_ov of the sets, and sets them to zero.
  void make_ov_tensors();

  PanelLayout layout_;
  std::optional<PanelLayout> layout_of_sums_;  ///< nullopt: it is `layout_`
  OwnPanels own_;
  std::vector<double> eps_;                      ///< orbital energies, hartree
  std::vector<std::vector<double>> ov_tensors_;  ///< ov_tensors_[set]
  Buffer alone_;                                 ///< memory of all panels if this process stores them all
  std::unique_ptr<SharedArray> array_;           ///< memory of the panels if several ranks store them
  std::unique_ptr<RemotePanels> others_;         ///< cache of other ranks' panels; null before fetch_others()
  std::unique_ptr<MadePanels> made_;             ///< panels made from factors; null without factors
  std::int64_t bytes_read_ = 0;
  bool has_panels_ = true;
};

}
