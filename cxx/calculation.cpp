#include "cxx/calculation.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/choose_devices.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/panels/panels.hpp"
#include "cxx/team_operands.hpp"
#include "cxx/triples/reference.hpp"
#include "cxx/triples/semicanonical.hpp"
#include "tce_tiles/blocks.hpp"

namespace trifuse {

namespace {

/// What is used on the host where `CalculationOptions::memory` does not say otherwise, bytes.
constexpr std::int64_t default_memory = std::int64_t{2} << 30;

/// Lets OpenMP have no more threads than these while it lives.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~OpenMpThreads() { omp_set_num_threads(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

/// Two lists of runs over the same orbitals, however they are split.
bool same_orbitals(const TileSpace& x, const TileSpace& y) {
  for (const OrbitalClass c : orbital_classes) {
    for (int irrep = 0; irrep < 8; ++irrep) {
      if (x.range(c, irrep).size != y.range(c, irrep).size) return false;
    }
  }
  return x.restricted() == y.restricted();
}

/// Whether the occupied-virtual block of the Fock matrix is more than rounding errors.
bool couples_spaces(const TileSource& source) {
  const TileSpace& space = source.tiles();
  std::vector<double> block;
  double largest = 0.0;
  for (int p = space.hole_tiles(); p < space.size(); ++p) {
    for (int h = 0; h < space.hole_tiles(); ++h) {
      if (!block_exists(space, p, h)) continue;
      block.resize(static_cast<std::size_t>(space[p].size * space[h].size));
      source.read_fock(p, h, block);
      for (const double f : block) largest = std::max(largest, std::abs(f));
    }
  }
  constexpr double rounding = 1e-13;
  return largest > rounding;
}

/// Spin cases of the sums over tasks. A restricted space leaves bbb and abb to the symmetry of the spins.
void add_task(const TileSpace& tiles, const Task& task, const TaskEnergy& energy, std::array<EnergyPair, 4>& cases) {
  const auto add = [&](SpinCase spin_case, double bracket, double paren) {
    cases[static_cast<std::size_t>(spin_case)].bracket += bracket;
    cases[static_cast<std::size_t>(spin_case)].paren += paren;
  };
  if (tiles.restricted()) {
    add(SpinCase::aaa, 0.5 * energy.same_bracket, 0.5 * energy.same_paren);
    add(SpinCase::bbb, 0.5 * energy.same_bracket, 0.5 * energy.same_paren);
    add(SpinCase::aab, 0.5 * energy.mixed_bracket, 0.5 * energy.mixed_paren);
    add(SpinCase::abb, 0.5 * energy.mixed_bracket, 0.5 * energy.mixed_paren);
  } else {
    add(task.spin_case, energy.same_bracket + energy.mixed_bracket, energy.same_paren + energy.mixed_paren);
  }
}

/// Gives all ranks what rank 0 has found: collective.
void share_fingerprint(Team& team, Fingerprint& fingerprint) {
  constexpr std::uint64_t low = 0xffffffffu;
  std::vector<double> halves;
  for (const std::uint64_t part : fingerprint) {
    halves.push_back(static_cast<double>(part >> 32));
    halves.push_back(static_cast<double>(part & low));
  }
  if (team.rank() != 0) std::fill(halves.begin(), halves.end(), 0.0);
  team.sum(halves);
  for (std::size_t n = 0; n < fingerprint.size(); ++n) {
    fingerprint[n] = static_cast<std::uint64_t>(halves[2 * n]) << 32 | static_cast<std::uint64_t>(halves[2 * n + 1]);
  }
}

}  // namespace

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

ExecutorKind choose_executor(const TileSpace& right, std::optional<Form> form) {
  // Less than this is done before the devices have been set up.
  constexpr double least_operations = 1e10;
  const Form chosen = form.value_or(right.restricted() ? Form::spin_adapted : Form::spin_orbital);
  if (chosen == Form::spin_adapted && !right.restricted()) return ExecutorKind::cpu;  // which will be refused
  const TileSizes sizes = default_cuda_tile_sizes(right);
  const TileSpace tiles = right.retiled_aligned(sizes.holes, sizes.particles, cuda_granule);
  if (make_plan(tiles, chosen).total_operations < least_operations) return ExecutorKind::cpu;
  // Asked last: CUDA takes its time to answer.
  const std::vector<DeviceInfo> visible = visible_devices();
  return std::any_of(visible.begin(), visible.end(), new_enough) ? ExecutorKind::cuda : ExecutorKind::cpu;
}

Calculation::Calculation(const TileSource& right, const TileSource* left, CalculationOptions options)
    : options_(std::move(options)), right_(&right), left_(left) {
  if (!right.has_integrals()) {
    throw InputError(
        fmt::format("{} holds amplitudes only; it can stand on the left (--left), but the right needs integrals too.",
                    right.info().path));
  }
  if (left_ != nullptr) check_left();
  if (options_.executor == ExecutorKind::cuda) {
    devices_ = choose_devices(visible_devices(), options_.devices);
  } else {
    memory_asked_ = options_.memory;
    if (!options_.memory) options_.memory = default_memory;
  }
  choose_form();
  if (options_.omega2.empty()) {
    const bool regularized = left_ != nullptr && left_->info().amplitudes == AmplitudeKind::regularized_ccsd;
    options_.omega2 = {regularized ? left_->info().omega2 : 0.0};
  }
  for (const double omega2 : options_.omega2) {
    if (!std::isfinite(omega2) || omega2 < 0.0) {
      throw UsageError(fmt::format("An omega2 of {} is not possible; give values of 0 or more, in hartree.", omega2));
    }
  }
  const bool rohf = right.info().reference == Reference::rohf;
  if (options_.rohf == RohfOrbitals::semicanonical && !rohf) {
    throw UsageError(fmt::format("--rohf semicanonical is for ROHF references; {} has a {} reference.",
                                 right.info().path, to_string(right.info().reference)));
  }
  if (options_.rohf == RohfOrbitals::semicanonical) {
    const double copies = semicanonical_bytes(right);
    // With CUDA --memory speaks of the devices, and the host gets what it needs.
    const bool limited = options_.executor != ExecutorKind::cuda;
    if (limited && copies > static_cast<double>(*options_.memory)) {
      throw UsageError(
          fmt::format("Rotating {} to semicanonical orbitals takes {:.1f} GiB of memory; allow it with --memory.",
                      right.info().path, copies / 0x1p30));
    }
    semicanonical_right_ = make_semicanonical(right, right);
    if (left_ != nullptr) semicanonical_left_ = make_semicanonical(*left_, right);
    problem_.fock_in_singles = true;
  } else if (right.info().fock_in_triples) {
    if (!right.has_fock()) {
      throw InputError(
          fmt::format("{} asks for the Fock matrix in the triples (fock_in_triples), but holds none; write the dataset "
                      "fock (UHF: fock_a and fock_b).",
                      right.info().path));
    }
    problem_.fock_in_singles = couples_spaces(right);
  }
  problem_.right = semicanonical_right_ ? semicanonical_right_.get() : right_;
  problem_.left = semicanonical_left_ ? semicanonical_left_.get() : left_;
  problem_.omega2 = options_.omega2;

  const TileSpace& orbitals = problem_.right->tiles();
  largest_denominator_ = trifuse::largest_denominator(orbitals, problem_.right->orbital_energies());
  check_denominators();
  plan_tasks();
  plan_memory();
}

void Calculation::plan_tasks() {
  const TileSpace& orbitals = problem_.right->tiles();
  const bool cuda = options_.plan_for.value_or(options_.executor) == ExecutorKind::cuda;
  tiles_ = {cuda ? default_cuda_tile_sizes(orbitals) : default_tile_sizes(orbitals, problem_.form), cuda};
  if (options_.tile_size) tiles_.sizes = {*options_.tile_size, *options_.tile_size};
  std::optional<TileCut> begun = options_.journal_tiles;
  if (!begun && !options_.journal.empty()) begun = Journal::tiles_in(options_.journal);
  if (begun) {
    if (options_.tile_size && begun->sizes != tiles_.sizes) {
      throw UsageError(fmt::format(
          "The journal {} was begun with tiles of {} occupied and {} virtual orbitals, and --tile-size asks "
          "for {}; leave --tile-size out, or give another --journal.",
          options_.journal, begun->sizes.holes, begun->sizes.particles, *options_.tile_size));
    }
    tiles_ = *begun;
  }
  const auto [sizes, aligned] = tiles_;
  const TileSpace tiles = aligned ? orbitals.retiled_aligned(sizes.holes, sizes.particles, cuda_granule)
                                  : orbitals.retiled(sizes.holes, sizes.particles);
  const double plan_bytes = estimated_tasks(tiles, problem_.form) * bytes_per_task;
  // With CUDA --memory speaks of the devices.
  const std::int64_t allowed = cuda ? default_memory : options_.memory.value_or(default_memory);
  if (plan_bytes > static_cast<double>(allowed)) {
    throw UsageError(fmt::format(
        "A tile size of {} makes about {:.2g} tasks, whose list alone takes {:.1f} GiB; take larger tiles{}.",
        sizes.particles, plan_bytes / bytes_per_task, plan_bytes / 0x1p30, cuda ? "" : ", or allow more --memory"));
  }
  plan_ = make_plan(tiles, problem_.form);
}

void Calculation::choose_form() {
  const bool rhf = right_->tiles().restricted();
  problem_.form = options_.form.value_or(rhf ? Form::spin_adapted : Form::spin_orbital);
  if (problem_.form == Form::spin_adapted && !rhf) {
    throw UsageError(
        fmt::format("The spin-adapted form needs an RHF reference; {} has a {} reference (use --form auto).",
                    right_->info().path, to_string(right_->info().reference)));
  }
}

void Calculation::check_left() const {
  const std::string pair = fmt::format("{} (left) and {} (right)", left_->info().path, right_->info().path);
  if (!same_orbitals(left_->tiles(), right_->tiles())) {
    throw InputError(fmt::format(
        "{} have different orbitals: numbers of orbitals, irreps or references differ; both must come from the "
        "same SCF.",
        pair));
  }
  const auto x = left_->orbital_energies(), y = right_->orbital_energies();
  for (std::size_t p = 0; p < x.size(); ++p) {
    constexpr double tolerance = 1e-6;
    if (std::abs(x[p] - y[p]) > tolerance) {
      throw InputError(fmt::format(
          "{} have different orbital energies ({:.8f} and {:.8f} for sorted orbital {}); both must come from the "
          "same SCF.",
          pair, x[p], y[p], p + 1));
    }
  }
}

void Calculation::check_denominators() const {
  // Closer to zero than this a denominator is an accident of orbital energies, and its reciprocal noise.
  constexpr double closest = 1e-7;
  for (const double omega2 : options_.omega2) {
    if (largest_denominator_ - 3.0 * omega2 < -closest) continue;
    throw InputError(fmt::format(
        "The orbital energies of {} make a triples denominator of {:.6f} hartree (it must be negative) at omega2 = {}: "
        "an occupied orbital lies above a virtual one. Check the occupation of the reference, or use "
        "--omega2 above {:.4f}.",
        right_->info().path, largest_denominator_ - 3.0 * omega2, omega2,
        std::ceil(largest_denominator_ / 3.0 * 1e4 + 1.0) * 1e-4));
  }
}

void Calculation::plan_memory() {
  const int available = omp_get_max_threads();
  threads_ = options_.threads > 0 ? options_.threads : available;
  if (options_.executor == ExecutorKind::reference) return;
  if (options_.executor == ExecutorKind::cuda) {
    constexpr std::int64_t width = sizeof(double);
    operand_bytes_ = PanelStore::required_doubles(problem_, plan_.tiles) * width;
    in_use_per_thread_ = PanelStore::doubles_in_use(problem_, plan_.tiles) * width;
    return;
  }
  const std::int64_t allowed = *options_.memory;
  const bool beside_gpus = options_.plan_for == ExecutorKind::cuda;
  const CpuMemory memory =
      beside_gpus ? cpu_memory_with_panels_of(problem_, plan_.tiles) : cpu_executor_memory(problem_, plan_.tiles);
  operand_bytes_ = memory.operands;
  scratch_per_thread_ = memory.per_worker;
  in_use_per_thread_ = memory.in_use;
  const std::int64_t affordable = allowed / std::max<std::int64_t>(1, memory.per_worker);
  if (affordable < 1) {
    throw UsageError(fmt::format(
        "--memory allows {:.1f} MiB of scratch, but one thread needs {:.1f} MiB; allow more or give a smaller "
        "--tile-size.",
        static_cast<double>(allowed) / 0x1p20, static_cast<double>(memory.per_worker) / 0x1p20));
  }
  threads_ = static_cast<int>(std::min<std::int64_t>(threads_, affordable));
}

std::string Calculation::method(double omega2) const {
  const auto shifted = [&](const std::string& name) { return omega2 == 0.0 ? name : "denominator-shifted " + name; };
  const SourceInfo& right = right_->info();
  const std::string of_right =
      right.amplitudes == AmplitudeKind::ccsd ? "" : " of " + to_string(right.amplitudes) + " amplitudes";
  if (left_ == nullptr) return shifted("CCSD(T)") + of_right;
  const SourceInfo& left = left_->info();
  switch (left.amplitudes) {
    case AmplitudeKind::lambda:
      return shifted("Lambda-CCSD(T)") + of_right;
    case AmplitudeKind::regularized_ccsd:
      if (std::abs(left.omega2 - omega2) < 1e-12) return "Reg-CCSD(T)" + of_right;
      return shifted(fmt::format("two-sided (T) with left amplitudes regularised at omega2 = {}", left.omega2)) +
             of_right;
    case AmplitudeKind::ccsd:
      break;
  }
  return shifted("two-sided CCSD(T)") + of_right;
}

std::string Calculation::reference_note() const {
  if (right_->info().reference != Reference::rohf) return {};
  if (options_.rohf == RohfOrbitals::semicanonical) {
    return "standard ROHF-CCSD(T): semicanonical orbitals, with the f_ov t2 term";
  }
  const std::string standard = " (the standard one: --rohf semicanonical)";
  if (right_->info().fock_in_triples) {
    return "PySCF's ROHF-CCSD(T): orbital energies of the dump, with the f_ov t2 term" + standard;
  }
  return "NWChem's ROHF-CCSD(T): ROHF orbital energies for both spins, no f_ov t2 term" + standard;
}

void Calculation::join(Team& team, const TeamShare& share) {
  team_ = &team;
  share_ = share;
  if (share.threads > 0) threads_ = std::min(threads_, share.threads);
  if (shares_operands()) plan_shared_memory();
}

bool Calculation::shares_operands() const {
  return team_ != nullptr && team_->size() > 1 && team_->has_arrays() && options_.executor != ExecutorKind::reference;
}

int Calculation::users_of_operands() const {
  if (share_.role == TeamShare::Role::waiter) return 0;
  // A GPU gets its panels one after another, and threads that work together have those of a task or two.
  if (options_.executor == ExecutorKind::cuda) return 1;
  return share_.threads_together ? 2 : threads_;
}

std::int64_t Calculation::memory_for_operands() const {
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  const bool limited = share_.memory > 0.0 && share_.memory < static_cast<double>(all);
  std::int64_t memory = limited ? static_cast<std::int64_t>(share_.memory) : all;
  if (memory_asked_) memory = std::min(memory, *memory_asked_);
  if (memory == all) return all;
  // One that waits has its piece alone, and to fill it what it would need to compute.
  const bool waits = share_.role == TeamShare::Role::waiter;
  return waits ? memory + working_bytes() : memory - scratch_bytes();
}

void Calculation::plan_shared_memory() {
  // A piece ends with a whole panel.
  piece_bytes_ = operand_bytes_ / team_->size() + in_use_per_thread_;
  if (share_.role == TeamShare::Role::waiter) return;
  const auto needed = [&] { return piece_bytes_ + users_of_operands() * in_use_per_thread_; };
  while (threads_ > 1 && memory_for_operands() < needed()) --threads_;
  if (memory_for_operands() >= needed()) return;
  const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; };
  const std::int64_t scratch = scratch_bytes();
  throw UsageError(fmt::format(
      "Each of {} ranks keeps up to {:.1f} MiB of the operands and needs {:.1f} MiB to compute, but {} allows {:.1f} "
      "MiB; {}.",
      team_->size(), mib(piece_bytes_), mib(needed() - piece_bytes_ + scratch),
      memory_asked_ ? "--memory" : "the memory of its host", mib(memory_for_operands() + scratch),
      memory_asked_ ? "allow more, or start more ranks" : "use more hosts"));
}

