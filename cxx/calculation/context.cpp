#include "cxx/calculation/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/triples/energy.hpp"

namespace trifuse {

namespace {

/// Host memory that a run uses if `CalculationOptions::memory` sets no limit, bytes.
constexpr std::int64_t default_memory = std::int64_t{2} << 30;

std::string amount(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

/// True if two tile spaces have the same orbitals, also if their tiles differ.
bool same_orbitals(const TileSpace& x, const TileSpace& y) {
  for (const OrbitalClass c : orbital_classes) {
    for (int irrep = 0; irrep < 8; ++irrep) {
      if (x.range(c, irrep).size != y.range(c, irrep).size) return false;
    }
  }
  return x.restricted() == y.restricted();
}

}

CalculationContext::CalculationContext(const TileSource& right, const TileSource* left, CalculationOptions options,
                                       RankOptions of_rank)
    : options_(std::move(options)), of_rank_(std::move(of_rank)), right_(&right), left_(left) {
  check_options(options_);
  if (!right.has_integrals()) {
    throw InputError(
        fmt::format("{} holds amplitudes only; it can be the left-hand input (--left), but the right-hand input needs "
                    "integrals too.",
                    right.info().path));
  }
  if (left_ != nullptr) check_left();
  if (options_.executor == ExecutorKind::cuda) {
    devices_ = choose_devices(visible_devices(), options_.devices);
  } else {
    memory_asked_ = options_.memory;
    if (!options_.memory) options_.memory = default_memory;
  }
  choose_formulation();
  if (options_.omega2.empty()) {
    const bool regularized = left_ != nullptr && left_->info().amplitudes == AmplitudeKind::regularized_ccsd;
    options_.omega2 = {regularized ? left_->info().omega2 : 0.0};
  }
  check_options(options_);  // again, because omega2 may come from the left amplitudes
  choose_orbitals();
  problem_.right = semicanonical_right_ ? semicanonical_right_.get() : right_;
  problem_.left = semicanonical_left_ ? semicanonical_left_.get() : left_;
  problem_.omega2 = options_.omega2;

  const TileSpace& orbitals = problem_.right->tiles();
  largest_denominator_ = trifuse::largest_denominator(orbitals, problem_.right->orbital_energies());
  check_denominators();
  plan_tasks();
  plan_memory();
}

void CalculationContext::plan_tasks() {
  const TileSpace& orbitals = problem_.right->tiles();
  const bool cuda = of_rank_.plan_for.value_or(options_.executor) == ExecutorKind::cuda;
  tiles_ = default_tiling(orbitals, problem_.formulation, cuda, options_.tile_size);
  std::optional<Tiling> begun = of_rank_.journal_tiles;
  if (!begun && !options_.journal.empty()) begun = Journal::tiles_in(options_.journal);
  if (begun) {
    if (options_.tile_size && begun->sizes != tiles_.sizes) {
      throw UsageError(
          fmt::format("The journal {} was started with tiles of {} occupied and {} virtual orbitals, but --tile-size "
                      "asks for {}; leave --tile-size out, or give another --journal.",
                      options_.journal, begun->sizes.holes, begun->sizes.particles, *options_.tile_size));
    }
    tiles_ = *begun;
  }
  const TileSpace tiles = retile(orbitals, tiles_);
  const double plan_bytes = estimated_tasks(tiles, problem_.formulation) * bytes_per_task;
  // With CUDA, --memory limits the GPUs and not the host. A short list fits anywhere; for less memory the check of the
  // scratch says how much a run needs.
  constexpr std::int64_t short_list = std::int64_t{1} << 20;
  const std::int64_t allowed = cuda ? default_memory : std::max(options_.memory.value_or(default_memory), short_list);
  if (plan_bytes > static_cast<double>(allowed)) {
    throw UsageError(
        fmt::format("A tile size of {} makes about {:.2g} tasks, and their list alone takes {}; use larger tiles{}.",
                    tiles_.sizes.particles, plan_bytes / bytes_per_task, format_bytes(plan_bytes),
                    cuda ? "" : ", or allow more --memory"));
  }
  // A list of more tasks takes minutes, even if it fits into memory.
  constexpr double max_tasks = 5e7;
  require_listable(tiles, problem_.formulation, max_tasks);
  const auto count = [&](OrbitalClass c) { return static_cast<double>(tiles.orbitals(c)); };
  const double holes = count(OrbitalClass::hole_alpha) + count(OrbitalClass::hole_beta);
  const double particles = count(OrbitalClass::particle_alpha) + count(OrbitalClass::particle_beta);
  // Byte counts of larger problems overflow.
  if (particles * particles * particles * (holes + particles) > 1e17) {
    throw UsageError(
        fmt::format("No machine has the memory for {:.0f} occupied and {:.0f} virtual orbitals.", holes, particles));
  }
  plan_ = make_plan(tiles, problem_.formulation);
}

void CalculationContext::choose_formulation() {
  problem_.formulation = options_.formulation.value_or(default_formulation(right_->tiles()));
  if (problem_.formulation == SpinFormulation::spin_adapted && !right_->tiles().restricted()) {
    throw UsageError(
        fmt::format("The spin-adapted form needs an RHF reference; {} has a {} reference (use --form auto).",
                    right_->info().path, to_string(right_->info().reference)));
  }
}

void CalculationContext::check_left() const {
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

void CalculationContext::check_denominators() const {
  // A denominator closer to zero is an accident of the orbital energies, and its reciprocal is noise. Hartree.
  constexpr double closest = 1e-7;
  for (const double omega2 : options_.omega2) {
    const double largest = largest_denominator_ - denominator_shift(omega2);
    if (largest < -closest) continue;
    throw InputError(fmt::format(
        "The orbital energies of {} make a triples denominator of {:.6f} hartree (it must be negative) at omega2 = {}: "
        "an occupied orbital lies above a virtual one. Check the occupation of the reference, or use "
        "--omega2 above {:.4f}.",
        right_->info().path, largest, omega2, std::ceil(largest_denominator_ / 3.0 * 1e4 + 1.0) * 1e-4));
  }
}

void CalculationContext::plan_memory() {
  threads_ = options_.threads > 0 ? startable_threads(options_.threads) : available_threads();
  if (options_.executor == ExecutorKind::reference) return;
  if (options_.executor == ExecutorKind::cuda) {
    constexpr std::int64_t width = sizeof(double);
    operand_bytes_ = PanelLayout::required_doubles(problem_, plan_.tiles) * width;
    in_use_per_thread_ = PanelLayout::doubles_in_use(problem_, plan_.tiles) * width;
    return;
  }
  const std::int64_t allowed = *options_.memory;
  const bool beside_gpus = of_rank_.plan_for == ExecutorKind::cuda;
  const CpuMemory memory =
      beside_gpus ? cpu_memory_with_panels_of(problem_, plan_.tiles) : cpu_executor_memory(problem_, plan_.tiles);
  operand_bytes_ = memory.operands;
  scratch_per_thread_ = memory.per_worker;
  in_use_per_thread_ = memory.in_use;
  all_made_bytes_ = memory.made;
  const std::int64_t affordable = allowed / std::max<std::int64_t>(1, memory.per_worker);
  if (affordable < 1) {
    throw UsageError(
        fmt::format("--memory allows {} of scratch, but one thread needs {}; give --memory {}KiB or more, or a smaller "
                    "--tile-size.",
                    amount(allowed), amount(memory.per_worker), memory.per_worker / 1024 + 1));
  }
  threads_ = static_cast<int>(std::min<std::int64_t>(threads_, affordable));
}

std::string CalculationContext::method(double omega2) const {
  return name_of(problem_.method, right_->info(), left_ != nullptr ? &left_->info() : nullptr, omega2);
}

void CalculationContext::join(Communicator& communicator, const RankAssignment& assignment) {
  communicator_ = &communicator;
  assignment_ = assignment;
  if (assignment.threads > 0) threads_ = std::min(threads_, assignment.threads);
  if (shares_operands()) plan_shared_memory();
}

bool CalculationContext::shares_operands() const {
  return communicator_ != nullptr && communicator_->size() > 1 && communicator_->has_arrays() &&
         options_.executor != ExecutorKind::reference;
}

int CalculationContext::users_of_operands() const {
  if (assignment_.role == RankAssignment::Role::idle) return 0;
  // A GPU fetches one panel after another. Threads that share a task use the panels of at most two tasks.
  if (options_.executor == ExecutorKind::cuda) return static_cast<int>(devices_.size());
  return assignment_.threads_share_task ? 2 : threads_;
}

std::int64_t CalculationContext::memory_for_operands() const {
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  const bool limited = assignment_.memory > 0.0 && assignment_.memory < static_cast<double>(all);
  std::int64_t memory = limited ? static_cast<std::int64_t>(assignment_.memory) : all;
  if (memory_asked_) memory = std::min(memory, *memory_asked_);
  if (memory == all) return all;
  memory -= memory_after_rotation();
  // An idle rank stores only its part of the operands. It has its working memory to fill this part.
  const bool idle = assignment_.role == RankAssignment::Role::idle;
  return idle ? memory + working_bytes() : memory - scratch_bytes();
}

std::int64_t CalculationContext::memory_for_made_panels() const {
  // With CUDA, --memory limits the GPUs and not the host.
  if (options_.executor == ExecutorKind::cuda) return default_memory;
  return std::max<std::int64_t>(0, *options_.memory - scratch_bytes());
}

std::int64_t CalculationContext::made_bytes() const {
  return std::min(all_made_bytes_, memory_for_made_panels());
}

void CalculationContext::plan_shared_memory() {
  // The part of a rank ends with a whole panel.
  const double share = assignment_.operands.share * static_cast<double>(operand_bytes_) / communicator_->size();
  owned_bytes_ = assignment_.operands.segments > 0 ? static_cast<std::int64_t>(share) + in_use_per_thread_ : 0;
  const bool asked =
      memory_asked_ && (assignment_.memory <= 0.0 || static_cast<double>(*memory_asked_) <= assignment_.memory);
  const std::string limit = asked ? "--memory" : "the memory of its host";
  const std::string advice = asked ? "allow more, or start more ranks" : "use more hosts";
  const std::int64_t rotated = memory_after_rotation(), peak = peak_of_rotation();
  if (memory_for_operands() < peak - rotated) {
    throw UsageError(fmt::format("Each of {} ranks needs {} to rotate orbitals, but {} allows this rank {}; {}.",
                                 communicator_->size(), amount(peak), limit, amount(memory_for_operands() + rotated),
                                 advice));
  }
  if (assignment_.role == RankAssignment::Role::idle) return;
  const auto needed = [&] { return owned_bytes_ + users_of_operands() * in_use_per_thread_; };
  while (threads_ > 1 && memory_for_operands() < needed()) --threads_;
  if (memory_for_operands() >= needed()) return;
  const std::int64_t scratch = scratch_bytes();
  throw UsageError(
      fmt::format("This rank, one of {}, stores up to {} of the operands and needs {} to compute, but "
                  "{} allows {}; {}.",
                  communicator_->size(), amount(owned_bytes_ + rotated), amount(needed() - owned_bytes_ + scratch),
                  limit, amount(memory_for_operands() + rotated + scratch), advice));
}

int CalculationContext::threads_on_cores() const {
  const std::int64_t scratch = std::max<std::int64_t>(1, cpu_executor_memory(problem_, plan_.tiles).per_worker);
  return static_cast<int>(std::clamp<std::int64_t>(default_memory / scratch, 1, threads_));
}

}
