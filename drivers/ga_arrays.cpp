#include "drivers/ga_arrays.hpp"

#include <fmt/format.h>
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"

namespace trifuse::cli {

namespace {

constexpr std::int64_t width = sizeof(double);
/// Doubles in a cache line. Segments begin on cache lines, but the part of a rank in a global array can begin at any
/// address.
constexpr std::int64_t line = Buffer::alignment / sizeof(double);

/// Upper bound of the shared memory that an MPI library uses for each rank of a host, bytes; more than was observed.
constexpr std::int64_t of_mpi = std::int64_t{4} << 20;

/// Throws SystemError on all ranks if `segments` do not fit into memory. Collective. Global Arrays end the program if
/// memory is short, so this function checks before. The arrays of processes of one host are usually in the shared
/// memory of that host.
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

/// Avoids an error of MPICH 4.0. If MPICH allocates a window for processes of one host, other ranks find the data of a
/// rank 8 bytes away from where the rank wrote them. Windows that are made from existing memory do not have this error.
void avoid_shared_windows_of_mpich() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  if (MPI_Get_library_version(version.data(), &length) != MPI_SUCCESS) return;
  constexpr int keep_existing = 0;
  if (std::string_view(version.data()).starts_with("MPICH")) setenv("ARMCI_USE_WIN_ALLOCATE", "0", keep_existing);
}

class Arrays;

/// A global array. Each rank owns a contiguous part of it; the parts of most ranks hold no segment.
struct GlobalArray {
  int handle = 0;
  std::vector<std::int64_t> begins = {0};  ///< [rank] first double of the part of a rank; last: the length
  std::vector<std::int64_t> shifts;        ///< [rank] doubles from the beginning of the part to its first cache line
  double* own = nullptr;                   ///< first cache line of the part of this rank
};

/// A shared array that consists of one or several global arrays. The segments of one host are distributed over at most
/// `max_files_of_host` global arrays: an MPI library stores the parts of one host in one file of shared memory for
/// each array. The system allocates the pages of one file one after another, even if many ranks ask for pages at the
/// same time.
class Array final : public SharedArray {
 public:
  Array(Arrays& arrays, CallerThread& caller, Communicator& communicator, std::span<const SharedSegment> segments);
  ~Array() override;

  std::span<double> local(std::size_t segment) override {
    const SegmentPosition& position = positions_[segment];
    return {global_[position.array].own + position.offset, static_cast<std::size_t>(segments_[segment].doubles)};
  }

  void get(std::size_t segment, std::int64_t first, std::span<double> values) override {
    // In the layers below Global Arrays, numbers of bytes have 31 bits.
    constexpr std::size_t most = std::size_t{1} << 24;
    const auto rank = static_cast<std::size_t>(segments_[segment].rank);
    const SegmentPosition& position = positions_[segment];
    GlobalArray& array = global_[position.array];
    std::int64_t at = array.begins[rank] + array.shifts[rank] + position.offset + first;
    for (; !values.empty(); values = values.subspan(std::min(most, values.size()))) {
      const auto part = values.first(std::min(most, values.size()));
      std::int64_t last = at + std::ssize(part) - 1, stride = 1;
      caller_.call([&] { NGA_Get64(array.handle, &at, &last, part.data(), &stride); });
      at = last + 1;
    }
  }

  void sync() override {
    caller_.call([&] {
      for (GlobalArray& array : global_) {
        auto [first, last] = own_stretch(array);
        NGA_Release_update64(array.handle, &first, &last);
      }
      GA_Sync();
    });
  }

 private:
  /// The position of a segment: the number of its global array, and doubles from the first cache line of its owner's
  /// part.
  struct SegmentPosition {
    std::size_t array;
    std::int64_t offset;
  };
  /// Assigns each segment to a global array. Collective.
  void lay_out(Communicator& communicator);
  /// Creates a global array. Collective. Returns false if memory is short.
  bool create(GlobalArray& array);
  /// Throws SystemError on all ranks if a rank does not read from a segment what its owner wrote. Collective. Without
  /// this check energies could be wrong without an error message.
  void expect_one_memory(Communicator& communicator);
  /// First and last double of the part of this rank.
  std::pair<std::int64_t, std::int64_t> own_stretch(const GlobalArray& array) const {
    return {array.begins[rank_], array.begins[rank_ + 1] - 1};
  }

  Arrays& arrays_;
  CallerThread& caller_;
  std::size_t rank_;
  std::vector<SharedSegment> segments_;
  std::vector<SegmentPosition> positions_;
  std::vector<GlobalArray> global_;
};

class Arrays final : public GlobalArrays {
 public:
  explicit Arrays(CallerThread& caller) : caller_(caller) {}

  std::unique_ptr<SharedArray> make(Communicator& communicator, std::span<const SharedSegment> segments) override {
    check_room(communicator, segments);
    run_collectively(&communicator, [&] {
      caller_.call([&] {
        begin();
        free_arrays();
      });
    });
    return std::make_unique<Array>(*this, caller_, communicator, segments);
  }

  /// Marks an array as unused. All ranks free it together in the next `make` or `end`.
  void close(int handle) { unused_.push_back(handle); }

