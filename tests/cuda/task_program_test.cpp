#include "cxx/cuda/schedule/task_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cpu/reference_executor.hpp"
#include "cxx/cuda/schedule/split_half.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/energy.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/other_methods.hpp"
#include "tests/support/packed_panels.hpp"
#include "tests/support/problems.hpp"

/// The program of a kernel, executed in the plainest way and compared with the reference. This tests panels, orders,
/// signs and weights without a GPU.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

std::size_t as_index(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// A panel of the host, addressed by its packing: [position 0, 1, 2(, 3)] rows of contracted indices.
struct View {
  const double* data = nullptr;
  Packing packing{};
  std::vector<double> rounded = {};  ///< what `data` points to if the panel was packed and unpacked
  const double* row(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t w = 0) const {
    const auto& s = packing.stride;
    return data + x * s[0] + y * s[1] + z * s[2] + w * s[3];
  }
};

/// The panel as the sum of its slices in this precision.
template <typename Precision>
View view_in(const Packing& packing, const double* source) {
  std::vector<double> numbers = unpacked_panel<Precision>(packing, packed_panel<Precision>(packing, source));
  const double* const data = numbers.data();
  return {data, packing, std::move(numbers)};
}

View view_of_panel(const PanelStore& panels, SpinFormulation formulation, const PanelName& name) {
  const Panel panel = panels.acquire(name.key);
  EXPECT_NE(panel.data, nullptr);
  const Packing packing = packing_of(panels.tiles(), formulation, name, panel.stride);
  if (name.format == format_of<Fp32>()) return view_in<Fp32>(packing, panel.data);
  if (name.format == format_of<SplitHalf>()) return view_in<SplitHalf>(packing, panel.data);
  if (name.format == format_of<TwoFloats>()) return view_in<TwoFloats>(packing, panel.data);
  EXPECT_EQ(name.format, format_of<Fp64>());
  return {panel.data, packing};
}

/// The weight of an element: for how many elements of a full block it stands. 0 if it is not in ascending order.
double multiplicity(SpinFormulation formulation, int equal, int x, int y, int z) {
  const bool xy = (equal & 1) != 0, yz = (equal & 2) != 0;
  if ((xy && x > y) || (yz && y > z)) return 0.0;
  const int pairs_alike = (xy && x == y ? 1 : 0) + (yz && y == z ? 1 : 0);
  if (formulation == SpinFormulation::spin_orbital) return pairs_alike == 0 ? 1.0 : 0.0;
  return pairs_alike == 0 ? 1.0 : pairs_alike == 1 ? 0.5 : 0.0;
}

/// Executes the program of one task, element by element.
class Evaluation {
 public:
  Evaluation(const Problem& problem, const PanelStore& panels, const TaskProgram& program, SpinCase spin_case)
      : problem_(problem), panels_(panels), program_(program), spin_case_(spin_case), targets_(problem.targets()) {
    for (const auto& product : program.products) {
      products_.push_back(product.k_steps == 0 ? std::array<View, 2>{}
                                               : std::array<View, 2>{view(product.a), view(product.b)});
      if (product.k_steps == 0) continue;
      const auto& [a, b] = products_.back();
      EXPECT_EQ(a.packing.contracted, b.packing.contracted);
      EXPECT_EQ(product.k_steps, ceil_div(a.packing.contracted, product.a.format.k_step));
    }
    for (const auto& vvoo : program.vvoo) vvoo_.push_back(vvoo.used ? view(vvoo.name) : View{});
  }

  std::vector<double> energies() const {
    std::vector<TaskEnergy> energies(problem_.quotients.size());
    const auto& n = program_.data.extent;
    Element e{};
    for (e[0] = 0; e[0] < n[0]; ++e[0])
      for (e[1] = 0; e[1] < n[1]; ++e[1])
        for (e[2] = 0; e[2] < n[2]; ++e[2])
          for (e[3] = 0; e[3] < n[3]; ++e[3])
            for (e[4] = 0; e[4] < n[4]; ++e[4])
              for (e[5] = 0; e[5] < n[5]; ++e[5]) add(e, energies);
    return testing::numbers_of(energies);
  }

 private:
  using Element = std::array<int, 6>;  ///< [a, b, c, i, j, k] orbitals inside their tiles

  View view(const PanelName& name) const { return view_of_panel(panels_, problem_.formulation, name); }
  bool adapted() const { return problem_.formulation == SpinFormulation::spin_adapted; }

  /// One element of target `t`: the sum of its products, with signs in spin-orbital form.
  double target(const Element& e, int t) const {
    double sum = 0.0;
    for (int n = 0; n < products_per_target; ++n) {
      const std::size_t number = as_index(t * products_per_target + n);
      if (program_.products[number].k_steps == 0) continue;
      const auto [x, y] = axes_of_product(n);
      const int sign = adapted() ? 1 : product_sign({x, y});
      const auto pp = others(x), hh = others(y);
      const auto& [left, right] = products_[number];
      const double* a = left.row(e[as_index(x)], e[as_index(3 + hh[0])], e[as_index(3 + hh[1])]);
      const double* b = right.row(e[as_index(pp[0])], e[as_index(pp[1])], e[as_index(3 + y)]);
      for (int k = 0; k < left.packing.contracted; ++k) sum += sign * a[k] * b[k];
    }
    return sum;
  }

  /// The factor t1 (set 0) or f_ov (set 1) of particle x and hole y, times vvoo block `block` at the other indices.
  double single(const Element& e, int set, int x, int y, int block) const {
    const int terms = adapted() ? spin_adapted_vvoo_blocks : spin_orbital_vvoo_blocks;
    const std::size_t number = as_index(set * terms + block);
    if (!program_.vvoo[number].used) return 0.0;
    const auto pp = others(x), hh = others(y);
    const auto orbital = [&](int q) { return program_.data.offset[q] + e[as_index(q)]; };
    const double factor =
        panels_.ov_tensor(as_index(set))[as_index(orbital(3 + y) * panels_.tiles().orbitals() + orbital(x))];
    return factor *
           *vvoo_[number].row(e[as_index(pp[0])], e[as_index(pp[1])], e[as_index(3 + hh[0])], e[as_index(3 + hh[1])]);
  }

  double singles(const Element& e, int t) const {
    double sum = 0.0;
    for (int set = 0; set < problem_.disconnected_sets(); ++set) {
      for (int x = 0; x < 3; ++x) {
        if (adapted()) {
          sum += single(e, set, x, assignments[as_index(t)][as_index(x)], x * 6 + t);
          continue;
        }
        for (int y = 0; y < 3; ++y) sum += alone_sign(x, y) * single(e, set, x, y, x * 3 + y);
      }
    }
    return sum;
  }

  Numerators numerators(const Element& e) const {
    const int right = adapted() ? targets_ - 6 : targets_ - 1;
    if (!adapted()) {
      const double y = target(e, right);
      const Energies all = spin_orbital_energies(target(e, 0) * y, singles(e, 0) * y);
      const bool same_spin = spin_case_ == SpinCase::aaa || spin_case_ == SpinCase::bbb;
      return {all, same_spin ? all : Energies{}};
    }
    const auto six = [](auto number) {
      return SixTargets{number(0), number(1), number(2), number(3), number(4), number(5)};
    };
    return spin_adapted_numerators(six([&](int t) { return target(e, t); }), six([&](int t) { return singles(e, t); }),
                                   six([&](int t) { return target(e, right + t); }));
  }

  void add(const Element& e, std::vector<TaskEnergy>& energies) const {
    const TaskData& data = program_.data;
    const double weight = multiplicity(problem_.formulation, data.equal_particles, e[0], e[1], e[2]) *
                          multiplicity(problem_.formulation, data.equal_holes, e[3], e[4], e[5]) * data.weight;
    if (weight == 0.0) return;
    const Numerators sum = numerators(e);
    double delta = 0.0;
    for (std::size_t q = 0; q < 6; ++q) {
      const double eps = panels_.orbital_energies()[as_index(data.offset[q] + e[q])];
      delta += q < 3 ? -eps : eps;
    }
    for (std::size_t w = 0; w < energies.size(); ++w) {
      const double scale = weight / (delta - 3.0 * problem_.quotients[w].omega2);
      energies[w].same += scale * sum.same;
      energies[w].mixed += scale * (sum.all - sum.same);
    }
  }

  const Problem& problem_;
  const PanelStore& panels_;
  const TaskProgram& program_;
  SpinCase spin_case_;
  int targets_;
  std::vector<std::array<View, 2>> products_;
  std::vector<View> vvoo_;
};

/// How far the energies of programs with operands in this format are from those of the reference, task by task.
double difference_from_the_reference(const Problem& problem, const TileSpace& tiles, const OperandFormat& format) {
  const Plan plan = make_plan(tiles, problem.formulation);
  const PanelStore panels(problem, tiles);
  ContractionList contractions;
  TaskProgram program;
  std::vector<double> found;
  for (const Task& task : plan.tasks) {
    write_program(problem, tiles, task, format, contractions, program);
    const auto energies = Evaluation(problem, panels, program, task.spin_case).energies();
    found.insert(found.end(), energies.begin(), energies.end());
  }
  const auto reference = make_reference_executor(problem, tiles);
  EXPECT_FALSE(plan.tasks.empty());
  return relative_difference(found, task_numbers(*reference, plan, problem.quotients.size()));
}

void expect_energies_of_the_reference(const Problem& problem, const TileSpace& tiles) {
  EXPECT_LT(difference_from_the_reference(problem, tiles, format_of<Fp64>()), 1e-12);
}

class ProgramFor : public ::testing::TestWithParam<NamedMolecule> {};

TEST_P(ProgramFor, GivesTheEnergiesOfTheReferenceInTilesOfAnySize) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const OwnedProblem owned(GetParam().molecule, formulation);
    for (const auto& [holes, particles] : {TileSizes{2, 2}, {1, 3}, {5, 4}, {30, 30}}) {
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + std::to_string(holes) + " and " +
                   std::to_string(particles));
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(holes, particles));
    }
  }
}

