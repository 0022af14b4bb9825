#include "cxx/panels/panels.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cxx/panels/panel_loader.hpp"

namespace trifuse {

namespace {

constexpr std::int64_t vector_margin = 8;

constexpr std::int64_t padded(std::int64_t n) {
  return (n + 7) / 8 * 8;
}

/// All (x, y, z) with x in the first range and y, z in the second, y <= z where `ordered`.
struct TileRange {
  int begin, end;
};
TileRange particles_of(const TileSpace& space, Form form) {
  return {space.hole_tiles(), form == Form::spin_adapted ? space.last(OrbitalClass::particle_alpha) : space.size()};
}
TileRange holes_of(const TileSpace& space, Form form) {
  return {0, form == Form::spin_adapted ? space.last(OrbitalClass::hole_alpha) : space.hole_tiles()};
}

/// In a restricted space nothing of pure beta spin is stored or needed.
bool wanted(const TileSpace& space, Form form, const PanelTiles& tiles, const InnerIndex& inner) {
  if (form == Form::spin_orbital && space.restricted() && inner.spin == Spin::beta &&
      std::all_of(tiles.begin(), tiles.end(), [&](int t) { return space[t].spin() == Spin::beta; })) {
    return false;
  }
  return inner_extent(space, inner).total() > 0;
}

template <typename Function>
void for_each_left_panel(const TileSpace& space, Form form, Function function) {
  const TileRange p = particles_of(space, form), h = holes_of(space, form);
  for (int x = p.begin; x < p.end; ++x) {
    for (int y = h.begin; y < h.end; ++y) {
      for (int z = form == Form::spin_adapted ? h.begin : y; z < h.end; ++z) {
        const PanelTiles tiles{x, y, z};
        InnerIndex inner;
        if (left_inner(space, form, tiles, inner) && wanted(space, form, tiles, inner)) function(tiles);
      }
    }
  }
}

template <typename Function>
void for_each_right_panel(const TileSpace& space, Form form, Function function) {
  const TileRange p = particles_of(space, form), h = holes_of(space, form);
  for (int x = p.begin; x < p.end; ++x) {
    for (int y = form == Form::spin_adapted ? p.begin : x; y < p.end; ++y) {
      for (int z = h.begin; z < h.end; ++z) {
        const PanelTiles tiles{x, y, z};
        InnerIndex inner;
        if (right_inner(space, form, tiles, inner) && wanted(space, form, tiles, inner)) function(tiles);
      }
    }
  }
}

/// Blocks of <pp'||hh'>, or of (p h|p' h') in the spin-adapted form.
template <typename Function>
void for_each_pair_block(const TileSpace& space, Form form, Function function) {
  const TileRange p = particles_of(space, form), h = holes_of(space, form);
  for (int p1 = p.begin; p1 < p.end; ++p1) {
    for (int p2 = p1; p2 < p.end; ++p2) {
      for (int h1 = h.begin; h1 < h.end; ++h1) {
        for (int h2 = form == Form::spin_adapted ? h.begin : h1; h2 < h.end; ++h2) {
          const bool exists = form == Form::spin_adapted
                                  ? (space[p1].irrep ^ space[p2].irrep ^ space[h1].irrep ^ space[h2].irrep) == 0
                                  : block_exists(space, p1, p2, h1, h2);
          if (exists) function(p1, p2, h1, h2, space[p1].size * space[p2].size * space[h1].size * space[h2].size);
        }
      }
    }
  }
}

/// Asks for large pages, without which the kernel's work for each page takes longer than reading what will stand there.
void advise_large_pages(void* data, std::size_t bytes) {
  void* begin = data;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (std::align(page, page, begin, bytes) == nullptr) return;
  static_cast<void>(madvise(begin, bytes / page * page, MADV_HUGEPAGE));  // advice: nothing depends on the answer
}

/// Filled by all threads, which spreads the pages over the memory of all processors.
Buffer zeros(std::size_t count) {
  Buffer buffer(count);
  double* data = buffer.data();
  advise_large_pages(data, count * sizeof(double));
#pragma omp parallel for schedule(static)
  for (std::size_t x = 0; x < count; ++x) data[x] = 0.0;
  return buffer;
}

std::int64_t rows(const TileSpace& space, const PanelTiles& tiles) {
  return space[tiles[0]].size * space[tiles[1]].size * space[tiles[2]].size;
}

}  // namespace

PanelStore::Layout PanelStore::layout(Kind kind, const PanelTiles& tiles, Side side) const {
  InnerIndex inner;
  if (kind == Kind::left) {
    left_inner(tiles_, form_, tiles, inner);
  } else {
    right_inner(tiles_, form_, tiles, inner);
  }
  const auto [particles, holes] = inner_extent(tiles_, inner);
  const std::int64_t total = particles + holes;
  // Every row of the right side runs d | l. In a two-sided problem the left side's run l | d, and right panels hold
  // both as l | d | l.
  if (!two_sided_) return {padded(total), 0, 0, particles};
  const std::int64_t stride = padded(kind == Kind::left ? total : total + holes);
  if (side == Side::left) return {stride, 0, holes, 0};
  return kind == Kind::left ? Layout{stride, 0, 0, particles} : Layout{stride, holes, holes, total};
}

std::int64_t PanelStore::key(const PanelTiles& tiles) const {
  const std::int64_t n = tiles_.size();
  return tiles[0] + n * (tiles[1] + n * tiles[2]);
}

std::int64_t PanelStore::pair_key(int p1, int p2, int h1, int h2) const {
  const std::int64_t n = tiles_.size();
  return p1 + n * (p2 + n * (h1 + n * h2));
}

void PanelStore::plan_shelves() {
  for_each_left_panel(tiles_, form_, [&](const PanelTiles& tiles) {
    left_.offset.emplace(key(tiles), static_cast<std::size_t>(left_.doubles));
    left_.doubles += rows(tiles_, tiles) * layout(Kind::left, tiles, Side::right).stride;
  });
  if (two_sided_) {
    left_of_left_side_.offset = left_.offset;
    left_of_left_side_.doubles = left_.doubles;
  }
  for_each_right_panel(tiles_, form_, [&](const PanelTiles& tiles) {
    right_.offset.emplace(key(tiles), static_cast<std::size_t>(right_.doubles));
    right_.doubles += rows(tiles_, tiles) * layout(Kind::right, tiles, Side::right).stride;
  });
}

std::int64_t PanelStore::required_doubles(const Problem& problem, const TileSpace& tiles) {
  std::int64_t doubles = 0;
  const auto extent_of = [&](const PanelTiles& panel, bool left) {
    InnerIndex inner;
    if (left) {
      left_inner(tiles, problem.form, panel, inner);
    } else {
      right_inner(tiles, problem.form, panel, inner);
    }
    return inner_extent(tiles, inner);
  };
  const int sides = problem.two_sided() ? 2 : 1;
  for_each_left_panel(tiles, problem.form, [&](const PanelTiles& panel) {
    doubles += sides * rows(tiles, panel) * padded(extent_of(panel, true).total());
  });
  for_each_right_panel(tiles, problem.form, [&](const PanelTiles& panel) {
    const InnerExtent extent = extent_of(panel, false);
    doubles += rows(tiles, panel) * padded(extent.particles + sides * extent.holes);
  });
  for_each_pair_block(tiles, problem.form, [&](int, int, int, int, std::int64_t size) {
    doubles += (problem.fock_in_singles ? 2 : 1) * size;
  });
  return doubles;
}

PanelStore::PanelStore(const Problem& problem, const TileSpace& tiles)
    : form_(problem.form), two_sided_(problem.two_sided()), tiles_(tiles) {
  const auto energies = problem.right->orbital_energies();
  eps_.assign(energies.begin(), energies.end());
  eps_.resize(eps_.size() + vector_margin, 0.0);
  plan_shelves();
  for (Shelf* shelf : {&left_, &left_of_left_side_, &right_}) {
    shelf->data = zeros(static_cast<std::size_t>(shelf->doubles));
  }
  disconnected_.resize(problem.fock_in_singles ? 2 : 1);
  for (Disconnected& factors : disconnected_) {
    std::int64_t doubles = 0;
    for_each_pair_block(tiles_, form_, [&](int p1, int p2, int h1, int h2, std::int64_t size) {
      factors.offset.emplace(pair_key(p1, p2, h1, h2), static_cast<std::size_t>(doubles));
      doubles += size;
    });
    // Energies read runs of particles in full vectors, beyond the end of the last run too.
    factors.pairs = zeros(static_cast<std::size_t>(doubles + vector_margin));
    factors.lone.assign(static_cast<std::size_t>(tiles_.orbitals() * tiles_.orbitals() + vector_margin), 0.0);
  }
  PanelLoader(*this).load(problem);
}

Panel PanelStore::left(const PanelTiles& tiles, Side side) const {
  const Shelf& shelf = two_sided_ && side == Side::left ? left_of_left_side_ : left_;
  const auto it = shelf.offset.find(key(tiles));
  if (it == shelf.offset.end()) return {};
  const Layout row = layout(Kind::left, tiles, side);
  return {shelf.data.data() + it->second + row.begin, row.stride};
}

Panel PanelStore::right(const PanelTiles& tiles, Side side) const {
  const auto it = right_.offset.find(key(tiles));
  if (it == right_.offset.end()) return {};
  const Layout row = layout(Kind::right, tiles, side);
  return {right_.data.data() + it->second + row.begin, row.stride};
}

const double* PanelStore::pair_block(const Disconnected& factors, int p1, int p2, int h1, int h2) const {
  const auto it = factors.offset.find(pair_key(p1, p2, h1, h2));
  return it == factors.offset.end() ? nullptr : factors.pairs.data() + it->second;
}

}  // namespace trifuse
