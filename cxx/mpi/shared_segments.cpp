#include "cxx/mpi/shared_segments.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"

namespace trifuse {

namespace {

constexpr std::int64_t width = sizeof(double);

/// Doubles in a cache line. Segments begin on cache lines, but the part of a rank can begin at any address.
constexpr std::int64_t cache_line = Buffer::alignment / width;

/// Upper bound of the shared memory that an MPI library uses for each rank of a host, bytes; more than was observed.
constexpr std::int64_t of_mpi = std::int64_t{4} << 20;

std::size_t u(int n) {
  return static_cast<std::size_t>(n);
}

/// Returns the number of arrays of a library for these segments. It takes longer to create several arrays than to
/// allocate the pages of small segments. Each array costs every rank some memory for each other rank.
std::size_t most_arrays(std::span<const SharedSegment> segments) {
  constexpr std::int64_t small = std::int64_t{1} << 25;  // doubles
  std::int64_t doubles = 0;
  for (const SharedSegment& segment : segments) doubles += segment.doubles;
  return doubles <= small ? 1 : max_files_of_host;
}

/// Throws SystemError on all ranks if `segments` do not fit into memory. Collective. Without this test an MPI library
/// would end the program. Ranks of one host usually have their arrays in its /dev/shm.
void check_room(Communicator& communicator, const std::vector<std::string>& hosts,
                std::span<const SharedSegment> segments) {
  run_collectively(&communicator, [&] {
    const std::string& host = hosts[u(communicator.rank())];
    const auto ranks_of_host = std::count(hosts.begin(), hosts.end(), host);
    std::int64_t of_host = ranks_of_host * of_mpi;
    std::size_t own = width;  // mmap needs at least one byte
    for (const SharedSegment& segment : segments) {
      if (hosts[u(segment.rank)] != host) continue;
      of_host += segment.doubles * width;
      if (segment.rank == communicator.rank()) own += static_cast<std::size_t>(segment.doubles * width);
    }
    void* const memory = mmap(nullptr, own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw SystemError(fmt::format("There is not enough memory on {} for the {} of operands that a rank stores.", host,
                                    format_bytes(static_cast<double>(own))));
    }
    munmap(memory, own);
    const char* const shared_memory = "/dev/shm";
    struct statvfs room {};
    if (ranks_of_host < 2 || statvfs(shared_memory, &room) != 0) return;
    const double free = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
    if (static_cast<double>(of_host) <= free) return;
    throw SystemError(
        fmt::format("The ranks on {} need {} of shared memory for operands, and {} has {} free; make it larger.", host,
                    format_bytes(static_cast<double>(of_host)), shared_memory, format_bytes(free)));
  });
}

}

/// A shared array that consists of one or several arrays of the library.
class SharedArrays::Array final : public SharedArray {
 public:
  Array(SharedArrays& arrays, Communicator& communicator, std::span<const SharedSegment> segments)
      : arrays_(arrays), communicator_(communicator), segments_(segments.begin(), segments.end()) {}
  ~Array() override {
    for (Part& part : parts_) arrays_.unused_.push_back(std::move(part.array));
  }

  /// Creates the arrays of the library. Collective; the first call. `hosts`: hosts[rank].
  void create(MPI_Comm ranks, const std::vector<std::string>& hosts) {
    const auto mine = u(communicator_.rank());
    std::vector<double> shifts;
    for (const std::vector<std::int64_t>& sizes : lay_out(hosts)) {
      // Ranks that fail must not leave the others in the creation of this array or of the next one.
      std::unique_ptr<PartitionedArray> made;
      run_collectively(&communicator_,
                       [&] { made = arrays_.caller_.call([&] { return arrays_.library_->make(ranks); }); });
      run_collectively(&communicator_, [&] {
        Part& part = parts_.emplace_back();
        part.array = std::move(made);
        double* const data = arrays_.caller_.call([&] { return part.array->create(sizes); });
        if (data == nullptr) {
          throw SystemError(fmt::format("{} has no memory for the operands.", arrays_.library_->name()));
        }
        auto room = static_cast<std::size_t>(sizes[mine] * width);
        void* first_line = data;
        std::align(Buffer::alignment, width, first_line, room);
        part.own = static_cast<double*>(first_line);
        shifts.push_back(static_cast<double>(part.own - data));
      });
    }
    shifts = allgather(communicator_, shifts);
    for (std::size_t n = 0; n < shifts.size(); ++n) {
      parts_[n % parts_.size()].shifts.push_back(static_cast<std::int64_t>(shifts[n]));
    }
  }