std::unique_ptr<Executor> Calculation::make_executor() const {
  const OpenMpThreads threads(threads_);
  std::unique_ptr<Executor> executor = prepare_executor(nullptr);
  if (auto* reader = dynamic_cast<PanelExecutor*>(executor.get())) {
    reader->take_panels(std::make_shared<PanelStore>(problem_, reader->panel_tiles()));
  }
  return executor;
}

std::unique_ptr<Executor> Calculation::prepare_executor(std::vector<std::string>* left_out) const {
  switch (options_.executor) {
    case ExecutorKind::reference:
      return make_reference_executor(problem_, plan_.tiles);
    case ExecutorKind::cuda: {
      CudaOptions options;
      options.devices.clear();
      for (const DeviceInfo& device : devices_) options.devices.push_back(device.number);
      options.memory_per_device = options_.memory.value_or(0);
      options.kernel = options_.kernel;
      options.left_out = left_out;
      return prepare_cuda_executor(problem_, plan_.tiles, options);
    }
    case ExecutorKind::cpu:
      break;
  }
  return prepare_cpu_executor(problem_, plan_.tiles, {}, share_.threads_together ? threads_ : 1);
}

int Calculation::threads_on_cores() const {
  const std::int64_t scratch = std::max<std::int64_t>(1, cpu_executor_memory(problem_, plan_.tiles).per_worker);
  return static_cast<int>(std::clamp<std::int64_t>(default_memory / scratch, 1, threads_));
}

