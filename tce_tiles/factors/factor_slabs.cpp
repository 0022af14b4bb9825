#include "tce_tiles/factors/factor_slabs.hpp"

#include <algorithm>
#include <vector>

namespace trifuse {

void read_slabs(const FactorSource& source, std::span<const FactorSlab> slabs, int threads) {
  const std::int64_t auxiliary = source.auxiliary();
  for (const OrbitalClass c : {OrbitalClass::particle_alpha, OrbitalClass::particle_beta}) {
    std::vector<FactorSlab> of_class;
    for (const FactorSlab& slab : slabs) {
      if (slab.p.orbital_class == c && !slab.values.empty()) of_class.push_back(slab);
    }
    if (of_class.empty()) continue;
    source.visit_vv(c, 0, auxiliary, threads, [&](const FactorBand& band) {
      const std::int64_t v = band.particles;
      for (const auto& [p, d, values] : of_class) {
        for (std::int64_t n = 0; n < p.count; ++n) {
          const double* from = band.planes + (p.begin + n) * v + d.begin;
          double* to = values.data() + (n * auxiliary + band.begin) * d.count;
          for (std::int64_t k = 0; k < band.count; ++k, from += v * v) to = std::copy_n(from, d.count, to);
        }
      }
    });
  }
}

}
