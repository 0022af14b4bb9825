#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "cxx/base/error.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/calculation/methods.hpp"
#include "cxx/calculation/orbitals.hpp"
#include "cxx/prediction/prediction.hpp"
#include "cxx/report/report.hpp"
#include "cxx/rotation/fock_couplings.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "drivers/command_environment.hpp"
#include "drivers/commands.hpp"
#include "drivers/measured_runs.hpp"
#include "drivers/outputs.hpp"
#include "drivers/plan_limits.hpp"
#include "drivers/plan_report.hpp"
#include "drivers/plan_trace.hpp"
#include "drivers/progress.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "tce_tiles/tiles/factor_source.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"

namespace trifuse::cli {

namespace {

/// Tile sizes whose plans have more than `many_tiles_tasks` tasks are not tried. Plans of more than `many_curve_tasks`
/// tasks are simulated for fewer numbers of GPUs.
constexpr double many_tiles_tasks = 1.2e5, many_curve_tasks = 4e5;

/// A plan with more tasks says at its beginning how long it takes, unless a terminal shows its progress.
constexpr double long_plan_tasks = 5e5, seconds_of_task = 5e-6;

struct PlanCommand {
  SourceOptions source;
  std::optional<std::int64_t> occupied, virtuals, auxiliary;
  int irreps = 1;
  std::string reference = "rhf", gpu_model = "h200", operands = "auto", derivatives_of, json, trace;
  TableOptions table;
  CalculationOptions options;
  std::optional<int> ranks, gpus, nodes;
  std::vector<std::string> assumptions, measured;
  bool overwrite = false;

  void execute() const {
    MachineModel machine = machine_model(gpu_model);
    for (const std::string& each : assumptions) assume(machine, each);
    const std::unique_ptr<TileSource> molecule = open();
    const JobShape job = job_shape();
    if (job.gpus == 0 && !trace.empty()) throw UsageError("--trace shows GPUs, but --gpus 0 has none.");
    if (job.gpus == 0 && options.precision == Precision::mixed) {
      throw UsageError("--precision mixed is for GPUs, but --gpus 0 has none; leave one of them out.");
    }
    Outputs outputs(overwrite);
    if (!source.path.empty()) {
      source.protect_in(outputs);
      outputs.protect_inputs(*molecule);
    }
    for (const std::string& each : measured) outputs.protect_input(each);
    ReportFile json_file(outputs, json, "plan");
    TextFile trace_file(outputs, "--trace", trace, "trace of `trifuse plan`", trace_beginning);
    const std::vector<MeasuredRun> runs = read_measured_runs(measured);

    Problem problem;
    const WithoutFactors whole(*molecule);
    const NeedsOfMethods needs = needs_of(options.methods.empty() ? std::vector{TriplesMethod::t} : options.methods);
    problem.formulation = formulation_of(*molecule);
    problem.derivatives = derivatives(machine, job, *molecule);
    set_sides(problem, *molecule, whole, needs, options);
    const TileSpace tiles =
        tiles_of(*molecule, problem.formulation, job.gpus > 0, options.precision, options.tile_size);
    require_predictable(tiles, problem.formulation);
    StatusLine status;
    const double tasks = estimated_tasks(tiles, problem.formulation);
    status.show(fmt::format("Listing about {:.0f} tasks", tasks));
    if (!status.is_shown() && tasks > long_plan_tasks) {
      print_error(
          "trifuse: This plan has about {:.1f} million tasks and takes about {:.0f} seconds; a larger --tile-size "
          "gives fewer tasks.\n",
          1e-6 * tasks, seconds_of_task * tasks);
    }
    const Plan plan = make_plan(tiles, problem.formulation, problem.sides());
    status.show(fmt::format("Predicting {}", name_of(job)));
    if (plan.tasks.empty()) throw UsageError("There is nothing to compute: no triple excitation is allowed.");
    const Inspection inspection(plan, problem, options.precision);

    PlanReport report{*molecule, plan, inspection, machine, predict(plan, problem, inspection, machine, job), {}, {}};
    if (report.prediction.job.read_bytes > 0.0) {
      // The size of the input is about the size of the operands.
      JobShape reads = job;
      reads.read_bytes = report.prediction.shared_operands ? report.prediction.node_bytes * report.prediction.job.nodes
                                                           : report.prediction.operand_bytes;
      report.prediction = predict(plan, problem, inspection, machine, reads);
    }
    if (inspection.precision() == Precision::fp64 && job.gpus > 0 && machine.double_is_slow()) {
      status.show("Predicting mixed precision");
      const Prediction mixed = predict(plan, problem, Inspection(plan, problem, Precision::mixed), machine,
                                       without_lanes(report.prediction.job));
      if (mixed.seconds() < report.prediction.seconds()) report.mixed = mixed;
    }
    if (molecule->has_fock()) {
      const bool rohf = molecule->info().reference == Reference::rohf;
      report.rotates = !rohf && !fock_couplings(*molecule).canonical();
      const bool adapted = problem.formulation == SpinFormulation::spin_adapted;
      if (rohf || report.rotates)
        report.rotation = predict_rotation(rotation_cost(*molecule, adapted), report.prediction, machine);
    }
    report.dressing = dressing_of(*molecule, tiles, needs);
    JobShape of_curve = without_lanes(report.prediction.job);
    of_curve.nodes = nodes.value_or(0);
    PlanBudget budget;
    report.curve = scaling_curve(plan, problem, inspection, machine, of_curve, report.prediction, budget, status);
    report.sizes = other_tiles(*molecule, problem, plan, machine, of_curve, report.prediction, budget, status);
    const std::vector<ComparedRun> compared = compare(runs, machine, status);
    status.clear();
    const nlohmann::ordered_json json_report = json_plan_report(report, compared);
    require_finite(json_report);
    if (!is_standard_output(json)) {
      print_output("{}", describe(report));
      if (!compared.empty()) print_output("\n{}", describe(compared));
    }
    trace_file.write([&] { return trace_of(report.prediction.tasks, machine.gpu); });
    json_file.write(json_report);
  }