std::unique_ptr<Executor> Calculation::make_executor_on_cores(std::shared_ptr<const PanelStore> panels) const {
  const OpenMpThreads threads(threads_);
  // Tasks are as large as GPUs want them.
  std::unique_ptr<PanelExecutor> executor = prepare_cpu_executor(problem_, plan_.tiles, {}, threads_on_cores());
  if (panels == nullptr) panels = std::make_shared<PanelStore>(problem_, executor->panel_tiles());
  executor->take_panels(std::move(panels));
  return executor;
}

std::shared_ptr<const PanelStore> Calculation::read_operands(const PanelExecutor* reader,
                                                             std::optional<TeamOperands>& shared) const {
  const OpenMpThreads threads(threads_);
  std::shared_ptr<const PanelStore> panels;
  if (!shares_operands()) {
    together(team_, [&] {
      if (reader != nullptr) panels = std::make_shared<PanelStore>(problem_, reader->panel_tiles());
    });
    return panels;
  }
  // Beside GPUs cores take what is cut for these, unless no GPU is left.
  const bool of_others = options_.executor == ExecutorKind::cpu && options_.plan_for == ExecutorKind::cuda;
  const TileSpace* const cut = reader != nullptr && !of_others ? &reader->panel_tiles() : nullptr;
  // Where devices keep them, or where few tasks will be done, panels of others pass through here: with room to come
  // ahead, and not more, since new memory takes longer to get than a panel.
  constexpr std::int64_t room_to_pass = std::int64_t{4} << 30;
  const bool pass = share_.threads_together || (reader != nullptr && reader->keeps_panels());
  const std::int64_t room =
      pass ? std::max(room_to_pass, 8 * in_use_per_thread_) : std::numeric_limits<std::int64_t>::max();
  shared.emplace(*team_, problem_, plan_.tiles, cut, memory_for_operands(), room);
  if (shared->panels() == nullptr) {
    const TileSpace on_cores = cpu_panel_tiles(plan_.tiles);
    shared.emplace(*team_, problem_, plan_.tiles, &on_cores, memory_for_operands());
  }
  return shared->panels();
}

