// Prototype kernels: table-driven contraction with FP64 matrix instructions.
#pragma once
#include <cstdint>
struct Params {
  const double *x, *y; double* c;
  const int* xord; const int* yord;  // [B] line-major, one element at a time: lines in the order of memory
  const int* xrow;   // [BM] offset in X of each row of a tile
  const int* crow;   // [BM] offset in C, -1: not stored
  const int* ycol;   // [BN]
  const int* ccol;   // [BN] (pairs contiguous)
  const int* kx; const int* ky;  // [K padded]; -1: zero
  const long2* rt;   // [row tiles] base X, base C
  const long2* ct;   // [col tiles] base Y, base C
  const int4* items; // {row tile, col tile, first k tile, end k tile}
  int item_count; int k_pad; // k padded to BK (pipeline) or 8 (resident)
  double* partial;   // split: [item][BM][BN], else null
};
__device__ __forceinline__ unsigned sa(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void cp16(unsigned to, const void* from, bool there) {
  int n = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(n) : "memory");
}
__device__ __forceinline__ void cp8(unsigned to, const void* from, bool there) {
  int n = there ? 8 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(n) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int n> __device__ __forceinline__ void wait_group() { asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory"); }
__device__ __forceinline__ void mma(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
#ifdef VOLATILE
  asm volatile
#else
  asm
#endif
  ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3]) : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
// One operand tile in shared memory: k-major [line][k] with stride ≡ 8 mod 16, or line-major [k][line + 2].
enum { km, lm2, lm1, km1 };
template <int B, int L> struct Lay {
  static constexpr bool KM = L == km || L == km1;
  static __host__ __device__ constexpr int stride(int k) { return KM ? (k % 16 == 8 ? k : (k + 15) / 16 * 16 + 8) : B + 2; }
  static __host__ __device__ constexpr int doubles(int k) { return KM ? B * stride(k) : k * stride(k); }
};
// Loads lines [0,B) x k [k0, k0+BK) of an operand. off: [B] line offsets (shared memory); kt: k offsets (global).
template <int B, int L, int T> __device__ __forceinline__ void load_tile(double* to, const double* base, const int* off, const int* ord, const int* kt, int K) {
  const int tid = threadIdx.x;
  const int stride = Lay<B, L>::stride(K);
  if constexpr (L == km) {
    const int per = K / 2;
    for (int s = tid; s < B * per; s += T) {
      const int line = s / per, k = s % per * 2;
      const int ko = __ldg(kt + k);
      cp16(sa(to + line * stride + k), base + off[line] + (ko < 0 ? 0 : ko), ko >= 0);
    }
  } else if constexpr (L == lm1) {
    for (int s = tid; s < K * B; s += T) {
      const int k = s / B, line = ord[s % B];
      const int ko = __ldg(kt + k);
      cp8(sa(to + k * stride + line), base + off[line] + (ko < 0 ? 0 : ko), ko >= 0);
    }
  } else {
    constexpr int per = B / 2;
    for (int s = tid; s < K * per; s += T) {
      const int k = s / per, line = s % per * 2;
      const int ko = __ldg(kt + k);
      cp16(sa(to + k * stride + line), base + off[line] + (ko < 0 ? 0 : ko), ko >= 0);
    }
  }
}
template <int B, int L> __device__ __forceinline__ void frag_x(double (&a)[4], const double* s, int stride, int row, int k8, int q) {
  if constexpr (L == km || L == km1) {
    const double2 u = *reinterpret_cast<const double2*>(s + row * stride + k8 + 2 * q);
    const double2 v = *reinterpret_cast<const double2*>(s + (row + 8) * stride + k8 + 2 * q);
    a[0] = u.x; a[2] = u.y; a[1] = v.x; a[3] = v.y;
  } else {
    const double* p = s + (k8 + 2 * q) * stride + row;
    a[0] = p[0]; a[1] = p[8]; a[2] = p[stride]; a[3] = p[stride + 8];
  }
}
template <int B, int L> __device__ __forceinline__ void frag_y(double (&b)[2], const double* s, int stride, int col, int k8, int q) {
  if constexpr (L == km || L == km1) {
    const double2 u = *reinterpret_cast<const double2*>(s + col * stride + k8 + 2 * q);
    b[0] = u.x; b[1] = u.y;
  } else {
    const double* p = s + (k8 + 2 * q) * stride + col;
    b[0] = p[0]; b[1] = p[stride];
  }
}
template <int MT, int NT> __device__ __forceinline__ void store(const double (&acc)[MT][NT][4], double* c, const int* crow, const int* ccol, int row0, int col0) {
  const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
#pragma unroll
  for (int m = 0; m < MT; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int ro = crow[row0 + m * 16 + h * 8 + r];
      if (ro < 0) continue;
#pragma unroll
      for (int n = 0; n < NT; ++n) {
        const int co = ccol[col0 + n * 8 + 2 * q];
        if (co >= 0) *reinterpret_cast<double2*>(c + ro + co) = make_double2(acc[m][n][2 * h], acc[m][n][2 * h + 1]);
      }
    }
}

struct Bar { unsigned a;
  __device__ void init(int n) const { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(a), "r"(n)); }
  __device__ void arrive() const { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(a) : "memory"); }
  __device__ void arrive_copies() const { asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(a) : "memory"); }
  __device__ void wait(unsigned parity) const {
    asm volatile("{\n.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(a), "r"(parity) : "memory"); }
};
// Slots of a producer thread: 128 producers.
template <int B, int L, int BK> struct Slots {
  static constexpr int P = 128;
  static constexpr int per = L == km ? BK / 2 : L == km1 ? BK : L == lm2 ? B / 2 : B;      // threads side by side
  static constexpr int count = (L == km || L == lm2 ? B * BK / 2 : B * BK) / P;
  static constexpr int rows = P / per > 0 ? P / per : 1;  // of the other dimension, for each pass
  int a, b0;  // k or line side by side; first of the other dimension
  int off[L == km || L == km1 ? count : 1];
  __device__ __forceinline__ void init(int tid, const int* line_off, const int* ord) {
    const int s = tid % per; b0 = tid / per;
    if constexpr (L == km) { a = s * 2; for (int i = 0; i < count; ++i) off[i] = line_off[b0 + i * rows]; }
    if constexpr (L == km1) { a = s % 4 * 4 + s / 4; for (int i = 0; i < count; ++i) off[i] = line_off[b0 + i * rows]; }
    if constexpr (L == lm2) { a = s * 2; off[0] = line_off[a]; }
    if constexpr (L == lm1) { a = ord[s]; off[0] = line_off[a]; }
  }
  // k offsets of a k-tile, [count] or one.
  static constexpr int koffs = L == km || L == km1 ? 1 : count;
  __device__ __forceinline__ void fetch(int (&ko)[koffs], const int* kt) const {
    if constexpr (L == km || L == km1) ko[0] = __ldg(kt + a);
    else for (int i = 0; i < count; ++i) ko[i] = __ldg(kt + b0 + i * rows);
  }
  __device__ __forceinline__ void load(double* to, const double* base, const int (&ko)[koffs]) const {
    constexpr int stride = Lay<B, L>::stride(BK);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if constexpr (L == km) cp16(sa(to + (b0 + i * rows) * stride + a), base + off[i] + ko[0], ko[0] >= 0);
      if constexpr (L == km1) cp8(sa(to + (b0 + i * rows) * stride + a), base + off[i] + ko[0], ko[0] >= 0);
      if constexpr (L == lm2) cp16(sa(to + (b0 + i * rows) * stride + a), base + off[0] + ko[i], ko[i] >= 0);
      if constexpr (L == lm1) cp8(sa(to + (b0 + i * rows) * stride + a), base + off[0] + ko[i], ko[i] >= 0);
    }
  }
};
template <int BM, int BN, int WM, int WN, int BK, int STAGES, int XK, int YK>
__global__ void __launch_bounds__((WM* WN + 4) * 32, WM * WN == 8 ? 1 : 2) pipeline(Params p) {
  constexpr int W = WM * WN, T = (W + 4) * 32, MT = BM / WM / 16, NT = BN / WN / 8;
  constexpr int xs = Lay<BM, XK>::doubles(BK), ys = Lay<BN, YK>::doubles(BK), sx = Lay<BM, XK>::stride(BK), sy = Lay<BN, YK>::stride(BK);
  extern __shared__ __align__(128) double sm[];
  __shared__ int xrow[BM], crow[BM], ycol[BN], ccol[BN], xord[BM], yord[BN];
  __shared__ __align__(8) unsigned long long full_[STAGES], empty_[STAGES];
  for (int i = threadIdx.x; i < BM; i += T) { xrow[i] = p.xrow[i]; crow[i] = p.crow[i]; xord[i] = p.xord[i]; }
  for (int i = threadIdx.x; i < BN; i += T) { ycol[i] = p.ycol[i]; ccol[i] = p.ccol[i]; yord[i] = p.yord[i]; }
  if (threadIdx.x == 0) for (int s = 0; s < STAGES; ++s) { Bar{sa(&full_[s])}.init(128); Bar{sa(&empty_[s])}.init(W); }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp >= W) {
    if constexpr (W == 8) asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
    const int tid = threadIdx.x - W * 32;
    Slots<BM, XK, BK> x; Slots<BN, YK, BK> y; x.init(tid, xrow, xord); y.init(tid, ycol, yord);
    unsigned n = 0;
    for (int item = blockIdx.x; item < p.item_count; item += gridDim.x) {
      const int4 it = p.items[item];
      const double *bx = p.x + p.rt[it.x].x, *by = p.y + p.ct[it.y].x;
      int kx[Slots<BM, XK, BK>::koffs], ky[Slots<BN, YK, BK>::koffs];
      x.fetch(kx, p.kx + it.z * BK); y.fetch(ky, p.ky + it.z * BK);
      for (int kt = it.z; kt < it.w; ++kt, ++n) {
        const unsigned s = n % STAGES;
        Bar{sa(&empty_[s])}.wait((n / STAGES & 1) ^ 1);
        double* to = sm + s * (xs + ys);
        x.load(to, bx, kx); y.load(to + xs, by, ky);
        Bar{sa(&full_[s])}.arrive_copies();
        if (kt + 1 < it.w) { x.fetch(kx, p.kx + (kt + 1) * BK); y.fetch(ky, p.ky + (kt + 1) * BK); }
      }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    return;
  }
  if constexpr (W == 8) asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
  const int r = lane / 4, q = lane % 4;
  const int row0 = warp / WN * (BM / WM), col0 = warp % WN * (BN / WN);
  unsigned k = 0;
  for (int item = blockIdx.x; item < p.item_count; item += gridDim.x) {
    const int4 it = p.items[item];
    double acc[MT][NT][4] = {};
    for (int kt = it.z; kt < it.w; ++kt, ++k) {
      const unsigned s = k % STAGES;
      Bar{sa(&full_[s])}.wait(k / STAGES & 1);
      const double *x = sm + s * (xs + ys), *y = x + xs;
#pragma unroll
      for (int k8 = 0; k8 < BK; k8 += 8) {
        double a[MT][4], b[NT][2];
#pragma unroll
        for (int m = 0; m < MT; ++m) frag_x<BM, XK>(a[m], x, sx, row0 + m * 16 + r, k8, q);
#pragma unroll
        for (int n = 0; n < NT; ++n) frag_y<BN, YK>(b[n], y, sy, col0 + n * 8 + r, k8, q);
        if (k8 + 8 == BK) { __syncwarp(); if (lane == 0) Bar{sa(&empty_[s])}.arrive(); }
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
          for (int n = 0; n < NT; ++n) mma(acc[m][n], a[m], b[n]);
      }
    }
    if (p.partial != nullptr) {
      double* to = p.partial + static_cast<long>(item) * BM * BN;
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < NT; ++n)
#pragma unroll
          for (int h = 0; h < 2; ++h) *reinterpret_cast<double2*>(to + (row0 + m * 16 + h * 8 + r) * BN + col0 + n * 8 + 2 * q) = make_double2(acc[m][n][2 * h], acc[m][n][2 * h + 1]);
    } else {
      store<MT, NT>(acc, p.c + p.rt[it.x].y + p.ct[it.y].y, crow, ccol, row0, col0);
    }
  }
}