 private:
  /// Returns `job` without a timeline.
  static JobShape without_lanes(JobShape job) {
    job.lanes = 0;
    return job;
  }

  std::unique_ptr<TileSource> open() const {
    if (!source.path.empty()) {
      if (occupied || virtuals) {
        throw UsageError("Give either amplitudes (PATH) or --occupied and --virtual, not both.");
      }
      if (auxiliary) throw UsageError("--factors goes with --occupied and --virtual; a dump has its own factors.");
      auto molecule = source.open();
      if (!molecule->has_integrals())
        throw UsageError(
            fmt::format("{} has amplitudes only; name the dump with the integrals of the run.", source.path));
      return molecule;
    }
    if (!occupied || !virtuals) {
      throw UsageError("Give amplitudes (PATH), or the numbers of orbitals: --occupied O --virtual V.");
    }
    SyntheticMolecule made_up;
    made_up.reference = reference == "rhf" ? Reference::rhf : Reference::uhf;
    made_up.occupied_alpha = made_up.occupied_beta = *occupied;
    made_up.virtual_alpha = made_up.virtual_beta = *virtuals;
    made_up.irreps = irreps;
    made_up.auxiliary = auxiliary.value_or(0);
    made_up.hole_tile = made_up.particle_tile = std::int64_t{1} << 20;
    return make_synthetic_source(made_up);
  }

