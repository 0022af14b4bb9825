#include "tce_tiles/checks/source_check.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "tce_tiles/checks/consistency.hpp"
#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/checks/doubles_check.hpp"
#include "tce_tiles/checks/lambda_check.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"
#include "tce_tiles/tiles/memory_source.hpp"

namespace trifuse {
namespace {

/// The check of a source by its blocks. Processes share the blocks {p p|h p}; each reads all other blocks.
class BlockCheck final : public SourceCheck {
 public:
  /// Of `share`, only part, parts and stop are used.
  BlockCheck(const TileSource& amplitudes, const TileSource& integrals, CheckedIntegrals checked,
             const CheckShare& share)
      : amplitudes_(interruptible(amplitudes, share.stop, of_amplitudes_)),
        integrals_(&integrals == &amplitudes ? amplitudes_ : interruptible(integrals, share.stop, of_integrals_)),
        checked_(checked),
        part_{share.part, share.parts} {}

  int stages() const override { return 1; }
  std::vector<double> run(int) override {
    const TileSpace &found = amplitudes_.tiles(), &wanted = integrals_.tiles();
    // Left-hand amplitudes may have other tiles: another program or a run with another tile size may have made them.
    const bool retiled = !(found == wanted) && found.retiled(1, 1) == wanted.retiled(1, 1);
    if (retiled) retiled_ = retile(amplitudes_, wanted, {.integrals = false, .fock = false});
    report_ = check_consistency(retiled ? *retiled_ : amplitudes_, integrals_, checked_, part_);
    return report_.residual_sums;
  }
  void accept(int, std::span<const double> sums) override {
    if (report_.residual_of) report_.measured.singles = report_.residual_of(sums);
    report_.residual_of = nullptr;  // frees the large arrays that it keeps
    retiled_.reset();
  }
  Measurements measurements() const override { return report_.measured; }

 private:
  /// Returns the source to read: `source`, or `wrapper` around it if there is a `stop`.
  static const TileSource& interruptible(const TileSource& source, const std::atomic<bool>* stop,
                                         std::optional<InterruptibleSource>& wrapper) {
    return stop != nullptr ? wrapper.emplace(source, *stop) : source;
  }

  std::optional<InterruptibleSource> of_amplitudes_, of_integrals_;
  const TileSource& amplitudes_;
  const TileSource& integrals_;
  CheckedIntegrals checked_;
  CheckPart part_;
  std::unique_ptr<TileSource> retiled_;
  ConsistencyReport report_;
};

/// The check of an input with checksums. If the input does not contain them, the first stage computes them.
class SealedCheck final : public SourceCheck {
 public:
  SealedCheck(const DenseInput& input, std::unique_ptr<InputSeal> seal, const DenseCheck& check)
      : input_(input), seal_(std::move(seal)), check_(check) {}

  int stages() const override { return 1 + dense_check_stages; }
  void read_together(int stage, Communicator& communicator) override {
    if (stage > 0) check_of_numbers_->read_together(stage - 1, communicator);
  }
  std::vector<double> run(int stage) override {
    if (stage > 0) return check_of_numbers_->run(stage - 1);
    if (seal_->sealed()) return {};
    return seal_->compute(input_.datasets(check_.integrals), check_.part, check_.parts, most_threads(check_));
  }
  void accept(int stage, std::span<const double> sums) override {
    if (stage > 0) return check_of_numbers_->accept(stage - 1, sums);
    if (!seal_->sealed()) seal_->accept(input_.datasets(check_.integrals), sums);
    check_of_numbers_ = make_dense_check(input_, check_);
  }
  Measurements measurements() const override { return check_of_numbers_->measurements(); }

 private:
  const DenseInput& input_;
  const std::unique_ptr<InputSeal> seal_;
  DenseCheck check_;
  std::unique_ptr<SourceCheck> check_of_numbers_;
};

/// Returns the number of elements of a box of integrals that are computed from factors. A box that is one long row is a
/// product of a vector with a matrix, and takes many times longer for each element.
std::int64_t box_of_factors(const DenseHeader& header) {
  constexpr std::int64_t rows = 64, most = std::int64_t{1} << 22;
  const std::int64_t v = std::max(header.size(OrbitalClass::particle_alpha), header.size(OrbitalClass::particle_beta));
  return std::min(most, rows * v * v);
}

/// The check of dense amplitudes whose integrals come from a source of another kind or with other tiles.
class DenseAndBlockCheck final : public SourceCheck {
 public:
  DenseAndBlockCheck(std::unique_ptr<SourceCheck> dense, std::unique_ptr<SourceCheck> blocks)
      : dense_(std::move(dense)), blocks_(std::move(blocks)) {}

  int stages() const override { return dense_->stages() + blocks_->stages(); }
  void read_together(int stage, Communicator& communicator) override {
    part(stage).read_together(in_part(stage), communicator);
  }
  std::vector<double> run(int stage) override { return part(stage).run(in_part(stage)); }
  void accept(int stage, std::span<const double> sums) override { part(stage).accept(in_part(stage), sums); }
  Measurements measurements() const override { return blocks_->measurements(); }

 private:
  SourceCheck& part(int stage) { return stage < dense_->stages() ? *dense_ : *blocks_; }
  int in_part(int stage) const { return stage < dense_->stages() ? stage : stage - dense_->stages(); }

  std::unique_ptr<SourceCheck> dense_, blocks_;
};

}

std::unique_ptr<SourceCheck> make_source_check(const TileSource& amplitudes, const TileSource& integrals,
                                               const CheckShare& share) {
  const DenseInput *dense = dense_input_of(amplitudes), *dense_integrals = dense_input_of(integrals);
  const auto blocks = [&] {
    // Dense integrals have been checked in the order of the file or of the memory, which is faster.
    return std::make_unique<BlockCheck>(
        amplitudes, integrals, dense_integrals != nullptr ? CheckedIntegrals::energy_only : CheckedIntegrals::all,
        share);
  };
  if (dense == nullptr) return blocks();
  const bool all_dense = dense_integrals != nullptr && amplitudes.tiles() == integrals.tiles();
  DenseCheck check;
  check.integrals = &amplitudes == &integrals;
  if (all_dense) check.test_with = dense_integrals;
  check.part = share.part;
  check.parts = share.parts;
  check.threads = share.threads;
  check.stop = share.stop;
  if (all_dense && !dense_integrals->factors.empty()) {
    check.box_doubles = std::max(check.box_doubles, box_of_factors(dense_integrals->header));
  }
  std::unique_ptr<InputSeal> seal = dense->input_seal();
  std::unique_ptr<SourceCheck> of_dense =
      seal ? std::make_unique<SealedCheck>(*dense, std::move(seal), check) : make_dense_check(*dense, check);
  if (check.integrals) of_dense = with_doubles_equation(std::move(of_dense), *dense, check);
  if (all_dense) return with_lambda_equation(std::move(of_dense), *dense, *dense_integrals, check);
  return std::make_unique<DenseAndBlockCheck>(std::move(of_dense), blocks());
}

CheckReport check_source(const TileSource& amplitudes, const TileSource& integrals, const CheckShare& share) {
  const std::unique_ptr<SourceCheck> check = make_source_check(amplitudes, integrals, share);
  for (int stage = 0; stage < check->stages(); ++stage) check->accept(stage, check->run(stage));
  return evaluate_witnesses(check->measurements(), amplitudes, integrals);
}

CheckReport verify_source(const TileSource& amplitudes, const TileSource& integrals, bool trust_input) {
  CheckReport report = check_source(amplitudes, integrals);
  enforce_witnesses(report, trust_input);
  return report;
}

}
