#include "cxx/calculation/calculation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/derivatives.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/state.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/triples/energy.hpp"

namespace trifuse {

namespace {

/// Returns true if two tile spaces have the same orbitals, also if their tiles differ.
bool same_orbitals(const TileSpace& x, const TileSpace& y) {
  for (const OrbitalClass c : orbital_classes) {
    for (int irrep = 0; irrep < 8; ++irrep) {
      if (x.range(c, irrep).size != y.range(c, irrep).size) return false;
    }
  }
  return x.restricted() == y.restricted();
}

/// Throws InputError if the sources have different orbitals.
void check_left(const TileSource& right, const TileSource& left) {
  const std::string pair = fmt::format("{} (left) and {} (right)", left.info().path, right.info().path);
  if (!same_orbitals(left.tiles(), right.tiles())) {
    throw InputError(fmt::format(
        "{} have different orbitals: numbers of orbitals, irreps or references differ; both must come from the "
        "same SCF.",
        pair));
  }
  const auto x = left.orbital_energies(), y = right.orbital_energies();
  for (std::size_t p = 0; p < x.size(); ++p) {
    constexpr double tolerance = 1e-6;
    if (std::abs(x[p] - y[p]) > tolerance) {
      throw InputError(fmt::format(
          "{} have different orbital energies ({:.8f} and {:.8f} for sorted orbital {}); both must come from the "
          "same SCF{}.",
          pair, x[p], y[p], p + 1,
          right.info().reference == Reference::rohf
              ? ", and state the same energies: of ROHF, NWChem's files have one for both spins and dumps of PySCF two"
              : ""));
    }
  }
}

/// Throws InputError if a denominator is not negative.
void check_denominators(const Problem& problem, double largest_denominator) {
  // A denominator closer to zero is an accident of the orbital energies, and its reciprocal is noise. Hartree.
  constexpr double closest = 1e-7;
  for (const double omega2 : problem.omega2()) {
    const double largest = largest_denominator - denominator_shift(omega2);
    if (largest < -closest) continue;
    throw InputError(fmt::format(
        "The orbital energies of {} make a triples denominator of {:.6f} hartree (it must be negative) at omega2 = {}: "
        "an occupied orbital lies above a virtual one. Check the occupation of the reference, or use "
        "--omega2 above {:.4f}.",
        problem.right->info().path, largest, omega2, std::ceil(largest_denominator / 3.0 * 1e4 + 1.0) * 1e-4));
  }
}

/// Chooses the tiles of a calculation. `orbitals`: those of the problem. `begun`: the tiling of the journal, if it is
/// known already.
Tiling choose_tiling(const TileSpace& orbitals, const CalculationOptions& options, SpinFormulation formulation,
                     bool for_gpus, std::optional<Tiling> begun) {
  const Tiling tiling =
      default_tiling(orbitals, formulation, for_gpus, options.tile_size, options.precision == Precision::mixed);
  if (!begun && !options.journal.empty()) begun = Journal::tiles_in(options.journal);
  if (begun && options.tile_size && begun->sizes != tiling.sizes) {
    throw UsageError(
        fmt::format("The journal {} was started with tiles of {} occupied and {} virtual orbitals, but --tile-size "
                    "asks for {}; leave --tile-size out, or give another --journal.",
                    options.journal, begun->sizes.holes, begun->sizes.particles, *options.tile_size));
  }
  return begun.value_or(tiling);
}

/// Lists the tasks. `sides`: number of sides. `allowed`: memory for the list, bytes. `advice`: how the user can allow
/// more; may be empty. Throws UsageError if there are too many tasks.
Plan plan_tasks(const TileSpace& tiles, SpinFormulation formulation, int sides, std::int64_t tile_size,
                std::int64_t allowed, const char* advice) {
  const double plan_bytes = estimated_tasks(tiles, formulation) * bytes_per_task;
  // A short list fits anywhere; for less memory the check of the scratch says how much a run needs.
  constexpr std::int64_t short_list = std::int64_t{1} << 20;
  if (plan_bytes > static_cast<double>(std::max(allowed, short_list))) {
    throw UsageError(
        fmt::format("A tile size of {} makes about {:.2g} tasks, and their list alone takes {}; use larger tiles{}.",
                    tile_size, plan_bytes / bytes_per_task, format_bytes(plan_bytes), advice));
  }
  // A list of more tasks takes minutes, even if it fits into memory.
  constexpr double max_tasks = 5e7;
  require_listable(tiles, formulation, max_tasks);
  const auto count = [&](OrbitalClass c) { return static_cast<double>(tiles.orbitals(c)); };
  const double holes = count(OrbitalClass::hole_alpha) + count(OrbitalClass::hole_beta);
  const double particles = count(OrbitalClass::particle_alpha) + count(OrbitalClass::particle_beta);
  // Byte counts of larger problems overflow.
  if (particles * particles * particles * (holes + particles) > 1e17) {
    throw UsageError(
        fmt::format("No machine has the memory for {:.0f} occupied and {:.0f} virtual orbitals.", holes, particles));
  }
  return make_plan(tiles, formulation, sides);
}

/// Plans the operands, the scratch and the threads of this process.
void plan_memory(CalculationState& state) {
  MemoryPlan& memory = state.memory;
  const CalculationOptions& options = state.options;
  memory.threads = options.threads > 0 ? startable_threads(options.threads) : available_threads();
  if (options.executor == ExecutorKind::cuda) {
    constexpr std::int64_t width = sizeof(double);
    memory.operands = PanelLayout::required_doubles(state.problem, state.plan.tiles) * width;
    memory.in_use_per_thread = PanelLayout::doubles_in_use(state.problem, state.plan.tiles) * width;
  } else if (options.executor == ExecutorKind::cpu) {
    const CpuMemory needed = state.beside_gpus() ? cpu_memory_with_panels_of(state.problem, state.plan.tiles)
                                                 : cpu_executor_memory(state.problem, state.plan.tiles);
    memory.operands = needed.operands;
    memory.scratch_per_thread = needed.per_worker;
    memory.in_use_per_thread = needed.in_use;
    memory.all_made = needed.made;
  }
  const bool stay_on_gpus = options.executor == ExecutorKind::cuda && options.journal.empty();
  memory.sums = stay_on_gpus ? 0 : derivative_sum_bytes(state.problem, state.plan.tiles);
  memory.check_sums(state.problem.right->info().path);
  memory.fit_threads();
}

/// Sets up and plans a calculation. Parameters and exceptions: as of the constructor of Calculation.
std::unique_ptr<CalculationState> set_up(const TileSource& right, const TileSource* left, CalculationOptions options,
                                         const RankOptions& of_rank) {
  check_options(options);
  if (!right.has_integrals()) {
    throw InputError(
        fmt::format("{} holds amplitudes only; it can be the left-hand input (--left), but the right-hand input needs "
                    "integrals too.",
                    right.info().path));
  }
  if (left != nullptr) check_left(right, *left);
  std::vector<DeviceInfo> devices;
  MemoryPlan memory;
  if (options.executor == ExecutorKind::cuda) {
    devices = choose_devices(visible_devices(), options.devices);
    options.devices.clear();
    for (const DeviceInfo& device : devices) options.devices.push_back(device.number);
    memory.gpus = static_cast<int>(devices.size());
  } else {
    memory.limit_asked = options.memory.has_value();
    if (!options.memory) options.memory = MemoryPlan::default_limit;
    memory.limit = *options.memory;
  }
  const SpinFormulation formulation = options.formulation.value_or(default_formulation(right.tiles()));
  if (formulation == SpinFormulation::spin_adapted && !right.tiles().restricted()) {
    throw UsageError(fmt::format("The spin-adapted form needs an RHF reference, but that of {} is {}; use --form auto.",
                                 right.info().path, to_string(right.info().reference)));
  }
  if (options.methods.empty()) options.methods = {TriplesMethod::t};
  if (options.omega2.empty()) {
    const bool regularized = left != nullptr && left->info().amplitudes == AmplitudeKind::regularized_ccsd;
    options.omega2 = {regularized ? left->info().omega2 : 0.0};
  }
  check_options(options);  // again, because omega2 may come from the left amplitudes
  ChosenOrbitals orbitals(right, options, formulation);
  auto methods = std::make_unique<ChosenMethods>(options.methods, right, left, formulation, orbitals.rotation());
  const TileSource* const given = options.right_operands;
  const LeftSide left_side = methods->left(orbitals.method());
  if (given != nullptr && left_side.integrals != nullptr)
    throw UsageError("Methods with moments of CCSD make the operands of the right side; give none.");
  Problem problem{.right = orbitals.in_orbitals(given != nullptr ? given : methods->right()),
                  .left = orbitals.in_orbitals(left_side.amplitudes),
                  .left_integrals = orbitals.in_orbitals(given != nullptr ? &methods->bare() : left_side.integrals),
                  .formulation = formulation,
                  .method = left_side.method,
                  .disconnected = orbitals.in_orbitals(methods->disconnected()),
                  .denominators = methods->denominators()};
  if (given != nullptr && problem.left == nullptr) problem.left = problem.left_integrals;
  if (const std::optional<LeftSide> second = methods->second_left())
    problem.second_left = {orbitals.in_orbitals(second->amplitudes), orbitals.in_orbitals(second->integrals),
                           second->method};
  problem.derivatives = options.derivatives;
  std::vector<std::string> warnings = orbitals.warnings();
  warnings.insert(warnings.end(), methods->warnings().begin(), methods->warnings().end());
  WantedEnergies wanted = methods->wanted(orbitals.method(), options.omega2);
  problem.quotients = std::move(wanted.quotients);
  require_derivatives(options, problem, orbitals.rotates(),
                      of_rank.plan_for.value_or(options.executor) == ExecutorKind::cuda);
  memory.dressed = static_cast<std::int64_t>(methods->bytes());
  memory.check_dressed(right.info().path);
  orbitals.plan_rotation(memory, of_rank.ranks_with_operands);
  memory.check_rotation(right.info().path, of_rank.ranks_with_operands);
  const TileSpace& space = problem.right->tiles();
  const double largest = largest_denominator(space, problem.right->orbital_energies());
  check_denominators(problem, largest);
  const bool for_gpus = of_rank.plan_for.value_or(options.executor) == ExecutorKind::cuda;
  const Tiling tiling = choose_tiling(space, options, formulation, for_gpus, of_rank.journal_tiles);
  Plan plan = plan_tasks(retile(space, tiling), formulation, problem.sides(), tiling.sizes.particles, memory.limit,
                         for_gpus ? "" : ", or allow more --memory");
  auto state = std::make_unique<CalculationState>(CalculationState{
      std::move(options), of_rank, std::move(devices), std::move(methods), std::move(orbitals), problem,
      std::move(wanted.energies), std::move(warnings), largest, tiling, std::move(plan), memory});
  plan_memory(*state);
  return state;
}

}

std::string to_string(ExecutorKind executor) {
  switch (executor) {
    case ExecutorKind::cpu:
      return "cpu";
    case ExecutorKind::reference:
      return "reference";
    case ExecutorKind::cuda:
      return "cuda";
  }
  return "?";
}

Calculation::Calculation(const TileSource& right, const TileSource* left, CalculationOptions options)
    : Calculation(right, left, std::move(options), {}) {}

Calculation::Calculation(const TileSource& right, const TileSource* left, CalculationOptions options,
                         const RankOptions& of_rank)
    : state_(set_up(right, left, std::move(options), of_rank)) {}

Calculation::Calculation(Calculation&&) noexcept = default;
Calculation::~Calculation() = default;

void Calculation::join(Communicator& communicator, const RankAssignment& assignment) {
  MemoryPlan& memory = state_->memory;
  state_->communicator = &communicator;
  state_->assignment = assignment;
  if (assignment.threads > 0) memory.threads = std::min(memory.threads, assignment.threads);
  const bool shared =
      communicator.size() > 1 && communicator.has_arrays() && state_->options.executor != ExecutorKind::reference;
  if (shared) memory.share(assignment, communicator.size());
}

const CalculationOptions& Calculation::options() const {
  return state_->options;
}

const Problem& Calculation::problem() const {
  return state_->problem;
}

const Plan& Calculation::plan() const {
  return state_->plan;
}

std::string Calculation::reference_note() const {
  return state_->orbitals.note();
}

const std::vector<std::string>& Calculation::input_warnings() const {
  return state_->warnings;
}

double Calculation::largest_denominator() const {
  return state_->largest_denominator;
}

const std::vector<DeviceInfo>& Calculation::devices() const {
  return state_->devices;
}

const MemoryPlan& Calculation::memory() const {
  return state_->memory;
}

void CalculationResult::remove_device_reports() {
  device_report.reset();
  if (sample) sample->device_report.reset();
}

}
