#include "cxx/triples/reference.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/terms.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {

namespace {

/// A dense tensor [u1,u2,l1,l2] of four spin-orbital indices. Indices are numbers of orbitals; `origin` holds the first
/// orbital of each index.
class Dense4 {
 public:
  Dense4() = default;
  Dense4(std::array<std::int64_t, 4> origin, std::array<std::int64_t, 4> extent)
      : origin_(origin),
        extent_(extent),
        data_(static_cast<std::size_t>(extent[0] * extent[1] * extent[2] * extent[3])) {}
  double& operator()(std::int64_t u1, std::int64_t u2, std::int64_t l1, std::int64_t l2) {
    return data_[index(u1, u2, l1, l2)];
  }
  double operator()(std::int64_t u1, std::int64_t u2, std::int64_t l1, std::int64_t l2) const {
    return data_[index(u1, u2, l1, l2)];
  }

 private:
  std::size_t index(std::int64_t u1, std::int64_t u2, std::int64_t l1, std::int64_t l2) const {
    return static_cast<std::size_t>(
        (l2 - origin_[3]) +
        extent_[3] * ((l1 - origin_[2]) + extent_[2] * ((u2 - origin_[1]) + extent_[1] * (u1 - origin_[0]))));
  }
  std::array<std::int64_t, 4> origin_{}, extent_{};
  std::vector<double> data_;
};

/// Amplitudes and integrals over sorted spin orbitals. They include all antisymmetric images and, in a restricted
/// space, the elements of flipped spin.
struct Tensors {
  std::int64_t holes, orbitals;
  std::vector<double> t1, fock;  ///< [upper orbital, lower orbital] over all orbitals
  Dense4 t2;                     ///< [p,p',h,h']
  Dense4 vvoo, ovoo, vvov;       ///< <p p'||h h'>, <l p||h h'>, <p p'||h d>
  const std::vector<double>& ov(OvTensor tensor) const { return tensor == OvTensor::t1 ? t1 : fock; }
};

using Read4 = void (TileSource::*)(int, int, int, int, std::span<double>) const;

/// Expands the stored blocks of a source to dense tensors.
class Expander {
 public:
  explicit Expander(const TileSource& source) : source_(source), space_(source.tiles()) {
    flipped_.resize(static_cast<std::size_t>(space_.orbitals()), -1);
    if (!space_.restricted()) return;
    for (int t = 0; t < space_.size(); ++t) {
      const Tile& beta = space_[t];
      if (beta.spin() != Spin::beta) continue;
      for (std::int64_t x = 0; x < beta.size; ++x) {
        flipped_[static_cast<std::size_t>(space_[beta.partner].offset + x)] = beta.offset + x;
      }
    }
  }

  void two_index(void (TileSource::*read)(int, int, std::span<double>) const, const BlockIndex& index,
                 std::vector<double>& dense) const {
    const std::int64_t n = space_.orbitals();
    dense.assign(static_cast<std::size_t>(n * n), 0.0);
    for (const Block& block : index.blocks()) {
      std::vector<double> data(static_cast<std::size_t>(block.size));
      (source_.*read)(block.tiles[0], block.tiles[1], data);
      const Tile& u = space_[block.tiles[0]];
      const Tile& l = space_[block.tiles[1]];
      for (std::int64_t x = 0, at = 0; x < u.size; ++x) {
        for (std::int64_t y = 0; y < l.size; ++y, ++at) {
          const double value = data[static_cast<std::size_t>(at)];
          dense[static_cast<std::size_t>((u.offset + x) * n + l.offset + y)] = value;
          const std::int64_t beta_u = flipped_[static_cast<std::size_t>(u.offset + x)];
          const std::int64_t beta_l = flipped_[static_cast<std::size_t>(l.offset + y)];
          if (beta_u >= 0 && beta_l >= 0) dense[static_cast<std::size_t>(beta_u * n + beta_l)] = value;
        }
      }
    }
  }

  /// Reads every block whose tiles lie in the given index spaces. `bra`, `ket`: true if the tensor is antisymmetric in
  /// the first or in the second pair of indices.
  void four_index(Read4 read, std::array<Space, 4> spaces, bool bra, bool ket, Dense4& dense) const {
    std::array<std::int64_t, 4> origin{}, extent{};
    const std::int64_t holes = space_.orbitals(OrbitalClass::hole_alpha) + space_.orbitals(OrbitalClass::hole_beta);
    for (std::size_t d = 0; d < 4; ++d) {
      origin[d] = spaces[d] == Space::hole ? 0 : holes;
      extent[d] = spaces[d] == Space::hole ? holes : space_.orbitals() - holes;
    }
    dense = Dense4(origin, extent);
    const auto tiles_of = [&](std::size_t d) {
      return spaces[d] == Space::hole ? std::pair{0, space_.hole_tiles()}
                                      : std::pair{space_.hole_tiles(), space_.size()};
    };
    for (int u1 = tiles_of(0).first; u1 < tiles_of(0).second; ++u1) {
      for (int u2 = std::max(u1, tiles_of(1).first); u2 < tiles_of(1).second; ++u2) {
        for (int l1 = tiles_of(2).first; l1 < tiles_of(2).second; ++l1) {
          for (int l2 = std::max(l1, tiles_of(3).first); l2 < tiles_of(3).second; ++l2) {
            if (block_exists(space_, u1, u2, l1, l2)) block(read, {u1, u2, l1, l2}, bra, ket, dense);
          }
        }
      }
    }
  }

