#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include "kernels.cuh"
#include "table.hpp"
#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { std::printf("%s:%d %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e_)); std::exit(1); } } while (0)
void add_var_0(std::vector<Entry>&); void add_var_1(std::vector<Entry>&); void add_var_2(std::vector<Entry>&); void add_var_3(std::vector<Entry>&); void add_var_4(std::vector<Entry>&); void add_var_5(std::vector<Entry>&); void add_var_6(std::vector<Entry>&); void add_var_7(std::vector<Entry>&); void add_var_8(std::vector<Entry>&); void add_var_9(std::vector<Entry>&); 
struct Index { char n; long e, x, y, c; };  // extent, strides in X (rows operand), Y, C; 0: absent
struct Contraction { int number; std::string c, a, b; std::map<char, long> e; double flops, bytes; std::vector<Index> rows, cols, ks; bool swapped; long na = 1, nb = 1, nc = 1; };
long stride_in(const std::string& t, char n, std::map<char, long>& e) { long s = 1; for (char q : t) { if (q == n) return s; s *= e[q]; } return 0; }
Contraction make(int number, const std::string& c, const std::string& a, const std::string& b, std::map<char, long> e) {
  Contraction r; r.number = number; r.c = c; r.a = a; r.b = b; r.e = e;
  r.swapped = a.find(c[0]) != std::string::npos;  // columns come from the operand with C's first index
  const std::string &x = r.swapped ? b : a, &y = r.swapped ? a : b;
  double f = 2;
  for (auto [n, ext] : e) {
    Index i{n, ext, stride_in(x, n, e), stride_in(y, n, e), stride_in(c, n, e)};
    f *= ext;
    if (i.c == 0) r.ks.push_back(i); else if (i.x) r.rows.push_back(i); else r.cols.push_back(i);
    if (a.find(n) != std::string::npos) r.na *= ext;
    if (b.find(n) != std::string::npos) r.nb *= ext;
    if (c.find(n) != std::string::npos) r.nc *= ext;
  }
  r.flops = f; r.bytes = 8.0 * (r.na + r.nb + r.nc);
  return r;
}
using Tile = std::vector<long>;  // extent of each index
// Candidates of tiles of at most B lines.
void enumerate(const std::vector<Index>& ix, std::size_t at, long left, Tile& t, std::vector<Tile>& out) {
  if (at == ix.size()) { out.push_back(t); return; }
  for (long s : {1L, 2L, 3L, 4L, 6L, 8L, 12L, 16L, 24L, 32L, 36L, 48L, 64L, 72L, 96L, 128L}) {
    if (s > left || s > ix[at].e) continue;
    t.push_back(s); enumerate(ix, at + 1, left / s, t, out); t.pop_back();
  }
}
double coverage(const std::vector<Index>& ix, const Tile& t, long B) {
  double real = 1, made = 1;
  for (std::size_t i = 0; i < ix.size(); ++i) { real *= ix[i].e; made *= (ix[i].e + t[i] - 1) / t[i]; }
  return real / (made * B);
}
long tile_of(const std::vector<Index>& ix, const Tile& t, long Index::*s) { for (std::size_t i = 0; i < ix.size(); ++i) if (ix[i].*s == 1) return t[i]; return 0; }
std::vector<Tile> best_tiles(const std::vector<Index>& ix, long B, long Index::*own, bool cols, std::size_t most) {
  std::vector<Tile> all; Tile t; enumerate(ix, 0, B, t, all);
  const auto score = [&](const Tile& x) {
    double s = std::log(coverage(ix, x, B));
    const long run = tile_of(ix, x, own);
    if (run) s -= run >= 16 ? 0 : run >= 8 ? 0.05 : run >= 4 ? 0.15 : run >= 2 ? 0.6 : 1.2;
    if (cols) { const long c = tile_of(ix, x, &Index::c); s -= c % 8 == 0 ? (c >= 16 ? 0 : 0.05) : c % 4 == 0 ? 0.3 : 2; }
    return s;
  };
  std::vector<std::pair<double, Tile>> scored;
  for (auto& x : all) scored.push_back({-score(x), x});
  std::stable_sort(scored.begin(), scored.end(), [](auto& p, auto& q) { return p.first < q.first; });
  std::vector<Tile> out;
  for (auto& s : scored) { if (out.size() == most || s.first > -score(scored[0].second) + 0.7) break; out.push_back(s.second); }
  return out;
}
struct Lines { std::vector<int> own, c, ord; std::vector<long2> tiles; bool single = false; };
// Order of the digits: `first` stride ascending. Ragged tiles overlap the ones before.
Lines lines(const std::vector<Index>& ix, const Tile& t, long B, long Index::*own, long Index::*first) {
  std::vector<std::size_t> order(ix.size()); for (std::size_t i = 0; i < ix.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](auto p, auto q) { return ix[p].*first < ix[q].*first; });
  Lines l; long n = 1; for (long x : t) n *= x;
  for (long line = 0; line < B; ++line) {
    long rest = line % n, o = 0, c = 0;
    for (auto i : order) { const long d = rest % t[i]; rest /= t[i]; o += d * (ix[i].*own); c += d * ix[i].c; }
    l.own.push_back(static_cast<int>(o)); l.c.push_back(line < n ? static_cast<int>(c) : -1); l.ord.push_back(static_cast<int>(line));
  }
  std::stable_sort(l.ord.begin(), l.ord.end(), [&](int p, int q) { return l.own[p] < l.own[q]; });
  std::vector<long> count(ix.size()); long tiles = 1;
  for (std::size_t i = 0; i < ix.size(); ++i) { count[i] = (ix[i].e + t[i] - 1) / t[i]; tiles *= count[i]; }
  for (long k = 0; k < tiles; ++k) {
    long rest = k, o = 0, c = 0;
    for (auto i : order) { const long d = rest % count[i]; rest /= count[i]; const long b = std::min(d * t[i], ix[i].e - t[i]); o += b * (ix[i].*own); c += b * ix[i].c; }
    l.tiles.push_back({o, c});
  }
  return l;
}
template <typename T> T* device(const std::vector<T>& v) { T* p; CHECK(cudaMalloc(&p, std::max<std::size_t>(1, v.size()) * sizeof(T))); CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
__global__ void fill(double* p, long n, unsigned seed) { for (long i = blockIdx.x * long(blockDim.x) + threadIdx.x; i < n; i += long(gridDim.x) * blockDim.x) { unsigned h = unsigned(i) * 2654435761u + seed; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13; p[i] = (h & 0xffff) / 65536.0 - 0.5; } }
__global__ void copyk(const double2* f, double2* t, long n) { for (long i = blockIdx.x * long(blockDim.x) + threadIdx.x; i < n; i += long(gridDim.x) * blockDim.x) t[i] = f[i]; }
int main(int argc, char** argv) {
  std::vector<Entry> entries; add_var_0(entries); add_var_1(entries); add_var_2(entries); add_var_3(entries); add_var_4(entries); add_var_5(entries); add_var_6(entries); add_var_7(entries); add_var_8(entries); add_var_9(entries); 
  const double dgemm = 57.07e12, budget = argc > 2 ? atof(argv[2]) : 100;
  cudaDeviceProp prop; CHECK(cudaGetDeviceProperties(&prop, 0)); const int sms = prop.multiProcessorCount;
  std::printf("%s %d SMs\n", prop.name, sms);
  double *flush; CHECK(cudaMalloc(&flush, 256l << 20)); CHECK(cudaMemset(flush, 0, 256l << 20));
  cudaEvent_t e0, e1; cudaEventCreate(&e0); cudaEventCreate(&e1);
  double copy = 0; { for (int r = 0; r < 5; ++r) { cudaEventRecord(e0); copyk<<<sms * 8, 512>>>((double2*)flush, (double2*)(flush + (16l << 20)), 8l << 20); cudaEventRecord(e1); cudaEventSynchronize(e1); float ms; cudaEventElapsedTime(&ms, e0, e1); copy = std::max(copy, 2 * 128.0 * 1048576 / ms * 1e3); } std::printf("copy %.0f GB/s\n", copy / 1e9); }
  copy = 3.0e12;
  for (auto& e : entries) CHECK(cudaFuncSetAttribute(e.f, cudaFuncAttributeMaxDynamicSharedMemorySize, 226 * 1024 - 8 * 1024));
  double *A, *B, *C; CHECK(cudaMalloc(&A, 800l << 20)); CHECK(cudaMalloc(&B, 800l << 20)); CHECK(cudaMalloc(&C, 800l << 20)); double* partial; CHECK(cudaMalloc(&partial, 512l << 20));
  fill<<<1024, 256>>>(A, 100l << 20, 1); fill<<<1024, 256>>>(B, 100l << 20, 77);
  std::ifstream in(argc > 1 ? argv[1] : "tccg48.txt"); std::string line; double geo = 0; int n = 0;
  while (std::getline(in, line)) {
    std::istringstream s(line); int number; std::string group, expr, ext; s >> number >> group >> expr >> ext;
    std::map<char, long> e; { std::istringstream x(ext); std::string p; while (std::getline(x, p, ',')) e[p[0]] = atol(p.c_str() + 2); }
    std::istringstream x(expr); std::string c, a, b; std::getline(x, c, '-'); std::getline(x, a, '-'); std::getline(x, b, '-');
    Contraction q = make(number, c, a, b, e);
    if (q.na > (100l << 20) || q.nb > (100l << 20)) { std::printf("%d too large\n", number); continue; }
    const double bound = std::min(dgemm, q.flops / q.bytes * copy);
    long K = 1; for (auto& k : q.ks) K *= k.e;
    // order of k: the fastest index of Y, then of X, then the others
    std::stable_sort(q.ks.begin(), q.ks.end(), [](const Index& p, const Index& r) { return std::min(p.x, p.y) < std::min(r.x, r.y); });
    std::vector<int> kx, ky; const long kmax = (K + 95) / 96 * 96;
    const Index *fx = nullptr, *fy = nullptr; for (auto& i : q.ks) { if (i.x == 1) fx = &i; if (i.y == 1) fy = &i; }
    const bool blocked = fx && fy && fx != fy && fx->e % 4 == 0 && fy->e % 4 == 0;
    struct Digit { long e, x, y; }; std::vector<Digit> digits;
    if (blocked) { digits = {{4, fx->x, fx->y}, {4, fy->x, fy->y}, {fx->e / 4, 4 * fx->x, 4 * fx->y}, {fy->e / 4, 4 * fy->x, 4 * fy->y}}; for (auto& i : q.ks) if (&i != fx && &i != fy) digits.push_back({i.e, i.x, i.y}); }
    else for (auto& i : q.ks) digits.push_back({i.e, i.x, i.y});
    for (long k = 0; k < kmax; ++k) { long rest = k, ox = 0, oy = 0; for (auto& i : digits) { const long d = rest % i.e; rest /= i.e; ox += d * i.x; oy += d * i.y; } kx.push_back(k < K ? ox : -1); ky.push_back(k < K ? oy : -1); }
    int *dkx = device(kx), *dky = device(ky);
    const bool xk = std::any_of(q.ks.begin(), q.ks.end(), [](auto& i) { return i.x == 1; }), yk = std::any_of(q.ks.begin(), q.ks.end(), [](auto& i) { return i.y == 1; });
    const bool kpairs_ok = !(xk && kx.size() > 1 && kx[1] != 1);
    struct Found { double ms; std::string what; }; std::vector<Found> found; int tried = 0, wrong = 0;
    std::vector<long> checks; for (int i = 0; i < 64; ++i) checks.push_back((q.nc / 64 * i + 12345 * i) % q.nc);
    std::vector<double> expect;  // host check
    static std::vector<double> ha, hb; if (ha.empty()) { ha.resize(100l << 20); hb.resize(100l << 20); CHECK(cudaMemcpy(ha.data(), A, 800l << 20, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(hb.data(), B, 800l << 20, cudaMemcpyDeviceToHost)); }
    const double *hx = q.swapped ? hb.data() : ha.data(), *hy = q.swapped ? ha.data() : hb.data();
    for (long at : checks) { long ox = 0, oy = 0; for (auto* v : {&q.rows, &q.cols}) for (auto& i : *v) { const long d = at / i.c % i.e; ox += d * i.x; oy += d * i.y; } double sum = 0; for (long k = 0; k < K; ++k) sum += hx[ox + kx[k]] * hy[oy + ky[k]]; expect.push_back(sum); }
    for (auto& en : entries) {
      if (!kpairs_ok) { std::printf("%d: two different fastest contracted indices\n", number); break; }
      if ((en.xl == km) != xk) continue; const bool ykm = en.yl == km || en.yl == km1; if (ykm != yk || (yk && (en.yl == km1) != (ky[1] != 1))) continue;
      if (en.resident && K > 80) continue;
      if (!en.resident && K < 16) continue;
      const long kp = en.resident ? (K + 7) / 8 * 8 : en.BK;
      const auto dbl = [&](long Bl, bool kmaj) { return kmaj ? Bl * (kp % 16 == 8 ? kp : (kp + 15) / 16 * 16 + 8) : kp * (Bl + 2); };
      const long xs = dbl(en.BM, en.xl == km), ys = dbl(en.BN, ykm);
      const long smem = 8 * (en.resident ? (en.rows_stay ? xs + en.stages * ys : ys + en.stages * xs) : en.stages * (xs + ys));
      if (smem > 216 * 1024) continue;
      const std::size_t most = 1;
      struct Pair { double s; Tile r, c; }; std::vector<Pair> pairs_of_tiles;
      for (const Tile& rt : best_tiles(q.rows, en.BM, &Index::x, false, 40)) for (const Tile& ct : best_tiles(q.cols, en.BN, &Index::y, true, 40)) {
        double run = 1, next = 1; for (bool grown = true; grown;) { grown = false; for (int w = 0; w < 2; ++w) { auto& ix = w ? q.cols : q.rows; auto& t = w ? ct : rt; for (std::size_t i = 0; i < ix.size(); ++i) if (ix[i].c == next && next > 0) { run *= t[i]; next = t[i] == ix[i].e ? next * ix[i].e : -1; grown = next > 0; break; } if (next < 0) break; } }
        const long rx = tile_of(q.rows, rt, &Index::x), cy = tile_of(q.cols, ct, &Index::y);
        double s = -std::log(coverage(q.rows, rt, en.BM) * coverage(q.cols, ct, en.BN)) - 0.12 * std::log(std::min(run, 128.0));
        for (long v : {rx, cy}) if (v) s += v >= 16 ? 0 : v >= 8 ? 0.03 : v >= 4 ? 0.1 : 0.4;
        pairs_of_tiles.push_back({s, rt, ct});
      }
      std::stable_sort(pairs_of_tiles.begin(), pairs_of_tiles.end(), [](auto& a, auto& b) { return a.s < b.s; });
      if (pairs_of_tiles.size() > most * 2) pairs_of_tiles.resize(most * 2);
      for (const auto& [score_, rt, ct] : pairs_of_tiles) {
        if (coverage(q.rows, rt, en.BM) * coverage(q.cols, ct, en.BN) < 0.45) continue;
        Lines r = lines(q.rows, rt, en.BM, &Index::x, xk ? &Index::c : &Index::x), cl = lines(q.cols, ct, en.BN, &Index::y, &Index::c);
        // pairs of lines in memory
        bool pairs = true; for (int i = 0; i + 1 < en.BN; i += 2) pairs = pairs && cl.own[i + 1] == cl.own[i] + 1;
        if (!yk && (en.yl == lm2) != pairs) continue;
        bool cpairs = true; for (int i = 0; i + 1 < en.BN; i += 2) cpairs = cpairs && (cl.c[i] < 0 || cl.c[i + 1] == cl.c[i] + 1);
        bool rpairs = xk; if (!xk) { rpairs = true; for (int i = 0; i + 1 < en.BM; i += 2) rpairs = rpairs && r.own[i + 1] == r.own[i] + 1; }
        if (!cpairs || !rpairs) continue;
        const long tiles = static_cast<long>(r.tiles.size()) * cl.tiles.size();
        std::vector<int4> items; int splits = 1; const int kt = static_cast<int>((K + en.BK - 1) / std::max(1, en.BK));
        int blocks = 0; CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, en.f, en.threads, smem)); if (blocks == 0) continue;
        const int slots = sms * blocks;
        if (en.resident) {
          if (en.rows_stay) for (int i = 0; i < (int)r.tiles.size(); ++i) for (int j = 0; j < (int)cl.tiles.size(); ++j) items.push_back({i, j, 0, 0});
          else for (int j = 0; j < (int)cl.tiles.size(); ++j) for (int i = 0; i < (int)r.tiles.size(); ++i) items.push_back({i, j, 0, 0});
        } else {
          if (tiles < slots * 2) { double best = 0; for (int sp = 1; sp <= 64 && sp <= kt; ++sp) { const double waves = std::ceil(double(tiles) * sp / slots), per = std::ceil(double(kt) / sp); const double t = double(kt) * tiles / slots / (waves * per + 3 * waves + (sp > 1 ? 4 : 0)); if (t > best * 1.01) { best = t; splits = sp; } } }
          const int group = 8;
          for (int j0 = 0; j0 < (int)cl.tiles.size(); j0 += group) for (int i = 0; i < (int)r.tiles.size(); ++i) for (int j = j0; j < std::min<int>(j0 + group, cl.tiles.size()); ++j) for (int sp = 0; sp < splits; ++sp) items.push_back({i, j, kt * sp / splits, kt * (sp + 1) / splits});
        }
        if (items.size() > 4000000) continue;
        if (splits > 1 && double(items.size()) * en.BM * en.BN * 8 > 512e6) continue;
        Params p{}; p.x = q.swapped ? B : A; p.y = q.swapped ? A : B; p.c = C;
        p.xord = device(r.ord); p.yord = device(cl.ord); p.xrow = device(r.own); p.crow = device(r.c); p.ycol = device(cl.own); p.ccol = device(cl.c); p.kx = dkx; p.ky = dky; p.rt = device(r.tiles); p.ct = device(cl.tiles); p.items = device(items); p.item_count = items.size(); p.k_pad = kp; p.partial = splits > 1 ? partial : nullptr;
        const int grid = std::min<long>(slots, items.size());
        void* args[] = {&p}; std::vector<float> times; int reps = 5;
        CHECK(cudaMemset(C, 0xff, 8 * q.nc));
        for (int rep = 0; rep < reps; ++rep) {
          CHECK(cudaMemsetAsync(flush, rep, 128l << 20)); cudaEventRecord(e0);
          CHECK(cudaLaunchKernel(en.f, dim3(grid), dim3(en.threads), args, smem, 0));
          if (splits > 1) add_splits<<<dim3(tiles, 8), 256>>>(p, en.BM, en.BN, splits);
          cudaEventRecord(e1); CHECK(cudaEventSynchronize(e1)); float ms; cudaEventElapsedTime(&ms, e0, e1); times.push_back(ms);
        }
        CHECK(cudaGetLastError()); std::sort(times.begin(), times.end()); ++tried;
        bool ok = true; for (std::size_t i = 0; i < checks.size(); ++i) { double v; CHECK(cudaMemcpy(&v, C + checks[i], 8, cudaMemcpyDeviceToHost)); if (!(std::fabs(v - expect[i]) < 1e-11 * std::sqrt(double(K)) + 1e-12)) ok = false; }
        if (!ok) ++wrong;
        char text[300]; std::string rs, cs; for (std::size_t i = 0; i < rt.size(); ++i) rs += q.rows[i].n + std::to_string(rt[i]); for (std::size_t i = 0; i < ct.size(); ++i) cs += q.cols[i].n + std::to_string(ct[i]);
        std::snprintf(text, 300, "v%d BK%d %s %dx%d %s rows %s cols %s L%d%d split %d occ %d items %zu%s", en.rows_stay, en.BK, en.resident ? "res" : "pipe", en.BM, en.BN, "", rs.c_str(), cs.c_str(), en.xl, en.yl, splits, blocks, items.size(), ok ? "" : " WRONG");
        found.push_back({times[reps / 2], text});
        for (const void* d : {(const void*)p.xord, (const void*)p.yord, (const void*)p.xrow, (const void*)p.crow, (const void*)p.ycol, (const void*)p.ccol, (const void*)p.rt, (const void*)p.ct, (const void*)p.items}) cudaFree((void*)d);
      }
    }
    cudaFree(dkx); cudaFree(dky);
    std::sort(found.begin(), found.end(), [](auto& p, auto& r) { return p.ms < r.ms; });
    if (found.empty()) { std::printf("%2d %s none\n", number, expr.c_str()); continue; }
    const double rate = q.flops / found[0].ms * 1e3; geo += std::log(rate / bound); ++n;
    std::printf("%2d %-16s best %.4f ms %.2f TF/s share %.2f of bound %.1f; tried %d wrong %d\n", number, expr.c_str(), found[0].ms, rate / 1e12, rate / bound, bound / 1e12, tried, wrong);
    for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 14); ++i) std::printf("     %.4f %s\n", found[i].ms, found[i].what.c_str());
    std::fflush(stdout);
  }
  std::printf("geometric mean %.3f of %d\n", std::exp(geo / n), n); (void)budget;
}
