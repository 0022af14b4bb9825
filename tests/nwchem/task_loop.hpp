#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "tce_tiles/tiles/tile_source.hpp"
#include "tests/nwchem/symbols.hpp"

/// Computes whole molecules through the symbols. The loop has the tasks, rows, filters, blocks and buffers of NWChem's
/// `ccsd_t_gpu`.
namespace trifuse::testing {

using Three = std::array<int, 3>;

class TaskLoop {
 public:
  explicit TaskLoop(const TileSource& source) : source_(source), space_(source.tiles()) {
    const auto largest = static_cast<std::size_t>(space_.largest_tile());
    for (std::vector<double>* buffer : {&block_, &t_, &v_}) buffer->resize(largest * largest * largest * largest);
  }

  /// Like NWChem's `nxtask`: returns the number of the next task of this rank, from 0.
  using NextTask = std::function<std::int64_t()>;

  /// E[T] and E(T) of all tasks.
  std::array<double, 2> energies() {
    std::int64_t number = 0;
    return energies([&] { return number++; });
  }
  /// E[T] and E(T) of the tasks of this rank. `next_task` returns their numbers in ascending order.
  std::array<double, 2> energies(const NextTask& next_task) {
    std::int64_t next = next_task(), count = 0;
    const int holes = space_.hole_tiles(), all = space_.size();
    std::array<double, 2> total{};
    for (int p4 = holes; p4 < all; ++p4)
      for (int p5 = p4; p5 < all; ++p5)
        for (int p6 = p5; p6 < all; ++p6)
          for (int h1 = 0; h1 < holes; ++h1)
            for (int h2 = h1; h2 < holes; ++h2)
              for (int h3 = h2; h3 < holes; ++h3) {
                if (!is_task({p4, p5, p6}, {h1, h2, h3}) || count++ != next) continue;
                const std::array<double, 2> energy = task({p4, p5, p6}, {h1, h2, h3});
                total[0] += energy[0];
                total[1] += energy[1];
                next = next_task();
              }
    return total;
  }

 private:
  int spin(int tile) const { return spin_number(space_[tile].spin()); }
  int irrep(int tile) const { return space_[tile].irrep; }
  const Integer& range(int tile) const { return space_[tile].size; }

  bool is_task(const Three& p, const Three& h) const {
    int particles = 0, holes = 0, symmetry = 0;
    for (std::size_t q = 0; q < 3; ++q) {
      particles += spin(p[q]);
      holes += spin(h[q]);
      symmetry ^= irrep(p[q]) ^ irrep(h[q]);
    }
    return particles == holes && !(space_.restricted() && particles + holes > 8) && symmetry == 0;
  }

  static double share(const Three& x) {
    return x[0] == x[1] && x[1] == x[2] ? 6.0 : x[0] == x[1] || x[1] == x[2] ? 2.0 : 1.0;
  }

  std::array<double, 2> task(const Three& p, const Three& h) {
    initmemmodule_();
    dev_mem_s_(&range(h[0]), &range(h[1]), &range(h[2]), &range(p[0]), &range(p[1]), &range(p[2]));
    calls(p, h, s1_rows, [&](const Three& x, const Three& y, const auto& kernels) { singles(x, y, kernels); });
    dev_mem_d_(&range(h[0]), &range(h[1]), &range(h[2]), &range(p[0]), &range(p[1]), &range(p[2]));
    calls(p, h, d1_rows,
          [&](const Three& x, const Three& y, const auto& kernels) { doubles_over_holes(x, y, kernels); });
    calls(p, h, d2_rows,
          [&](const Three& x, const Three& y, const auto& kernels) { doubles_over_particles(x, y, kernels); });
    const double factor = (space_.restricted() ? 2.0 : 1.0) / share(p) / share(h);
    const auto eps = [&](int tile) { return source_.orbital_energies().data() + space_[tile].offset; };
    std::array<double, 2> energy{};
    compute_en_(&factor, energy.data(), eps(h[0]), eps(h[1]), eps(h[2]), eps(p[0]), eps(p[1]), eps(p[2]), &range(h[0]),
                &range(h[1]), &range(h[2]), &range(p[0]), &range(p[1]), &range(p[2]), nullptr, nullptr, nullptr,
                nullptr);
    dev_release_();
    finalizememmodule_();
    return energy;
  }

  /// Each distinct row once, with the numbers of all kernels that have it.
  template <typename Use>
  static void calls(const Three& p, const Three& h, const std::array<Row, 9>& rows, Use use) {
    const auto row_tiles = [&](const Row& row) {
      std::array<int, 6> tiles{};
      for (std::size_t q = 0; q < 3; ++q) {
        tiles[q] = p[static_cast<std::size_t>(row.p[q])];
        tiles[3 + q] = h[static_cast<std::size_t>(row.h[q])];
      }
      return tiles;
    };
    std::vector<std::array<int, 6>> seen;
    for (const Row& row : rows) {
      const std::array<int, 6> tiles = row_tiles(row);
      if (std::find(seen.begin(), seen.end(), tiles) != seen.end()) continue;
      seen.push_back(tiles);
      std::vector<std::size_t> kernels;
      for (std::size_t k = 0; k < 9; ++k) {
        if (row_tiles(rows[k]) == tiles) kernels.push_back(k);
      }
      use({tiles[0], tiles[1], tiles[2]}, {tiles[3], tiles[4], tiles[5]}, kernels);
    }
  }

