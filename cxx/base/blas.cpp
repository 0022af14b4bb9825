#include "cxx/base/blas.hpp"

#include <cblas.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/address_space.hpp"
#include "cxx/base/error.hpp"

// Functions that only some BLAS libraries have. The address of a function is null if the linked library lacks it.
extern "C" {
void linked_openblas_set_num_threads(int) __asm__("openblas_set_num_threads") __attribute__((weak));
int linked_openblas_get_num_threads() __asm__("openblas_get_num_threads") __attribute__((weak));
char* linked_openblas_get_config() __asm__("openblas_get_config") __attribute__((weak));
char* linked_openblas_get_corename() __asm__("openblas_get_corename") __attribute__((weak));
void* linked_blas_memory_alloc(int) __asm__("blas_memory_alloc") __attribute__((weak));
void linked_blas_memory_free(void*) __asm__("blas_memory_free") __attribute__((weak));
void linked_mkl_set_num_threads(int) __asm__("MKL_Set_Num_Threads") __attribute__((weak));
void linked_bli_thread_set_num_threads(std::int64_t) __asm__("bli_thread_set_num_threads") __attribute__((weak));
}

namespace trifuse {

namespace {

/// Returns the function `name` of the BLAS library that this code calls; null if that library lacks it. `linked`: the
/// function that was linked. A shared BLAS library may be another one than at link time, so the function is also looked
/// up by name. If Trifuse contains its BLAS library, functions of other BLAS libraries in the process are not used.
template <typename Function>
Function* symbol(const char* name, Function* linked) {
  if (linked != nullptr) return linked;
  const bool shared = dlsym(RTLD_DEFAULT, "cblas_dgemm") == reinterpret_cast<void*>(&cblas_dgemm);
  return shared ? reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name)) : nullptr;
}

template <typename First, typename Second>
bool in_same_library(First* first, Second* second) {
  Dl_info of_first, of_second;
  return dladdr(reinterpret_cast<void*>(first), &of_first) != 0 &&
         dladdr(reinterpret_cast<void*>(second), &of_second) != 0 && of_first.dli_fbase == of_second.dli_fbase;
}

int blas_int(std::int64_t n) {
  if (n > std::numeric_limits<int>::max()) throw SystemError("A matrix is too large for this BLAS library.");
  return static_cast<int>(n);
}

/// OpenBLAS allocates a buffer of about this size for each thread that multiplies. If the allocation fails, OpenBLAS
/// retries for ever.
constexpr std::int64_t openblas_buffer_bytes = std::int64_t{129} << 20;

/// Reserves address space as long as the object exists. Converts to false if there was too little of it.
class MappedBytes {
 public:
  explicit MappedBytes(std::size_t size)
      : size_(size), memory_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  MappedBytes(MappedBytes&& other) noexcept : size_(other.size_), memory_(std::exchange(other.memory_, MAP_FAILED)) {}
  MappedBytes& operator=(MappedBytes&&) = delete;
  ~MappedBytes() {
    if (*this) munmap(memory_, size_);
  }
  explicit operator bool() const { return memory_ != MAP_FAILED; }

 private:
  std::size_t size_;
  void* memory_;
};

/// Makes OpenBLAS allocate the buffers of `threads` threads now, while there is memory for them. OpenBLAS keeps the
/// buffers, so later products allocate nothing. Does nothing if the library hides its allocator.
void allocate_openblas_buffers(int threads) {
  const auto allocate = symbol("blas_memory_alloc", linked_blas_memory_alloc);
  const auto release = symbol("blas_memory_free", linked_blas_memory_free);
  if (allocate == nullptr || release == nullptr) return;
  constexpr int most = 128;  // OpenBLAS may have been built for at most this many buffers
  std::vector<void*> buffers;
  for (int n = 0; n < std::min(threads, most); ++n) buffers.push_back(allocate(0));
  for (void* const buffer : buffers) {
    if (buffer != nullptr) release(buffer);
  }
}

}

void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                         const double* b, std::int64_t ldb, double* c) {
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, blas_int(m), blas_int(n), blas_int(k), 1.0, a, blas_int(lda), b,
              blas_int(ldb), 0.0, c, blas_int(m));
}

void multiply_add(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  multiply(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, 1.0, c, ldc);
}

