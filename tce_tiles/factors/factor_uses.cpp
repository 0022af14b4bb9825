#include "tce_tiles/factors/factor_uses.hpp"

#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {

void visit_once(const FactorSource& factors, std::span<const FactorUse> uses, int threads,
                const std::atomic<bool>* stop) {
  for (const OrbitalClass particles : {OrbitalClass::particle_alpha, OrbitalClass::particle_beta}) {
    // All functions between two neighbouring ends of ranges have the same uses.
    std::set<std::int64_t> ends;
    for (const FactorUse& use : uses) {
      if (use.particles == particles) ends.insert({use.functions.begin, use.functions.begin + use.functions.count});
    }
    for (auto begin = ends.begin(); begin != ends.end() && std::next(begin) != ends.end(); ++begin) {
      std::vector<const FactorUse*> here;
      for (const FactorUse& use : uses) {
        const AuxiliaryRange& functions = use.functions;
        const bool needs = functions.begin <= *begin && *begin < functions.begin + functions.count;
        if (use.particles == particles && needs) here.push_back(&use);
      }
      if (here.empty()) continue;
      factors.visit_vv(particles, *begin, *std::next(begin), threads, [&](const FactorBand& band) {
        stop_reading(stop);
        for (const FactorUse* const use : here) use->visit(band);
      });
    }
  }
}

}
