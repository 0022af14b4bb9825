#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/operands/own_panels.hpp"
#include "cxx/operands/panel_blocks.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse {

/// Fills the panels that this process owns. Reads each block of the problem that has elements in these panels, on as
/// many threads as OpenMP allows. The tiles of the source and the tiles of the panels may divide the same orbitals
/// differently.
class PanelLoader {
 public:
  /// `layout`: all panels. `own`: the panels of this process; their memory must be set. Both must outlive the loader.
  /// `max_buffered`: limit for the read buffers of all threads together, in doubles; one block may exceed it.
  PanelLoader(const PanelLayout& layout, const OwnPanels& own, std::int64_t max_buffered)
      : layout_(layout), own_(own), max_buffered_(max_buffered) {}
  /// Reads the blocks and writes their elements to the panels and to `ov_tensors`. Leaves out slabs of factors of two
  /// particles, see read_slabs_of_ranks(). Requires that the panels and `ov_tensors` contain zeros. Returns the number
  /// of bytes read from the sources. Passes on exceptions of the sources.
  ///
  /// `problem`: the problem of `layout`; its sources are read. `ov_tensors`: one array for each disconnected set, as
  /// `PanelStore::ov_tensor` returns it.
  std::int64_t load(const Problem& problem, std::span<std::vector<double>> ov_tensors);
  /// Reads only `ov_tensors`, as load() does.
  void load_ov_tensors(const Problem& problem, std::span<std::vector<double>> ov_tensors);

 private:
  /// Reads the blocks that have elements in panels of this process, from several threads at the same time if the source
  /// allows it, and copies these elements.
  void load_blocks(const PanelBlocks::Use& use);
  /// Reads the slabs of factors that have a hole and that this process owns.
  void load_factors_of_holes(const FactorSource& source);
  /// Reads all blocks [p,h] by `read`. Writes them, multiplied by `weight`, to `factor`, an array [hole, particle] over
  /// all orbitals.
  void load_ov_tensor(const TileSource& source, void (TileSource::*read)(int, int, std::span<double>) const,
                      double weight, std::vector<double>& factor);

  const PanelLayout& layout_;
  const OwnPanels& own_;
  std::int64_t max_buffered_;
  std::atomic<std::int64_t> bytes_read_{0};
};

}
