#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/transformed_source.hpp"

/// Panels that a GPU packs from dense arrays.
namespace trifuse {
namespace {

using namespace trifuse::testing;
using Layout = HeldArrays::Layout;

class ArraysOnGpu : public OnGpu {
 protected:
  /// Energies of all tasks, and the report. `from_arrays`: false for one of several ranks, which uses the host's
  /// panels.
  static std::vector<double> numbers(const Problem& problem, const Plan& plan, bool from_arrays, DeviceReport& report) {
    CudaOptions options;
    options.waits_for_memory = from_arrays;
    const auto executor = make_cuda_executor(problem, plan.tiles, options);
    EXPECT_EQ(executor->reads_sources(), from_arrays);
    std::vector<double> found = batch_numbers(*executor, plan, problem.quotients.size());
    report = *executor->device_report();
    return found;
  }
};

TEST_F(ArraysOnGpu, GiveTheBitsOfTheHostsPanels) {
  for (const NamedMolecule& named : closed_shells()) {
    SCOPED_TRACE(named.name);
    for (const auto& [layout, packed] : {std::pair{Layout::c_order, false},
                                         {Layout::c_order, true},
                                         {Layout::fortran_order, false},
                                         {Layout::with_gaps, false}}) {
      const ArraysOfMolecule molecule(named.molecule, layout, packed);
      Problem problem;
      problem.right = &molecule.source();
      problem.formulation = SpinFormulation::spin_adapted;
      problem.quotients = {0.0, 0.1};
      const Plan plan = make_plan(problem.right->tiles().retiled(3, 4), problem.formulation);
      DeviceReport of_arrays, of_host;
      EXPECT_EQ(numbers(problem, plan, true, of_arrays), numbers(problem, plan, false, of_host));
      EXPECT_EQ(of_arrays.panels_sent, of_host.panels_sent);
      EXPECT_GT(of_arrays.bytes_sent, 0);
      // With symmetry the arrays also contain the numbers that vanish, and panels do not.
      if (named.molecule.irreps == 1) {
        EXPECT_LT(of_arrays.bytes_sent, of_host.bytes_sent);
      }
    }
  }
}

TEST_F(ArraysOnGpu, AreNotUsedForReadersOrOtherFormulations) {
  const auto reads_sources = [](const Problem& problem) {
    const Plan plan = make_plan(problem.right->tiles(), problem.formulation);
    return make_cuda_executor(problem, plan.tiles, {})->reads_sources();
  };
  const ArraysOfMolecule of_reader(closed_shell(3, 5), Layout::reader), in_memory(closed_shell(3, 5), Layout::c_order);
  Problem problem;
  problem.right = &of_reader.source();
  problem.formulation = SpinFormulation::spin_adapted;
  EXPECT_FALSE(reads_sources(problem));
  problem.right = &in_memory.source();
  EXPECT_TRUE(reads_sources(problem));
  problem.formulation = SpinFormulation::spin_orbital;
  EXPECT_FALSE(reads_sources(problem));
}

TEST_F(ArraysOnGpu, OfOrbitalsThatAreNotCanonicalAreNotPackedInPlace) {
  const auto canonical = make_synthetic_source(closed_shell(4, 6));
  const auto mixed = rotated_source(*canonical, random_rotations(canonical->tiles(), 3));
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "mixed.h5").string();
  write_dump(*mixed, path);
  const HeldArrays arrays(read_raw_dump(path), Layout::c_order);
  const auto source = arrays.open(mixed->info());
  CalculationOptions options = options_for();
  const std::vector<double> expected = numbers_of(calculate(*canonical, options));
  options.executor = ExecutorKind::cuda;
  EXPECT_LT(relative_difference(numbers_of(calculate(*source, options)), expected), 1e-12);
}

}
}
