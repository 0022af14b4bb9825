#include "tce_tiles/checks/consistency.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "tce_tiles/checks/block_singles.hpp"
#include "tce_tiles/checks/small_arrays_check.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/dense_blocks.hpp"
#include "tce_tiles/tiles/memory_source.hpp"
#include "tce_tiles/tiles/spin_cases.hpp"

namespace trifuse {
namespace {

/// Largest deviation from a symmetry by rounding, relative to the largest element or to 1 if that is larger.
constexpr double symmetry_tolerance = 1e-9;
/// The equation of the single excitations is not evaluated if its dense arrays take more memory than this.
constexpr double max_dense_bytes = 4.0 * 0x1p30;

using Quad = std::array<int, 4>;
using Dims = std::array<std::int64_t, 4>;

/// Returns the largest |x[a,b,c,d] + x[b,a,c,d]| of a block x[a,b,c,d] of shape n with n[0] == n[1].
double upper_violation(std::span<const double> x, const Dims& n) {
  const std::int64_t row = n[2] * n[3];
  double largest = 0.0;
  for (std::int64_t a = 0; a < n[0]; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      const double* ab = x.data() + (a * n[1] + b) * row;
      const double* ba = x.data() + (b * n[1] + a) * row;
      for (std::int64_t k = 0; k < row; ++k) largest = std::max(largest, std::abs(ab[k] + ba[k]));
    }
  }
  return largest;
}

/// Returns the largest |x[a,b,c,d] + x[a,b,d,c]| of a block x[a,b,c,d] of shape n with n[2] == n[3].
double lower_violation(std::span<const double> x, const Dims& n) {
  double largest = 0.0;
  for (std::int64_t ab = 0; ab < n[0] * n[1]; ++ab) {
    const double* page = x.data() + ab * n[2] * n[3];
    for (std::int64_t c = 0; c < n[2]; ++c) {
      for (std::int64_t d = 0; d <= c; ++d)
        largest = std::max(largest, std::abs(page[c * n[3] + d] + page[d * n[2] + c]));
    }
  }
  return largest;
}

class BlockChecker {
 public:
  BlockChecker(const TileSource& amplitudes, const TileSource& integrals, CheckedIntegrals checked,
               const CheckPart& part)
      : amplitudes_(amplitudes), integrals_(integrals), space_(amplitudes.tiles()), checked_(checked), part_(part) {}

  ConsistencyReport run() {
    if (!(space_ == integrals_.tiles())) {
      throw InputError(
          fmt::format("The tiles of {} and {} differ; amplitudes and integrals must come from the same calculation.",
                      amplitudes_.info().path, integrals_.info().path));
    }
    const AmplitudeKind kind = amplitudes_.info().amplitudes;
    Measurements& measured = report_.measured;
    measured.fock_in_energy = integrals_.has_integrals() && integrals_.has_fock();
    if (kind == AmplitudeKind::lambda) measured.no_singles_reason = "Lambda amplitudes obey other equations";
    if (kind == AmplitudeKind::made_up) measured.no_singles_reason = "the amplitudes are made up and obey no equation";
    // Without a Fock matrix the energy is complete only if Brillouin's theorem holds. It does not hold for ROHF.
    const SourceInfo& info = integrals_.info();
    if (!integrals_.has_fock() && (info.reference == Reference::rohf || info.may_be_rohf)) {
      measured.no_singles_reason =
          fmt::format("the reference {} ROHF and there is no Fock matrix", info.may_be_rohf ? "may be" : "is");
    }
    energy_known_ = integrals_.has_integrals() && measured.no_singles_reason.empty();
    compare_spin_cases();
    read_singles();
    if (energy_known_) set_up_equation();
    doubles();
    if (integrals_.has_integrals() && checked_ == CheckedIntegrals::all) other_integrals();
    if (energy_known_) measured.ccsd_energy = energy_;
    if (!equation_) return report_;
    report_.residual_sums = equation_->second_sums();
    if (part_.parts == 1) measured.singles = equation_->residual();
    report_.residual_of = [equation = equation_](std::span<const double> sums) {
      equation->set_second_sums(sums);
      return equation->residual();
    };
    return report_;
  }

 private:
  Dims dims(const Quad& q) const {
    return {space_[q[0]].size, space_[q[1]].size, space_[q[2]].size, space_[q[3]].size};
  }
  bool exists(const Quad& q) const { return block_exists(space_, q[0], q[1], q[2], q[3]); }
  static std::string name(const char* tensor, std::span<const int> tiles) {
    std::vector<int> numbers;
    for (const int t : tiles) numbers.push_back(t + 1);
    return fmt::format("{} block ({}, counted from 1)", tensor, fmt::join(numbers, " "));
  }