 private:
  void block(Read4 read, std::array<int, 4> tiles, bool bra, bool ket, Dense4& dense) const {
    const Tile& t0 = space_[tiles[0]];
    const Tile& t1 = space_[tiles[1]];
    const Tile& t2 = space_[tiles[2]];
    const Tile& t3 = space_[tiles[3]];
    std::vector<double> data(static_cast<std::size_t>(t0.size * t1.size * t2.size * t3.size));
    (source_.*read)(tiles[0], tiles[1], tiles[2], tiles[3], data);
    std::size_t at = 0;
    for (std::int64_t w = t0.offset; w < t0.offset + t0.size; ++w) {
      for (std::int64_t x = t1.offset; x < t1.offset + t1.size; ++x) {
        for (std::int64_t y = t2.offset; y < t2.offset + t2.size; ++y) {
          for (std::int64_t z = t3.offset; z < t3.offset + t3.size; ++z) {
            const double value = data[at++];
            images(w, x, y, z, value, bra, ket, dense);
            const std::array<std::int64_t, 4> beta = {flip(w), flip(x), flip(y), flip(z)};
            if (std::all_of(beta.begin(), beta.end(), [](std::int64_t o) { return o >= 0; })) {
              images(beta[0], beta[1], beta[2], beta[3], value, bra, ket, dense);
            }
          }
        }
      }
    }
  }
  static void images(std::int64_t w, std::int64_t x, std::int64_t y, std::int64_t z, double value, bool bra, bool ket,
                     Dense4& dense) {
    dense(w, x, y, z) = value;
    if (bra) dense(x, w, y, z) = -value;
    if (ket) dense(w, x, z, y) = -value;
    if (bra && ket) dense(x, w, z, y) = value;
  }
  std::int64_t flip(std::int64_t orbital) const { return flipped_[static_cast<std::size_t>(orbital)]; }

  const TileSource& source_;
  const TileSpace& space_;
  std::vector<std::int64_t> flipped_;  ///< [alpha orbital]: beta orbital of the same spatial orbital, or -1
};

Tensors expand(const OperandSet& operands, bool with_fock) {
  const TileSource &amplitudes = *operands.amplitudes, &integrals = *operands.integrals;
  constexpr Space h = Space::hole, p = Space::particle;
  const TileSpace& space = amplitudes.tiles();
  Tensors x;
  x.orbitals = space.orbitals();
  x.holes = space.orbitals(OrbitalClass::hole_alpha) + space.orbitals(OrbitalClass::hole_beta);
  const Expander from_amplitudes(amplitudes);
  from_amplitudes.two_index(&TileSource::read_t1, t1_blocks(space), x.t1);
  from_amplitudes.four_index(&TileSource::read_t2, {p, p, h, h}, true, true, x.t2);
  const Expander from_integrals(integrals);
  from_integrals.four_index(&TileSource::read_v2, {p, p, h, h}, true, true, x.vvoo);
  from_integrals.four_index(&TileSource::read_v2, {h, p, h, h}, false, true, x.ovoo);
  from_integrals.four_index(&TileSource::read_v2, {p, p, h, p}, true, false, x.vvov);
  if (with_fock) from_integrals.two_index(&TileSource::read_fock, f1_blocks(integrals.tiles()), x.fock);
  return x;
}

}

class ReferenceEvaluation::Elements {
 public:
  Elements(const Problem& problem, const TileSpace& tiles)
      : problem_(problem),
        tiles_(tiles),
        eps_(problem.right->orbital_energies()),
        right_(expand(problem.operands(Side::right), problem.method.needs_fock())),
        two_sided_(problem.two_sided()) {
    if (two_sided_) left_ = expand(problem.operands(Side::left), problem.method.needs_fock());
  }

