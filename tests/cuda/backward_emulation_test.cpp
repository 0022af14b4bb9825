#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cxx/cuda/schedule/backward_program.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/reference_elements.hpp"
#include "cxx/triples/seeds.hpp"
#include "tests/support/derivatives_of_reference.hpp"
#include "tests/support/problems.hpp"

/// Emulates the backward pass of tasks on cores: the seeds that the triples kernel writes, with all their images, and
/// the products of the backward kernel. The seeds are made from numbers of the reference evaluation.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

std::size_t index_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Orbitals a, b, c, i, j, k of an element, counted inside their tiles.
using InTiles = std::array<int, 6>;

class EmulatedBackwardPass {
 public:
  EmulatedBackwardPass(const Problem& problem, const TileSpace& tiles)
      : problem_(problem),
        tiles_(tiles),
        layout_(layout_of_derivatives(problem, tiles)),
        vvoo_(layout_),
        panels_(problem, tiles),
        sets_(problem.sets()) {
    for (const SummedArray& array : derivative_sums(layout_)) sums_.emplace_back(array.size);
    for (const Side side : {Side::left, Side::right})
      numbers_.push_back(expand(problem.operands(problem.two_sided() ? side : Side::right), problem.needs_fock()));
  }

  void add(const Task& task) {
    write_program(problem_, tiles_, task, format_of<Fp64>(), contractions_, names_);
    write_backward_program(problem_, layout_, vvoo_, task, names_, format_of<Fp64>(), contractions_, program_);
    seeds_.clear();
    InTiles e{};
    const auto visit = [&](auto& self, std::size_t q) -> void {
      if (q == e.size()) return write_seeds(e);
      for (e[q] = 0; e[q] < names_.data.extent[q]; ++e[q]) self(self, q + 1);
    };
    visit(visit, 0);
    for (const BackwardProgram::Entry& entry : program_.products) multiply(entry);
  }
  const PanelLayout& layout() const { return layout_; }
  const std::vector<ZeroedVector<std::int64_t>>& sums() const { return sums_; }

 private:
  bool adapted() const { return problem_.formulation == SpinFormulation::spin_adapted; }

  /// Returns the targets D of a side, or D_left + S, of an element.
  SixTargets targets(std::size_t side, const OrbitalTriple& p, const OrbitalTriple& h, bool with_singles) const {
    const ReferenceTensors& x = numbers_[side];
    const auto target = [&](std::size_t t) {
      double sum = 0.0;
      const auto add = [&](double coefficient, const auto& first, const auto& second) {
        sum += coefficient * first.of(x) * second.of(x);
      };
      if (adapted()) {
        const Spatial of{x.holes, tiles_.orbitals(OrbitalClass::hole_alpha),
                         tiles_.orbitals(OrbitalClass::particle_alpha)};
        const OrbitalTriple holes = {pick(h, assignments[t][0]), pick(h, assignments[t][1]),
                                     pick(h, assignments[t][2])};
        adapted_products(of, p, holes, add);
        if (with_singles) adapted_products(x, of, sets_, p, holes, add);
      } else if (t == 0) {
        spin_orbital_products(x, p, h, add);
        if (with_singles) spin_orbital_products(x, sets_, p, h, add);
      }
      return sum;
    };
    return {target(0), target(1), target(2), target(3), target(4), target(5)};
  }

  /// Writes the seeds of an element that the triples kernel computes to all their images, see seeds.cuh.
  void write_seeds(const InTiles& e) {
    const TaskData& data = names_.data;
    const auto ascending = [](int equal, int x, int y, int z) {
      return ((equal & 1) == 0 || x <= y) && ((equal & 2) == 0 || y <= z);
    };
    if (!ascending(data.equal_particles, e[0], e[1], e[2]) || !ascending(data.equal_holes, e[3], e[4], e[5])) return;
    OrbitalTriple p{}, h{};
    for (std::size_t q = 0; q < 3; ++q) {
      p[q] = data.offset[q] + e[q];
      h[q] = data.offset[3 + q] + e[3 + q];
    }
    const auto energy = [&](std::int64_t orbital) { return problem_.right->orbital_energies()[index_of(orbital)]; };
    double x = -denominator_shift(problem_.quotients.front().omega2);
    for (std::size_t q = 0; q < 3; ++q) x += energy(h[q]) - energy(p[q]);
    const double factor = is_left_out(problem_.formulation, p, h) ? 0.0 : data.weight / x;
    const auto seeds = [&](const SixTargets& from) {
      if (adapted()) return spin_adapted_left_seeds(from, factor);
      return SixTargets{spin_orbital_left_seed(from.e0, factor), 0.0, 0.0, 0.0, 0.0, 0.0};
    };
    const SixTargets of_left = seeds(targets(1, p, h, false)), of_right = seeds(targets(0, p, h, true));
    const auto in_order = [](const SixTargets& s) { return std::array{s.e0, s.e1, s.e2, s.o3, s.o4, s.o5}; };
    const std::array left = in_order(of_left), right = in_order(of_right);
    const int sides = problem_.sides();
    for (const SeedImage& image : program_.images) {
      const double sign = image.negative != 0 ? -1.0 : 1.0;
      for (std::size_t source = 0; source < index_of(targets_per_side(problem_.formulation)); ++source) {
        const int target = image.target[source];
        if (target == SeedImage::none) continue;
        InTiles at{};
        for (std::size_t q = 0; q < 3; ++q) {
          at[q] = e[index_of(position_orders[index_of(image.particle_order)][q])];
          at[3 + q] = e[3 + index_of(position_orders[index_of(image.hole_order[source])][q])];
        }
        const double l = sign * left[source], r = sign * right[source];
        if (sides == 1) {
          seeds_[{target, at}] = l + r;
        } else {
          seeds_[{2 * target, at}] = l;
          seeds_[{2 * target + 1, at}] = r;
        }
      }
    }
  }

