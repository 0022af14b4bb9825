#include "cxx/calculation/orbitals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"
#include "cxx/calculation/memory_plan.hpp"

namespace trifuse {

namespace {

/// Elements f_ia below these sizes do not count, hartree. `rounding`: rounding errors of a matrix if the input states
/// that f_ov t2 enters. `residue_of_scf`: the residue of a tight SCF if the input states nothing. f_ia of 0.05 change
/// E(T) by 3e-5, so f_ia of `worth_a_note` change it by 1e-9. SCF with the default thresholds of PySCF leaves up to
/// 2.4e-6; if the term enters anyhow, that is no reason for a warning.
constexpr double rounding = 1e-13, residue_of_scf = 1e-8, worth_a_note = 1e-6, residue_of_loose_scf = 1e-5;

}

moments::OrbitalVectors vectors_of(const OrbitalRotation& rotation, const TileSpace& tiles) {
  moments::OrbitalVectors all;
  for (const OrbitalRotation::Range& range : rotation.ranges()) {
    const OrbitalClass c = range.orbital_class;
    const std::int64_t count = tiles.orbitals(c), first = range.offset - tiles[tiles.first(c)].offset;
    std::vector<double>& u = (space_of(c) == Space::hole ? all.holes : all.particles)[spin_of(c)];
    u.resize(static_cast<std::size_t>(count * count), 0.0);
    for (std::int64_t x = 0; x < range.size; ++x)
      std::copy_n(range.vectors.data() + x * range.size, range.size, u.data() + (first + x) * count + first);
  }
  return all;
}

ChosenOrbitals::ChosenOrbitals(const TileSource& right, const CalculationOptions& options, SpinFormulation formulation)
    : right_(&right),
      rohf_(options.rohf),
      has_derivatives_(options.derivatives != Derivatives::none),
      // The reference evaluation reads all spin cases also in the spin-adapted formulation.
      opposite_spins_(formulation == SpinFormulation::spin_adapted && options.executor != ExecutorKind::reference) {
  const SourceInfo& info = right.info();
  const bool rohf = info.reference == Reference::rohf, asked = rohf_ == RohfOrbitals::semicanonical;
  if (asked && !rohf) {
    throw UsageError(fmt::format("--rohf semicanonical is for ROHF references, but that of {} is {}; leave it out.",
                                 info.path, to_string(info.reference)));
  }
  if (!asked && info.fock_in_triples == FockInTriples::enters && !right.has_fock()) {
    throw InputError(
        fmt::format("{} asks for the Fock matrix in the triples (fock_in_triples), but holds none; write the dataset "
                    "fock (UHF: fock_a and fock_b).",
                    info.path));
  }
  if (asked) {
    method_ = ccsd_t_with_fock;
  } else if (right.has_fock()) {
    couplings_ = fock_couplings(right);
    choose_method();
  }
  const bool rotates = !rohf && !couplings_.canonical();
  if (rotates) {
    warnings_.insert(
        warnings_.begin(),
        fmt::format(
            "The orbitals of {} are not canonical (elements f_ij, f_ab of up to {:.2g} hartree off the diagonal "
            "of the Fock matrix); Trifuse rotates them to semicanonical orbitals, so that (T) does not depend "
            "on the choice of orbitals.",
            info.path, couplings_.within));
  }
  if (asked || rotates) rotation_ = std::make_shared<OrbitalRotation>(right);
}

const TileSource* ChosenOrbitals::in_orbitals(const TileSource* source) {
  if (source == nullptr || !rotates()) return source;
  return rotated_.emplace_back(std::make_unique<SemicanonicalSource>(*source, *right_, rotation_, opposite_spins_))
      .get();
}

void ChosenOrbitals::choose_method() {
  const SourceInfo& info = right_->info();
  const bool rohf = info.reference == Reference::rohf;
  const auto add = [&](double above, const std::string& sentence) {
    // ROHF always has large f_ia, and f_ia of made-up molecules mean nothing.
    if (rohf || info.amplitudes == AmplitudeKind::made_up || couplings_.between <= above) return;
    warnings_.push_back(fmt::format("The Fock matrix of {} has elements f_ia of up to {:.2g} hartree. {}", info.path,
                                    couplings_.between, sentence));
  };
  switch (info.fock_in_triples) {
    case FockInTriples::enters:
      if (has_derivatives_ || couplings_.between > rounding) method_ = ccsd_t_with_fock;
      return;
    case FockInTriples::not_stated:
      if (rohf || couplings_.between <= residue_of_scf) return;
      method_ = ccsd_t_with_fock;
      return add(residue_of_loose_scf,
                 "The term f_ov t2 enters (T), because the input does not state fock_in_triples.");
    case FockInTriples::left_out:
      return add(worth_a_note, "The term f_ov t2 was left out of (T), as the input states (fock_in_triples).");
  }
}

void ChosenOrbitals::plan_rotation(MemoryPlan& memory, int ranks) const {
  double all = 0.0, of_rank = 0.0, peak = 0.0;
  for (const auto& source : rotated_) {  // one after another
    const RotationCost& cost = source->cost();
    peak = std::max(peak, of_rank + cost.peak(ranks));
    all += cost.bytes + cost.factor_bytes;
    of_rank += cost.bytes / ranks + cost.factor_bytes;
  }
  memory.rotated = static_cast<std::int64_t>(all);
  memory.rotated_of_rank = static_cast<std::int64_t>(of_rank);
  memory.rotation_peak = static_cast<std::int64_t>(peak);
}

void ChosenOrbitals::agree(Communicator* communicator) const {
  if (rotates() && communicator != nullptr) rotation_->take_those_of_first(*communicator);
}

void ChosenOrbitals::rotate(Communicator* communicator, const std::atomic<bool>* stop) const {
  for (const auto& source : rotated_) source->rotate(communicator, stop);
}

std::string ChosenOrbitals::note() const {
  const char* const name = method_.name();
  const SourceInfo& info = right_->info();
  if (info.reference != Reference::rohf) {
    const bool with_fock = method_.needs_fock() && couplings_.between > worth_a_note;
    const std::string term =
        with_fock ? fmt::format("with the f_ov t2 term (f_ia up to {:.2g} Eh)", couplings_.between) : "";
    if (rotated_.empty()) return with_fock ? fmt::format("{} {}", name, term) : "";
    return fmt::format("{} in semicanonical orbitals (f_ij, f_ab of the input up to {:.2g} Eh off the diagonal){}{}",
                       name, couplings_.within, with_fock ? ", " : "", term);
  }
  if (rohf_ == RohfOrbitals::semicanonical) {
    return fmt::format("standard ROHF-{}: semicanonical orbitals, with the f_ov t2 term", name);
  }
  const std::string standard = " (the standard one: --rohf semicanonical)";
  if (info.fock_in_triples == FockInTriples::enters) {
    return fmt::format("PySCF's ROHF-{}: orbital energies of the dump, with the f_ov t2 term", name) + standard;
  }
  return fmt::format("NWChem's ROHF-{}: ROHF orbital energies for both spins, no f_ov t2 term", name) + standard;
}

}