  /// Counts the block and returns its largest absolute value. Throws InputError if a value is not finite or above
  /// `limit`.
  double magnitude(std::span<const double> block, double limit, const char* tensor, std::span<const int> tiles,
                   const TileSource& source) {
    report_.doubles_read += static_cast<std::int64_t>(block.size());
    double largest = 0.0;
    bool finite = true;
    for (const double x : block) {
      finite = finite && std::isfinite(x);
      largest = std::max(largest, std::abs(x));
    }
    if (!finite) {
      throw InputError(fmt::format("A value in {} of {} is not finite; repeat the calculation that wrote it.",
                                   name(tensor, tiles), source.info().path));
    }
    if (largest > limit) {
      throw InputError(fmt::format(
          "A value in {} of {} is {:.3g}, beyond any reasonable size; the file is damaged or holds something else.",
          name(tensor, tiles), source.info().path, largest));
    }
    return largest;
  }
  void require(double violation, double scale, const char* property, const char* tensor, const Quad& q,
               const TileSource& source) const {
    if (violation <= symmetry_tolerance * std::max(1.0, scale)) return;
    throw InputError(fmt::format(
        "{} of {} {} (deviation {:.2g}); the file is damaged, or was not written by a converged CCSD calculation of "
        "this reference.",
        name(tensor, q), source.info().path, property, violation));
  }
  void antisymmetry(std::span<const double> block, const Quad& q, double scale, const char* tensor,
                    const TileSource& source, double& worst) {
    double violation = 0.0;
    if (q[0] == q[1]) violation = upper_violation(block, dims(q));
    if (q[2] == q[3]) violation = std::max(violation, lower_violation(block, dims(q)));
    worst = std::max(worst, violation);
    require(violation, scale, "is not antisymmetric", tensor, q, source);
  }

  std::span<double> resized(Buffer& buffer, const Quad& q) const {
    const Dims n = dims(q);
    const std::size_t size = at(n[0] * n[1] * n[2] * n[3]);
    buffer.reserve(size);
    return buffer.span().first(size);
  }
  std::span<const double> t2(const Quad& q, Buffer& buffer) const {
    const std::span<double> block = resized(buffer, q);
    amplitudes_.read_block(TensorKind::t2, q, block);
    return block;
  }
  /// Prepares the comparison of spin cases, for a restricted reference.
  void compare_spin_cases() {
    if (!space_.restricted()) return;
    t2_cases_.emplace(amplitudes_, TensorKind::t2);
    if (checked_ != CheckedIntegrals::all || !integrals_.stores_spin_cases_of_v2()) return;
    v2_cases_.emplace(integrals_, TensorKind::v2);
  }
  std::span<const double> v2(const Quad& q) {
    const std::span<double> block = resized(v_, q);
    integrals_.read_block(TensorKind::v2, q, block);
    const double largest = magnitude(block, largest_integral, "V2", q, integrals_);
    report_.largest_v2 = std::max(report_.largest_v2, largest);
    antisymmetry(block, q, largest, "V2", integrals_, report_.v2_antisymmetry);
    if (v2_cases_) {
      const double violation = v2_cases_->violation(q, block);
      report_.v2_spin_symmetry = std::max(report_.v2_spin_symmetry, violation);
      require(violation, largest, spin_symmetry, "V2", q, integrals_);
    }
    return block;
  }

  /// Returns the orbital energies of a class, hartree.
  std::vector<double> energies(OrbitalClass c) const {
    std::vector<double> found;
    for (int t = space_.first(c); t < space_.last(c); ++t) {
      const auto from = integrals_.orbital_energies().begin() + space_[t].offset;
      found.insert(found.end(), from, from + space_[t].size);
    }
    return found;
  }
  void set_up_equation() {
    if (checked_ != CheckedIntegrals::all) {
      report_.measured.no_singles_reason = "amplitudes and integrals come from files of different kinds";
      return;
    }
    const bool oovv = integrals_.has_exchange_integrals();
    if (2.0 * BlockSingles::bytes(space_, oovv) > max_dense_bytes) {
      report_.measured.no_singles_reason =
          "the arrays of these files would take too much memory; convert them to a dump";
      return;
    }
    std::array<std::vector<double>, 2> t1, fock, occupied, virtuals;
    for (const Spin spin : distinct_spins(space_.restricted())) {
      const std::size_t s = spin == Spin::alpha ? 0 : 1;
      occupied[s] = energies(hole_class(spin));
      virtuals[s] = energies(particle_class(spin));
      t1[s] = dense_t1(amplitudes_, spin);
      fock[s] = integrals_.has_fock() ? dense_fock(integrals_, spin) : diagonal_matrix(occupied[s], virtuals[s]);
    }
    const std::array<std::vector<double>, 2> none;
    report_.measured.compare_energies(occupied, virtuals, integrals_.has_fock() ? fock : none,
                                      integrals_.info().reference == Reference::rohf);
    equation_ = std::make_shared<BlockSingles>(space_, amplitudes_.info().omega2, std::move(t1), std::move(fock), oovv);
  }
  std::vector<double>& singles(int p, int h) {
    return t1_[at(p - space_.hole_tiles()) * at(space_.hole_tiles()) + at(h)];
  }