  void evaluate(const Task& task, std::span<TaskEnergy> energies) const {
    std::fill(energies.begin(), energies.end(), TaskEnergy{});
    std::array<std::array<std::int64_t, 2>, 6> box;
    for (std::size_t q = 0; q < 3; ++q) {
      const Tile& p = tiles_[task.particles[q]];
      const Tile& h = tiles_[task.holes[q]];
      box[q] = {p.offset, p.offset + p.size};
      box[3 + q] = {h.offset, h.offset + h.size};
    }
    for (std::int64_t a = box[0][0]; a < box[0][1]; ++a)
      for (std::int64_t b = box[1][0]; b < box[1][1]; ++b)
        for (std::int64_t c = box[2][0]; c < box[2][1]; ++c)
          for (std::int64_t i = box[3][0]; i < box[3][1]; ++i)
            for (std::int64_t j = box[4][0]; j < box[4][1]; ++j)
              for (std::int64_t k = box[5][0]; k < box[5][1]; ++k) {
                element(task, {a, b, c}, {i, j, k}, energies);
              }
  }

 private:
  using Triple = std::array<std::int64_t, 3>;

  static std::int64_t pick(const Triple& x, int position) { return x[static_cast<std::size_t>(position)]; }

  /// Computes D and S of one element in the spin-orbital formulation, term by term.
  void spin_orbital(const Tensors& x, const Triple& p, const Triple& h, double& d, double& s) const {
    d = s = 0.0;
    for (const Term& term : terms) {
      const auto pp = others(term.particle), hh = others(term.hole);
      const std::int64_t lone_p = pick(p, term.particle), lone_h = pick(h, term.hole);
      const std::int64_t p1 = pick(p, pp[0]), p2 = pick(p, pp[1]), h1 = pick(h, hh[0]), h2 = pick(h, hh[1]);
      double sum = 0.0;
      switch (term.kind) {
        case TermKind::singles: {
          const auto pair = static_cast<std::size_t>(lone_p * x.orbitals + lone_h);
          for (const DisconnectedSet& set : problem_.method.sets()) {
            sum += set.weight * x.ov(set.ov)[pair] * (set.vvoo == VvooTensor::v2 ? x.vvoo : x.t2)(p1, p2, h1, h2);
          }
          s += term.sign * sum;
          break;
        }
        case TermKind::hole_doubles:
          for (std::int64_t l = 0; l < x.holes; ++l) sum += x.t2(p1, p2, lone_h, l) * x.ovoo(l, lone_p, h1, h2);
          d += term.sign * sum;
          break;
        case TermKind::particle_doubles:
          for (std::int64_t e = x.holes; e < x.orbitals; ++e)
            sum += x.t2(lone_p, e, h1, h2) * x.vvov(p1, p2, lone_h, e);
          d += term.sign * sum;
          break;
      }
    }
  }

  /// Spatial amplitudes and integrals, taken from the opposite-spin elements. `beta` returns the beta orbital of the
  /// same spatial orbital as an alpha orbital.
  struct Spatial {
    const Tensors& x;
    std::int64_t holes, particles;  ///< numbers of orbitals of one spin
    std::int64_t beta(std::int64_t orbital) const { return orbital + (orbital < x.holes ? holes : particles); }
    double t(std::int64_t i, std::int64_t j, std::int64_t a, std::int64_t b) const {
      return x.t2(a, beta(b), i, beta(j));
    }
    double ovov(std::int64_t i, std::int64_t a, std::int64_t j, std::int64_t b) const {
      return x.vvoo(a, beta(b), i, beta(j));
    }
    double ovvv(std::int64_t i, std::int64_t a, std::int64_t b, std::int64_t d) const {
      return x.vvov(a, beta(b), i, beta(d));
    }
    double ovoo(std::int64_t k, std::int64_t c, std::int64_t j, std::int64_t l) const {
      return x.ovoo(l, beta(c), j, beta(k));
    }
  };

