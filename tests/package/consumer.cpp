#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "cxx/contraction/cpu_contraction.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/plan/task_results.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "trifuse_config.hpp"

/// A program of somebody else: E(T) of a made-up molecule from the reference and the CPU executor of an installed
/// Trifuse, and a contraction.
namespace {

double triples_energy(const trifuse::Executor& executor, const std::vector<trifuse::Task>& tasks) {
  const auto worker = executor.make_worker();
  double sum = 0.0;
  for (const trifuse::Task& task : tasks) {
    trifuse::TaskEnergy energy;
    worker->execute({&task, 1}, {&energy, 1});
    sum += energy.same.e_paren_t + energy.mixed.e_paren_t;
  }
  return sum;
}

/// Multiplies two matrices, one of them transposed.
bool multiplies() {
  const std::vector<double> a = {1.0, 2.0, 3.0, 4.0}, b = {5.0, 6.0, 7.0, 8.0};
  std::vector<double> c(4);
  const auto product = trifuse::contraction::describe("ik,jk->ij", {{2, 2}, {}}, {{2, 2}, {}});
  trifuse::contraction::CpuContraction(product, 1).run(1.0, a.data(), b.data(), 0.0, c.data());
  return c == std::vector<double>{17.0, 23.0, 39.0, 53.0};
}

}

int main() {
  trifuse::SyntheticMolecule molecule;
  molecule.reference = trifuse::Reference::uhf;
  molecule.occupied_alpha = 4;
  molecule.occupied_beta = 3;
  molecule.virtual_alpha = 6;
  molecule.virtual_beta = 7;
  molecule.hole_tile = 2;
  molecule.particle_tile = 4;
  const std::unique_ptr<trifuse::TileSource> source = trifuse::make_synthetic_source(molecule);

  trifuse::Problem problem;
  problem.right = source.get();
  problem.quotients = {0.1};
  const trifuse::TileSpace& tiles = source->tiles();
  const auto tasks = trifuse::enumerate_tasks(tiles, problem.formulation);
  const double reference = triples_energy(*trifuse::make_reference_executor(problem, tiles), tasks);
  const double cpu = triples_energy(*trifuse::make_cpu_executor(problem, tiles), tasks);
  std::printf("Trifuse %s, %zu tasks: E(T) = %.15f (reference), %.15f (cpu)\n", trifuse::version, tasks.size(),
              reference, cpu);
  const bool equal = reference < 0.0 && std::abs(cpu - reference) <= 1e-12 * std::abs(reference);
  return equal && multiplies() ? 0 : 1;
}
