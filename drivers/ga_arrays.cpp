#include "drivers/ga_arrays.hpp"

#include <ga.h>
#include <macdecls.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/mpi/shared_segments.hpp"

namespace trifuse::cli {

namespace {

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

/// A shared array that consists of one or several global arrays.
class Array final : public SharedArray {
 public:
  Array(Arrays& arrays, CallerThread& caller, Communicator& communicator, std::span<const SharedSegment> segments);
  ~Array() override;

  std::span<double> local(std::size_t segment) override {
    const SegmentLayout::Position& position = positions_[segment];
    return {global_[position.array].own + position.offset, static_cast<std::size_t>(segments_[segment].doubles)};
  }

  void get(std::size_t segment, std::int64_t first, std::span<double> values) override {
    // In the layers below Global Arrays, numbers of bytes have 31 bits.
    constexpr std::size_t most = std::size_t{1} << 24;
    const auto rank = static_cast<std::size_t>(segments_[segment].rank);
    const SegmentLayout::Position& position = positions_[segment];
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
  /// Creates a global array. Collective. Returns false if memory is short.
  bool create(GlobalArray& array);
  /// First and last double of the part of this rank.
  std::pair<std::int64_t, std::int64_t> own_stretch(const GlobalArray& array) const {
    return {array.begins[rank_], array.begins[rank_ + 1] - 1};
  }

  Arrays& arrays_;
  CallerThread& caller_;
  std::size_t rank_;
  std::vector<SharedSegment> segments_;
  std::vector<SegmentLayout::Position> positions_;
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
  SegmentLayout layout = lay_out_segments(communicator, segments, max_files_of_host);
  positions_ = std::move(layout.positions);
  for (const std::vector<std::int64_t>& sizes : layout.sizes) {
    GlobalArray& array = global_.emplace_back();
    for (const std::int64_t size : sizes) array.begins.push_back(array.begins.back() + size);
    array.shifts.assign(sizes.size(), 0);
  }
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
  expect_one_memory(communicator, *this, segments_, "Global Arrays",
                    "use another MPI library, or build without Global Arrays (-DTRIFUSE_ENABLE_GLOBAL_ARRAYS=OFF)");
}

bool Array::create(GlobalArray& array) {
  double* data = nullptr;
  std::int64_t first = 0, last = 0;
  std::tie(first, last) = own_stretch(array);
  caller_.call([&] {
    std::int64_t doubles = array.begins.back(), stretches = std::ssize(array.begins) - 1, stride = 1;
    std::string name = "operands";
    array.handle = NGA_Create_irreg64(C_DBL, 1, &doubles, name.data(), &stretches, array.begins.data());
    if (array.handle != 0) NGA_Access64(array.handle, &first, &last, &data, &stride);
  });
  if (data == nullptr) return false;
  std::tie(array.own, array.shifts[rank_]) = first_cache_line(data, last - first + 1);
  return true;
}

Array::~Array() {
  for (const GlobalArray& array : global_) {
    if (array.handle != 0) arrays_.close(array.handle);
  }
}

}

std::unique_ptr<GlobalArrays> make_global_arrays(CallerThread& caller) {
  return std::make_unique<Arrays>(caller);
}

}
