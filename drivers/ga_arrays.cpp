#include "drivers/ga_arrays.hpp"

#include <ga.h>
#include <macdecls.h>
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/mpi/mpi_communicator.hpp"

namespace trifuse::cli {

namespace {

class GlobalArray final : public PartitionedArray {
 public:
  double* create(std::span<const std::int64_t> sizes) override {
    begins_ = {0};
    for (const std::int64_t size : sizes) begins_.push_back(begins_.back() + size);
    std::int64_t doubles = begins_.back(), parts = std::ssize(sizes), stride = 1;
    std::string name = "operands";
    handle_ = NGA_Create_irreg64(C_DBL, 1, &doubles, name.data(), &parts, begins_.data());
    own_first_ = begins_[static_cast<std::size_t>(GA_Nodeid())];
    own_last_ = begins_[static_cast<std::size_t>(GA_Nodeid()) + 1] - 1;
    double* data = nullptr;
    if (handle_ != 0) NGA_Access64(handle_, &own_first_, &own_last_, &data, &stride);
    return data;
  }

  void get(int rank, std::int64_t first, std::span<double> values) override {
    std::int64_t from = begins_[static_cast<std::size_t>(rank)] + first, to = from + std::ssize(values) - 1, stride = 1;
    NGA_Get64(handle_, &from, &to, values.data(), &stride);
  }

  void publish() override {
    NGA_Release_update64(handle_, &own_first_, &own_last_);
    GA_Sync();
  }
  void receive() override {}  // GA_Sync() does both

  void free() override {
    if (handle_ != 0) GA_Destroy(handle_);
  }

 private:
  int handle_ = 0;
  std::vector<std::int64_t> begins_;           ///< [rank] first double of the part of a rank; last: the length
  std::int64_t own_first_ = 0, own_last_ = 0;  ///< first and last double of the part of this rank
};

class GlobalArrays final : public ArrayLibrary {
 public:
  const char* name() const override { return "Global Arrays"; }
  const char* cure() const override {
    return "use another MPI library, or build without Global Arrays (-DTRIFUSE_ENABLE_GLOBAL_ARRAYS=OFF)";
  }

  std::unique_ptr<PartitionedArray> make(MPI_Comm) override {
    begin();
    return std::make_unique<GlobalArray>();
  }

  void end() override {
    if (begun_) GA_Terminate();  // frees all arrays
  }

 private:
  void begin() {
    if (std::exchange(begun_, true)) return;
    // MPICH 4.0 has an error in windows that it allocates (see window_arrays.cpp), but not in windows that are made
    // from existing memory.
    constexpr int keep_existing = 0;
    if (mpi_library_is("MPICH")) setenv("ARMCI_USE_WIN_ALLOCATE", "0", keep_existing);
    GA_Initialize();
    // Memory for Global Arrays itself, doubles.
    constexpr int stack = 100000, heap = 100000;
    if (!MA_init(MT_C_DBL, stack, heap)) throw SystemError("There is not enough memory for Global Arrays.");
  }

  bool begun_ = false;
};

}

std::unique_ptr<ArrayLibrary> arrays_of_program() {
  return std::make_unique<GlobalArrays>();
}

}
