#pragma once

#include <atomic>

#include "tce_tiles/tiles/factor_source.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

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
class InterruptibleSource final : public TileSource {
 public:
  /// `source` and `stop` must outlive this object.
  InterruptibleSource(const TileSource& source, const std::atomic<bool>& stop)
      : source_(source), stop_(stop), factors_(source.factors(), stop) {}

  /// Returns the source without this wrapper.
  const TileSource& source() const { return source_; }

  const SourceInfo& info() const override { return source_.info(); }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return source_.orbital_energies(); }
  bool has_integrals() const override { return source_.has_integrals(); }
  bool has_fock() const override { return source_.has_fock(); }
  bool has_exchange_integrals() const override { return source_.has_exchange_integrals(); }
  bool concurrent_reads() const override { return source_.concurrent_reads(); }
  bool opposite_spin_blocks_suffice() const override { return source_.opposite_spin_blocks_suffice(); }
  bool stores_spin_cases_of_v2() const override { return source_.stores_spin_cases_of_v2(); }
  const FactorSource* factors() const override { return source_.factors() != nullptr ? &factors_ : nullptr; }
  std::optional<SourceDigest> digest() const override { return source_.digest(); }

  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  const TileSource& source_;
  const std::atomic<bool>& stop_;
  InterruptibleFactors factors_;
};

/// Throws Interrupted if `stop` is not null and true. The sentence says that the input was being read and no task had
/// begun.
void stop_reading(const std::atomic<bool>* stop);

}