std::unique_ptr<Journal> Calculation::open_journal() const {
  if (options_.journal.empty()) return nullptr;
  JournalKey key{{}, tiles_, plan_.tasks.size(), problem_.omega2.size()};
  const int rank = team_ != nullptr ? team_->rank() : 0;
  together(team_, [&] {
    // All ranks have the same; one looks.
    if (rank == 0) key.fingerprint = fingerprint(problem_);
  });
  if (team_ != nullptr) share_fingerprint(*team_, key.fingerprint);
  return std::make_unique<Journal>(options_.journal, key, team_, share_.role != TeamShare::Role::waiter);
}

CalculationResult Calculation::run(const std::atomic<bool>* stop, std::function<void(const RunProgress&)> progress,
                                   std::function<void(const std::string&)> warn) const {
  CalculationResult result;
  const double begin = wall_seconds();
  const std::unique_ptr<Journal> journal = open_journal();
  const double start = wall_seconds();
  result.seconds_journal = start - begin;
  const bool waits = team_ != nullptr && share_.role == TeamShare::Role::waiter;
  std::optional<TeamOperands> operands;
  std::shared_ptr<const PanelStore> panels;
  std::unique_ptr<Executor> executor;
  RunSettings settings;
  settings.threads = settings.threads_on_cores = threads_;
  settings.journal = journal.get();
  settings.stop = stop;
  settings.progress = std::move(progress);
  settings.warn = std::move(warn);
  settings.team = team_;
  settings.share = share_;
  const auto keep_report = [&] {
    if (const auto* cuda = dynamic_cast<const CudaExecutor*>(executor.get())) result.cuda = cuda->report();
  };
  if (options_.executor == ExecutorKind::cuda) {
    settings.threads_on_cores = threads_on_cores();
    settings.on_cores = [&] {
      // What the devices had of the host's memory goes first.
      keep_report();
      executor.reset();
      return make_executor_on_cores(panels);
    };
  }
  const bool required = team_ == nullptr && options_.devices_required;
  // Devices that fail before the first task are given up.
  const auto try_devices = [&](const std::function<void()>& use) {
    together(team_, [&] {
      try {
        use();
      } catch (const DeviceError& error) {
        if (required) throw;
        executor.reset();
        settings.failed_device = error.what();
      }
    });
  };
  try_devices([&] {
    if (waits) return;
    std::vector<std::string> left_out;
    executor = prepare_executor(required ? nullptr : &left_out);
    if (!left_out.empty()) settings.failed_device = left_out.front();
  });
  auto* const reader = dynamic_cast<PanelExecutor*>(executor.get());
  panels = read_operands(reader, operands);
  try_devices([&] {
    if (reader != nullptr) reader->take_panels(panels);
  });
  const double loaded = wall_seconds();
  RunOutcome outcome = run_tasks(plan_, executor.get(), problem_.omega2.size(), settings);
  result.seconds_loading = loaded - start;
  result.seconds_tasks = wall_seconds() - loaded;
  result.tasks = plan_.tasks.size();
  result.tasks_from_journal = outcome.from_journal;
  result.tasks_from_other_kind = outcome.from_other_kind;
  result.operations = outcome.operations;
  if (operands) result.traffic = operands->traffic(*team_);
  result.ranks = std::move(outcome.ranks);
  result.warnings = std::move(outcome.warnings);
  keep_report();
  const std::size_t count = problem_.omega2.size();
  for (std::size_t w = 0; w < count; ++w) {
    TriplesEnergy energy;
    energy.omega2 = problem_.omega2[w];
    energy.method = method(energy.omega2);
    for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
      add_task(plan_.tiles, plan_.tasks[t], outcome.energies[t * count + w], energy.spin_cases);
    }
    for (const EnergyPair& pair : energy.spin_cases) {
      energy.total.bracket += pair.bracket;
      energy.total.paren += pair.paren;
    }
    result.energies.push_back(std::move(energy));
  }
  return result;
}

}  // namespace trifuse
