#include "tce_tiles/checks/factor_stages.hpp"

#include <utility>

#include "cxx/base/blas.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"

namespace trifuse {

FactorStages::FactorStages(const DenseInput* checked, const DenseInput* tested, SinglesEquation* singles,
                           const DenseCheck& check)
    : checked_(checked), tested_(tested), singles_(singles), share_(check) {
  if (checked_ == nullptr || checked_->factor_source == nullptr) return;
  check_.emplace(*checked_);
  if (checked_->header.symmetry) irreps_.emplace(*checked_);
}

void FactorStages::hold(Communicator* communicator) {
  if (!held_.empty()) return;
  for (const DenseInput* const input : {checked_, tested_}) {
    if (input == nullptr) continue;
    auto held = acquire_factors_of_ranks(input->factor_source.get(), communicator, share_.stop);
    if (held) held_.push_back(std::move(held));
  }
}

void FactorStages::read_together(int stage, Communicator& communicator) {
  if (stage == holes) hold(&communicator);
  const bool exchange = communicator.size() > 1 && communicator.has_arrays();
  if (stage == irreps && irreps_ && exchange) {
    int threads = 1;
    run_collectively(&communicator, [&] { threads = most_threads(share_); });
    irreps_->run(share_.part, share_.parts, threads, share_.stop, &communicator);
    irreps_.reset();
  }
  if (stage == particles && singles_ != nullptr && exchange) {
    singles_->share_factors(communicator, exchanged_factor_bytes, share_.stop);
  }
}

std::vector<double> FactorStages::run(int stage, int threads) {
  hold(nullptr);
  if (stage == holes && check_) check_->check_holes(threads);
  if (stage == irreps && irreps_) irreps_->run(share_.part, share_.parts, threads, share_.stop);
  if (stage == particles) return visit_particles(threads);
  return {};
}

/// Reads the factors of two particles, once for both uses.
std::vector<double> FactorStages::visit_particles(int threads) {
  std::vector<FactorUse> uses;
  if (singles_ != nullptr) uses = singles_->factor_uses();
  if (!uses.empty()) threads = threads_with_blas_memory(threads, singles_->thread_bytes());
  std::vector<double> sums;
  if (check_) {
    const std::span<const FactorUse> same_factors = checked_ == tested_ ? uses : std::span<const FactorUse>();
    sums = check_->run(share_.part, share_.parts, threads, share_.stop, same_factors);
  }
  if (!uses.empty() && !(check_ && checked_ == tested_)) {
    visit_once(*tested_->factor_source, uses, threads, share_.stop);
  }
  if (singles_ != nullptr) singles_->add_factors();
  return sums;
}

std::span<const double> FactorStages::accept(int stage, std::span<const double> sums) const {
  if (stage != particles || !check_) return sums;
  check_->accept(sums.first(check_->size()));
  return sums.subspan(check_->size());
}

}
