#include "tce_tiles/checks/lambda_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/blas.hpp"
#include "tce_tiles/checks/dense_slabs.hpp"
#include "tce_tiles/checks/small_arrays_check.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"

namespace trifuse {
namespace {

constexpr const char* reason_without_exchange =
    "the integrals (ij|ab) are missing (oovv; antisymmetrised if (ia|jb) is)";
constexpr const char* reason_without_fock = "the reference is ROHF and there is no Fock matrix";

class LambdaCheck final : public SourceCheck {
 public:
  LambdaCheck(std::unique_ptr<SourceCheck> check, const DenseInput& left, const DenseInput& right,
              const DenseCheck& share)
      : check_(std::move(check)), left_(left), right_(right), share_(share) {
    const bool has_fock = open_fock(*right.arrays, right.header, Spin::alpha) != nullptr;
    if (present_integrals(*right.arrays, right.header))
      right_slabs_.emplace(*right.arrays, *right.arrays, right.header);
    if (!from_factors() && !has_exchange_integrals()) {
      reason_ = reason_without_exchange;
    } else if (!has_fock && right.header.info.reference == Reference::rohf) {
      reason_ = reason_without_fock;
    }
  }

  int stages() const override { return check_->stages() + passes(); }
  void read_together(int stage, Communicator& communicator) override {
    if (stage < check_->stages()) return check_->read_together(stage, communicator);
    if (from_factors()) held_ = acquire_factors_of_ranks(right_.factor_source.get(), &communicator, share_.stop);
  }
  std::vector<double> run(int stage) override {
    const int pass = stage - check_->stages();
    if (pass < 0) return check_->run(stage);
    if (pass == 0) set_up();
    if (ladder_free_) return ladder_free_->run(pass, share_.part, share_.parts, threads_, share_.stop);
    if (!held_) held_ = acquire_factors_of_ranks(right_.factor_source.get(), nullptr, share_.stop);
    return equation_->run(share_.part, share_.parts, threads_, share_.stop);
  }
  void accept(int stage, std::span<const double> sums) override {
    const int pass = stage - check_->stages();
    if (pass < 0) return check_->accept(stage, sums);
    if (ladder_free_) ladder_free_->accept(pass, sums);
    if (pass + 1 < passes()) return;
    residual_ = ladder_free_ ? ladder_free_->residual() : equation_->residual(sums, threads_, share_.stop);
    ladder_free_.reset();
    equation_.reset();
    held_.reset();
  }
  Measurements measurements() const override {
    Measurements measured = check_->measurements();
    measured.lambda_singles = residual_;
    measured.no_lambda_reason = reason_;
    return measured;
  }

 private:
  bool from_factors() const { return right_.factor_source != nullptr; }
  int passes() const { return !reason_.empty() ? 0 : from_factors() ? 1 : LambdaLadderFree::passes; }
  /// Returns true if the integrals (ij|ab) suffice for the equation without factors.
  bool has_exchange_integrals() const {
    if (!right_slabs_) return false;
    SinglesProblem forms;
    right_slabs_->describe(forms);
    for (const Spin spin : distinct_spins(right_.header.restricted)) {
      const std::size_t s = spin_index(spin);
      const bool is_empty = right_.header.size(hole_class(spin)) * right_.header.size(particle_class(spin)) == 0;
      if (!is_empty && !forms.has_exchange(s)) return false;
    }
    return true;
  }

  void set_up() {
    LambdaProblem problem = read_lambda_problem(left_, right_);
    std::int64_t largest_slab = 0;
    for (std::size_t p = 0; p < 2; ++p) {
      for (std::size_t r = 0; r < 2; ++r) {
        largest_slab = std::max(largest_slab, problem.occupied[r] * problem.virtuals[p] * problem.virtuals[r]);
      }
    }
    left_slabs_.emplace(*left_.arrays, *right_.arrays, right_.header);
    use_single_threaded_blas();
    // A thread holds the slabs of t2 and lambda2 of one orbital, and small products of them or integrals.
    constexpr std::int64_t slabs_of_thread = 6;
    threads_ = threads_with_blas_memory(most_threads(share_),
                                        slabs_of_thread * static_cast<std::int64_t>(sizeof(double)) * largest_slab);
    if (from_factors()) {
      equation_.emplace(std::move(problem), *right_slabs_, *left_slabs_, *right_.factor_source);
    } else {
      right_slabs_->describe(problem);
      ladder_free_.emplace(std::move(problem), *right_slabs_, *left_slabs_);
    }
  }

  const std::unique_ptr<SourceCheck> check_;
  const DenseInput& left_;
  const DenseInput& right_;
  const DenseCheck share_;
  std::string reason_;
  std::shared_ptr<const void> held_;  ///< keeps the factors of holes in memory
  std::optional<DenseSlabs> right_slabs_, left_slabs_;
  std::optional<LambdaEquation> equation_;       ///< with factors
  std::optional<LambdaLadderFree> ladder_free_;  ///< with integrals
  int threads_ = 1;
  std::optional<LambdaResidual> residual_;
};

}

LambdaProblem read_lambda_problem(const DenseInput& left, const DenseInput& right) {
  LambdaProblem problem;
  problem.restricted = right.header.restricted;
  problem.t1 = read_t1(*right.arrays, right.header);
  problem.l1 = read_t1(*left.arrays, left.header);
  for (const Spin spin : distinct_spins(problem.restricted)) {
    const std::size_t s = spin_index(spin);
    problem.occupied[s] = right.header.size(hole_class(spin));
    problem.virtuals[s] = right.header.size(particle_class(spin));
    problem.fock[s] = read_checked_fock(*right.arrays, right.header, spin);
    if (problem.fock[s].empty()) problem.fock[s] = diagonal_fock(right.header, spin);
  }
  return problem;
}

std::unique_ptr<SourceCheck> with_lambda_equation(std::unique_ptr<SourceCheck> check, const DenseInput& left,
                                                  const DenseInput& right, const DenseCheck& share) {
  if (left.header.info.amplitudes != AmplitudeKind::lambda) return check;
  return std::make_unique<LambdaCheck>(std::move(check), left, right, share);
}

}