// Loads a tile with K contracted indices by 128 producers; koff in shared memory.
template <int B, int L> __device__ __forceinline__ void load_whole(double* to, const double* base, const int* off, const int* ord, const int* koff, int K, int tid) {
  const int stride = Lay<B, L>::stride(K);
  if constexpr (L == km) {
    const int per = K / 2;
    int line = tid / per, k = tid % per; const int dl = 128 / per, dk = 128 % per;
    for (; line < B;) {
      const int ko = koff[2 * k];
      cp16(sa(to + line * stride + 2 * k), base + off[line] + ko, ko >= 0);
      k += dk; line += dl; if (k >= per) { k -= per; ++line; }
    }
  } else if constexpr (L == km1) {
    int line = tid / K, k = tid % K; const int dl = 128 / K, dk = 128 % K;
    for (; line < B;) {
      const int ko = koff[k];
      cp8(sa(to + line * stride + k), base + off[line] + ko, ko >= 0);
      k += dk; line += dl; if (k >= K) { k -= K; ++line; }
    }
  } else if constexpr (L == lm2) {
    constexpr int per = B / 2, dk = 128 / per > 0 ? 128 / per : 1;
    if constexpr (128 % per == 0) {
      const int line = tid % per * 2; const double* from = base + off[line]; double* at = to + line;
      for (int k = tid / per; k < K; k += dk) { const int ko = koff[k]; cp16(sa(at + k * stride), from + ko, ko >= 0); }
    } else for (int s = tid; s < K * per; s += 128) { const int k = s / per, line = s % per * 2, ko = koff[k]; cp16(sa(to + k * stride + line), base + off[line] + ko, ko >= 0); }
  } else {
    for (int s = tid; s < K * B; s += 128) { const int k = s / B, line = ord[s % B], ko = koff[k]; cp8(sa(to + k * stride + line), base + off[line] + ko, ko >= 0); }
  }
}
template <int BM, int BN, int WM, int WN, int STAGES, int XK, int YK, bool ROWS_STAY, int OCC>
__global__ void __launch_bounds__((WM* WN + 4) * 32, OCC) resident(Params p) {
  constexpr int W = WM * WN, T = (W + 4) * 32, MT = BM / WM / 16, NT = BN / WN / 8;
  const int K = p.k_pad;
  const int sx = Lay<BM, XK>::stride(K), sy = Lay<BN, YK>::stride(K), xs = Lay<BM, XK>::doubles(K), ys = Lay<BN, YK>::doubles(K);
  extern __shared__ __align__(128) double sm[];
  __shared__ int xrow[BM], crow[BM], ycol[BN], ccol[BN], xord[BM], yord[BN], kx[80], ky[80];
  __shared__ __align__(8) unsigned long long full_[STAGES], empty_[STAGES], stay_full, stay_empty;
  for (int i = threadIdx.x; i < BM; i += T) { xrow[i] = p.xrow[i]; crow[i] = p.crow[i]; xord[i] = p.xord[i]; }
  for (int i = threadIdx.x; i < BN; i += T) { ycol[i] = p.ycol[i]; ccol[i] = p.ccol[i]; yord[i] = p.yord[i]; }
  for (int i = threadIdx.x; i < K; i += T) { kx[i] = p.kx[i]; ky[i] = p.ky[i]; }
  if (threadIdx.x == 0) { for (int s = 0; s < STAGES; ++s) { Bar{sa(&full_[s])}.init(128); Bar{sa(&empty_[s])}.init(W); } Bar{sa(&stay_full)}.init(128); Bar{sa(&stay_empty)}.init(W); }
  __syncthreads();
  const int begin = static_cast<int>(static_cast<long>(p.item_count) * blockIdx.x / gridDim.x), end = static_cast<int>(static_cast<long>(p.item_count) * (blockIdx.x + 1) / gridDim.x);
  double* const stay = sm; double* const ring = sm + (ROWS_STAY ? xs : ys); const int ring_size = ROWS_STAY ? ys : xs;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int staying = -1; unsigned stays = 0;
  if (warp >= W) {
    const int tid = threadIdx.x - W * 32;
    for (int item = begin; item < end; ++item) {
      const int4 it = p.items[item]; const unsigned n = item - begin, s = n % STAGES;
      if ((ROWS_STAY ? it.x : it.y) != staying) {
        staying = ROWS_STAY ? it.x : it.y;
        Bar{sa(&stay_empty)}.wait((stays & 1) ^ 1); ++stays;
        if constexpr (ROWS_STAY) load_whole<BM, XK>(stay, p.x + p.rt[it.x].x, xrow, xord, kx, K, tid);
        else load_whole<BN, YK>(stay, p.y + p.ct[it.y].x, ycol, yord, ky, K, tid);
        Bar{sa(&stay_full)}.arrive_copies();
      }
      Bar{sa(&empty_[s])}.wait((n / STAGES & 1) ^ 1);
      if constexpr (ROWS_STAY) load_whole<BN, YK>(ring + s * ring_size, p.y + p.ct[it.y].x, ycol, yord, ky, K, tid);
      else load_whole<BM, XK>(ring + s * ring_size, p.x + p.rt[it.x].x, xrow, xord, kx, K, tid);
      Bar{sa(&full_[s])}.arrive_copies();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    return;
  }
  const int r = lane / 4, q = lane % 4, row0 = warp / WN * (BM / WM), col0 = warp % WN * (BN / WN);
  for (int item = begin; item < end; ++item) {
    const int4 it = p.items[item]; const unsigned n = item - begin, s = n % STAGES;
    if ((ROWS_STAY ? it.x : it.y) != staying) {
      if (staying >= 0) { __syncwarp(); if (lane == 0) Bar{sa(&stay_empty)}.arrive(); }
      staying = ROWS_STAY ? it.x : it.y; Bar{sa(&stay_full)}.wait(stays & 1); ++stays;
    }
    Bar{sa(&full_[s])}.wait(n / STAGES & 1);
    const double* x = ROWS_STAY ? stay : ring + s * ring_size;
    const double* y = ROWS_STAY ? ring + s * ring_size : stay;
    double acc[MT][NT][4] = {};
#pragma unroll 3
    for (int k8 = 0; k8 < K; k8 += 8) {
      double a[MT][4], b[NT][2];
#pragma unroll
      for (int m = 0; m < MT; ++m) frag_x<BM, XK>(a[m], x, sx, row0 + m * 16 + r, k8, q);
#pragma unroll
      for (int m = 0; m < NT; ++m) frag_y<BN, YK>(b[m], y, sy, col0 + m * 8 + r, k8, q);
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int j = 0; j < NT; ++j) mma(acc[m][j], a[m], b[j]);
    }
    __syncwarp(); if (lane == 0) Bar{sa(&empty_[s])}.arrive();
    store<MT, NT>(acc, p.c + p.rt[it.x].y + p.ct[it.y].y, crow, ccol, row0, col0);
  }
}
// Whole contracted index in shared memory. One operand stays (the rows or the columns), tiles of the other stream by.
// Each CTA works through a contiguous part of the items; items with the same staying tile follow each other.
template <int BM, int BN, int WM, int WN, int STAGES, int XK, int YK, bool ROWS_STAY>
__global__ void __launch_bounds__(WM* WN * 32) mixed(Params p) {
  constexpr int T = WM * WN * 32, MT = BM / WM / 16, NT = BN / WN / 8;
  const int K = p.k_pad;
  const int sx = Lay<BM, XK>::stride(K), sy = Lay<BN, YK>::stride(K);
  const int xs = Lay<BM, XK>::doubles(K), ys = Lay<BN, YK>::doubles(K);
  extern __shared__ __align__(128) double sm[];
  __shared__ int xrow[BM], crow[BM], ycol[BN], ccol[BN], xord[BM], yord[BN];
  for (int i = threadIdx.x; i < BM; i += T) { xrow[i] = p.xrow[i]; crow[i] = p.crow[i]; xord[i] = p.xord[i]; }
  for (int i = threadIdx.x; i < BN; i += T) { ycol[i] = p.ycol[i]; ccol[i] = p.ccol[i]; yord[i] = p.yord[i]; }
  __syncthreads();
  const int begin = static_cast<int>(static_cast<long>(p.item_count) * blockIdx.x / gridDim.x), end = static_cast<int>(static_cast<long>(p.item_count) * (blockIdx.x + 1) / gridDim.x);
  double* const stay = sm; double* const ring = sm + (ROWS_STAY ? xs : ys); const int ring_size = ROWS_STAY ? ys : xs;
  int li = begin, stage_l = 0, staying = -1;
  const auto load = [&] {
    if (li < end) {
      const int4 it = p.items[li];
      if constexpr (ROWS_STAY) load_tile<BN, YK, T>(ring + stage_l * ring_size, p.y + p.ct[it.y].x, ycol, yord, p.ky, K);
      else load_tile<BM, XK, T>(ring + stage_l * ring_size, p.x + p.rt[it.x].x, xrow, xord, p.kx, K);
    }
    commit(); ++li;
    stage_l = stage_l + 1 == STAGES ? 0 : stage_l + 1;
  };
  for (int s = 0; s < STAGES - 1; ++s) load();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
  const int row0 = warp / WN * (BM / WM), col0 = warp % WN * (BN / WN);
  int stage = 0;
  for (int item = begin; item < end; ++item) {
    const int4 it = p.items[item];
    const int wanted = ROWS_STAY ? it.x : it.y;
    if (wanted != staying) {
      __syncthreads();
      if constexpr (ROWS_STAY) load_tile<BM, XK, T>(stay, p.x + p.rt[it.x].x, xrow, xord, p.kx, K);
      else load_tile<BN, YK, T>(stay, p.y + p.ct[it.y].x, ycol, yord, p.ky, K);
      commit(); wait_group<0>();
      staying = wanted;
    } else {
      wait_group<STAGES - 2>();
    }
    __syncthreads();
    load();
    const double* x = ROWS_STAY ? stay : ring + stage * ring_size;
    const double* y = ROWS_STAY ? ring + stage * ring_size : stay;
    double acc[MT][NT][4] = {};
#pragma unroll 3
    for (int k8 = 0; k8 < K; k8 += 8) {
      double a[MT][4], b[NT][2];
#pragma unroll
      for (int m = 0; m < MT; ++m) frag_x<BM, XK>(a[m], x, sx, row0 + m * 16 + r, k8, q);
#pragma unroll
      for (int n = 0; n < NT; ++n) frag_y<BN, YK>(b[n], y, sy, col0 + n * 8 + r, k8, q);
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < NT; ++n) mma(acc[m][n], a[m], b[n]);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    store<MT, NT>(acc, p.c + p.rt[it.x].y + p.ct[it.y].y, crow, ccol, row0, col0);
  }
}

// Adds the partial results of `splits` successive items of a tile.
static __global__ void add_splits(Params p, int BM, int BN, int splits) {
  const int tile = blockIdx.x; const int4 it = p.items[tile * splits];
  double* c = p.c + p.rt[it.x].y + p.ct[it.y].y;
  for (int e = (blockIdx.y * blockDim.x + threadIdx.x) * 2; e < BM * BN; e += gridDim.y * blockDim.x * 2) {
    const int ro = p.crow[e / BN], co = p.ccol[e % BN];
    if (ro < 0 || co < 0) continue;
    double2 s = make_double2(0, 0);
    for (int k = 0; k < splits; ++k) {
      const double2 v = *reinterpret_cast<const double2*>(p.partial + (static_cast<long>(tile) * splits + k) * BM * BN + e);
      s.x += v.x; s.y += v.y;
    }
    *reinterpret_cast<double2*>(c + ro + co) = s;
  }
}
