#include "cxx/base/blas.hpp"

#include <cblas.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

template <typename Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int blas_int(std::int64_t n) {
  if (n > std::numeric_limits<int>::max()) throw SystemError("A matrix is too large for this BLAS library.");
  return static_cast<int>(n);
}

}  // namespace

void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                         const double* b, std::int64_t ldb, double* c) {
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, blas_int(m), blas_int(n), blas_int(k), 1.0, a, blas_int(lda), b,
              blas_int(ldb), 0.0, c, blas_int(m));
}

void multiply_add(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
              blas_int(m), blas_int(n), blas_int(k), alpha, a, blas_int(lda), b, blas_int(ldb), 1.0, c, blas_int(ldc));
}

void set_blas_threads(int threads) {
  // The BLAS library is chosen when the program is linked or even started. Therefore the call is looked up by name.
  for (const char* name : {"openblas_set_num_threads", "MKL_Set_Num_Threads"}) {
    if (auto* set = symbol<void(int)>(name)) return set(threads);
  }
  if (auto* set = symbol<void(std::int64_t)>("bli_thread_set_num_threads")) set(threads);
}

void use_single_threaded_blas() {
  set_blas_threads(1);
  threads_with_blas_memory(1, 0);
}

int threads_with_blas_memory(int wanted, std::int64_t bytes) {
  // OpenBLAS allocates a buffer of this size for each thread that multiplies. If that fails, it retries for ever.
  const std::int64_t of_library = openblas_threads() > 0 ? std::int64_t{129} << 20 : 0;
  const auto size = static_cast<std::size_t>(of_library + bytes);
  if (size == 0) return wanted;
  std::vector<void*> pieces;
  pieces.reserve(static_cast<std::size_t>(wanted));
  while (static_cast<int>(pieces.size()) < wanted) {
    void* const piece = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) break;
    pieces.push_back(piece);
  }
  for (void* const piece : pieces) munmap(piece, size);
  if (pieces.empty()) {
    throw SystemError(
        "There is not enough memory for matrix products; allow this process more (ulimit -v), or take smaller tiles.");
  }
  return static_cast<int>(pieces.size());
}

int openblas_threads() {
  const auto threads = symbol<int()>("openblas_get_num_threads");
  return threads != nullptr ? threads() : 0;
}

std::string better_openblas_kernels() {
  const auto core = symbol<char*()>("openblas_get_corename");
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
  if (auto* config = symbol<char*()>("openblas_get_config")) {
    const std::string text = config();
    const std::string version = text.substr(0, text.find(' ', text.find(' ') + 1));
    auto* core = symbol<char*()>("openblas_get_corename");
    return core != nullptr ? version + " (" + core() + " kernels)" : version;
  }
  if (symbol<void(int)>("MKL_Set_Num_Threads") != nullptr) return "MKL";
  if (symbol<void(std::int64_t)>("bli_thread_set_num_threads") != nullptr) return "BLIS";
  return "BLAS";
}

}  // namespace trifuse
