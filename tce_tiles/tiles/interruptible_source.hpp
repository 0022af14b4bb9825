#pragma once

#include <atomic>

#include "tce_tiles/tiles/factor_source.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"

namespace trifuse {

/// Factors whose reads throw Interrupted as soon as `*stop` is true.
class InterruptibleFactors final : public FactorSource {
 public:
  /// `source` and `stop` must outlive this object. If `source` is null, only the destructor may be called.
  InterruptibleFactors(const FactorSource* source, const std::atomic<bool>& stop) : source_(source), stop_(stop) {}

  std::int64_t auxiliary() const override { return source_->auxiliary(); }
  std::shared_ptr<const void> acquire_factors(const std::atomic<bool>* stop) const override;
  std::shared_ptr<const void> acquire_factors_together(Communicator& communicator,
                                                       const std::atomic<bool>* stop) const override;
  void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const override;
  void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const override;
  void visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                const FactorVisitor& visit) const override;

 private:
  const FactorSource* source_;
  const std::atomic<bool>& stop_;
};

/// A source whose reads throw Interrupted as soon as `*stop` is true. So a long check and the loading of operands end
/// soon after a request to stop.
class InterruptibleSource final : public WrappedSource {
 public:
  /// `source` and `stop` must outlive this object.
  InterruptibleSource(const TileSource& source, const std::atomic<bool>& stop)
      : WrappedSource(source), stop_(stop), factors_(source.factors(), stop) {}

  const FactorSource* factors() const override { return source().factors() != nullptr ? &factors_ : nullptr; }
  std::optional<SourceDigest> digest() const override { return source().digest(); }

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override;

  const std::atomic<bool>& stop_;
  InterruptibleFactors factors_;
};

/// Throws Interrupted if `stop` is not null and true. The sentence says that the input was being read and no task had
/// begun.
void stop_reading(const std::atomic<bool>* stop);

}