  Derivatives derivatives(const MachineModel& machine, const JobShape& job, const TileSource& molecule) const {
    if (derivatives_of.empty()) return Derivatives::none;
    const auto has_derivatives = [](TriplesMethod x) { return x == TriplesMethod::t || x == TriplesMethod::reg_t; };
    if (options.methods.size() > 1 || !std::all_of(options.methods.begin(), options.methods.end(), has_derivatives))
      throw UsageError("--derivatives-of is for the method t or reg-t alone; leave one of the options out.");
    if (!source.path.empty() && dense_input_of(molecule) == nullptr)
      throw UsageError("Derivatives are not computed for NWChem's files; convert them to a dump, or leave them out.");
    if (job.gpus > 0 && !machine.computes_derivatives) {
      throw UsageError(
          fmt::format("A GPU {} computes no derivatives, which need compute capability 9.0; use --gpu-model h100 or "
                      "h200, or --gpus 0.",
                      machine.gpu));
    }
    return derivatives_of == "t" ? Derivatives::amplitudes : Derivatives::all;
  }

  SpinFormulation formulation_of(const TileSource& molecule) const {
    if (options.formulation == SpinFormulation::spin_adapted && !molecule.tiles().restricted()) {
      throw UsageError("The spin-adapted form needs an RHF reference; use --form auto.");
    }
    return options.formulation.value_or(default_formulation(molecule.tiles()));
  }

  /// Sets the sources of a problem. Dressed integrals have no factors, and then the bare ones have none, either.
  /// `whole`: the molecule without factors.
  static void set_sides(Problem& problem, const TileSource& molecule, const WithoutFactors& whole,
                        const NeedsOfMethods& needs, const CalculationOptions& options) {
    problem.right = &molecule;
    // If f_ov t2 enters (T), more blocks of amplitudes are operands.
    if (needs.moments == 0 && molecule.has_fock())
      problem.method = ChosenOrbitals(molecule, options, problem.formulation).method();
    if (needs.moments > 0) problem.right = problem.left_integrals = &whole;
    if (needs.left_amplitudes) problem.left = problem.right;
    if (needs.second_left) problem.second_left = LeftSide{problem.right, problem.right, ccsd_t};
  }

  /// Predicts what dressed integrals cost; nullopt: the methods have none.
  static std::optional<DressingPrediction> dressing_of(const TileSource& molecule, const TileSpace& tiles,
                                                       const NeedsOfMethods& needs) {
    if (needs.moments == 0) return std::nullopt;
    const FactorSource* const factors = molecule.factors();
    return predict_dressing(tiles, needs.moments, needs.dressed_sides, factors != nullptr ? factors->auxiliary() : 0);
  }

  /// Returns the tiles of a run, on GPUs or on cores. `size`: value of --tile-size.
  static TileSpace tiles_of(const TileSource& molecule, SpinFormulation formulation, bool for_gpus, Precision precision,
                            std::optional<std::int64_t> size) {
    return retile(molecule.tiles(),
                  default_tiling(molecule.tiles(), formulation, for_gpus, size, precision == Precision::mixed));
  }

  JobShape job_shape() const {
    JobShape job;
    job.gpus = gpus.value_or(ranks.value_or(1));
    job.ranks = ranks.value_or(0);
    job.nodes = nodes.value_or(0);
    if (options.memory) job.gpu_memory = static_cast<double>(*options.memory);
    job.read_bytes = source.path.empty() ? 0.0 : 1.0;  // above 0: a file is read; the plan determines its size
    job.lanes = trace.empty() ? 0 : 32;
    job.operands = operands == "own"      ? JobShape::Operands::own
                   : operands == "shared" ? JobShape::Operands::shared
                                          : JobShape::Operands::automatic;
    return job;
  }

  static std::string name_of(const JobShape& job) {
    const int ranks = std::max(1, job.ranks);
    return job.gpus > 0 ? fmt::format("{} GPU{}", job.gpus, job.gpus == 1 ? "" : "s")
                        : fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
  }

  /// Returns `job` on 1, `factor`, `factor`^2, ... GPUs (or ranks), as long as these are fewer than `job` has.
  static std::vector<JobShape> smaller_jobs(const JobShape& job, std::int64_t factor) {
    std::vector<JobShape> jobs;
    const bool on_gpus = job.gpus > 0;
    const int most = on_gpus ? job.gpus : job.ranks;
    for (std::int64_t n = 1; n < most; n *= factor) {
      JobShape& smaller = jobs.emplace_back(job);
      smaller.nodes = 0;
      (on_gpus ? smaller.gpus : smaller.ranks) = static_cast<int>(n);
      // The number of processes for each GPU stays the same.
      if (on_gpus) smaller.ranks = std::max(1, static_cast<int>(std::int64_t{job.ranks} * n / job.gpus));
    }
    return jobs;
  }

