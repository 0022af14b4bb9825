#include "cxx/mpi/window_arrays.hpp"

#include "cxx/mpi/mpi_communicator.hpp"

namespace trifuse {

namespace {

/// Asks for windows that work. If MPICH 4.0 allocates a window in the shared memory of one host, other ranks find the
/// data of a rank 8 bytes away from where the rank wrote them.
class WindowInfo {
 public:
  WindowInfo() {
    if (!mpi_library_is("MPICH")) return;
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

class Window final : public PartitionedArray {
 public:
  explicit Window(MPI_Comm ranks) : ranks_(ranks) {}

  double* create(std::span<const std::int64_t> sizes) override {
    constexpr int width = sizeof(double);
    int rank = 0;
    check_mpi(MPI_Comm_rank(ranks_, &rank), "MPI_Comm_rank");
    const MPI_Aint bytes = static_cast<MPI_Aint>(sizes[static_cast<std::size_t>(rank)]) * width;
    const WindowInfo info;
    void* data = nullptr;
    check_mpi(MPI_Win_allocate(bytes, width, info.info(), ranks_, &data, &window_), "MPI_Win_allocate");
    check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    return static_cast<double*>(data);
  }

  void get(int rank, std::int64_t first, std::span<double> values) override {
    const int count = static_cast<int>(values.size());
    check_mpi(MPI_Get(values.data(), count, MPI_DOUBLE, rank, first, count, MPI_DOUBLE, window_), "MPI_Get");
    check_mpi(MPI_Win_flush(rank, window_), "MPI_Win_flush");
  }

  void sync() override { check_mpi(MPI_Win_sync(window_), "MPI_Win_sync"); }

  void free() override {
    if (window_ == MPI_WIN_NULL) return;
    check_mpi(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
    check_mpi(MPI_Win_free(&window_), "MPI_Win_free");
  }

 private:
  MPI_Comm ranks_;
  MPI_Win window_ = MPI_WIN_NULL;
};

class Windows final : public ArrayLibrary {
 public:
  const char* name() const override { return "A window of MPI"; }
  const char* cure() const override { return "use another MPI library, or compute in one process"; }
  std::unique_ptr<PartitionedArray> make(MPI_Comm ranks) override { return std::make_unique<Window>(ranks); }
};

}

std::unique_ptr<ArrayLibrary> window_arrays() {
  return std::make_unique<Windows>();
}

}
