/* The (T) energy from dense arrays of a C program: water, STO-3G.
 *
 * water.txt stands for the arrays that a coupled-cluster program has in memory: name, number of axes, shape (four
 * numbers), and the elements in C order. The library reads the arrays in place. Build and run:
 *
 *     cc energy.c -o energy $(pkg-config --cflags --libs trifuse)
 *     ./energy water.txt */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <trifuse/trifuse_arrays.h>

#define MAX_ARRAYS 16

static void stop_if_failed(const trifuse_status* status) {
  if (status->code == TRIFUSE_SUCCESS) return;
  fprintf(stderr, "%s\n", status->message);
  exit(1);
}

int main(int argc, char** argv) {
  static char names[MAX_ARRAYS][32];
  static int64_t shapes[MAX_ARRAYS][4];
  trifuse_array list[MAX_ARRAYS] = {{0}};
  trifuse_arrays arrays = {0};
  trifuse_status status;
  trifuse_amplitudes amplitudes;
  trifuse_calculation calculation;
  double bracket_energy, paren_energy;
  long long rank, shape[4], n, size;
  FILE* file = fopen(argc > 1 ? argv[1] : "water.txt", "r");
  if (file == NULL) return 2;

  while (arrays.count < MAX_ARRAYS && fscanf(file, "%31s %lld %lld %lld %lld %lld", names[arrays.count], &rank, &shape[0],
                                             &shape[1], &shape[2], &shape[3]) == 6) {
    trifuse_array* array = &list[arrays.count];
    double* numbers;
    size = shape[0] * shape[1] * shape[2] * shape[3];
    numbers = (double*)malloc((size_t)size * sizeof *numbers);
    for (n = 0; n < size; ++n) {
      if (fscanf(file, "%lf", &numbers[n]) != 1) return 2;
    }
    for (n = 0; n < 4; ++n) shapes[arrays.count][n] = shape[n];
    array->name = names[arrays.count];
    array->data = numbers;
    array->rank = rank;
    array->shape = shapes[arrays.count];
    ++arrays.count;
  }
  fclose(file);

  arrays.size = sizeof arrays;
  arrays.array_size = sizeof list[0];
  arrays.arrays = list;
  arrays.reference = TRIFUSE_RHF;
  arrays.correlation_energy = -0.049467487020763; /* optional: the library compares it with the arrays */
  arrays.scf_energy = -74.963063120422;           /* optional: for the total energy */
  amplitudes = trifuse_new_dense_amplitudes(&status, &arrays);
  stop_if_failed(&status);
  calculation = trifuse_new_calculation(&status, amplitudes, NULL);
  stop_if_failed(&status);
  trifuse_run(&status, calculation);
  stop_if_failed(&status);
  trifuse_get_energy(&status, calculation, 0, NULL, &bracket_energy, &paren_energy);
  printf("E[T] %.12f  E(T) %.12f  E(CCSD(T)) %.10f hartree\n", bracket_energy, paren_energy,
         trifuse_get_total_energy(&status, calculation, 0));
  trifuse_delete_calculation(&calculation);
  trifuse_delete_amplitudes(&amplitudes);
  for (n = 0; n < arrays.count; ++n) free((void*)list[n].data);
  return 0;
}
