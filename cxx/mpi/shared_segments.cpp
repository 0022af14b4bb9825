#include "cxx/mpi/shared_segments.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"

namespace trifuse {

namespace {

constexpr std::int64_t width = sizeof(double);

/// Upper bound of the shared memory that an MPI library uses for each rank of a host, bytes; more than was observed.
constexpr std::int64_t of_mpi = std::int64_t{4} << 20;

}

SegmentLayout lay_out_segments(Communicator& communicator, std::span<const SharedSegment> segments,
                               std::size_t max_arrays) {
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  SegmentLayout layout;
  // Each array costs every rank some memory for each other rank, so the number of arrays is limited.
  std::map<std::string, std::size_t> segments_of_host;
  std::size_t arrays = 0;
  for (const SharedSegment& segment : segments) {
    const std::size_t number = segments_of_host[hosts[static_cast<std::size_t>(segment.rank)]]++;
    layout.positions.push_back({number % max_arrays, 0});
    arrays = std::max(arrays, layout.positions.back().array + 1);
  }
  // Each segment begins on a cache line. Each part has one more cache line, because it may begin at any address.
  layout.sizes.assign(arrays, std::vector<std::int64_t>(hosts.size(), doubles_of_cache_line));
  for (std::size_t segment = 0; segment < segments.size(); ++segment) {
    SegmentLayout::Position& position = layout.positions[segment];
    std::int64_t& size = layout.sizes[position.array][static_cast<std::size_t>(segments[segment].rank)];
    position.offset = size - doubles_of_cache_line;
    constexpr std::int64_t line = doubles_of_cache_line;
    size += (segments[segment].doubles + line - 1) / line * line;
  }
  return layout;
}

std::pair<double*, std::int64_t> first_cache_line(double* data, std::int64_t doubles) {
  auto room = static_cast<std::size_t>(doubles * width);
  void* aligned = data;
  if (std::align(Buffer::alignment, width, aligned, room) == nullptr) {
    throw Error("The part of a shared array on this rank is smaller than a cache line.");
  }
  auto* const first = static_cast<double*>(aligned);
  return {first, first - data};
}

void check_room(Communicator& communicator, std::span<const SharedSegment> segments) {
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  run_collectively(&communicator, [&] {
    const auto mine = static_cast<std::size_t>(communicator.rank());
    const auto ranks_of_host = std::count(hosts.begin(), hosts.end(), hosts[mine]);
    std::int64_t of_host = ranks_of_host * of_mpi;
    std::size_t own = width;  // mmap needs at least one byte
    for (const SharedSegment& segment : segments) {
      if (hosts[static_cast<std::size_t>(segment.rank)] != hosts[mine]) continue;
      of_host += segment.doubles * width;
      if (segment.rank == communicator.rank()) own += static_cast<std::size_t>(segment.doubles * width);
    }
    void* const memory = mmap(nullptr, own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw SystemError(fmt::format("There is not enough memory on {} for the {} of operands that a rank stores.",
                                    hosts[mine], format_bytes(static_cast<double>(own))));
    }
    munmap(memory, own);
    const char* const shared_memory = "/dev/shm";
    struct statvfs room {};
    if (ranks_of_host < 2 || statvfs(shared_memory, &room) != 0) return;
    const double free = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
    if (static_cast<double>(of_host) <= free) return;
    throw SystemError(
        fmt::format("The ranks on {} need {} of shared memory for operands, and {} has {} free; make it larger.",
                    hosts[mine], format_bytes(static_cast<double>(of_host)), shared_memory, format_bytes(free)));
  });
}

void expect_one_memory(Communicator& communicator, SharedArray& array, std::span<const SharedSegment> segments,
                       const char* library, const char* cure) {
  const auto mark = [](std::size_t segment) { return 1.0 + static_cast<double>(segment); };
  std::vector<std::size_t> looked_at = {static_cast<std::size_t>(communicator.rank()) % segments.size()};
  for (std::size_t segment = 0; segment < segments.size(); ++segment) {
    if (segments[segment].rank != communicator.rank()) continue;
    const std::span<double> own = array.local(segment);
    own.front() = mark(segment);
    own.back() = -mark(segment);
    looked_at.push_back(segment);
    looked_at.push_back((segment + 1) % segments.size());
  }
  array.sync();
  run_collectively(&communicator, [&] {
    for (const std::size_t segment : looked_at) {
      double front = 0.0, back = 0.0;
      array.get(segment, 0, {&front, 1});
      array.get(segment, segments[segment].doubles - 1, {&back, 1});
      // A segment of one double has the second mark only.
      const double first = segments[segment].doubles > 1 ? mark(segment) : -mark(segment);
      if (front == first && back == -mark(segment)) continue;
      throw SystemError(
          fmt::format("{} returns other numbers than rank {} wrote, so it does not work with this MPI library; {}.",
                      library, segments[segment].rank, cure));
    }
  });
  array.sync();
}

}
