#include "tce_tiles/factors/slabs_of_ranks.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/factors/factor_rounds.hpp"

namespace trifuse {

namespace {

/// The collective reading of the slabs of one class of particles. A segment contains all slabs one after another. Each
/// slab is an array [p,Q,d] with the auxiliary functions Q of the round.
class CollectiveReading {
 public:
  CollectiveReading(Communicator& communicator, const FactorSource& source, OrbitalClass particles,
                    std::vector<SlabOfRank> slabs)
      : communicator_(communicator),
        source_(source),
        particles_(particles),
        slabs_(std::move(slabs)),
        auxiliary_(source.auxiliary()) {
    for (const auto& [rank, slab] : slabs_) begins_.push_back(begins_.back() + slab.p.count * slab.d.count);
  }

  /// Fills the slabs. Returns the bytes of factors that this rank has read. Collective.
  std::int64_t run(const SlabReading& reading) {
    FactorRounds rounds(communicator_, auxiliary_, begins_.back(), reading.buffer_bytes);
    Buffer buffer;
    rounds.run([&](const AuxiliaryRange& functions, double* segment) { read(functions, segment, reading.threads); },
               [&](const FactorRounds::Segment& segment) { copy(segment, buffer, reading.threads); });
    return rounds.own_functions() * begins_.back() * static_cast<std::int64_t>(sizeof(double));
  }

 private:
  /// Reads factors into a segment.
  void read(const AuxiliaryRange& functions, double* segment, int threads) {
    source_.visit_vv(particles_, functions.begin, functions.begin + functions.count, threads,
                     [&](const FactorBand& band) {
                       const std::int64_t v = band.particles;
                       for (std::size_t n = 0; n < slabs_.size(); ++n) {
                         const auto& [p, d, values] = slabs_[n].slab;
                         double* const slab = segment + begins_[n] * functions.count;
                         for (std::int64_t x = 0; x < p.count; ++x) {
                           const double* from = band.planes + (p.begin + x) * v + d.begin;
                           double* to = slab + (x * functions.count + band.begin - functions.begin) * d.count;
                           for (std::int64_t k = 0; k < band.count; ++k, from += v * v)
                             to = std::copy_n(from, d.count, to);
                         }
                       }
                     });
  }

  /// Copies factors from a segment to the slabs of this rank. Only one thread at a time may get factors from another
  /// rank.
  void copy(const FactorRounds::Segment& segment, Buffer& buffer, int threads) {
    const AuxiliaryRange& functions = segment.functions();
    for (std::size_t n = 0; n < slabs_.size(); ++n) {
      if (slabs_[n].rank != communicator_.rank()) continue;
      const auto& [p, d, values] = slabs_[n].slab;
      const std::int64_t run = functions.count * d.count;
      const double* const from = segment.read(begins_[n] * functions.count, p.count * run, buffer);
      double* const to = values.data() + functions.begin * d.count;
      share_in_turns(static_cast<std::size_t>(p.count), threads, [&, width = d.count](std::size_t n_p) {
        const auto x = static_cast<std::int64_t>(n_p);
        std::copy_n(from + x * run, run, to + x * auxiliary_ * width);
      });
    }
  }

  Communicator& communicator_;
  const FactorSource& source_;
  const OrbitalClass particles_;
  const std::vector<SlabOfRank> slabs_;
  std::vector<std::int64_t> begins_ = {
      0};  ///< [slab] its first double for one function; the last element is the total length
  const std::int64_t auxiliary_;
};

}

std::int64_t read_slabs_of_ranks(Communicator* communicator, const FactorSource& source,
                                 std::span<const SlabOfRank> slabs, const SlabReading& reading) {
  std::int64_t bytes = 0;
  if (communicator == nullptr || communicator->size() == 1) {
    std::vector<FactorSlab> own;
    for (const auto& [rank, slab] : slabs) {
      own.push_back(slab);
      bytes += static_cast<std::int64_t>(slab.values.size_bytes());
    }
    read_slabs(source, own, reading.threads);
    return bytes;
  }
  for (const OrbitalClass c : {OrbitalClass::particle_alpha, OrbitalClass::particle_beta}) {
    std::vector<SlabOfRank> of_class;
    for (const SlabOfRank& each : slabs) {
      if (each.slab.p.orbital_class == c && each.slab.p.count * each.slab.d.count > 0) of_class.push_back(each);
    }
    if (of_class.empty()) continue;
    bytes += CollectiveReading(*communicator, source, c, std::move(of_class)).run(reading);
  }
  return bytes;
}

}
