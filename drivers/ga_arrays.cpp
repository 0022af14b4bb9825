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
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/parallel/ranks.hpp"

namespace trifuse::cli {

namespace {

constexpr std::int64_t width = sizeof(double);
/// Pieces of Global Arrays begin anywhere; ours begin on the first cache line of theirs.
constexpr std::int64_t line = Buffer::alignment / sizeof(double);

/// What MPI libraries keep for each rank where processes of a host share memory, bytes; more than was seen.
constexpr std::int64_t of_mpi = std::int64_t{4} << 20;

/// Global Arrays end the program where memory is short, so what can be known before is. Arrays of processes of one host
/// are usually in its shared memory.
void check_room(Team& team, std::span<const std::int64_t> sizes) {
  const std::vector<std::string> hosts = hosts_of_ranks(team);
  together(&team, [&] {
    const auto mine = static_cast<std::size_t>(team.rank());
    const auto own = static_cast<std::size_t>(sizes[mine] * width);
    std::int64_t of_host = 0, neighbours = 0;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      if (hosts[rank] != hosts[mine]) continue;
      of_host += sizes[rank] * width + of_mpi;
      ++neighbours;
    }
    void* const place = mmap(nullptr, own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
      throw SystemError(
          fmt::format("There is not enough memory on {} for the {:.1f} MiB of operands that each rank keeps.",
                      hosts[mine], static_cast<double>(own) / 0x1p20));
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

/// In the windows that MPICH 4.0 allocates for processes of one host, what a rank writes lands 8 bytes from where
/// others read it; not so in windows that are made of memory.
void avoid_shared_windows_of_mpich() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  if (MPI_Get_library_version(version.data(), &length) != MPI_SUCCESS) return;
  constexpr int keep = 0;
  if (std::string_view(version.data()).starts_with("MPICH")) setenv("ARMCI_USE_WIN_ALLOCATE", "0", keep);
}

class Arrays;

/// Pieces of one global array. Each rank has one, but most have nothing in it.
struct GlobalArray {
  int handle = 0;
  std::vector<std::int64_t> begins = {0};  ///< of the pieces of Global Arrays, and their end
};

/// Neighbours, which are processes of one host, have their pieces in different global arrays: an MPI library keeps what
/// they have of an array in one file of shared memory, and the system gives pages to a file one after another,
/// however many ask.
class Array final : public SharedArray {
 public:
  Array(Arrays& arrays, CallerThread& caller, Team& team, std::span<const std::int64_t> sizes);
  ~Array() override;

  std::span<double> local() override { return local_; }

  void get(int owner, std::int64_t first, std::span<double> values) override {
    // Below Global Arrays numbers of bytes have 31 bits.
    constexpr std::size_t most = std::size_t{1} << 24;
    const auto rank = static_cast<std::size_t>(owner);
    GlobalArray& array = array_of(rank);
    std::int64_t at = array.begins[rank] + shifts_[rank] + first;
    for (; !values.empty(); values = values.subspan(std::min(most, values.size()))) {
      const auto part = values.first(std::min(most, values.size()));
      std::int64_t last = at + std::ssize(part) - 1, stride = 1;
      caller_.call([&] { NGA_Get64(array.handle, &at, &last, part.data(), &stride); });
      at = last + 1;
    }
  }

  void sync() override {
    caller_.call([&] {
      GlobalArray& mine = array_of(rank_);
      std::int64_t first = mine.begins[rank_], last = mine.begins[rank_ + 1] - 1;
      NGA_Release_update64(mine.handle, &first, &last);
      GA_Sync();
    });
  }

 private:
  void lay_out(Team& team, std::span<const std::int64_t> sizes);
  double* create(std::size_t n);
  void expect_one_memory(Team& team);
  GlobalArray& array_of(std::size_t rank) { return global_[array_[rank]]; }

  Arrays& arrays_;
  CallerThread& caller_;
  std::size_t rank_;
  std::vector<GlobalArray> global_;
  std::vector<std::size_t> array_;  ///< of `global_`, the one with each rank's piece
  std::vector<std::int64_t>
      shifts_;  ///< of each rank, from where its piece begins for Global Arrays to where ours does
  std::span<double> local_;
};

class Arrays final : public GlobalArrays {
 public:
  explicit Arrays(CallerThread& caller) : caller_(caller) {}

  std::unique_ptr<SharedArray> make(Team& team, std::span<const std::int64_t> sizes) override {
    check_room(team, sizes);
    together(&team, [&] {
      caller_.call([&] {
        begin();
        free_arrays();
      });
    });
    return std::make_unique<Array>(*this, caller_, team, sizes);
  }

  /// Freed later, together with the other ranks.
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
    // What Global Arrays need for themselves, doubles.
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

Array::Array(Arrays& arrays, CallerThread& caller, Team& team, std::span<const std::int64_t> sizes)
    : arrays_(arrays), caller_(caller), rank_(static_cast<std::size_t>(team.rank())) {
  lay_out(team, sizes);
  together(&team, [&] {
    double* data = nullptr;
    for (std::size_t n = 0; n < global_.size(); ++n) {
      double* const own = create(n);
      if (n == array_[rank_]) data = own;
    }
    if (data == nullptr) throw SystemError("Global Arrays have no memory for the operands.");
    const auto size = static_cast<std::size_t>(sizes[rank_]);
    std::size_t room = (size + line) * width;
    void* aligned = data;
    if (std::align(Buffer::alignment, size * width, aligned, room) == nullptr) {
      throw Error("A piece of a global array has no cache line in it.");
    }
    local_ = {static_cast<double*>(aligned), size};
    shifts_.assign(sizes.size(), local_.data() - data);
  });
  const auto shift = static_cast<double>(shifts_[rank_]);
  const std::vector<double> shifts = gather(team, std::span(&shift, 1));
  std::transform(shifts.begin(), shifts.end(), shifts_.begin(),
                 [](double each) { return static_cast<std::int64_t>(each); });
  expect_one_memory(team);
}

void Array::lay_out(Team& team, std::span<const std::int64_t> sizes) {
  // Each array costs every rank some memory for each other rank.
  const double mine = rank_on_host(team) % most_parts_of_host;
  for (const double array : gather(team, std::span(&mine, 1))) array_.push_back(static_cast<std::size_t>(array));
  global_.resize(1 + *std::max_element(array_.begin(), array_.end()));
  for (std::size_t n = 0; n < global_.size(); ++n) {
    std::vector<std::int64_t>& begins = global_[n].begins;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      begins.push_back(begins.back() + line + (array_[rank] == n ? sizes[rank] : 0));
    }
  }
}

/// Collective. Where this rank's piece of the n-th array is, or null.
double* Array::create(std::size_t n) {
  GlobalArray& array = global_[n];
  double* data = nullptr;
  caller_.call([&] {
    std::int64_t doubles = array.begins.back(), pieces = std::ssize(array.begins) - 1;
    std::string name = "operands";
    array.handle = NGA_Create_irreg64(C_DBL, 1, &doubles, name.data(), &pieces, array.begins.data());
    if (array.handle == 0) return;
    std::int64_t first = array.begins[rank_], last = array.begins[rank_ + 1] - 1, stride = 1;
    NGA_Access64(array.handle, &first, &last, &data, &stride);
    if (array_[rank_] != n) NGA_Release64(array.handle, &first, &last);
  });
  return data;
}

/// What a rank writes to its piece must be what others get: where it is not, energies would be wrong without a word.
void Array::expect_one_memory(Team& team) {
  const auto mark = [](std::size_t rank) { return 1.0 + static_cast<double>(rank); };
  local_.front() = mark(rank_);
  local_.back() = -mark(rank_);
  sync();
  together(&team, [&] {
    const std::size_t ranks = shifts_.size();
    for (const std::size_t owner : {rank_, (rank_ + 1) % ranks}) {
      const std::vector<std::int64_t>& begins = array_of(owner).begins;
      const std::int64_t last = begins[owner + 1] - begins[owner] - line - 1;
      double front = 0.0, back = 0.0;
      get(static_cast<int>(owner), 0, {&front, 1});
      get(static_cast<int>(owner), last, {&back, 1});
      if (front == mark(owner) && back == -mark(owner)) continue;
      throw SystemError(fmt::format(
          "Global Arrays do not give what rank {} wrote: they do not work with this MPI library; build with "
          "another one, or without (-DTRIFUSE_ENABLE_GLOBAL_ARRAYS=OFF).",
          owner));
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
