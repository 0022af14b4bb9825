#include "tce_tiles/factors/factor_rounds.hpp"

#include <algorithm>
#include <utility>

#include "tce_tiles/factors/factors_of_ranks.hpp"

namespace trifuse {

namespace {

std::vector<AuxiliaryRange> equal_parts(std::int64_t auxiliary, int ranks) {
  std::vector<AuxiliaryRange> parts;
  for (int rank = 0; rank < ranks; ++rank) parts.push_back(part_of_rank(auxiliary, rank, ranks));
  return parts;
}

}

FactorRounds::FactorRounds(Communicator& communicator, std::int64_t auxiliary, std::int64_t doubles,
                           std::int64_t buffer_bytes)
    : FactorRounds(communicator, equal_parts(auxiliary, communicator.size()), doubles, buffer_bytes) {}

FactorRounds::FactorRounds(Communicator& communicator, std::vector<AuxiliaryRange> parts, std::int64_t doubles,
                           std::int64_t buffer_bytes)
    : communicator_(communicator), parts_(std::move(parts)), doubles_(doubles) {
  const std::int64_t width = static_cast<std::int64_t>(sizeof(double));
  const auto mine = static_cast<double>(std::max<std::int64_t>(1, buffer_bytes / width / doubles_));
  const std::vector<double> all = allgather(communicator_, std::span(&mine, 1));
  step_ = static_cast<std::int64_t>(*std::min_element(all.begin(), all.end()));
}

const double* FactorRounds::Segment::read(std::int64_t first, std::int64_t count, Buffer& buffer) const {
  if (own_) return array_.local(number_).data() + first;
  const auto doubles = static_cast<std::size_t>(count);
  buffer.reserve(doubles);
  array_.get(number_, first, buffer.span().first(doubles));
  return buffer.data();
}

AuxiliaryRange FactorRounds::of_round(int rank, std::int64_t round) const {
  const AuxiliaryRange& all = parts_[static_cast<std::size_t>(rank)];
  const std::int64_t first = round * step_;
  return {all.begin + first, std::clamp<std::int64_t>(all.count - first, 0, step_)};
}

std::int64_t FactorRounds::own_functions() const {
  return parts_[static_cast<std::size_t>(communicator_.rank())].count;
}

void FactorRounds::run(const Read& read, const Copy& copy) {
  std::vector<SharedSegment> segments;
  segment_of_rank_.clear();
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    segment_of_rank_.push_back(segments.size());
    const std::int64_t count = of_round(rank, 0).count;
    if (count > 0) segments.push_back({rank, doubles_ * count});
  }
  if (segments.empty()) return;
  array_ = communicator_.make_array(segments);
  const auto longest =
      std::max_element(parts_.begin(), parts_.end(), [](const auto& x, const auto& y) { return x.count < y.count; });
  for (std::int64_t round = 0; round * step_ < longest->count; ++round) {
    run_collectively(&communicator_, [&] {
      const AuxiliaryRange mine = of_round(communicator_.rank(), round);
      if (mine.count == 0) return;
      read(mine, array_->local(segment_of_rank_[static_cast<std::size_t>(communicator_.rank())]).data());
    });
    array_->sync();
    run_collectively(&communicator_, [&] { copy_all(round, copy); });
  }
  array_.reset();
}

void FactorRounds::copy_all(std::int64_t round, const Copy& copy) {
  for (int n = 0; n < communicator_.size(); ++n) {
    // Each rank begins with its own segment, so that not all ranks read from the same rank.
    const int rank = (communicator_.rank() + n) % communicator_.size();
    const AuxiliaryRange functions = of_round(rank, round);
    if (functions.count == 0) continue;
    copy(Segment(*array_, segment_of_rank_[static_cast<std::size_t>(rank)], rank, functions, n == 0));
  }
}

}
