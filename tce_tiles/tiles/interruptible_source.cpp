#include "tce_tiles/tiles/interruptible_source.hpp"

#include "cxx/base/communicator.hpp"
#include "cxx/base/error.hpp"

namespace trifuse {

std::shared_ptr<const void> InterruptibleFactors::acquire_factors(const std::atomic<bool>* stop) const {
  stop_reading(stop);
  stop_reading(&stop_);
  return source_->acquire_factors(&stop_);
}
std::shared_ptr<const void> InterruptibleFactors::acquire_factors_together(Communicator& communicator,
                                                                           const std::atomic<bool>* stop) const {
  run_collectively(&communicator, [&] {
    stop_reading(stop);
    stop_reading(&stop_);
  });
  return source_->acquire_factors_together(communicator, &stop_);
}
void InterruptibleFactors::visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                                    const FactorVisitor& visit) const {
  source_->visit_vv(particles, begin, end, threads, [&](const FactorBand& band) {
    stop_reading(&stop_);
    visit(band);
  });
}
void InterruptibleFactors::read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const {
  stop_reading(&stop_);
  source_->read_oo(i, j, out);
}
void InterruptibleFactors::read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const {
  stop_reading(&stop_);
  source_->read_ov(h, p, out);
}

void InterruptibleSource::read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const {
  stop_reading(&stop_);
  source().read_block(tensor, tiles, block);
}

void stop_reading(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw Interrupted("Stopped before the first task; nothing had been computed.");
}

}
