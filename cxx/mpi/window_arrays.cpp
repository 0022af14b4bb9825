#include "cxx/mpi/window_arrays.hpp"

#include <vector>

#include "cxx/mpi/mpi_communicator.hpp"

namespace trifuse {

namespace {

constexpr int bytes_of_double = sizeof(double);

/// How the memory of windows is allocated.
class WindowInfo {
 public:
  WindowInfo() {
    check_mpi(MPI_Info_create(&info_), "MPI_Info_create");
    // In windows that all ranks read directly, each part has pages of its own.
    check_mpi(MPI_Info_set(info_, "alloc_shared_noncontig", "true"), "MPI_Info_set");
    // MPICH 4.0 has a defect: ranks of one host read other windows in shared memory 8 bytes off. So these windows are
    // not in shared memory.
    if (mpi_library_is("MPICH")) check_mpi(MPI_Info_set(info_, "alloc_shm", "false"), "MPI_Info_set");
  }
  ~WindowInfo() { static_cast<void>(MPI_Info_free(&info_)); }
  WindowInfo(const WindowInfo&) = delete;
  WindowInfo& operator=(const WindowInfo&) = delete;
  MPI_Info info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Returns true if all ranks are on one host.
bool on_one_host(MPI_Comm ranks) {
  MPI_Comm of_host = MPI_COMM_NULL;
  int here = 0, all = 0;
  check_mpi(MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &of_host), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_size(of_host, &here), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&of_host), "MPI_Comm_free");
  check_mpi(MPI_Comm_size(ranks, &all), "MPI_Comm_size");
  return here == all;
}

/// A window. The ranks of one host read each other's parts directly.
class Window final : public PartitionedArray {
 public:
  explicit Window(MPI_Comm ranks) : ranks_(ranks) {}

  double* create(std::span<const std::int64_t> sizes) override {
    int rank = 0;
    check_mpi(MPI_Comm_rank(ranks_, &rank), "MPI_Comm_rank");
    const MPI_Aint bytes = static_cast<MPI_Aint>(sizes[static_cast<std::size_t>(rank)]) * bytes_of_double;
    const WindowInfo info;
    void* data = nullptr;
    // Some components of MPI libraries have no shared windows, for example ucx and pt2pt of Open MPI.
    const auto allocate_shared = [&] {
      return MPI_Win_allocate_shared(bytes, bytes_of_double, info.info(), ranks_, &data, &window_) == MPI_SUCCESS;
    };
    const int mine = on_one_host(ranks_) && allocate_shared() ? 1 : 0;
    int shared = mine;
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MIN, ranks_), "MPI_Allreduce");
    if (shared == 0) {
      if (mine == 1) check_mpi(MPI_Win_free(&window_), "MPI_Win_free");
      check_mpi(MPI_Win_allocate(bytes, bytes_of_double, info.info(), ranks_, &data, &window_), "MPI_Win_allocate");
    }
    check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    for (rank = 0; shared == 1 && rank < static_cast<int>(sizes.size()); ++rank) {
      MPI_Aint size = 0;
      int unit = 0;
      void* part = nullptr;
      check_mpi(MPI_Win_shared_query(window_, rank, &size, &unit, &part), "MPI_Win_shared_query");
      parts_.push_back(static_cast<const double*>(part));
    }
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    return static_cast<double*>(data);
  }

  void get(int rank, std::int64_t first, std::span<double> values) override {
    const int count = static_cast<int>(values.size());
    check_mpi(MPI_Get(values.data(), count, MPI_DOUBLE, rank, first, count, MPI_DOUBLE, window_), "MPI_Get");
    check_mpi(MPI_Win_flush(rank, window_), "MPI_Win_flush");
  }

  const double* direct(int rank) override { return parts_.empty() ? nullptr : parts_[static_cast<std::size_t>(rank)]; }

  void publish() override { check_mpi(MPI_Win_sync(window_), "MPI_Win_sync"); }
  void receive() override { publish(); }

  void free() override {
    if (window_ == MPI_WIN_NULL) return;
    check_mpi(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
    check_mpi(MPI_Win_free(&window_), "MPI_Win_free");
  }

 private:
  MPI_Comm ranks_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<const double*> parts_;  ///< [rank] parts of all ranks; empty if the ranks are on several hosts
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
