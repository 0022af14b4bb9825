#include "cxx/operands/panel_loader.hpp"

#include <algorithm>
#include <type_traits>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/operands/panel_blocks.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

namespace {

/// Computes target[f * target_step + q] = sign * source[q * source_step + f] for f < `width` and q < `height`. If both
/// are constants, the compiler keeps the square in registers.
template <typename Width, typename Height>
void copy_square(Width width, Height height, const double* source, std::int64_t source_step, double* target,
                 std::int64_t target_step, double sign) {
  for (std::int64_t x = 0; x < width; ++x)
    for (std::int64_t y = 0; y < height; ++y) target[x * target_step + y] = sign * source[y * source_step + x];
}

/// Calls `body(count)`. `count` is a compile-time constant for the usual extents of a square.
template <typename Body>
void with_constant(std::int64_t count, Body body) {
  using Eight = std::integral_constant<std::int64_t, 8>;
  using Four = std::integral_constant<std::int64_t, 4>;
  if (count == Eight{}) return body(Eight{});
  count == Four{} ? body(Four{}) : body(count);
}

/// Does what copy_square() does for f < `fast` and q < `inner`, in small squares.
void copy_transposed(std::int64_t fast, std::int64_t inner, const double* source, std::int64_t source_step,
                     double* target, std::int64_t target_step, double sign) {
  constexpr std::int64_t edge = 8;  // doubles of a cache line
  for (std::int64_t f = 0; f < fast; f += edge) {
    with_constant(std::min(edge, fast - f), [&](auto width) {
      for (std::int64_t q = 0; q < inner; q += edge) {
        with_constant(std::min(edge, inner - q), [&](auto height) {
          copy_square(width, height, source + q * source_step + f, source_step, target + f * target_step + q,
                      target_step, sign);
        });
      }
    });
  }
}

/// Computes target[x . to] = sign * source[x . from] for all indices x of a piece. The target is contiguous in the
/// index `inner`, the source in the index `fast`. If the two differ, small squares are copied, so that all elements of
/// a cache line are used on both sides.
void copy_piece(const PanelBlocks::Piece& copy, const double* source, double* target) {
  const double sign = copy.sign;
  std::size_t inner = 3, fast = 3;
  for (std::size_t d = 0; d < 4; ++d) {
    if (copy.to[d] == 1) inner = d;
  }
  if (copy.from[inner] == 1) {
    fast = inner;
  } else {
    for (std::size_t d = 0; d < 4; ++d) {
      if (copy.from[d] == 1 && d != inner) fast = d;
    }
  }
  // The indices other than `inner` and `fast`. If these two are the same index, there are three others.
  std::array<std::size_t, 3> outer{};
  std::size_t outers = 0;
  for (std::size_t d = 0; d < 4; ++d) {
    if (d != inner && d != fast) outer[outers++] = d;
  }
  const auto n = copy.extent;
  const auto last = outers == 3 ? n[outer[2]] : 1;
  for (std::int64_t x = 0; x < n[outer[0]]; ++x) {
    for (std::int64_t y = 0; y < n[outer[1]]; ++y) {
      for (std::int64_t z = 0; z < last; ++z) {
        const double* s = source + x * copy.from[outer[0]] + y * copy.from[outer[1]];
        double* t = target + x * copy.to[outer[0]] + y * copy.to[outer[1]];
        if (outers == 3) {
          s += z * copy.from[outer[2]];
          t += z * copy.to[outer[2]];
          for (std::int64_t q = 0; q < n[inner]; ++q) t[q] = sign * s[q];
        } else {
          copy_transposed(n[fast], n[inner], s, copy.from[inner], t, copy.to[fast], sign);
        }
      }
    }
  }
}

}

