#include "cxx/prediction/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "cxx/base/error.hpp"
#include "cxx/prediction/prediction.hpp"
#include "tests/prediction/all_bytes_sent.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {
namespace {

constexpr SpinFormulation formulation = SpinFormulation::spin_adapted;

class Simulated : public ::testing::Test {
 protected:
  Simulated()
      : molecule_(make_synthetic_source(closed_shell(40, 200))),
        plan_(make_plan(molecule_->tiles().retiled_aligned(8, 16, tile_granule), formulation)),
        inspection_(plan_, problem()),
        machine_(machine_model("h200")) {
    for (std::size_t t = 0; t < inspection_.tasks(); ++t) {
      kernels_ += machine_.kernel_seconds(inspection_.work(t), formulation);
    }
  }

  static Problem problem() {
    Problem problem;
    problem.formulation = formulation;
    return problem;
  }
  SimulationSettings settings(int ranks) const {
    SimulationSettings settings;
    settings.ranks.assign(static_cast<std::size_t>(ranks), {{}, 1});
    settings.panel_bytes = 1e12;
    settings.copy_rate = machine_.link;
    return settings;
  }
  Simulation run(const SimulationSettings& settings) const { return simulate(plan_, inspection_, machine_, settings); }

  std::unique_ptr<TileSource> molecule_;
  Plan plan_;
  Inspection inspection_;
  MachineModel machine_;
  double kernels_ = 0.0;
};

TEST_F(Simulated, DoesEveryTaskOnce) {
  for (const int ranks : {1, 2, 7, 40}) {
    const Simulation result = run(settings(ranks));
    EXPECT_NEAR(result.gpu_busy, kernels_, 1e-9 * kernels_);
    EXPECT_GE(result.seconds, kernels_ / ranks);
    EXPECT_LE(result.efficiency(), 1.0);
    EXPECT_LE(result.gpu_busy + result.idle_at_end, ranks * result.seconds * (1.0 + 1e-9));
    EXPECT_LE(result.first_idle, result.seconds);
    EXPECT_EQ(result.gpus, ranks);
    // A claim may be of several chunks. Each rank asks once in vain, and not once more for each of its workers.
    EXPECT_GE(result.counter_calls, ranks);
    EXPECT_LE(result.counter_calls, result.chunks + ranks);
    EXPECT_GT(result.efficiency(), 0.7);
  }
}

TEST_F(Simulated, KeepsGpusBusyWhereThereIsEnoughToDo) {
  EXPECT_GT(run(settings(1)).efficiency(), 0.95);
  EXPECT_GT(run(settings(4)).efficiency(), 0.9);
  EXPECT_LT(run(settings(4)).seconds, 0.3 * run(settings(1)).seconds);
}

TEST_F(Simulated, OneProcessMayHaveSeveralGpus) {
  SimulationSettings together = settings(1);
  together.ranks[0].gpus = 4;
  const Simulation result = run(together);
  EXPECT_EQ(result.gpus, 4);
  EXPECT_EQ(result.chunks, 1);
  EXPECT_NEAR(result.seconds, run(settings(4)).seconds, 0.1 * result.seconds);
}

TEST_F(Simulated, SendsPanelsAgainWhereThereIsNoRoomForThem) {
  const Simulation all = run(settings(2));
  EXPECT_EQ(all.panels_dropped, 0);
  EXPECT_NEAR(all.bytes_sent, all.bytes_needed, 1e-6 * all.bytes_needed);
  EXPECT_LE(all.bytes_sent, 2.0 * all_bytes_sent(inspection_) * (1.0 + 1e-9));
  EXPECT_GE(all.bytes_sent, all_bytes_sent(inspection_) * (1.0 - 1e-9));
  SimulationSettings narrow = settings(2);
  narrow.panel_bytes = 3.0 * inspection_.largest_task_bytes();
  const Simulation limited = run(narrow);
  EXPECT_GT(limited.panels_dropped, 0);
  EXPECT_LE(limited.max_held, narrow.panel_bytes);
  EXPECT_GT(limited.bytes_sent, all.bytes_sent);
  // And on a slow way they hold up the kernels.
  narrow.copy_rate = limited.bytes_sent / (4.0 * kernels_);
  EXPECT_GT(run(narrow).seconds, 1.5 * limited.seconds);
}

/// The same molecule with factors.
class SimulatedFactors : public Simulated {
 protected:
  SimulatedFactors() {
    SyntheticMolecule molecule = closed_shell(40, 200);
    molecule.auxiliary = 500;
    with_factors_ = make_synthetic_source(molecule);
    problem_ = problem();
    problem_.right = with_factors_.get();
    made_.emplace(plan_, problem_);
  }
  Simulation run(const SimulationSettings& settings) const { return simulate(plan_, *made_, machine_, settings); }
  SimulationSettings settings(int ranks) const {
    SimulationSettings settings = Simulated::settings(ranks);
    settings.slab_bytes = 1e12;
    settings.slab_rate = machine_.link;
    return settings;
  }

