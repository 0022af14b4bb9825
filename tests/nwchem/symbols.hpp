#pragma once

#include <array>
#include <cstdint>
#include <string>

/// The symbols as NWChem declares them, and the messages of failures.
using Integer = std::int64_t;

extern "C" {
using SinglesKernel = void(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4,
                           const Integer* p5, const Integer* p6, double* t3, const double* t1, const double* v2);
/// Of doubles 1, the fourth extent is h7. Of doubles 2, the seventh extent is p7.
using DoublesKernel = void(const Integer*, const Integer*, const Integer*, const Integer*, const Integer*,
                           const Integer*, const Integer*, double* t3, const double* t2, const double* v2);
SinglesKernel sd_t_s1_1_cuda_, sd_t_s1_2_cuda_, sd_t_s1_3_cuda_, sd_t_s1_4_cuda_, sd_t_s1_5_cuda_, sd_t_s1_6_cuda_,
    sd_t_s1_7_cuda_, sd_t_s1_8_cuda_, sd_t_s1_9_cuda_;
DoublesKernel sd_t_d1_1_cuda_, sd_t_d1_2_cuda_, sd_t_d1_3_cuda_, sd_t_d1_4_cuda_, sd_t_d1_5_cuda_, sd_t_d1_6_cuda_,
    sd_t_d1_7_cuda_, sd_t_d1_8_cuda_, sd_t_d1_9_cuda_;
DoublesKernel sd_t_d2_1_cuda_, sd_t_d2_2_cuda_, sd_t_d2_3_cuda_, sd_t_d2_4_cuda_, sd_t_d2_5_cuda_, sd_t_d2_6_cuda_,
    sd_t_d2_7_cuda_, sd_t_d2_8_cuda_, sd_t_d2_9_cuda_;
void dev_mem_s_(const Integer*, const Integer*, const Integer*, const Integer*, const Integer*, const Integer*);
void dev_mem_d_(const Integer*, const Integer*, const Integer*, const Integer*, const Integer*, const Integer*);
/// NWChem passes two more arguments than are used.
void compute_en_(const double* factor, double* energy, const double*, const double*, const double*, const double*,
                 const double*, const double*, const Integer*, const Integer*, const Integer*, const Integer*,
                 const Integer*, const Integer*, const double*, const double*, const double*, const double*);
Integer check_device_(const Integer*);
Integer device_init_(const Integer*, Integer*);
void initmemmodule_(void);
void finalizememmodule_(void);
void dev_release_(void);
}

namespace trifuse::testing {

inline const std::array<SinglesKernel*, 9> s1 = {sd_t_s1_1_cuda_, sd_t_s1_2_cuda_, sd_t_s1_3_cuda_,
                                                 sd_t_s1_4_cuda_, sd_t_s1_5_cuda_, sd_t_s1_6_cuda_,
                                                 sd_t_s1_7_cuda_, sd_t_s1_8_cuda_, sd_t_s1_9_cuda_};
inline const std::array<DoublesKernel*, 9> d1 = {sd_t_d1_1_cuda_, sd_t_d1_2_cuda_, sd_t_d1_3_cuda_,
                                                 sd_t_d1_4_cuda_, sd_t_d1_5_cuda_, sd_t_d1_6_cuda_,
                                                 sd_t_d1_7_cuda_, sd_t_d1_8_cuda_, sd_t_d1_9_cuda_};
inline const std::array<DoublesKernel*, 9> d2 = {sd_t_d2_1_cuda_, sd_t_d2_2_cuda_, sd_t_d2_3_cuda_,
                                                 sd_t_d2_4_cuda_, sd_t_d2_5_cuda_, sd_t_d2_6_cuda_,
                                                 sd_t_d2_7_cuda_, sd_t_d2_8_cuda_, sd_t_d2_9_cuda_};

/// Returns and clears the last message of `errquit`; empty if nothing failed.
std::string take_failure();

/// One of the nine kernels of a family: the tile of the task for each tile of the call, p4 p5 p6 and h1 h2 h3, and the
/// sign. The numbers come from NWChem's sources, not from the table of terms.
struct Row {
  std::array<int, 3> p, h;
  int sign;
};
inline constexpr std::array<Row, 9> s1_rows = {{{{0, 1, 2}, {0, 1, 2}, +1},
                                                {{0, 1, 2}, {1, 0, 2}, -1},
                                                {{0, 1, 2}, {2, 0, 1}, +1},
                                                {{1, 0, 2}, {0, 1, 2}, -1},
                                                {{1, 0, 2}, {1, 0, 2}, +1},
                                                {{1, 0, 2}, {2, 0, 1}, -1},
                                                {{2, 0, 1}, {0, 1, 2}, +1},
                                                {{2, 0, 1}, {1, 0, 2}, -1},
                                                {{2, 0, 1}, {2, 0, 1}, +1}}};
inline constexpr std::array<Row, 9> d1_rows = {{{{0, 1, 2}, {0, 1, 2}, -1},
                                                {{0, 1, 2}, {1, 0, 2}, +1},
                                                {{0, 1, 2}, {2, 0, 1}, -1},
                                                {{1, 2, 0}, {0, 1, 2}, -1},
                                                {{1, 2, 0}, {1, 0, 2}, +1},
                                                {{1, 2, 0}, {2, 0, 1}, -1},
                                                {{0, 2, 1}, {0, 1, 2}, +1},
                                                {{0, 2, 1}, {1, 0, 2}, -1},
                                                {{0, 2, 1}, {2, 0, 1}, +1}}};
inline constexpr std::array<Row, 9> d2_rows = {{{{0, 1, 2}, {0, 1, 2}, -1},
                                                {{0, 1, 2}, {1, 2, 0}, -1},
                                                {{0, 1, 2}, {0, 2, 1}, +1},
                                                {{1, 0, 2}, {0, 1, 2}, +1},
                                                {{1, 0, 2}, {1, 2, 0}, +1},
                                                {{1, 0, 2}, {0, 2, 1}, -1},
                                                {{2, 0, 1}, {0, 1, 2}, -1},
                                                {{2, 0, 1}, {1, 2, 0}, -1},
                                                {{2, 0, 1}, {0, 2, 1}, +1}}};

}