  void end() override {
    if (!begun_) return;
    GA_Terminate();  // frees all arrays
    begun_ = false;
  }

 private:
  void begin() {
    if (std::exchange(begun_, true)) return;
    avoid_shared_windows_of_mpich();
    GA_Initialize();
    // Memory for Global Arrays itself, doubles.
    constexpr int stack = 100000, heap = 100000;
    if (!MA_init(MT_C_DBL, stack, heap)) throw SystemError("There is not enough memory for Global Arrays.");
  }

  void free_arrays() {
    for (const int handle : unused_) GA_Destroy(handle);
    unused_.clear();
  }

  CallerThread& caller_;
  bool begun_ = false;
  std::vector<int> unused_;
};

Array::Array(Arrays& arrays, CallerThread& caller, Communicator& communicator, std::span<const SharedSegment> segments)
    : arrays_(arrays),
      caller_(caller),
      rank_(static_cast<std::size_t>(communicator.rank())),
      segments_(segments.begin(), segments.end()) {
  lay_out(communicator);
  run_collectively(&communicator, [&] {
    bool made = true;
    for (GlobalArray& array : global_) made = create(array) && made;
    if (!made) throw SystemError("Global Arrays has no memory for the operands.");
  });
  std::vector<double> shifts;
  for (const GlobalArray& array : global_) shifts.push_back(static_cast<double>(array.shifts[rank_]));
  shifts = allgather(communicator, shifts);
  for (std::size_t n = 0; n < shifts.size(); ++n) {
    global_[n % global_.size()].shifts[n / global_.size()] = static_cast<std::int64_t>(shifts[n]);
  }
  expect_one_memory(communicator);
}

void Array::lay_out(Communicator& communicator) {
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  // Each array costs every rank some memory for each other rank, so the number of arrays is limited.
  std::map<std::string, std::size_t> segments_of_host;
  for (const SharedSegment& segment : segments_) {
    positions_.push_back({segments_of_host[hosts[static_cast<std::size_t>(segment.rank)]]++ % max_files_of_host, 0});
    global_.resize(std::max(global_.size(), positions_.back().array + 1));
  }
  for (std::size_t n = 0; n < global_.size(); ++n) {
    // Each segment begins on a cache line. Each part has one more cache line, because it may begin at any address.
    std::vector<std::int64_t> sizes(hosts.size(), line);
    for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
      if (positions_[segment].array != n) continue;
      std::int64_t& size = sizes[static_cast<std::size_t>(segments_[segment].rank)];
      positions_[segment].offset = size - line;
      size += (segments_[segment].doubles + line - 1) / line * line;
    }
    GlobalArray& array = global_[n];
    for (const std::int64_t size : sizes) array.begins.push_back(array.begins.back() + size);
    array.shifts.assign(hosts.size(), 0);
  }
}

bool Array::create(GlobalArray& array) {
  double* data = nullptr;
  auto [first, last] = own_stretch(array);
  caller_.call([&] {
    std::int64_t doubles = array.begins.back(), stretches = std::ssize(array.begins) - 1, stride = 1;
    std::string name = "operands";
    array.handle = NGA_Create_irreg64(C_DBL, 1, &doubles, name.data(), &stretches, array.begins.data());
    if (array.handle != 0) NGA_Access64(array.handle, &first, &last, &data, &stride);
  });
  if (data == nullptr) return false;
  auto room = static_cast<std::size_t>((last - first + 1) * width);
  void* aligned = data;
  if (std::align(Buffer::alignment, width, aligned, room) == nullptr) {
    throw Error("The part of a global array on this rank is smaller than a cache line.");
  }
  array.own = static_cast<double*>(aligned);
  array.shifts[rank_] = array.own - data;
  return true;
}

void Array::expect_one_memory(Communicator& communicator) {
  const auto mark = [](std::size_t segment) { return 1.0 + static_cast<double>(segment); };
  std::vector<std::size_t> looked_at = {rank_ % segments_.size()};
  for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
    if (segments_[segment].rank != communicator.rank()) continue;
    const std::span<double> own = local(segment);
    own.front() = mark(segment);
    own.back() = -mark(segment);
    looked_at.push_back(segment);
    looked_at.push_back((segment + 1) % segments_.size());
  }
  sync();
  run_collectively(&communicator, [&] {
    for (const std::size_t segment : looked_at) {
      double front = 0.0, back = 0.0;
      get(segment, 0, {&front, 1});
      get(segment, segments_[segment].doubles - 1, {&back, 1});
      if (front == mark(segment) && back == -mark(segment)) continue;
      throw SystemError(fmt::format(
          "Global Arrays returns other numbers than rank {} wrote, so it does not work with this MPI library; use "
          "another MPI library, or build without Global Arrays (-DTRIFUSE_ENABLE_GLOBAL_ARRAYS=OFF).",
          segments_[segment].rank));
    }
  });
  sync();
}

Array::~Array() {
  for (const GlobalArray& array : global_) {
    if (array.handle != 0) arrays_.close(array.handle);
  }
}

}  // namespace

std::unique_ptr<GlobalArrays> make_global_arrays(CallerThread& caller) {
  return std::make_unique<Arrays>(caller);
}

}  // namespace trifuse::cli
