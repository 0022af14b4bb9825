#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/tiles/factor_source.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {

/// A made-up molecule whose integrals are sums of products of made-up factors. Its amplitudes are those of
/// `make_synthetic_source`.
class FactoredSource final : public TileSource, public FactorSource {
 public:
  /// `hides_factors`: true for a source that seems to store the same integrals.
  FactoredSource(const SyntheticMolecule& molecule, std::int64_t auxiliary, bool hides_factors)
      : blocks_(make_synthetic_source(molecule)), auxiliary_(auxiliary), hides_factors_(hides_factors) {
    for (const Tile& tile : tiles().tiles()) {
      for (std::int64_t n = 0; n < tile.size; ++n) {
        spatial_.push_back(tiles()[tile.partner].offset + n);
        irreps_.push_back(tile.irrep);
      }
    }
    while (irrep_count_ < molecule.irreps) irrep_count_ *= 2;
  }

  std::int64_t auxiliary() const override { return auxiliary_; }
  void visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                const FactorVisitor& visit) const override {
    const std::int64_t v = tiles().orbitals(particles);
    if (v == 0) return;
    share_in_turns(static_cast<std::size_t>(end - begin), threads, [&](std::size_t n) {
      std::vector<double> plane;
      const std::int64_t q = begin + static_cast<std::int64_t>(n);
      for (std::int64_t x = 0; x < v; ++x) {
        for (std::int64_t y = 0; y < v; ++y) {
          plane.push_back(factor(q, orbital({particles, 0, v}, x), orbital({particles, 0, v}, y)));
        }
      }
      visit({q, 1, v, plane.data()});
    });
  }
  void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const override {
    std::size_t n = 0;
    for (std::int64_t x = 0; x < i.count; ++x) {
      for (std::int64_t y = 0; y < j.count; ++y) {
        for (std::int64_t q = 0; q < auxiliary_; ++q) out[n++] = factor(q, orbital(i, x), orbital(j, y));
      }
    }
  }
  void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const override {
    read_oo(h, p, out);
  }

  const SourceInfo& info() const override { return blocks_->info(); }
  const TileSpace& tiles() const override { return blocks_->tiles(); }
  std::span<const double> orbital_energies() const override { return blocks_->orbital_energies(); }
  bool has_integrals() const override { return true; }
  bool has_fock() const override { return blocks_->has_fock(); }
  bool concurrent_reads() const override { return true; }
  const FactorSource* factors() const override { return hides_factors_ ? nullptr : this; }
  void read_fock(int g6, int g5, std::span<double> block) const override { blocks_->read_fock(g6, g5, block); }
  void read_t1(int p, int h, std::span<double> block) const override { blocks_->read_t1(p, h, block); }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    blocks_->read_t2(p1, p2, h3, h4, block);
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    const std::array<Tile, 4> tile{tiles()[g3], tiles()[g4], tiles()[g1], tiles()[g2]};
    const auto first = [&](std::size_t k) { return tile[k].offset; };
    std::size_t n = 0;
    for (std::int64_t p = first(0); p < first(0) + tile[0].size; ++p) {
      for (std::int64_t q = first(1); q < first(1) + tile[1].size; ++q) {
        for (std::int64_t r = first(2); r < first(2) + tile[2].size; ++r) {
          for (std::int64_t s = first(3); s < first(3) + tile[3].size; ++s) {
            block[n] = tile[0].spin() == tile[2].spin() ? integral(p, r, q, s) : 0.0;
            if (tile[0].spin() == tile[3].spin()) block[n] -= integral(p, s, q, r);
            ++n;
          }
        }
      }
    }
  }

 private:
  std::int64_t orbital(const ClassOrbitals& range, std::int64_t n) const {
    return tiles()[tiles().first(range.orbital_class)].offset + range.begin + n;
  }
  /// Returns B[Q,x,y] of two spin orbitals. Each auxiliary function has an irrep.
  double factor(std::int64_t q, std::int64_t x, std::int64_t y) const {
    const auto irrep = [&](std::int64_t z) { return irreps_[static_cast<std::size_t>(z)]; };
    if ((irrep(x) ^ irrep(y)) != static_cast<int>(q % irrep_count_)) return 0.0;
    const auto number = [&](std::int64_t z) { return static_cast<double>(spatial_[static_cast<std::size_t>(z)]); };
    return 0.02 * std::sin(0.7 * static_cast<double>(q) + 1.3 * (number(x) + number(y)) + 0.1 * number(x) * number(y));
  }
  double integral(std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) const {
    double sum = 0.0;
    for (std::int64_t x = 0; x < auxiliary_; ++x) sum += factor(x, p, q) * factor(x, r, s);
    return sum;
  }

  std::unique_ptr<TileSource> blocks_;
  std::int64_t auxiliary_;
  bool hides_factors_;
  int irrep_count_ = 1;
  std::vector<std::int64_t> spatial_;  ///< [spin orbital] the alpha orbital of a restricted space
  std::vector<int> irreps_;            ///< [spin orbital]
};

/// Problems with the same numbers: one with factors, the other one with stored integrals.
struct FactoredProblem {
  FactoredSource with_factors, with_integrals;
  std::unique_ptr<TileSource> left;
  Problem of_factors, of_integrals;

  FactoredProblem(const SyntheticMolecule& molecule, SpinFormulation formulation, bool two_sided = false,
                  std::int64_t auxiliary = 19)
      : with_factors(molecule, auxiliary, false),
        with_integrals(molecule, auxiliary, true),
        left(two_sided ? make_synthetic_source(other_amplitudes(molecule)) : nullptr) {
    of_factors.left = of_integrals.left = left.get();
    of_factors.formulation = of_integrals.formulation = formulation;
    of_factors.right = &with_factors;
    of_integrals.right = &with_integrals;
  }
  FactoredProblem(const FactoredProblem&) = delete;
  FactoredProblem& operator=(const FactoredProblem&) = delete;
};

/// Calls `check(problem, tiles)` for each molecule in each formulation, one-sided and two-sided. Tiles have at most 3
/// occupied and 4 virtual orbitals.
template <typename Check>
void for_each_factored_problem(Check check) {
  std::vector<NamedMolecule> molecules = molecules_of_every_kind();
  molecules.push_back({"closed shell with irreps without virtuals", closed_shell(6, 3, 4)});
  for (const NamedMolecule& named : molecules) {
    for (const SpinFormulation formulation : named.formulations()) {
      for (const bool two_sided : {false, true}) {
        SCOPED_TRACE(named.name + ", " + to_string(formulation) + (two_sided ? ", two-sided" : ""));
        FactoredProblem problem(named.molecule, formulation, two_sided);
        check(problem, problem.with_factors.tiles().retiled(3, 4));
      }
    }
  }
}

}