TEST_P(ProgramFor, GivesTheEnergiesOfTheReferenceForTwoSidesAndSeveralOmega2) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    OwnedProblem owned(GetParam().molecule, formulation, true);
    owned.problem.quotients = {0.0, 0.1, 0.2};
    expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(3, 4));
  }
}

TEST_P(ProgramFor, GivesTheEnergiesOfTheReferenceWithFockInSingles) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      SCOPED_TRACE(to_string(formulation) + (two_sided ? ", two sides" : ""));
      OwnedProblem owned(GetParam().molecule, formulation, two_sided);
      owned.problem.method = ccsd_t_with_fock;
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(2, 5));
    }
  }
}

TEST_P(ProgramFor, GivesTheEnergiesOfTheReferenceForOtherMethods) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    OwnedProblem owned(GetParam().molecule, formulation);
    for (const Method& method : other_methods) {
      SCOPED_TRACE(method.name() + std::string(", ") + to_string(formulation));
      owned.problem.method = method;
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(3, 4));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ProgramFor, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

// Floats have 24 bits, sums of two floats 48, and sums of two scaled FP16 numbers 22.
TEST(Program, GivesTheEnergiesOfTheReferenceToThePrecisionOfItsOperands) {
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    SCOPED_TRACE(to_string(formulation));
    const OwnedProblem owned(closed_shell(5, 7, 2), formulation, true);
    const TileSpace tiles = owned.right->tiles().retiled(5, 4);
    const double with_floats = difference_from_the_reference(owned.problem, tiles, format_of<Fp32>());
    EXPECT_LT(with_floats, 1e-6);
    EXPECT_GT(with_floats, 1e-12) << "the operands were doubles";
    EXPECT_LT(difference_from_the_reference(owned.problem, tiles, format_of<TwoFloats>()), 1e-12);
    const double with_halves = difference_from_the_reference(owned.problem, tiles, format_of<SplitHalf>());
    EXPECT_LT(with_halves, 1e-6);
    EXPECT_GT(with_halves, 1e-12) << "the operands were doubles";
  }
}

