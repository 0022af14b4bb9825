#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cxx/plan/executor.hpp"

namespace trifuse {

class PanelStore;

/// The executors of several processes of one host share panels: each executor owns some panels and keeps them where the
/// others can read them faster than from the memory of the host. The caller passes the handles between the processes.
/// Call order on every rank: export_panels(), import_panels(), tasks, close().
class PanelExchange {
 public:
  virtual ~PanelExchange() = default;
  /// Loads the panels that this rank owns and keeps them until this object dies. Returns the handle with which the
  /// other ranks of the host open them, at most `longest_handle` bytes; an empty handle if they cannot.
  ///
  /// `owner_of_rank` [rank]: the rank whose executor owns the panels that lie in this rank's part of the panel store;
  /// -1 if no executor of this host owns them. `rank`: the number of this process.
  virtual std::string export_panels(std::span<const int> owner_of_rank, int rank) = 0;
  /// Opens the exported panels of the other ranks. `handles` [rank]: what export_panels() returned there. Empty handles
  /// are skipped, and so are handles of other tilings and handles that the system does not open.
  virtual void import_panels(std::span<const std::string> handles) = 0;
  /// Stops reading peers' memory. Exported memory must stay valid until every rank has called this.
  virtual void close() = 0;
  /// Bytes of panels that came from other ranks so far.
  virtual std::int64_t bytes_imported() const = 0;

  static constexpr std::size_t longest_handle = 256;  ///< bytes
};

/// An executor whose operands are panels. It says how they are to be cut, and gets them before it makes workers.
class PanelExecutor : public Executor {
 public:
  virtual const TileSpace& panel_tiles() const = 0;
  /// Whether a panel is read only once or twice, because the executor keeps all of them elsewhere.
  virtual bool keeps_panels() const { return false; }
  virtual void take_panels(std::shared_ptr<const PanelStore> panels) = 0;
  /// After `take_panels`; null where it cannot.
  virtual PanelExchange* exchange() { return nullptr; }
};

}  // namespace trifuse