  std::unique_ptr<TileSource> with_factors_;
  Problem problem_;
  std::optional<Inspection> made_;
};

TEST_F(SimulatedFactors, SlabsAreSentAndPanelsAreMade) {
  const Simulation all = run(settings(1));
  EXPECT_NEAR(all.made_operations, made_->all_making(), 1e-9 * all.made_operations);
  EXPECT_NEAR(all.making_busy, all.made_operations / machine_.rate_factors, 1e-9 * all.making_busy);
  EXPECT_NEAR(all.gpu_busy, kernels_ + all.making_busy, 1e-9 * kernels_);
  EXPECT_EQ(all.slabs_sent, static_cast<std::int64_t>(made_->slab_count()));
  EXPECT_NEAR(all.bytes_sent, all_bytes_sent(*made_), 1e-9 * all.bytes_sent);
  EXPECT_NEAR(all.bytes_sent, all.bytes_needed, 1e-9 * all.bytes_sent);
  const Simulation stored = Simulated::run(Simulated::settings(1));
  EXPECT_LT(all.bytes_sent, 0.6 * stored.bytes_sent);
  EXPECT_EQ(stored.made_operations, 0.0);
  EXPECT_EQ(stored.slabs_sent, 0);
}

TEST_F(SimulatedFactors, PanelsAreMadeAgainAndSlabsSentAgainWithoutRoom) {
  const Simulation all = run(settings(1));
  SimulationSettings narrow = settings(1);
  narrow.panel_bytes = 3.0 * made_->largest_task_bytes();
  const Simulation again = run(narrow);
  EXPECT_GT(again.made_operations, 1.2 * all.made_operations);
  EXPECT_EQ(again.slabs_sent, all.slabs_sent);
  narrow.slab_bytes = 4.0 * made_->slab_bytes(0);
  const Simulation streamed = run(narrow);
  EXPECT_EQ(streamed.made_operations, again.made_operations);
  EXPECT_GT(streamed.slabs_sent, 2 * all.slabs_sent);
  EXPECT_GT(streamed.bytes_sent, again.bytes_sent);
}

TEST_F(SimulatedFactors, GpusOfANodeExchangeSlabs) {
  const auto slabs = static_cast<std::int64_t>(made_->slab_count());
  const Simulation from_host = run(settings(4));
  EXPECT_LE(from_host.slabs_sent, 4 * slabs);
  EXPECT_GT(from_host.slabs_sent, 3 * slabs);
  EXPECT_EQ(from_host.bytes_from_peers, 0.0);
  SimulationSettings peers = settings(4);
  peers.exchanging_gpus = 4;
  peers.owned_slab_limit = std::int64_t{1} << 40;
  const Simulation exchanged = run(peers);
  EXPECT_EQ(exchanged.slabs_sent, slabs) << "the host sends each slab once";
  EXPECT_LE(exchanged.slabs_from_peers, 3 * slabs);
  EXPECT_GT(exchanged.slabs_from_peers, 2 * slabs);
  EXPECT_NEAR(exchanged.bytes_sent, from_host.bytes_sent, 0.02 * from_host.bytes_sent);
  EXPECT_LT(exchanged.copy_busy, from_host.copy_busy);

  // Two nodes: the host of each node sends each slab once.
  peers.exchanging_gpus = 2;
  EXPECT_EQ(run(peers).slabs_sent, 2 * slabs);
  // GPUs that can own nothing take all slabs from the host.
  peers.owned_slab_limit = 0;
  const Simulation none = run(peers);
  EXPECT_EQ(none.slabs_sent, from_host.slabs_sent);
  EXPECT_EQ(none.bytes_from_peers, 0.0);
  EXPECT_EQ(none.seconds, from_host.seconds);
}

TEST_F(SimulatedFactors, PeersSendSlabsAgainWithoutRoom) {
  SimulationSettings narrow = settings(4);
  narrow.panel_bytes = 3.0 * made_->largest_task_bytes();
  narrow.exchanging_gpus = 4;
  double all = 0.0;
  for (std::uint32_t slab = 0; slab < made_->slab_count(); ++slab) all += made_->slab_bytes(slab);
  narrow.slab_bytes = 0.25 * all + 6.0 * made_->slab_bytes(0);
  narrow.owned_slab_limit = std::int64_t{1} << 40;
  const Simulation result = run(narrow);
  EXPECT_EQ(result.slabs_sent, static_cast<std::int64_t>(made_->slab_count()));
  narrow.slab_bytes = 1e12;
  const Simulation roomy = run(narrow);
  EXPECT_EQ(roomy.slabs_sent, result.slabs_sent);
  EXPECT_GT(result.slabs_from_peers, 1.2 * static_cast<double>(roomy.slabs_from_peers));
  EXPECT_GT(result.bytes_from_peers, 1.2 * roomy.bytes_from_peers);
}

TEST_F(SimulatedFactors, APredictionSharesSlabsOfOneNode) {
  JobShape job;
  job.gpus = job.ranks = 4;
  const Prediction shared = predict(plan_, problem_, *made_, machine_, job);
  EXPECT_EQ(shared.tasks.slabs_sent, static_cast<std::int64_t>(made_->slab_count()));
  EXPECT_NEAR(shared.owned_slab_bytes, shared.gpu.all_slabs / 4.0, 0.1 * shared.owned_slab_bytes);
  // Each GPU gets from its peers the slabs that it does not own.
  EXPECT_NEAR(shared.tasks.bytes_from_peers, 3.0 * shared.gpu.all_slabs, 0.1 * shared.tasks.bytes_from_peers);
  job.operands = JobShape::Operands::own;
  const Prediction alone = predict(plan_, problem_, *made_, machine_, job);
  EXPECT_EQ(alone.owned_slab_bytes, 0.0);
  EXPECT_EQ(alone.tasks.bytes_from_peers, 0.0);
  EXPECT_EQ(alone.tasks.slabs_from_peers, 0);
}

TEST_F(SimulatedFactors, APredictionSharesSlabsOfOneProcessThatDoNotFit) {
  const auto slabs = static_cast<std::int64_t>(made_->slab_count());
  JobShape job;
  job.gpus = 4;
  const Prediction roomy = predict(plan_, problem_, *made_, machine_, job);
  EXPECT_EQ(roomy.gpu.slabs, roomy.gpu.all_slabs);
  EXPECT_EQ(roomy.owned_slab_bytes, 0.0);
  EXPECT_EQ(roomy.tasks.slabs_from_peers, 0);
  // Slabs get half of what is left beside other buffers: here three quarters of what they need.
  job.gpu_memory = 1e9;
  job.gpu_memory = predict(plan_, problem_, *made_, machine_, job).gpu.scratch + 1.5 * roomy.gpu.all_slabs;
  for (const int ranks : {1, 2}) {
    job.ranks = ranks;
    const Prediction shared = predict(plan_, problem_, *made_, machine_, job);
    EXPECT_LT(shared.gpu.slabs, shared.gpu.all_slabs);
    EXPECT_GE(shared.tasks.slabs_sent, ranks * slabs) << "the host of a process sends each slab at least once";
    EXPECT_GT(shared.tasks.slabs_from_peers, 0);
    EXPECT_EQ(shared.owned_bytes, 0.0) << "only ranks own panels";
    EXPECT_NEAR(shared.owned_slab_bytes, shared.gpu.all_slabs * ranks / 4.0, 0.1 * shared.owned_slab_bytes);
  }
  // The model knows no exchange if ranks have different numbers of GPUs.
  job.ranks = 3;
  EXPECT_EQ(predict(plan_, problem_, *made_, machine_, job).owned_slab_bytes, 0.0);
}

TEST_F(SimulatedFactors, RanksOnCoresMakePanelsToo) {
  SimulationSettings cores;
  SimulatedRank rank;
  rank.assignment.rate = 1e11;
  cores.ranks.assign(2, rank);
  const Simulation made = simulate(plan_, *made_, machine_, cores),
                   stored = simulate(plan_, inspection_, machine_, cores);
  EXPECT_NEAR(made.made_operations, made_->all_making(), 1e-6 * made.made_operations);
  EXPECT_NEAR(made.core_busy - stored.core_busy, made.made_operations / 1e11, 1e-6 * made.core_busy);
  EXPECT_EQ(made.core_operations, stored.core_operations);
}

TEST_F(Simulated, WaitsForASlowCounter) {
  const Simulation quick = run(settings(16));
  machine_.counter_service = quick.seconds / 20.0;
  const Simulation slow = run(settings(16));
  EXPECT_GT(slow.seconds, 2.0 * quick.seconds);
  EXPECT_GT(slow.counter_waiting, quick.counter_waiting);
}

TEST_F(Simulated, RanksOnCoresHelpAndDoNotHoldTheJob) {
  SimulationSettings helped = settings(3);
  const double rate = plan_.total_operations / kernels_;
  helped.ranks[2].gpus = 0;
  for (SimulatedRank& rank : helped.ranks) rank.assignment = {RankAssignment::Role::worker, rate, 2.05 * rate, 1};
  helped.ranks[2].assignment.role = RankAssignment::Role::cpu_worker;
  helped.ranks[2].assignment.rate = 0.05 * rate;
  const Simulation result = run(helped);
  EXPECT_EQ(result.core_ranks, 1);
  EXPECT_GT(result.core_operations, 0.0);
  EXPECT_LT(result.core_operations, 0.05 * plan_.total_operations);
  EXPECT_LT(result.seconds, 1.01 * run(settings(2)).seconds);
}

TEST_F(Simulated, DrawsTheSpansOfSomeGpus) {
  SimulationSettings few = settings(8);
  few.lanes = 4;
  const Simulation result = run(few);
  EXPECT_EQ(result.lanes, (std::vector<int>{0, 2, 4, 6}));
  double busy = 0.0;
  for (const Simulation::Span& span : result.spans) {
    EXPECT_EQ(span.gpu % 2, 0);
    EXPECT_LE(span.end, result.seconds);
    if (!span.copy) busy += span.end - span.begin;
  }
  EXPECT_GT(busy, 0.3 * result.gpu_busy);
  EXPECT_LT(busy, 0.7 * result.gpu_busy);
}

TEST_F(Simulated, ThePartsOfAPredictionAddUp) {
  JobShape job;
  job.gpus = job.ranks = 4;
  job.operands = JobShape::Operands::own;
  const Prediction p = predict(plan_, problem(), inspection_, machine_, job);
  EXPECT_EQ(p.job.nodes, 1);
  EXPECT_FALSE(p.shared_operands);
  EXPECT_TRUE(p.obstacles.empty());
  EXPECT_EQ(p.node_bytes, 4.0 * p.operand_bytes);
  EXPECT_LE(p.gpu.scratch + p.gpu.panels, p.gpu.budget);
  EXPECT_GE(p.gpu.panels, p.gpu.all_panels);
  EXPECT_LE(p.gpu.working_set, p.gpu.task_bound);
  EXPECT_GT(p.seconds(), p.tasks.seconds);

  EXPECT_EQ(p.owned_bytes, 0.0);

  // Ranks share operands unless they are told otherwise; where even that is too much for a node, it is said.
  job.operands = JobShape::Operands::automatic;
  const Prediction shared = predict(plan_, problem(), inspection_, machine_, job);
  EXPECT_TRUE(shared.shared_operands);
  EXPECT_EQ(shared.node_bytes, p.operand_bytes);
  EXPECT_TRUE(shared.obstacles.empty());
  EXPECT_NEAR(shared.owned_bytes, inspection_.all_bytes_on_device() / 4, 1.0);
  machine_.node_memory = 0.5 * p.operand_bytes;
  EXPECT_EQ(predict(plan_, problem(), inspection_, machine_, job).obstacles.size(), 1u);
}

TEST_F(Simulated, GpusOfANodeOwnPanelsForTheirPeersIfThereIsRoom) {
  JobShape job;
  job.gpus = job.ranks = 8;
  job.nodes = 2;
  const auto predicted = [&] { return predict(plan_, problem(), inspection_, machine_, job); };
  const Prediction together = predicted();
  EXPECT_NEAR(together.owned_bytes, inspection_.all_bytes_on_device() / 8, 1.0);
  // What comes from other nodes comes over the network, the rest from GPU to GPU.
  machine_.network = 1e9;
  EXPECT_GT(predicted().tasks.copy_busy, 10.0 * together.tasks.copy_busy);
  machine_.peer = 1e8;
  EXPECT_GT(predicted().tasks.copy_busy, 20.0 * together.tasks.copy_busy);
  job.nodes = 8;
  EXPECT_EQ(predicted().owned_bytes, 0.0);
  job.nodes = 2;
  // With more and more memory, a GPU begins to own panels once. Then the panels of two launches fit beside them.
  job.gpu_memory = 2e9;
  const double scratch = predicted().gpu.scratch;
  int changes = 0;
  bool owned = false;
  for (double panels = together.owned_bytes; panels < 16.0 * together.owned_bytes; panels *= 1.1) {
    job.gpu_memory = scratch + panels;
    const Prediction limited = predicted();
    if ((limited.owned_bytes > 0.0) != owned) ++changes;
    owned = limited.owned_bytes > 0.0;
    if (!owned) continue;
    EXPECT_LE(limited.owned_bytes, 0.75 * limited.gpu.panels);
    EXPECT_GE(limited.gpu.panels - limited.owned_bytes, 2.0 * limited.gpu.working_set);
  }
  EXPECT_TRUE(owned);
  EXPECT_EQ(changes, 1);
}

// A run needs room for the panels of two launches. It reckons with an upper bound for a task.
TEST_F(Simulated, ATaskThatDoesNotFitOnAGpuIsSaid) {
  JobShape job;
  job.gpu_memory = 2e9;
  const auto predicted = [&] { return predict(plan_, problem(), inspection_, machine_, job); };
  const GpuMemory memory = predicted().gpu;
  job.gpu_memory = memory.scratch + 2.5 * memory.task_bound;
  EXPECT_TRUE(predicted().obstacles.empty());
  job.gpu_memory = memory.scratch + 1.9 * memory.working_set;
  EXPECT_EQ(predicted().obstacles.size(), 1u);
}

TEST(Machine, NumbersCanBeChangedByName) {
  MachineModel machine = machine_model("a100");
  EXPECT_FALSE(machine.measured);
  EXPECT_LT(machine.rate_spin_orbital, 19.5e12);
  assume(machine, "network=1e9");
  EXPECT_EQ(machine.network, 1e9);
  for (const char* wrong :
       {"network", "network=", "network=fast", "network=-1", "network=1x", "speed=1", "network=nan", "network=inf",
        "network=1e30", "launch=1e-300", "gpus-per-node=1e-3", "cores-per-node=1e9"}) {
    EXPECT_THROW(assume(machine, wrong), UsageError) << wrong;
  }
  EXPECT_THROW(machine_model("k20"), UsageError);
  for (const std::string& name : gpu_models()) {
    for (const MachineNumber& number : machine_numbers())
      EXPECT_GT(machine_model(name).*number.value, 0.0) << number.name;
  }
}

}
}
