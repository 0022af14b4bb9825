#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"

/// Executors read their operands on several threads.
namespace trifuse {
namespace {

using namespace trifuse::testing;

/// Passes on the blocks of another source and records the reads.
class Watched final : public TileSource {
 public:
  Watched(const TileSource& source, bool concurrent) : source_(source), concurrent_(concurrent) {}

  mutable std::atomic<int> inside{0}, max_inside{0}, reads{0};
  mutable std::vector<std::array<int, 4>> t2_reads;  ///< in the order of reading; not recorded if reads are concurrent
  int fails_at = -1;                                 ///< the number of the read that fails

  const SourceInfo& info() const override { return source_.info(); }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return source_.orbital_energies(); }
  bool has_integrals() const override { return true; }
  bool has_fock() const override { return true; }
  bool concurrent_reads() const override { return concurrent_; }
  void read_fock(int g6, int g5, std::span<double> block) const override { source_.read_fock(g6, g5, block); }
  void read_t1(int p, int h, std::span<double> block) const override { source_.read_t1(p, h, block); }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    watch([&] {
      if (!concurrent_) t2_reads.push_back({p1, p2, h3, h4});
      source_.read_t2(p1, p2, h3, h4, block);
    });
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    watch([&] { source_.read_v2(g3, g4, g1, g2, block); });
  }

 private:
  template <typename Read>
  void watch(Read read) const {
    const int now = ++inside;
    for (int most = max_inside; now > most && !max_inside.compare_exchange_weak(most, now);) {
    }
    const bool fails = reads++ == fails_at;
    if (!fails) read();
    --inside;
    if (fails) throw InputError("The file has a hole.");
  }

  const TileSource& source_;
  bool concurrent_;
};

class Loading : public ::testing::TestWithParam<SpinFormulation> {
 protected:
  void SetUp() override { omp_set_num_threads(4); }
  void TearDown() override { omp_set_num_threads(before_); }

  std::vector<double> energies(const TileSource& read) const {
    Problem problem;
    problem.right = &read;
    problem.formulation = GetParam();
    problem.method = ccsd_t_with_fock;
    const Plan plan = make_plan(read.tiles().retiled(3, 5), problem.formulation);
    const auto executor = make_cpu_executor(problem, plan.tiles);
    std::vector<TaskEnergy> found(plan.tasks.size());
    executor->make_worker()->execute(plan.tasks, found);
    return numbers_of(found);
  }

  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(7, 19, 2));

 private:
  int before_ = omp_get_max_threads();
};

TEST_P(Loading, GivesTheSameNumbersOnAnyNumberOfThreads) {
  omp_set_num_threads(1);
  const auto expected = energies(*source);
  for (const int threads : {2, 5}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(energies(*source), expected);
    EXPECT_EQ(energies(Watched(*source, false)), expected);
  }
}

TEST_P(Loading, LetsThreadsTakeTurnsInTheOrderOfTheBlocksUnlessTheSourceAllowsMore) {
  Watched watched(*source, false), alone(*source, false);
  energies(watched);
  EXPECT_EQ(watched.max_inside, 1);
  omp_set_num_threads(1);
  energies(alone);
  EXPECT_EQ(watched.t2_reads, alone.t2_reads);
}

TEST_P(Loading, PassesOnWhatReadingThrew) {
  for (const bool concurrent : {false, true}) {
    for (const int at : {0, 3, 11}) {
      Watched watched(*source, concurrent);
      watched.fails_at = at;
      expect_failure<InputError>([&] { energies(watched); }, "The file has a hole.");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SpinFormulation, Loading,
                         ::testing::Values(SpinFormulation::spin_orbital, SpinFormulation::spin_adapted),
                         [](const auto& test) {
                           return test.param == SpinFormulation::spin_orbital ? "orbital" : "adapted";
                         });

}
}