  /// Adds a product to the sums, see BackwardProduct.
  void multiply(const BackwardProgram::Entry& entry) {
    const BackwardProduct& product = entry.shape;
    const Panel panel = panels_.acquire(entry.panel.key);
    const Packing packing =
        packing_of(tiles_, problem_.formulation, entry.panel, panels_.layout().rows(entry.panel.key).stride);
    EXPECT_EQ(product.k_tiles, k_tile_count<Fp64>(packing.contracted));
    EXPECT_LE(product.end, packing.contracted);
    const auto [u, w] = others(product.particle);
    const auto [h1, h2] = others(product.hole);
    const std::array<int, 3> of_left = {product.particle, 3 + h1, 3 + h2}, of_right = {u, w, 3 + product.hole};
    const std::array<int, 3>&rows = product.left != 0 ? of_left : of_right,
                          &columns = product.left != 0 ? of_right : of_left;
    const auto row = [](const InTiles& at, const std::array<int, 3>& positions, const std::int64_t* stride) {
      std::int64_t offset = 0;
      for (std::size_t n = 0; n < 3; ++n) offset += at[index_of(positions[n])] * stride[n];
      return offset;
    };
    std::map<std::int64_t, std::vector<double>> sums;
    for (const auto& [place, seed] : seeds_) {
      const auto& [target, at] = place;
      if (target != entry.target) continue;
      const double* const from = panel.data + row(at, columns, packing.stride);
      std::vector<double>& to = sums[row(at, rows, product.stride)];
      to.resize(index_of(packing.contracted));
      for (std::size_t x = 0; x < to.size(); ++x) to[x] += seed * from[x];
    }
    for (const auto& [offset, to] : sums) {
      for (std::int64_t x = product.begin; x < product.end; ++x)
        sums_[DerivativeSums::operands][index_of(entry.out + offset + x)] +=
            std::llrint(product.factor / unit_of_operands * to[index_of(x)]);
    }
  }

  const Problem& problem_;
  const TileSpace& tiles_;
  const PanelLayout layout_;
  const VvooSums vvoo_;
  const PanelStore panels_;
  const std::vector<DisconnectedSet> sets_;
  std::vector<ReferenceTensors> numbers_;  ///< [side]
  std::vector<ZeroedVector<std::int64_t>> sums_;
  std::map<std::pair<int, InTiles>, double> seeds_;  ///< of the task; key: number among the seeds, orbitals
  ContractionList contractions_;
  TaskProgram names_;
  BackwardProgram program_;
};

class BackwardPassOf : public ::testing::TestWithParam<NamedMolecule> {};

TEST_P(BackwardPassOf, AddsTheDerivativesOfTheReferenceEvaluationToPanels) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      for (const Derivatives wanted : {Derivatives::all, Derivatives::amplitudes}) {
        SCOPED_TRACE(to_string(formulation) + (two_sided ? ", two sides" : "") +
                     (wanted == Derivatives::all ? "" : ", of amplitudes"));
        OwnedProblem owned(GetParam().molecule, formulation, two_sided);
        owned.problem.quotients = {0.05};
        owned.problem.derivatives = wanted;
        const Plan plan = make_plan(owned.right->tiles().retiled(2, 3), formulation);
        EmulatedBackwardPass emulated(owned.problem, plan.tiles);
        for (const Task& task : plan.tasks) emulated.add(task);
        AgainstTheReference(owned.problem, plan, emulated.layout(), emulated.sums()).expect_equal_panels();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, BackwardPassOf,
                         ::testing::Values(NamedMolecule{"closed shell", closed_shell(4, 5)},
                                           NamedMolecule{"closed shell with 2 irreps", closed_shell(4, 7, 2)},
                                           NamedMolecule{"UHF", open_shell(Reference::uhf, {3, 2, 3, 4})},
                                           NamedMolecule{"UHF with 2 irreps",
                                                         open_shell(Reference::uhf, {4, 3, 4, 5}, 2)}),
                         molecule_name);

}
}
