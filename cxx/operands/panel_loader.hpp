#pragma once

#include <array>
#include <span>
#include <vector>

#include "cxx/operands/panels.hpp"
#include "tce_tiles/blocks.hpp"

namespace trifuse {

/// Reads every block of a problem that this process has panels for and puts its elements there, on as many threads as
/// OpenMP allows. The tiles of the source and those of the panels may cut the same orbitals differently.
class PanelLoader {
 public:
  /// `most_buffered`: doubles that the buffers of all threads together may take, unless a single block does.
  PanelLoader(PanelStore& store, std::int64_t most_buffered) : store_(store), most_buffered_(most_buffered) {}
  void load(const Problem& problem);

 private:
  enum class Part : std::uint8_t { particles, holes };
  /// Which index of a block becomes which row index of a panel, and which the inner one.
  struct Placement {
    PanelStore::Kind kind;
    std::array<int, 3> rows;  ///< dimension of the block for (p, h, h') or (p, p', h)
    int inner;
    Part part;
    double sign;
    bool bra_images, ket_images;  ///< the block also stands for its antisymmetric images
  };
  /// A block with the place of each of its dimensions among the orbitals of the panels.
  struct BlockData {
    std::array<std::int64_t, 4> offset;
    std::array<std::int64_t, 4> size;
    const double* data;        ///< or null, where it has not been read
    std::array<int, 4> tiles;  ///< of the source
  };

  void load_amplitudes(const TileSource& source, Side side);
  void load_integrals(const TileSource& source);
  void load_disconnected(const Problem& problem);

  /// Reads every block of t2 or v2 whose tiles lie in the classes that the form needs, and of which `place` says that
  /// something lands here, and lets `place` copy it; from several threads at a time. The last of `loop_order` is the
  /// dimension along which the rows of a dump run.
  template <typename Read, typename Place>
  void for_each_block(const TileSource& source, std::array<Space, 4> spaces, std::array<int, 4> loop_order, Read read,
                      Place place);
  /// Copies what of a block lands in panels of this process, and returns whether anything does. A block without data is
  /// only asked about.
  bool place(const BlockData& block, const Placement& placement, const PanelStore::Shelf& shelf, Side side);
  bool place_image(const BlockData& block, const std::array<int, 4>& order, double sign, const Placement& placement,
                   const PanelStore::Shelf& shelf, Side side);
  bool place_pairs(const BlockData& block, const PanelStore::Shelf& pairs);
  void load_lone(const TileSource& source, void (TileSource::*read)(int, int, std::span<double>) const,
                 std::vector<double>& lone);

  /// A stretch of orbitals inside one tile of the panels.
  struct Segment {
    int tile;
    std::int64_t in_tile, in_block, size;
  };
  std::vector<Segment> segments(std::int64_t offset, std::int64_t size) const;

  PanelStore& store_;
  std::int64_t most_buffered_;
};

}  // namespace trifuse