  /// Returns predictions for powers of two up to the number of GPUs (or ranks) of `job`, and for `job` itself. For a
  /// large plan only every third power is used, and fewer if the simulations exceed `budget`.
  static std::vector<Prediction> scaling_curve(const Plan& plan, const Problem& problem, const Inspection& inspection,
                                               const MachineModel& machine, const JobShape& job,
                                               const Prediction& asked_for, PlanBudget& budget, StatusLine& status) {
    std::vector<Prediction> curve;
    constexpr std::int64_t longest_step = 1 << 18;
    for (std::int64_t factor = static_cast<double>(plan.tasks.size()) > many_curve_tasks ? 8 : 2;
         factor <= longest_step; factor *= factor) {
      const std::vector<JobShape> smaller = smaller_jobs(job, factor);
      if (!budget.take(plan, smaller)) continue;
      for (const JobShape& each : smaller) {
        status.show(fmt::format("Predicting {}, for the scaling to {}", name_of(each), name_of(job)));
        curve.push_back(predict(plan, problem, inspection, machine, each));
      }
      break;
    }
    curve.push_back(asked_for);
    return curve;
  }

  /// Returns predictions for `job` with other tile sizes, as far as `budget` allows.
  static std::vector<TileSizeTrial> other_tiles(const TileSource& molecule, const Problem& problem, const Plan& plan,
                                                const MachineModel& machine, const JobShape& job,
                                                const Prediction& chosen, PlanBudget& budget, StatusLine& status) {
    std::vector<TileSizeTrial> trials;
    const TileSizes largest = largest_tiles(plan.tiles);
    trials.push_back({largest, plan.tasks.size(), chosen.seconds(), chosen.tasks.efficiency(), {}});
    if (job.gpus == 0) return trials;
    for (const std::optional<std::int64_t> size : {std::optional<std::int64_t>{}, {12}, {16}, {20}, {24}, {32}}) {
      const TileSpace tiles = tiles_of(molecule, problem.formulation, true, chosen.precision, size);
      if (tiles == plan.tiles || estimated_tasks(tiles, problem.formulation) > many_tiles_tasks) continue;
      status.show(fmt::format("Trying {} tiles", size ? std::to_string(*size) : "other"));
      const Plan other = make_plan(tiles, problem.formulation, problem.sides());
      if (!budget.take(other, {job})) continue;
      const Inspection inspection(other, problem, chosen.precision);
      const Prediction prediction = predict(other, problem, inspection, machine, job);
      if (!prediction.obstacles.empty() && chosen.obstacles.empty()) continue;
      const TileSizes sizes = largest_tiles(tiles);
      trials.push_back({sizes, other.tasks.size(), prediction.seconds(), prediction.tasks.efficiency(), size});
    }
    return trials;
  }

