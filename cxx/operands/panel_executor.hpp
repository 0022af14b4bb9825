#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cxx/plan/executor.hpp"

namespace trifuse {

class PanelStore;

/// Panels that executors of several processes of a host keep for each other, each of them some, where all can read them
/// faster than from the memory of the host. The caller takes the offers round.
class PanelExchange {
 public:
  virtual ~PanelExchange() = default;
  /// Keeps the panels that are at home here from now on, and returns what others need to know to read them; empty where
  /// they cannot. `home_of_rank`: for each rank of a team the rank with the executor where the panels of its piece are
  /// at home, -1 for none. `rank`: that of this process.
  virtual std::string offer(std::span<const int> home_of_rank, int rank) = 0;
  /// The offers of all ranks; empty ones are passed over, and so are those of other cuts and those that do not open.
  virtual void take(std::span<const std::string> offers) = 0;
  /// Reads what others have no more. What was offered must stay until all have said so.
  virtual void let_go() = 0;
  /// That came from others.
  virtual std::int64_t bytes_taken() const = 0;

  static constexpr std::size_t longest_offer = 256;
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
