#include "cxx/mpi/window_arrays.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/mpi/mpi_communicator.hpp"
#include "cxx/mpi/shared_segments.hpp"

namespace trifuse {

namespace {

/// Asks for windows that work. If MPICH 4.0 allocates a window in the shared memory of one host, other ranks find the
/// data of a rank 8 bytes away from where the rank wrote them.
class WindowInfo {
 public:
  WindowInfo() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    check_mpi(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
    if (!std::string_view(version.data()).starts_with("MPICH")) return;
    check_mpi(MPI_Info_create(&info_), "MPI_Info_create");
    check_mpi(MPI_Info_set(info_, "alloc_shm", "false"), "MPI_Info_set");
  }
  ~WindowInfo() {
    if (info_ != MPI_INFO_NULL) static_cast<void>(MPI_Info_free(&info_));
  }
  WindowInfo(const WindowInfo&) = delete;
  WindowInfo& operator=(const WindowInfo&) = delete;
  MPI_Info info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Number of windows of an array. It takes longer to make several windows than to allocate the pages of a small array.
std::size_t windows_for(std::span<const SharedSegment> segments) {
  constexpr std::int64_t small = std::int64_t{1} << 25;  // doubles
  std::int64_t doubles = 0;
  for (const SharedSegment& segment : segments) doubles += segment.doubles;
  return doubles <= small ? 1 : max_files_of_host;
}

/// A window, in which each rank has a part.
struct Window {
  MPI_Win window = MPI_WIN_NULL;
  double* own = nullptr;             ///< first cache line of the part of this rank
  std::vector<std::int64_t> shifts;  ///< [rank] doubles from the beginning of the part to its first cache line
};

class WindowArray final : public SharedArray {
 public:
  WindowArray(WindowArrays& arrays, Communicator& communicator, std::span<const SharedSegment> segments)
      : arrays_(arrays), communicator_(communicator), segments_(segments.begin(), segments.end()) {
    SegmentLayout layout = lay_out_segments(communicator, segments, windows_for(segments));
    positions_ = std::move(layout.positions);
    try {
      make_windows(layout);
      expect_one_memory(communicator, *this, segments_, "A window of MPI",
                        "use another MPI library, or compute in one process");
    } catch (...) {
      close();
      throw;
    }
  }
  ~WindowArray() override { close(); }

  std::span<double> local(std::size_t segment) override {
    const SegmentLayout::Position& position = positions_[segment];
    return {windows_[position.array].own + position.offset, static_cast<std::size_t>(segments_[segment].doubles)};
  }

  void get(std::size_t segment, std::int64_t first, std::span<double> values) override {
    // MPI counts have the type int. Libraries count bytes with it, too.
    constexpr std::size_t most = std::size_t{1} << 24;
    const int rank = segments_[segment].rank;
    const SegmentLayout::Position& position = positions_[segment];
    const Window& window = windows_[position.array];
    MPI_Aint at = window.shifts[static_cast<std::size_t>(rank)] + position.offset + first;
    for (; !values.empty(); values = values.subspan(std::min(most, values.size()))) {
      const auto part = values.first(std::min(most, values.size()));
      const int count = static_cast<int>(part.size());
      arrays_.caller().call([&] {
        check_mpi(MPI_Get(part.data(), count, MPI_DOUBLE, rank, at, count, MPI_DOUBLE, window.window), "MPI_Get");
        check_mpi(MPI_Win_flush(rank, window.window), "MPI_Win_flush");
      });
      at += count;
    }
  }

  void sync() override {
    sync_windows();
    double barrier = 0.0;
    communicator_.allreduce_sum({&barrier, 1});
    sync_windows();
  }

 private:
  /// Makes all windows. Collective.
  void make_windows(const SegmentLayout& layout) {
    const auto rank = static_cast<std::size_t>(communicator_.rank());
    std::vector<double> shifts;
    for (const std::vector<std::int64_t>& sizes : layout.sizes) {
      // Ranks that fail must not leave the others in the making of the next window.
      run_collectively(&communicator_, [&] {
        std::int64_t shift = 0;
        Window& made = windows_.emplace_back();
        double* const data = arrays_.caller().call([&] { return make(made.window, sizes[rank]); });
        std::tie(made.own, shift) = first_cache_line(data, sizes[rank]);
        shifts.push_back(static_cast<double>(shift));
      });
    }
    shifts = allgather(communicator_, shifts);
    for (std::size_t n = 0; n < shifts.size(); ++n) {
      windows_[n % windows_.size()].shifts.push_back(static_cast<std::int64_t>(shifts[n]));
    }
  }
  void close() {
    for (const Window& window : windows_) {
      if (window.window != MPI_WIN_NULL) arrays_.close(window.window);
    }
  }
  /// Makes a window, in which this rank has `doubles`. Returns its part. Collective; on the thread that calls MPI.
  double* make(MPI_Win& window, std::int64_t doubles) const {
    constexpr int width = sizeof(double);
    const WindowInfo info;
    void* data = nullptr;
    check_mpi(
        MPI_Win_allocate(static_cast<MPI_Aint>(doubles) * width, width, info.info(), arrays_.ranks(), &data, &window),
        "MPI_Win_allocate");
    check_mpi(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all");
    return static_cast<double*>(data);
  }
  void sync_windows() const {
    arrays_.caller().call([&] {
      for (const Window& window : windows_) check_mpi(MPI_Win_sync(window.window), "MPI_Win_sync");
    });
  }

  WindowArrays& arrays_;
  Communicator& communicator_;
  std::vector<SharedSegment> segments_;
  std::vector<SegmentLayout::Position> positions_;
  std::vector<Window> windows_;
};

}

std::unique_ptr<SharedArray> WindowArrays::make(Communicator& communicator, std::span<const SharedSegment> segments) {
  check_room(communicator, segments);
  run_collectively(&communicator, [&] { caller_.call([&] { free(); }); });
  return std::make_unique<WindowArray>(*this, communicator, segments);
}

void WindowArrays::free() {
  for (MPI_Win& window : unused_) {
    check_mpi(MPI_Win_unlock_all(window), "MPI_Win_unlock_all");
    check_mpi(MPI_Win_free(&window), "MPI_Win_free");
  }
  unused_.clear();
}

}