  /// Returns predictions for measured runs, each on the machine of this command.
  std::vector<ComparedRun> compare(const std::vector<MeasuredRun>& runs, const MachineModel& machine,
                                   StatusLine& status) const {
    std::vector<ComparedRun> compared;
    for (const MeasuredRun& run : runs) {
      status.show(fmt::format("Predicting the measured run {} of {}", compared.size() + 1, runs.size()));
      Problem problem;
      problem.formulation = run.formulation;
      const std::unique_ptr<TileSource> made_up = run.molecule();
      problem.right = made_up.get();
      const TileSpace tiles = run.tiles ? *run.tiles : tiles_of(*made_up, run.formulation, true, Precision::fp64, {});
      require_predictable(tiles, run.formulation);
      const Plan plan = make_plan(tiles, run.formulation);
      const Inspection inspection(plan, problem, run.precision);
      JobShape job;
      job.ranks = run.ranks;
      job.gpus = run.gpus;
      job.nodes = run.nodes;
      if (run.shared_operands) job.operands = JobShape::Operands::shared;
      if (run.memory_budget > 0.0) job.gpu_memory = run.memory_budget;
      compared.push_back({run, predict(plan, problem, inspection, machine, job)});
    }
    return compared;
  }
};

}

void add_plan(CLI::App& app, int&) {
  auto command = std::make_shared<PlanCommand>();
  CLI::App* plan = app.add_subcommand("plan", "Predict memory, bytes moved, time and efficiency of a job");
  command->source.add_to(*plan, false);
  plan->add_option("--occupied", command->occupied, "Occupied orbitals of each spin, if there are no amplitudes yet")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16));
  plan->add_option("--virtual", command->virtuals, "Virtual orbitals of each spin")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16));
  add_factors(*plan, command->auxiliary);
  plan->add_option("--irreps", command->irreps, "Number of irreps: 1, 2, 4 or 8")
      ->check(CLI::IsMember({1, 2, 4, 8}))
      ->capture_default_str();
  plan->add_option("--reference", command->reference, "Reference of these orbitals")
      ->check(CLI::IsMember({"rhf", "uhf"}))
      ->capture_default_str();
  command->table.add_to(*plan, "--method");
  plan->add_option("--derivatives-of", command->derivatives_of, "Of a run with derivatives: of t, or of all arrays")
      ->check(CLI::IsMember({"t", "all"}));
  command->table.add_to(*plan, "--form");
  command->table.add_to(*plan, "--tile-size", "Largest tile; default: the same as in `run`");
  plan->add_option("--gpus", command->gpus,
                   "GPUs of all nodes together, shared evenly by the ranks; 0: only CPU cores; default: one per rank")
      ->check(CLI::Range(0, 200000));
  plan->add_option("--ranks", command->ranks, "MPI ranks of all nodes together; default: one per node")
      ->check(CLI::Range(1, 200000));
  plan->add_option("--nodes", command->nodes, "Nodes; default: as many as the GPUs need, or one per rank without GPUs")
      ->check(CLI::Range(1, 200000));
  plan->add_option("--gpu-model", command->gpu_model, "Model of the GPUs")
      ->check(CLI::IsMember(gpu_models()))
      ->capture_default_str();
  command->table.add_to(*plan, "--precision", "double, or mixed with its sample in double precision");
  command->table.add_to(*plan, "--memory", "Memory to use on each GPU, for example 40GiB; default: all");
  plan->add_option("--operands", command->operands,
                   "own: a copy in each rank, as inside NWChem; shared: one copy; auto: shared")
      ->check(CLI::IsMember({"auto", "own", "shared"}))
      ->capture_default_str();
  plan->add_option("--assume", command->assumptions, "Change a number of the machine model, for example network=100e9");
  plan->add_option("--measured", command->measured, "JSON reports of measured runs, to compare with their predictions");
  plan->add_option("--json", command->json, "Write all results to this JSON file; - is standard output");
  plan->add_option("--trace", command->trace, "Write the timeline of the GPUs as a Chrome/Perfetto trace to this file");
  add_overwrite(*plan, command->overwrite);
  plan->footer(
      "Examples:\n"
      "  trifuse plan water.h5 --gpus 4\n"
      "  trifuse plan water.h5 --gpus 8 --ranks 2\n"
      "  trifuse plan --occupied 150 --virtual 1500 --gpus 10000 --trace run.json\n"
      "  trifuse plan --occupied 40 --virtual 360 --gpus 2 --measured one.json two.json\n"
      "  trifuse plan --occupied 40 --virtual 360 --gpus 64 --gpu-model a100 --assume gpus-per-node=4 --assume "
      "network=100e9\n"
      "Details: drivers/docs/planning.md");
  plan->callback([command, plan] {
    refuse_other_environment(*plan);
    command->table.set(command->options);
    command->execute();
  });
}

}
