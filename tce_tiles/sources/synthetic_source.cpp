#include "tce_tiles/sources/synthetic_source.hpp"

#include <array>

#include "tce_tiles/sources/synthetic_numbers.hpp"

namespace trifuse {

namespace {

class SyntheticSource final : public TileSource {
 public:
  explicit SyntheticSource(const SyntheticMolecule& molecule) : numbers_(molecule), info_(numbers_.info()) {}

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return numbers_.tiles(); }
  std::span<const double> orbital_energies() const override { return numbers_.orbital_energies(); }
  bool has_integrals() const override { return true; }
  bool has_fock() const override { return true; }
  bool concurrent_reads() const override { return true; }

  void read_fock(int g6, int g5, std::span<double> block) const override {
    fill2(g6, g5, block, [&](std::int64_t p, std::int64_t q) { return numbers_.fock(p, q); });
  }
  void read_t1(int p, int h, std::span<double> block) const override {
    fill2(p, h, block, [&](std::int64_t a, std::int64_t i) { return numbers_.t1(a, i); });
  }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    fill4({p1, p2, h3, h4}, block, [&](std::int64_t a, std::int64_t b, std::int64_t i, std::int64_t j) {
      double value = 0.0;
      if (spin(a) == spin(i) && spin(b) == spin(j)) value += numbers_.amplitude(a, i, b, j);
      if (spin(a) == spin(j) && spin(b) == spin(i)) value -= numbers_.amplitude(a, j, b, i);
      return value;
    });
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    fill4({g3, g4, g1, g2}, block, [&](std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) {
      double value = 0.0;
      if (spin(p) == spin(r) && spin(q) == spin(s)) value += numbers_.integral(p, r, q, s);
      if (spin(p) == spin(s) && spin(q) == spin(r)) value -= numbers_.integral(p, s, q, r);
      return value;
    });
  }

 private:
  Spin spin(std::int64_t orbital) const { return numbers_.spin(orbital); }
  template <typename Value>
  void fill2(int upper, int lower, std::span<double> block, Value value) const {
    std::size_t at = 0;
    const Tile &u = space_[upper], &l = space_[lower];
    for (std::int64_t x = u.offset; x < u.offset + u.size; ++x)
      for (std::int64_t y = l.offset; y < l.offset + l.size; ++y) block[at++] = value(x, y);
  }
  template <typename Value>
  void fill4(const std::array<int, 4>& t, std::span<double> block, Value value) const {
    std::size_t at = 0;
    const auto begin = [&](std::size_t d) { return space_[t[d]].offset; };
    const auto end = [&](std::size_t d) { return space_[t[d]].offset + space_[t[d]].size; };
    for (std::int64_t w = begin(0); w < end(0); ++w)
      for (std::int64_t x = begin(1); x < end(1); ++x)
        for (std::int64_t y = begin(2); y < end(2); ++y)
          for (std::int64_t z = begin(3); z < end(3); ++z) block[at++] = value(w, x, y, z);
  }

  const SyntheticNumbers numbers_;
  const SourceInfo info_;
  const TileSpace& space_ = numbers_.tiles();
};

}

std::unique_ptr<TileSource> make_synthetic_blocks(const SyntheticMolecule& molecule) {
  return std::make_unique<SyntheticSource>(molecule);
}

}
