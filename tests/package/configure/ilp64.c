#include <stdint.h>

/* A BLAS and LAPACK with 64-bit integers, as far as Trifuse's configuration calls them. */

double ddot_(const int64_t* n, const double* x, const int64_t* step_x, const double* y, const int64_t* step_y) {
  double sum = 0.0;
  for (int64_t i = 0; i < *n; ++i) sum += x[i * *step_x] * y[i * *step_y];
  return sum;
}

double dlange_(const char* norm, const int64_t* m, const int64_t* n, const double* a, const int64_t* lda, double* work,
               int64_t length) {
  (void)norm;
  (void)work;
  (void)length;
  double largest = 0.0;
  for (int64_t j = 0; j < *n; ++j) {
    for (int64_t i = 0; i < *m; ++i) {
      const double element = a[i + j * *lda];
      if (element > largest) largest = element;
    }
  }
  return largest;
}

void cblas_dgemm(void) {}
void dsyev_(void) {}
