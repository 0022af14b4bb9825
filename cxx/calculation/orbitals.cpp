#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/calculation/context.hpp"

/// The orbitals of a calculation: when they are rotated, and when f_ov t2 enters the triples.
namespace trifuse {

namespace {

/// Elements f_ia below these sizes do not count, hartree. They are rounding errors of a matrix whose maker states that
/// f_ov t2 enters, and the residue of a tight SCF if nothing is stated. f_ia of 0.05 change E(T) by 3e-5, so those of
/// `worth_a_note` change it by 1e-9. SCF with the default thresholds of PySCF leaves up to 2.4e-6; if the term enters
/// anyhow, that is no reason for a warning.
constexpr double rounding = 1e-13, residue_of_scf = 1e-8, worth_a_note = 1e-6, residue_of_loose_scf = 1e-5;

}

void CalculationContext::choose_orbitals() {
  const SourceInfo& info = right_->info();
  const bool rohf = info.reference == Reference::rohf, asked = options_.rohf == RohfOrbitals::semicanonical;
  if (asked && !rohf) {
    throw UsageError(fmt::format("--rohf semicanonical is for ROHF references; {} has a {} reference.", info.path,
                                 to_string(info.reference)));
  }
  if (!asked && info.fock_in_triples == FockInTriples::enters && !right_->has_fock()) {
    throw InputError(
        fmt::format("{} asks for the Fock matrix in the triples (fock_in_triples), but holds none; write the dataset "
                    "fock (UHF: fock_a and fock_b).",
                    info.path));
  }
  if (asked) {
    problem_.method = ccsd_t_with_fock;
  } else if (right_->has_fock()) {
    couplings_ = fock_couplings(*right_);
    choose_method();
  }
  if (asked || (!rohf && !couplings_.canonical())) begin_rotation();
}

void CalculationContext::choose_method() {
  const SourceInfo& info = right_->info();
  const bool rohf = info.reference == Reference::rohf;
  const auto add = [&](double above, const std::string& sentence) {
    // ROHF has large f_ia by its nature, and made-up ones mean nothing.
    if (rohf || info.amplitudes == AmplitudeKind::made_up || couplings_.between <= above) return;
    warnings_.push_back(fmt::format("The Fock matrix of {} has elements f_ia of up to {:.2g} hartree. {}", info.path,
                                    couplings_.between, sentence));
  };
  switch (info.fock_in_triples) {
    case FockInTriples::enters:
      if (couplings_.between > rounding) problem_.method = ccsd_t_with_fock;
      return;
    case FockInTriples::not_stated:
      if (rohf || couplings_.between <= residue_of_scf) return;
      problem_.method = ccsd_t_with_fock;
      return add(residue_of_loose_scf,
                 "The term f_ov t2 enters (T), because the input does not state fock_in_triples.");
    case FockInTriples::left_out:
      return add(worth_a_note, "The term f_ov t2 was left out of (T), as the input states (fock_in_triples).");
  }
}

void CalculationContext::begin_rotation() {
  const std::string& path = right_->info().path;
  if (!couplings_.canonical() && right_->info().reference != Reference::rohf) {
    warnings_.insert(
        warnings_.begin(),
        fmt::format(
            "The orbitals of {} are not canonical (elements f_ij, f_ab of up to {:.2g} hartree off the diagonal "
            "of the Fock matrix); Trifuse rotates them to semicanonical orbitals, so that (T) does not depend "
            "on the choice of orbitals.",
            path, couplings_.within));
  }
  // The reference evaluation reads all spin cases also in the spin-adapted formulation.
  const bool opposite_spins =
      problem_.formulation == SpinFormulation::spin_adapted && options_.executor != ExecutorKind::reference;
  semicanonical_right_ = std::make_unique<SemicanonicalSource>(*right_, *right_, opposite_spins);
  if (left_ != nullptr) semicanonical_left_ = std::make_unique<SemicanonicalSource>(*left_, *right_, opposite_spins);
  // With CUDA, --memory limits the GPUs and not the host. Several ranks know the memory of their hosts and check later.
  const bool limited = options_.executor != ExecutorKind::cuda && (memory_asked_ || of_rank_.sharers == 1);
  if (!limited || peak_of_rotation() <= *options_.memory) return;
  throw UsageError(fmt::format("Rotating {} to semicanonical orbitals takes {} of memory{}; allow it with --memory.",
                               path, format_bytes(static_cast<double>(peak_of_rotation())),
                               of_rank_.sharers > 1 ? " of each process" : ""));
}

std::int64_t CalculationContext::rotated_bytes() const {
  double bytes = 0.0;
  for (const SemicanonicalSource* source : {semicanonical_right_.get(), semicanonical_left_.get()}) {
    if (source != nullptr) bytes += source->cost().bytes + source->cost().factor_bytes;
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t CalculationContext::memory_after_rotation() const {
  double bytes = 0.0;
  for (const SemicanonicalSource* source : {semicanonical_right_.get(), semicanonical_left_.get()}) {
    if (source != nullptr) bytes += source->cost().bytes / of_rank_.sharers + source->cost().factor_bytes;
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t CalculationContext::peak_of_rotation() const {
  if (!semicanonical_right_) return 0;
  const int ranks = of_rank_.sharers;
  double peak = semicanonical_right_->cost().peak(ranks);
  if (semicanonical_left_) {  // rotated after the right amplitudes
    const RotationCost& right = semicanonical_right_->cost();
    peak = std::max(peak, right.bytes / ranks + right.factor_bytes + semicanonical_left_->cost().peak(ranks));
  }
  return static_cast<std::int64_t>(peak);
}

std::string CalculationContext::reference_note() const {
  const char* const name = problem_.method.name();
  const SourceInfo& info = right_->info();
  if (info.reference != Reference::rohf) {
    const bool with_fock = problem_.method.needs_fock() && couplings_.between > worth_a_note;
    const std::string term =
        with_fock ? fmt::format("with the f_ov t2 term (f_ia up to {:.2g} Eh)", couplings_.between) : "";
    if (!semicanonical_right_) return with_fock ? fmt::format("{} {}", name, term) : "";
    return fmt::format("{} in semicanonical orbitals (f_ij, f_ab of the input up to {:.2g} Eh off the diagonal){}{}",
                       name, couplings_.within, with_fock ? ", " : "", term);
  }
  if (options_.rohf == RohfOrbitals::semicanonical) {
    return fmt::format("standard ROHF-{}: semicanonical orbitals, with the f_ov t2 term", name);
  }
  const std::string standard = " (the standard one: --rohf semicanonical)";
  if (info.fock_in_triples == FockInTriples::enters) {
    return fmt::format("PySCF's ROHF-{}: orbital energies of the dump, with the f_ov t2 term", name) + standard;
  }
  return fmt::format("NWChem's ROHF-{}: ROHF orbital energies for both spins, no f_ov t2 term", name) + standard;
}

}
