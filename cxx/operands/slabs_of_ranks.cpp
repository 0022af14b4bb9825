#include "cxx/operands/slabs_of_ranks.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"

namespace trifuse {

namespace {

/// The auxiliary functions [begin, begin + count).
struct Functions {
  std::int64_t begin, count;
};

/// The collective reading of the slabs of one class of particles, in rounds. In each round every rank reads a few of
/// its auxiliary functions into its segment of a shared array. A segment contains the slabs one after another, each as
/// [p,Q,d] with the auxiliary functions Q of the round.
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
    choose_step(reading);
    std::vector<SharedSegment> segments;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      segment_of_rank_.push_back(segments.size());
      const std::int64_t count = of_round(rank, 0).count;
      if (count > 0) segments.push_back({rank, begins_.back() * count});
    }
    array_ = communicator_.make_array(segments);
    std::int64_t functions = 0;
    // No rank has more auxiliary functions than the last one.
    for (std::int64_t round = 0; of_round(communicator_.size() - 1, round).count > 0; ++round) {
      run_collectively(&communicator_, [&] { read(round, reading.threads); });
      array_->sync();
      run_collectively(&communicator_, [&] { fetch(round); });
      functions += of_round(communicator_.rank(), round).count;
    }
    return functions * begins_.back() * static_cast<std::int64_t>(sizeof(double));
  }

 private:
  /// The auxiliary functions that a rank reads in a round.
  Functions of_round(int rank, std::int64_t round) const {
    const std::int64_t begin = auxiliary_ * rank / communicator_.size() + round * step_,
                       end = auxiliary_ * (rank + 1) / communicator_.size();
    return {begin, std::clamp<std::int64_t>(end - begin, 0, step_)};
  }

  /// Chooses the number of auxiliary functions of a round. Collective.
  void choose_step(const SlabReading& reading) {
    const std::int64_t doubles = reading.buffer_bytes / static_cast<std::int64_t>(sizeof(double));
    const auto mine = static_cast<double>(std::max<std::int64_t>(1, doubles / begins_.back()));
    const std::vector<double> all = allgather(communicator_, std::span(&mine, 1));
    step_ = static_cast<std::int64_t>(*std::min_element(all.begin(), all.end()));
  }

  /// Reads the factors of a round into the segment of this rank.
  void read(std::int64_t round, int threads) {
    const Functions mine = of_round(communicator_.rank(), round);
    if (mine.count == 0) return;
    double* const segment = array_->local(segment_of_rank_[static_cast<std::size_t>(communicator_.rank())]).data();
    source_.visit_vv(particles_, mine.begin, mine.begin + mine.count, threads, [&](const FactorBand& band) {
      const std::int64_t v = band.particles;
      for (std::size_t n = 0; n < slabs_.size(); ++n) {
        const auto& [p, d, values] = slabs_[n].slab;
        double* const slab = segment + begins_[n] * mine.count;
        for (std::int64_t x = 0; x < p.count; ++x) {
          const double* from = band.planes + (p.begin + x) * v + d.begin;
          double* to = slab + (x * mine.count + band.begin - mine.begin) * d.count;
          for (std::int64_t k = 0; k < band.count; ++k, from += v * v) to = std::copy_n(from, d.count, to);
        }
      }
    });
  }

  /// Copies the factors of a round from the segments of all ranks to the slabs of this rank.
  void fetch(std::int64_t round) {
    Buffer buffer;
    for (int n = 0; n < communicator_.size(); ++n) {
      // Each rank begins with itself, so that not all ranks read from the same one.
      const int rank = (communicator_.rank() + n) % communicator_.size();
      const Functions functions = of_round(rank, round);
      if (functions.count > 0) fetch_from(rank, functions, buffer);
    }
  }

  void fetch_from(int rank, const Functions& functions, Buffer& buffer) {
    const std::size_t segment = segment_of_rank_[static_cast<std::size_t>(rank)];
    for (std::size_t n = 0; n < slabs_.size(); ++n) {
      if (slabs_[n].rank != communicator_.rank()) continue;
      const auto& [p, d, values] = slabs_[n].slab;
      const std::int64_t begin = begins_[n] * functions.count, run = functions.count * d.count;
      const double* from = nullptr;
      if (rank == communicator_.rank()) {
        from = array_->local(segment).data() + begin;
      } else {
        const auto doubles = static_cast<std::size_t>(p.count * run);
        buffer.reserve(doubles);
        array_->get(segment, begin, buffer.span().first(doubles));
        from = buffer.data();
      }
      double* const to = values.data() + functions.begin * d.count;
      for (std::int64_t x = 0; x < p.count; ++x) std::copy_n(from + x * run, run, to + x * auxiliary_ * d.count);
    }
  }

  Communicator& communicator_;
  const FactorSource& source_;
  const OrbitalClass particles_;
  const std::vector<SlabOfRank> slabs_;
  std::vector<std::int64_t> begins_ = {0};  ///< [slab] first double for one auxiliary function; last: the length
  const std::int64_t auxiliary_;
  std::int64_t step_ = 1;  ///< auxiliary functions that a rank reads in a round, at most
  std::vector<std::size_t> segment_of_rank_;
  std::unique_ptr<SharedArray> array_;
};

}  // namespace

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

}  // namespace trifuse