// For tiles that do not coincide, the program has the operations of the plan. For others the plan counts fewer.
// A device makes vvoo blocks whose rows over p' are padded.
TEST(PackingOfVvooBlocks, FindsTheSameNumbersInLongerRows) {
  for (const std::int64_t particles : {1, 3, 4}) {
    const auto source = make_synthetic_source(closed_shell(2, particles));
    const TileSpace& tiles = source->tiles();
    const int p = tiles.hole_tiles();
    for (const bool swapped : {false, true}) {
      const PanelName name{PanelKey::vvoo(0, {p, p, 0, 0}), swapped, vvoo_format};
      const Packing packing = packing_of(tiles, SpinFormulation::spin_adapted, name, 1);
      const std::int64_t length = tiles[p].size, stride = length + 3;
      std::vector<double> block(static_cast<std::size_t>(tiles[0].size * tiles[0].size * length * length));
      std::iota(block.begin(), block.end(), 1.0);
      std::vector<double> longer(block.size() / static_cast<std::size_t>(length) * static_cast<std::size_t>(stride));
      for (std::size_t n = 0; n < block.size(); ++n) {
        const auto row = n / static_cast<std::size_t>(length), column = n % static_cast<std::size_t>(length);
        longer[row * static_cast<std::size_t>(stride) + column] = block[n];
      }
      EXPECT_EQ(packed_panel<Fp64>(with_longer_rows(packing, length, stride), longer.data()),
                packed_panel<Fp64>(packing, block.data()))
          << particles << " particles" << (swapped ? ", swapped" : "");
    }
  }
}

TEST(Program, CountsTheOperationsOfAnElement) {
  for (const NamedMolecule& molecule : molecules_of_every_kind()) {
    for (const SpinFormulation formulation : molecule.formulations()) {
      const OwnedProblem owned(molecule.molecule, formulation);
      const Plan plan = make_plan(owned.right->tiles().retiled(2, 2), formulation);
      ContractionList contractions;
      TaskProgram program;
      for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        write_program(owned.problem, plan.tiles, plan.tasks[t], format_of<Fp64>(), contractions, program);
        if (program.data.equal_particles != 0 || program.data.equal_holes != 0) continue;
        double operations = program.operations_of_element;
        for (const std::int32_t extent : program.data.extent) operations *= extent;
        EXPECT_DOUBLE_EQ(operations, plan.operations[t]) << molecule.name << ", " << to_string(formulation);
      }
    }
  }
}

}
}
