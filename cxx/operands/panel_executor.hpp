#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cxx/plan/executor.hpp"

namespace trifuse {
class PanelStore;  // not a part of the interface
}

#pragma GCC visibility push(default)

namespace trifuse {

/// Exchange of panels between the executors of several processes of one host. Each executor owns some panels and keeps
/// them where its peers can read them faster than from host memory. The caller passes the handles between the
/// processes. Call order on every rank: export_panels(), import_panels(), tasks, close().
class PanelExchange {
 public:
  virtual ~PanelExchange() = default;
  /// Loads the panels that this rank owns and keeps them until this object dies. Returns the handle with which the
  /// other ranks of the host open the panels, at most `longest_handle` bytes. The handle is empty if the panels cannot
  /// be exported.
  ///
  /// `owner_of_rank`: owner_of_rank[rank], the rank whose executor owns the panels in the sections of that rank; -1 if
  /// no executor of this host owns them. `rank`: number of this process.
  virtual std::string export_panels(std::span<const int> owner_of_rank, int rank) = 0;
  /// Opens the exported panels of the other ranks. Skips empty handles, handles of executors with another tiling, and
  /// handles that the system cannot open. `handles`: handles[rank], the result of export_panels() on that rank.
  virtual void import_panels(std::span<const std::string> handles) = 0;
  /// Stops reading peers' memory. Exported memory must stay valid until every rank has called this.
  virtual void close() = 0;
  /// Returns the number of bytes of panels that this executor has read from other ranks so far.
  virtual std::int64_t bytes_imported() const = 0;

  static constexpr std::size_t longest_handle = 512;  ///< bytes
};

/// An executor whose operands are panels. Call order: panel_tiles(), take_panels(), make_worker().
class PanelExecutor : public Executor {
 public:
  /// Returns the tiles that the panels of this executor should have. They refine the tiles of the plan.
  virtual const TileSpace& panel_tiles() const = 0;
  /// Returns true if the executor keeps all panels in a memory of its own. It then reads each panel from the store only
  /// once or twice.
  virtual bool caches_panels() const { return false; }
  /// Returns true if the executor reads the numbers of its panels from the sources of the problem. Then take_panels()
  /// needs a store without panels.
  virtual bool reads_sources() const { return false; }
  /// Gives the executor its panels. `panels`: a store with the tiles panel_tiles(), or with other tiles that
  /// refine those of the plan. Throws UsageError if a task of these tiles does not fit into the memory of a GPU.
  virtual void take_panels(std::shared_ptr<const PanelStore> panels) = 0;
  /// Returns the exchange of this executor, after take_panels(); null if it cannot exchange panels.
  virtual PanelExchange* exchange() { return nullptr; }
};

}

#pragma GCC visibility pop