  /// Throws SystemError on all ranks if a rank does not read from a segment what its owner wrote. Collective.
  /// Overwrites elements of the segments.
  void expect_one_memory() {
    const auto mark = [](std::size_t segment) { return 1.0 + static_cast<double>(segment); };
    std::vector<std::size_t> looked_at = {u(communicator_.rank()) % segments_.size()};
    for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
      if (segments_[segment].rank != communicator_.rank()) continue;
      const std::span<double> own = local(segment);
      own.front() = mark(segment);
      own.back() = -mark(segment);
      looked_at.push_back(segment);
      looked_at.push_back((segment + 1) % segments_.size());
    }
    sync();
    run_collectively(&communicator_, [&] {
      for (const std::size_t segment : looked_at) {
        double front = 0.0, back = 0.0;
        get(segment, 0, {&front, 1});
        get(segment, segments_[segment].doubles - 1, {&back, 1});
        // A segment of one double has only the second mark.
        const double first = segments_[segment].doubles > 1 ? mark(segment) : -mark(segment);
        if (front == first && back == -mark(segment)) continue;
        throw SystemError(
            fmt::format("{} returns other numbers than rank {} wrote, so it does not work with this MPI library; {}.",
                        arrays_.library_->name(), segments_[segment].rank, arrays_.library_->cure()));
      }
    });
    sync();
  }

  std::span<double> local(std::size_t segment) override {
    const Position& position = positions_[segment];
    return {parts_[position.part].own + position.offset, static_cast<std::size_t>(segments_[segment].doubles)};
  }

  void get(std::size_t segment, std::int64_t first, std::span<double> values) override {
    // MPI counts have the type int. Libraries count bytes with it, too.
    constexpr std::size_t most = std::size_t{1} << 24;
    const int rank = segments_[segment].rank;
    const Position& position = positions_[segment];
    const Part& part = parts_[position.part];
    std::int64_t at = part.shifts[u(rank)] + position.offset + first;
    if (const double* const data = part.array->direct(rank); data != nullptr) {
      std::copy_n(data + at, values.size(), values.begin());
      return;
    }
    while (!values.empty()) {
      const auto piece = values.first(std::min(most, values.size()));
      arrays_.caller_.call([&] { part.array->get(rank, at, piece); });
      at += std::ssize(piece);
      values = values.subspan(piece.size());
    }
  }

  void sync() override {
    call_parts(&PartitionedArray::publish);
    double barrier = 0.0;
    communicator_.allreduce_sum({&barrier, 1});
    call_parts(&PartitionedArray::receive);
  }

 private:
  /// An array of the library.
  struct Part {
    std::unique_ptr<PartitionedArray> array;
    double* own = nullptr;             ///< first cache line of the part of this rank
    std::vector<std::int64_t> shifts;  ///< [rank] doubles from the beginning of the part to its first cache line
  };
  /// The position of a segment: the number of its array, and the doubles between the first cache line of its owner's
  /// part and the segment.
  struct Position {
    std::size_t part;
    std::int64_t offset;
  };

  /// Chooses the positions of the segments. Returns sizes[array][rank], the doubles of the parts.
  std::vector<std::vector<std::int64_t>> lay_out(const std::vector<std::string>& hosts) {
    const std::size_t most = most_arrays(segments_);
    std::map<std::string, std::size_t> segments_of_host;
    std::vector<std::vector<std::int64_t>> sizes;
    for (const SharedSegment& segment : segments_) {
      const std::size_t part = segments_of_host[hosts[u(segment.rank)]]++ % most;
      // Each part has one cache line more than its segments need, because it may begin at any address.
      while (sizes.size() <= part) sizes.emplace_back(hosts.size(), cache_line);
      std::int64_t& size = sizes[part][u(segment.rank)];
      positions_.push_back({part, size - cache_line});
      size += (segment.doubles + cache_line - 1) / cache_line * cache_line;
    }
    return sizes;
  }
  void call_parts(void (PartitionedArray::*function)()) const {
    arrays_.caller_.call([&] {
      for (const Part& part : parts_) (part.array.get()->*function)();
    });
  }

  SharedArrays& arrays_;
  Communicator& communicator_;
  std::vector<SharedSegment> segments_;
  std::vector<Position> positions_;  ///< [segment]
  std::vector<Part> parts_;
};

std::unique_ptr<SharedArray> SharedArrays::make(Communicator& communicator, MPI_Comm ranks,
                                                std::span<const SharedSegment> segments) {
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  check_room(communicator, hosts, segments);
  run_collectively(&communicator, [&] { caller_.call([&] { free_unused(); }); });
  auto array = std::make_unique<Array>(*this, communicator, segments);
  array->create(ranks, hosts);
  array->expect_one_memory();
  return array;
}

void SharedArrays::free_unused() {
  for (const auto& array : unused_) array->free();
  unused_.clear();
}

void SharedArrays::end() {
  free_unused();
  library_->end();
}

}