void PanelLoader::load_blocks(const PanelBlocks::Use& use) {
  const TileSpace& space = use.source->tiles();
  const PanelBlocks blocks_of(layout_);
  const std::vector<PanelBlocks::BlockTiles> blocks =
      blocks_of.list(use, space, [&](const PanelBlocks::BlockShape& block) {
        bool lands = false;
        blocks_of.for_each_piece(block, use,
                                 [&](const PanelBlocks::Piece& piece) { lands = lands || own_.contains(piece.panel); });
        return lands;
      });
  // Blocks are written to separate memory.
  blocks_of.read(use, blocks, max_buffered_, [&](std::size_t n, std::span<const double> elements) {
    blocks_of.for_each_piece(blocks_of.shape_of(space, blocks[n]), use, [&](const PanelBlocks::Piece& piece) {
      if (!own_.contains(piece.panel)) return;
      copy_piece(piece, elements.data() + piece.in_block, own_.data(piece.panel) + piece.in_panel);
    });
    bytes_read_ += static_cast<std::int64_t>(elements.size_bytes());
  });
}

void PanelLoader::load_factors_of_holes(const FactorSource& source) {
  struct Slab {
    PanelKey key;
    std::span<double> values;
  };
  const TileSpace& space = layout_.tiles();
  const auto of_tile = [&](int t) { return orbitals_of(space, space[t]); };
  std::vector<Slab> slabs;
  layout_.visit([&](const PanelKey& key, const PanelExtent& extent) {
    const bool of_hole = key.kind == PanelKind::factors_ov || key.kind == PanelKind::factors_oo;
    if (!of_hole || !own_.contains(extent)) return;
    slabs.push_back({key, {own_.data(extent), static_cast<std::size_t>(extent.doubles)}});
    bytes_read_ += static_cast<std::int64_t>(slabs.back().values.size_bytes());
  });
  share_in_turns(slabs.size(), available_threads(), [&](std::size_t n) {
    const auto& [key, values] = slabs[n];
    const ClassOrbitals h = of_tile(key.tiles[0]);
    if (key.kind == PanelKind::factors_oo) {
      source.read_oo(h, orbitals_of(space, h.orbital_class, key.tiles[1]), values);
    } else {
      source.read_ov(h, of_tile(key.tiles[1]), values);
    }
  });
}

void PanelLoader::load_ov_tensor(const TileSource& source, void (TileSource::*read)(int, int, std::span<double>) const,
                                 double weight, std::vector<double>& factor) {
  const TileSpace& space = source.tiles();
  std::vector<double> block;
  const auto n = static_cast<std::size_t>(space.orbitals());
  for (int p = space.hole_tiles(); p < space.size(); ++p) {
    for (int h = 0; h < space.hole_tiles(); ++h) {
      if (space[p].spin() != space[h].spin() || space[p].irrep != space[h].irrep) continue;
      // In a restricted space the alpha block is also the beta block.
      const int stored_p = space[p].partner, stored_h = space[h].partner;
      block.resize(static_cast<std::size_t>(space[p].size * space[h].size));
      (source.*read)(stored_p, stored_h, block);
      for (std::size_t x = 0; x < static_cast<std::size_t>(space[p].size); ++x) {
        for (std::size_t y = 0; y < static_cast<std::size_t>(space[h].size); ++y) {
          factor[(static_cast<std::size_t>(space[h].offset) + y) * n + static_cast<std::size_t>(space[p].offset) + x] =
              weight * block[x * static_cast<std::size_t>(space[h].size) + y];
        }
      }
    }
  }
}

void PanelLoader::load_ov_tensors(const Problem& problem, std::span<std::vector<double>> ov_tensors) {
  for (std::size_t n = 0; n < ov_tensors.size(); ++n) {
    const auto [set, operands] = problem.disconnected_set(static_cast<int>(n));
    if (set.ov == OvTensor::t1) {
      load_ov_tensor(*operands.amplitudes, &TileSource::read_t1, set.weight, ov_tensors[n]);
    } else {
      load_ov_tensor(*operands.integrals, &TileSource::read_fock, set.weight, ov_tensors[n]);
    }
  }
}

std::int64_t PanelLoader::load(const Problem& problem, std::span<std::vector<double>> ov_tensors) {
  const FactorSource* const factors = problem.right->factors();
  const auto held = factors != nullptr ? factors->acquire_factors(nullptr) : nullptr;
  for (const PanelBlocks::Use& use : PanelBlocks(layout_).uses(problem)) load_blocks(use);
  if (layout_.has_factors()) load_factors_of_holes(*factors);
  load_ov_tensors(problem, ov_tensors);
  return bytes_read_;
}

}