  /// Computes W_ijk^abc and S_ijk^abc of one element: `p` = {a, b, c}, `h` = {i, j, k}.
  void spin_adapted(const Tensors& x, const Triple& p, const Triple& h, double& w, double& s) const {
    const Spatial spatial{x, tiles_.orbitals(OrbitalClass::hole_alpha), tiles_.orbitals(OrbitalClass::particle_alpha)};
    w = 0.0;
    static constexpr int permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const auto& q : permutations) {
      const std::int64_t a = pick(p, q[0]), b = pick(p, q[1]), c = pick(p, q[2]);
      const std::int64_t i = pick(h, q[0]), j = pick(h, q[1]), k = pick(h, q[2]);
      for (std::int64_t d = 0; d < spatial.particles; ++d) {
        w += spatial.ovvv(i, a, b, x.holes + d) * spatial.t(k, j, c, x.holes + d);
      }
      for (std::int64_t l = 0; l < spatial.holes; ++l) w -= spatial.ovoo(i, a, j, l) * spatial.t(l, k, b, c);
    }
    s = 0.0;
    for (std::size_t factor = 0; factor < 3; ++factor) {
      const auto [x1, x2] = others(static_cast<int>(factor));
      const auto q1 = static_cast<std::size_t>(x1), q2 = static_cast<std::size_t>(x2);
      const auto pair = static_cast<std::size_t>(p[factor] * x.orbitals + h[factor]);
      for (const DisconnectedSet& set : problem_.method.sets()) {
        s += set.weight * x.ov(set.ov)[pair] *
             (set.vvoo == VvooTensor::v2 ? spatial.ovov(h[q1], p[q1], h[q2], p[q2])
                                         : spatial.t(h[q1], h[q2], p[q1], p[q2]));
      }
    }
  }

  void element(const Task& task, const Triple& p, const Triple& h, std::span<TaskEnergy> energies) const {
    Energies all, same;
    if (problem_.formulation == SpinFormulation::spin_orbital) {
      // Elements with equal indices are zero by antisymmetry. Their denominators have no meaning.
      if (p[0] == p[1] || p[1] == p[2] || p[0] == p[2] || h[0] == h[1] || h[1] == h[2] || h[0] == h[2]) return;
      double d, s, d_left, s_left;
      spin_orbital(right_, p, h, d, s);
      d_left = d;
      s_left = s;
      if (two_sided_) spin_orbital(left_, p, h, d_left, s_left);
      all = {d_left * d, (d_left + s_left) * d};
      if (task.spin_case == SpinCase::aaa || task.spin_case == SpinCase::bbb) same = all;
    } else {
      if ((p[0] == p[1] && p[1] == p[2]) || (h[0] == h[1] && h[1] == h[2])) return;
      adapted_element(p, h, all, same);
    }
    const auto e = [&](std::int64_t orbital) { return eps_[static_cast<std::size_t>(orbital)]; };
    const double delta = e(h[0]) + e(h[1]) + e(h[2]) - e(p[0]) - e(p[1]) - e(p[2]);
    for (std::size_t w = 0; w < energies.size(); ++w) {
      const double scale = task.weight / (delta - denominator_shift(problem_.quotients[w].omega2));
      energies[w].same += scale * same;
      energies[w].mixed += scale * (all - same);
    }
  }

  /// Computes the numerators 1/3 sum (4 W^abc + W^bca + W^cab)(V^abc - V^cba) over all orders of abc and of ijk. `all`:
  /// the numerators of all spin cases. `same`: the part with three equal spins.
  void adapted_element(const Triple& p, const Triple& h, Energies& all, Energies& same) const {
    // W and V of the six orders of abc with ijk in their own order. Another order of ijk only permutes these numbers.
    using Table = double[3][3][3];
    Table w, w_left, v_left;
    const auto six = [](auto function) {
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          if (b != a) function(a, b, 3 - a - b);
    };
    double antisymmetric = 0.0, antisymmetric_left = 0.0, antisymmetric_left_v = 0.0;
    six([&](int a, int b, int c) {
      const Triple order{pick(p, a), pick(p, b), pick(p, c)};
      double s;
      spin_adapted(right_, order, h, w[a][b][c], s);
      w_left[a][b][c] = w[a][b][c];
      if (two_sided_) spin_adapted(left_, order, h, w_left[a][b][c], s);
      v_left[a][b][c] = w_left[a][b][c] + s;
      const double parity = (b - a + 3) % 3 == 1 ? 1.0 : -1.0;
      antisymmetric += parity * w[a][b][c];
      antisymmetric_left += parity * w_left[a][b][c];
      antisymmetric_left_v += parity * v_left[a][b][c];
    });
    six([&](int i, int j, int k) {
      const auto of = [&](const Table& table, int a, int b, int c) {
        int particle[3];
        particle[i] = a;
        particle[j] = b;
        particle[k] = c;
        return table[particle[0]][particle[1]][particle[2]];
      };
      six([&](int a, int b, int c) {
        const double combination = (4.0 * of(w, a, b, c) + of(w, b, c, a) + of(w, c, a, b)) / 3.0;
        all.e_bracket_t += combination * (of(w_left, a, b, c) - of(w_left, c, b, a));
        all.e_paren_t += combination * (of(v_left, a, b, c) - of(v_left, c, b, a));
      });
    });
    // The aaa energy is 1/36 of the sum over all orders of the squared antisymmetrised amplitude. The bbb energy is
    // equal.
    same = {2.0 * antisymmetric_left * antisymmetric, 2.0 * antisymmetric_left_v * antisymmetric};
  }

  Problem problem_;
  TileSpace tiles_;
  std::span<const double> eps_;
  Tensors right_, left_;
  bool two_sided_;
};

ReferenceEvaluation::ReferenceEvaluation(const Problem& problem, const TileSpace& tiles)
    : elements_(std::make_unique<const Elements>(problem, tiles)) {}

ReferenceEvaluation::~ReferenceEvaluation() = default;

void ReferenceEvaluation::evaluate(const Task& task, std::span<TaskEnergy> energies) const {
  elements_->evaluate(task, energies);
}

}