  std::span<double> block(std::vector<double>& buffer, std::int64_t n) {
    return std::span<double>(buffer).first(static_cast<std::size_t>(n));
  }

  void singles(const Three& p, const Three& h, const std::vector<std::size_t>& kernels) {
    if (spin(p[0]) != spin(h[0]) || irrep(p[0]) != irrep(h[0])) return;
    const bool beta = space_.restricted() && spin(p[0]) == 2;
    const Integer np = range(p[0]), nh = range(h[0]);
    source_.read_t1(beta ? space_[p[0]].partner : p[0], beta ? space_[h[0]].partner : h[0], block(block_, np * nh));
    for (Integer x = 0; x < np; ++x)
      for (Integer y = 0; y < nh; ++y) t_[at(x + np * y)] = block_[at(y + nh * x)];
    source_.read_v2(p[1], p[2], h[1], h[2], block(v_, range(p[1]) * range(p[2]) * range(h[1]) * range(h[2])));
    for (const std::size_t k : kernels) {
      s1[k](&range(h[0]), &range(h[1]), &range(h[2]), &range(p[0]), &range(p[1]), &range(p[2]), nullptr, t_.data(),
            v_.data());
    }
  }

  void doubles_over_holes(const Three& p, const Three& h, const std::vector<std::size_t>& kernels) {
    for (int h7 = 0; h7 < space_.hole_tiles(); ++h7) {
      if (spin(p[0]) + spin(p[1]) != spin(h[0]) + spin(h7) ||
          (irrep(p[0]) ^ irrep(p[1]) ^ irrep(h[0]) ^ irrep(h7)) != 0) {
        continue;
      }
      const Integer n4 = range(p[0]), n5 = range(p[1]), n1 = range(h[0]), n7 = range(h7);
      const bool swapped = h7 < h[0];
      source_.read_t2(p[0], p[1], std::min(h7, h[0]), std::max(h7, h[0]), block(block_, n4 * n5 * n1 * n7));
      for (Integer w = 0; w < n4; ++w)
        for (Integer x = 0; x < n5; ++x)
          for (Integer y = 0; y < n1; ++y)
            for (Integer z = 0; z < n7; ++z) {
              const double value = swapped ? -block_[at(y + n1 * (z + n7 * (x + n5 * w)))]
                                           : block_[at(z + n7 * (y + n1 * (x + n5 * w)))];
              t_[at(z + n7 * (w + n4 * (x + n5 * y)))] = value;
            }
      source_.read_v2(h7, p[2], h[1], h[2], block(v_, n7 * range(p[2]) * range(h[1]) * range(h[2])));
      for (const std::size_t k : kernels) {
        d1[k](&range(h[0]), &range(h[1]), &range(h[2]), &range(h7), &range(p[0]), &range(p[1]), &range(p[2]), nullptr,
              t_.data(), v_.data());
      }
    }
  }

  void doubles_over_particles(const Three& p, const Three& h, const std::vector<std::size_t>& kernels) {
    for (int p7 = space_.hole_tiles(); p7 < space_.size(); ++p7) {
      if (spin(p[0]) + spin(p7) != spin(h[0]) + spin(h[1]) ||
          (irrep(p[0]) ^ irrep(p7) ^ irrep(h[0]) ^ irrep(h[1])) != 0) {
        continue;
      }
      const Integer n4 = range(p[0]), n7 = range(p7), n1 = range(h[0]), n2 = range(h[1]);
      const bool swapped = p7 < p[0];
      source_.read_t2(std::min(p7, p[0]), std::max(p7, p[0]), h[0], h[1], block(block_, n4 * n7 * n1 * n2));
      for (Integer w = 0; w < n4; ++w)
        for (Integer z = 0; z < n7; ++z)
          for (Integer x = 0; x < n1; ++x)
            for (Integer y = 0; y < n2; ++y) {
              const double value = swapped ? -block_[at(y + n2 * (x + n1 * (w + n4 * z)))]
                                           : block_[at(y + n2 * (x + n1 * (z + n7 * w)))];
              t_[at(z + n7 * (w + n4 * (x + n1 * y)))] = value;
            }
      source_.read_v2(p[1], p[2], h[2], p7, block(v_, n7 * range(p[1]) * range(p[2]) * range(h[2])));
      for (const std::size_t k : kernels) {
        d2[k](&range(h[0]), &range(h[1]), &range(h[2]), &range(p[0]), &range(p[1]), &range(p[2]), &range(p7), nullptr,
              t_.data(), v_.data());
      }
    }
  }

  static std::size_t at(Integer place) { return static_cast<std::size_t>(place); }

  const TileSource& source_;
  const TileSpace& space_;
  std::vector<double> block_, t_, v_;  // buffers of the host program, reused for each call
};

}
