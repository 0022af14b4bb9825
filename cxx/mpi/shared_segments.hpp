#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/communicator.hpp"
#include "cxx/base/shared_array.hpp"

/// The segments of shared arrays in the arrays of a library: their positions, and checks. Without these checks a job
/// could end without a message, or its energies could be wrong.
namespace trifuse {

/// Doubles in a cache line. Segments begin on cache lines, but the part of a rank in an array of a library can begin at
/// any address.
inline constexpr std::int64_t doubles_of_cache_line = Buffer::alignment / sizeof(double);

/// The positions of segments in several arrays. Every rank has a part in each array. The segments of one host are
/// distributed over several arrays, because an MPI library stores the parts of one host in one file of shared memory
/// for each array, and the system allocates the pages of one file one after another.
struct SegmentLayout {
  /// The position of a segment: the number of its array, and the doubles between the first cache line of its owner's
  /// part and the segment.
  struct Position {
    std::size_t array;
    std::int64_t offset;
  };
  std::vector<Position> positions;               ///< [segment]
  std::vector<std::vector<std::int64_t>> sizes;  ///< [array][rank] doubles of a part, with an extra cache line
};

/// Chooses the positions of segments in at most `max_arrays` arrays. Collective.
SegmentLayout lay_out_segments(Communicator& communicator, std::span<const SharedSegment> segments,
                               std::size_t max_arrays);

/// Returns the first cache line of a part, and the number of doubles before it. `data`: the part; `doubles`: its size.
std::pair<double*, std::int64_t> first_cache_line(double* data, std::int64_t doubles);

/// Throws SystemError on all ranks if `segments` do not fit into memory. Collective. Libraries end the program if
/// memory is short, so call this before an array is made. The arrays of processes of one host are usually in the shared
/// memory of that host.
void check_room(Communicator& communicator, std::span<const SharedSegment> segments);

/// Throws SystemError on all ranks if a rank does not read from a segment what its owner wrote. Collective. Overwrites
/// elements of the segments. For the message: `library` is the name of the library that makes the array, `cure` says
/// what the user can do.
void expect_one_memory(Communicator& communicator, SharedArray& array, std::span<const SharedSegment> segments,
                       const char* library, const char* cure);

}
