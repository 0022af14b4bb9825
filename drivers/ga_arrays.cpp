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

/// Throws SystemError on all ranks if the segments `pieces` do not fit into memory. Collective. Global Arrays end the
/// program if memory is short, so this function checks before. The arrays of processes of one host are usually in the
/// shared memory of that host.
void check_room(Communicator& communicator, std::span<const SharedSegment> pieces) {
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  run_collectively(&communicator, [&] {
    const auto mine = static_cast<std::size_t>(communicator.rank());
    const auto neighbours = std::count(hosts.begin(), hosts.end(), hosts[mine]);
    std::int64_t of_host = neighbours * of_mpi;
    std::size_t own = width;  // mmap needs at least one byte
    for (const SharedSegment& piece : pieces) {
      if (hosts[static_cast<std::size_t>(piece.rank)] != hosts[mine]) continue;
      of_host += piece.doubles * width;
      if (piece.rank == communicator.rank()) own += static_cast<std::size_t>(piece.doubles * width);
    }
    void* const place = mmap(nullptr, own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
      throw SystemError(
          fmt::format("There is not enough memory on {} for the {:.1f} MiB of operands that a rank keeps.", hosts[mine],
                      static_cast<double>(own) / 0x1p20));
    }
    munmap(place, own);
    const char* const shared_memory = "/dev/shm";
    struct statvfs room {};
    if (neighbours < 2 || statvfs(shared_memory, &room) != 0) return;
    const double free = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
    if (static_cast<double>(of_host) <= free) return;
    throw SystemError(fmt::format(
        "The ranks on {} need {:.1f} MiB of shared memory for operands, and {} has {:.1f} MiB free; make it larger.",
        hosts[mine], static_cast<double>(of_host) / 0x1p20, shared_memory, free / 0x1p20));
  });
}

/// Avoids an error of MPICH 4.0. If MPICH allocates a window for processes of one host, other ranks find the data of a
/// rank 8 bytes away from where the rank wrote them. Windows that are made from existing memory do not have this error.
void avoid_shared_windows_of_mpich() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  if (MPI_Get_library_version(version.data(), &length) != MPI_SUCCESS) return;
  constexpr int keep = 0;
  if (std::string_view(version.data()).starts_with("MPICH")) setenv("ARMCI_USE_WIN_ALLOCATE", "0", keep);
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
/// `most_files_of_host` global arrays: an MPI library stores the parts of one host in one file of shared memory for
/// each array. The system allocates the pages of one file one after another, even if many ranks ask for pages at the
/// same time.
class Array final : public SharedArray {
 public:
  Array(Arrays& arrays, CallerThread& caller, Communicator& communicator, std::span<const SharedSegment> pieces);
  ~Array() override;

  std::span<double> local(std::size_t piece) override {
    const Place& place = places_[piece];
    return {global_[place.array].own + place.offset, static_cast<std::size_t>(pieces_[piece].doubles)};
  }

  void get(std::size_t piece, std::int64_t first, std::span<double> values) override {
    // In the layers below Global Arrays, numbers of bytes have 31 bits.
    constexpr std::size_t most = std::size_t{1} << 24;
    const auto rank = static_cast<std::size_t>(pieces_[piece].rank);
    const Place& place = places_[piece];
    GlobalArray& array = global_[place.array];
    std::int64_t at = array.begins[rank] + array.shifts[rank] + place.offset + first;
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
  /// The place of a segment: the number of its global array, and doubles from the first cache line of its owner's part.
  struct Place {
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
  std::vector<SharedSegment> pieces_;
  std::vector<Place> places_;
  std::vector<GlobalArray> global_;
};

class Arrays final : public GlobalArrays {
 public:
  explicit Arrays(CallerThread& caller) : caller_(caller) {}

  std::unique_ptr<SharedArray> make(Communicator& communicator, std::span<const SharedSegment> pieces) override {
    check_room(communicator, pieces);
    run_collectively(&communicator, [&] {
      caller_.call([&] {
        begin();
        free_arrays();
      });
    });
    return std::make_unique<Array>(*this, caller_, communicator, pieces);
  }

  /// Marks an array as unused. All ranks free it together in the next `make` or `end`.
  void let_go(int handle) { unused_.push_back(handle); }

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

Array::Array(Arrays& arrays, CallerThread& caller, Communicator& communicator, std::span<const SharedSegment> pieces)
    : arrays_(arrays),
      caller_(caller),
      rank_(static_cast<std::size_t>(communicator.rank())),
      pieces_(pieces.begin(), pieces.end()) {
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
  std::map<std::string, std::size_t> pieces_of_host;
  for (const SharedSegment& piece : pieces_) {
    places_.push_back({pieces_of_host[hosts[static_cast<std::size_t>(piece.rank)]]++ % most_files_of_host, 0});
    global_.resize(std::max(global_.size(), places_.back().array + 1));
  }
  for (std::size_t n = 0; n < global_.size(); ++n) {
    // Each segment begins on a cache line. Each part has one more cache line, because it may begin at any address.
    std::vector<std::int64_t> sizes(hosts.size(), line);
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
      if (places_[piece].array != n) continue;
      std::int64_t& size = sizes[static_cast<std::size_t>(pieces_[piece].rank)];
      places_[piece].offset = size - line;
      size += (pieces_[piece].doubles + line - 1) / line * line;
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
  const auto mark = [](std::size_t piece) { return 1.0 + static_cast<double>(piece); };
  std::vector<std::size_t> looked_at = {rank_ % pieces_.size()};
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    if (pieces_[piece].rank != communicator.rank()) continue;
    const std::span<double> own = local(piece);
    own.front() = mark(piece);
    own.back() = -mark(piece);
    looked_at.push_back(piece);
    looked_at.push_back((piece + 1) % pieces_.size());
  }
  sync();
  run_collectively(&communicator, [&] {
    for (const std::size_t piece : looked_at) {
      double front = 0.0, back = 0.0;
      get(piece, 0, {&front, 1});
      get(piece, pieces_[piece].doubles - 1, {&back, 1});
      if (front == mark(piece) && back == -mark(piece)) continue;
      throw SystemError(fmt::format(
          "Global Arrays returns other numbers than rank {} wrote, so it does not work with this MPI library; use "
          "another MPI library, or build without Global Arrays (-DTRIFUSE_ENABLE_GLOBAL_ARRAYS=OFF).",
          pieces_[piece].rank));
    }
  });
  sync();
}

Array::~Array() {
  for (const GlobalArray& array : global_) {
    if (array.handle != 0) arrays_.let_go(array.handle);
  }
}

}  // namespace

std::unique_ptr<GlobalArrays> make_global_arrays(CallerThread& caller) {
  return std::make_unique<Arrays>(caller);
}

}  // namespace trifuse::cli