  void read_singles() {
    t1_.resize(at(space_.particle_tiles()) * at(space_.hole_tiles()));
    std::vector<double> fock;
    for (int p = space_.hole_tiles(); p < space_.size(); ++p) {
      for (int h = 0; h < space_.hole_tiles(); ++h) {
        if (!block_exists(space_, p, h)) continue;
        std::vector<double>& block = singles(p, h);
        block.resize(at(space_[p].size * space_[h].size));
        amplitudes_.read_t1(p, h, block);
        const std::array<int, 2> tiles = {p, h};
        report_.measured.largest_t1 =
            std::max(report_.measured.largest_t1, magnitude(block, largest_amplitude, "T1", tiles, amplitudes_));
        if (&integrals_ != &amplitudes_) {
          std::vector<double> right(block.size());
          integrals_.read_t1(p, h, right);
          report_.measured.singles_overlap().add(block, right);
        }
        if (!energy_known_ || !integrals_.has_fock()) continue;
        fock.resize(block.size());
        integrals_.read_fock(p, h, fock);
        magnitude(fock, largest_integral, "F1", tiles, integrals_);
        double sum = 0.0;
        for (std::size_t k = 0; k < block.size(); ++k) sum += fock[k] * block[k];
        energy_ += space_.restricted() ? 2 * sum : sum;
      }
    }
    if (!space_.restricted()) return;
    for (int p = space_.first(OrbitalClass::particle_beta); p < space_.size(); ++p) {
      for (int h = space_.first(OrbitalClass::hole_beta); h < space_.hole_tiles(); ++h) {
        singles(p, h) = singles(space_[p].partner, space_[h].partner);
      }
    }
  }

  /// Reads all T2 blocks, each with the V2 block of the same tiles.
  void doubles() {
    for (int p1 = space_.hole_tiles(); p1 < space_.size(); ++p1) {
      for (int p2 = p1; p2 < space_.size(); ++p2) {
        for (int h3 = 0; h3 < space_.hole_tiles(); ++h3) {
          for (int h4 = h3; h4 < space_.hole_tiles(); ++h4) {
            const Quad q = {p1, p2, h3, h4};
            if (!exists(q)) continue;
            const std::span<const double> block = t2(q, t_);
            const double largest = magnitude(block, largest_amplitude, "T2", q, amplitudes_);
            report_.measured.largest_t2 = std::max(report_.measured.largest_t2, largest);
            antisymmetry(block, q, largest, "T2", amplitudes_, report_.t2_antisymmetry);
            if (t2_cases_) {
              const double violation = t2_cases_->violation(q, block);
              report_.t2_spin_symmetry = std::max(report_.t2_spin_symmetry, violation);
              require(violation, largest, spin_symmetry, "T2", q, amplitudes_);
            }
            if (&integrals_ != &amplitudes_) compare_with_right(q, block);
            if (!integrals_.has_integrals()) continue;
            const std::span<const double> integrals = v2(q);
            if (energy_known_) {
              energy_ += pair_energy(block, q, integrals);
              measure_first_order(block, q, integrals);
            }
            if (equation_) {
              equation_->add_t2(q, block);
              equation_->add_v2(q, integrals);
            }
          }
        }
      }
    }
  }

