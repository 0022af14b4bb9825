#pragma once

#include <memory>

#include "cxx/triples/executor.hpp"

namespace trifuse {

class PanelStore;

/// An executor whose operands are panels. It says how they are to be cut, and gets them before it makes workers.
class PanelExecutor : public Executor {
 public:
  virtual const TileSpace& panel_tiles() const = 0;
  /// Whether a panel is read only once or twice, because the executor keeps all of them elsewhere.
  virtual bool keeps_panels() const { return false; }
  virtual void take_panels(std::shared_ptr<const PanelStore> panels) = 0;
};

}  // namespace trifuse
