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

void InterruptibleSource::read_fock(int g6, int g5, std::span<double> block) const {
  stop_reading(&stop_);
  source_.read_fock(g6, g5, block);
}
void InterruptibleSource::read_t1(int p, int h, std::span<double> block) const {
  stop_reading(&stop_);
  source_.read_t1(p, h, block);
}
void InterruptibleSource::read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const {
  stop_reading(&stop_);
  source_.read_t2(p1, p2, h3, h4, block);
}
void InterruptibleSource::read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const {
  stop_reading(&stop_);
  source_.read_v2(g3, g4, g1, g2, block);
}

void stop_reading(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw Interrupted("Stopped before the first task; nothing had been computed.");
}

}