void multiply(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
              const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
              std::int64_t ldc) {
  cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
              blas_int(m), blas_int(n), blas_int(k), alpha, a, blas_int(lda), b, blas_int(ldb), beta, c, blas_int(ldc));
}

void multiply_add(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const double* a, const double* b, double* c) {
  multiply_add(transpose_a, transpose_b, m, n, k, alpha, a, transpose_a ? m : k, b, transpose_b ? k : n, c, n);
}

void set_blas_threads(int threads) {
  // There may be more than one library: BLIS, and the OpenBLAS of LAPACK.
  if (auto* set = symbol("openblas_set_num_threads", linked_openblas_set_num_threads)) set(threads);
  if (auto* set = symbol("MKL_Set_Num_Threads", linked_mkl_set_num_threads)) set(threads);
  if (auto* set = symbol("bli_thread_set_num_threads", linked_bli_thread_set_num_threads)) set(threads);
}

void use_single_threaded_blas() {
  set_blas_threads(1);
  threads_with_blas_memory(1, 0);
}

int threads_with_blas_memory(int wanted, std::int64_t bytes) {
  static std::mutex mutex;
  static int allocated = 0;  // buffers that OpenBLAS already has
  const std::lock_guard lock(mutex);
  share_malloc_memory_if_limited();
  const std::int64_t of_library = openblas_threads() > 0 ? openblas_buffer_bytes : 0;
  if (of_library + bytes == 0) return wanted;
  std::vector<MappedBytes> mapped;
  mapped.reserve(static_cast<std::size_t>(wanted));
  while (static_cast<int>(mapped.size()) < wanted) {
    const std::int64_t size = bytes + (static_cast<int>(mapped.size()) < allocated ? 0 : of_library);
    MappedBytes memory(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
    if (!memory) break;
    mapped.push_back(std::move(memory));
  }
  const int threads = static_cast<int>(mapped.size());
  mapped.clear();
  if (threads == 0) {
    throw SystemError(
        "There is not enough memory for matrix products; allow this process more (ulimit -v), or use smaller tiles.");
  }
  if (of_library > 0 && address_space_is_limited()) {
    allocate_openblas_buffers(threads);
    allocated = std::max(allocated, threads);
  }
  return threads;
}

double small_dgemm_products() {
  // The condition of OpenBLAS's kernels for AVX-512, since version 0.3.16.
  constexpr double of_avx512 = 1e6;
  const auto core = symbol("openblas_get_corename", linked_openblas_get_corename);
  constexpr std::array kernels = {"SkylakeX", "Cooperlake", "SapphireRapids"};
  if (core == nullptr) return 0.0;
  return std::find(kernels.begin(), kernels.end(), std::string_view(core())) != kernels.end() ? of_avx512 : 0.0;
}

int openblas_threads() {
  const auto threads = symbol("openblas_get_num_threads", linked_openblas_get_num_threads);
  return threads != nullptr ? threads() : 0;
}

std::string better_openblas_kernels() {
  const auto core = symbol("openblas_get_corename", linked_openblas_get_corename);
  // Kernels for old processors. OpenBLAS falls back on one of them if it does not know the processor.
  constexpr std::array plain = {"Prescott", "Core2", "Penryn", "Nehalem", "Sandybridge"};
  if (core == nullptr || std::getenv("OPENBLAS_CORETYPE") != nullptr) return {};
  if (std::find(plain.begin(), plain.end(), std::string_view(core())) == plain.end()) return {};
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return {};
}

std::string blas_name() {
  const auto of_blis = symbol("bli_thread_set_num_threads", linked_bli_thread_set_num_threads);
  if (of_blis != nullptr && in_same_library(of_blis, &cblas_dgemm)) return "BLIS";
  if (auto* config = symbol("openblas_get_config", linked_openblas_get_config)) {
    const std::string text = config();
    const std::string version = text.substr(0, text.find(' ', text.find(' ') + 1));
    auto* core = symbol("openblas_get_corename", linked_openblas_get_corename);
    return core != nullptr ? version + " (" + core() + " kernels)" : version;
  }
  if (symbol("MKL_Set_Num_Threads", linked_mkl_set_num_threads) != nullptr) return "MKL";
  return "BLAS";
}

}