  /// Returns 1/4 sum <p1 p2||h3 h4> (t2 + t1 t1 - t1 t1), in hartree, over one block and the blocks that follow from it
  /// by antisymmetry and spin. `t` is t2[p1,p2,h3,h4], `v` is v2[p1,p2,h3,h4], `q` are the tiles.
  double pair_energy(std::span<const double> t, const Quad& q, std::span<const double> v) {
    const auto [a_tile, b_tile, i_tile, j_tile] = q;
    const Dims n = dims(q);
    // A T1 block that does not exist is zero.
    const double* ai = data(singles(a_tile, i_tile));
    const double* bj = data(singles(b_tile, j_tile));
    const double* aj = data(singles(a_tile, j_tile));
    const double* bi = data(singles(b_tile, i_tile));
    double sum = 0.0;
    std::size_t k = 0;
    for (std::int64_t a = 0; a < n[0]; ++a) {
      for (std::int64_t b = 0; b < n[1]; ++b) {
        for (std::int64_t i = 0; i < n[2]; ++i) {
          for (std::int64_t j = 0; j < n[3]; ++j, ++k) {
            double tau = t[k];
            if (ai != nullptr && bj != nullptr) tau += ai[a * n[2] + i] * bj[b * n[3] + j];
            if (aj != nullptr && bi != nullptr) tau -= aj[a * n[3] + j] * bi[b * n[2] + i];
            sum += v[k] * tau;
          }
        }
      }
    }
    const double permutations = (a_tile == b_tile ? 1.0 : 2.0) * (i_tile == j_tile ? 1.0 : 2.0);
    const bool alpha = space_[a_tile].spin() == Spin::alpha && space_[b_tile].spin() == Spin::alpha;
    return 0.25 * permutations * (space_.restricted() && alpha ? 2.0 : 1.0) * sum;
  }
  /// Adds a block of left amplitudes, and the same block of right amplitudes, to their overlap.
  void compare_with_right(const Quad& q, std::span<const double> left) {
    const std::span<double> right = resized(v_, q);
    integrals_.read_block(TensorKind::t2, q, right);
    if (!report_.measured.with_right) report_.measured.with_right.emplace();
    report_.measured.with_right->add(left, right);
  }
  /// Adds this block's part of the sums over doubles in Measurements. Parameters are those of `pair_energy`.
  void measure_first_order(std::span<const double> t, const Quad& q, std::span<const double> v) {
    for (std::size_t k = 0; k < t.size(); ++k) {
      report_.measured.doubles.t2_t2 += t[k] * t[k];
      report_.measured.doubles.v_v += v[k] * v[k];
    }
    if (space_[q[0]].spin() == space_[q[1]].spin()) return;
    const std::span<const double> eps = integrals_.orbital_energies();
    const auto energy = [&](std::size_t k, std::int64_t x) { return eps[at(space_[q[k]].offset + x)]; };
    const Dims n = dims(q);
    std::size_t k = 0;
    for (std::int64_t a = 0; a < n[0]; ++a) {
      for (std::int64_t b = 0; b < n[1]; ++b) {
        for (std::int64_t i = 0; i < n[2]; ++i) {
          for (std::int64_t j = 0; j < n[3]; ++j, ++k) {
            report_.measured.doubles.t2_d_t2 +=
                t[k] * t[k] * (energy(2, i) + energy(3, j) - energy(0, a) - energy(1, b));
            report_.measured.doubles.t2_v += t[k] * v[k];
          }
        }
      }
    }
  }
  static const double* data(const std::vector<double>& block) { return block.empty() ? nullptr : block.data(); }

  static constexpr const char* spin_symmetry = "does not have the spin symmetry of a restricted reference";

  void use_v2(const Quad& q) {
    if (!exists(q)) return;
    const std::span<const double> block = v2(q);
    if (equation_) equation_->add_v2(q, block);
  }

  /// Reads the other classes of integrals that triples need, <h p||h h> and <p p||h p>.
  void other_integrals() {
    const int holes = space_.hole_tiles();
    for (int h7 = 0; h7 < holes; ++h7) {
      for (int p6 = holes; p6 < space_.size(); ++p6) {
        for (int h2 = 0; h2 < holes; ++h2) {
          for (int h3 = h2; h3 < holes; ++h3) {
            use_v2({h7, p6, h2, h3});
          }
        }
      }
    }
    if (equation_) {
      // <h p||h p> complete the equation of the single excitations.
      const BlockIndex blocks = integrals_.has_exchange_integrals() ? exchange_v2_blocks(space_) : BlockIndex();
      for (const Block& block : blocks.blocks()) use_v2(block.tiles);
      equation_->finish_collecting(part_.part, part_.parts);
    }
    std::int64_t blocks = 0;
    for (int p5 = holes; p5 < space_.size(); ++p5) {
      for (int p6 = p5; p6 < space_.size(); ++p6) {
        for (int h3 = 0; h3 < holes; ++h3) {
          for (int p7 = holes; p7 < space_.size(); ++p7) {
            const Quad q = {p5, p6, h3, p7};
            if (exists(q) && blocks++ % part_.parts == part_.part) use_v2(q);
          }
        }
      }
    }
  }

  const TileSource& amplitudes_;
  const TileSource& integrals_;
  const TileSpace& space_;
  CheckedIntegrals checked_;
  const CheckPart part_;
  ConsistencyReport report_;
  bool energy_known_ = false;
  double energy_ = 0.0;
  std::vector<std::vector<double>> t1_;  ///< t1_[particle tile,hole tile]: blocks t1[p,h]; empty if one does not exist
  Buffer t_, v_;
  std::optional<SpinCases> t2_cases_, v2_cases_;  ///< set for a restricted reference
  std::shared_ptr<BlockSingles> equation_;
};

}

ConsistencyReport check_consistency(const TileSource& amplitudes, const TileSource& integrals, CheckedIntegrals checked,
                                    const CheckPart& part) {
  return BlockChecker(amplitudes, integrals, checked, part).run();
}

}
