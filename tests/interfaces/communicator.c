/* Runs of several processes with dense arrays: `mpiexec -n N communicator water.txt`. Every rank compares the energies
 * with those of one process. A rank that fails must not stop the others. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran_iface/trifuse_arrays.h"
#include "fortran_iface/trifuse_mpi.h"

#define MAX_ARRAYS 16

static char names[MAX_ARRAYS][32];
static int64_t shapes[MAX_ARRAYS][4];
static trifuse_array list[MAX_ARRAYS];
static int64_t count = 0;
static int rank = 0, size = 1, failures = 0;
static trifuse_status status;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "FAILED on rank %d: %s (code %d: %s)\n", rank, what, (int)status.code, status.message);
  ++failures;
}

static int read_arrays(const char* path) {
  long long axes, shape[4], n, elements;
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  while (count < MAX_ARRAYS && fscanf(file, "%31s %lld %lld %lld %lld %lld", names[count], &axes, &shape[0], &shape[1],
                                      &shape[2], &shape[3]) == 6) {
    double* numbers;
    elements = shape[0] * shape[1] * shape[2] * shape[3];
    numbers = (double*)malloc((size_t)elements * sizeof *numbers);
    for (n = 0; n < elements; ++n) {
      if (fscanf(file, "%lf", &numbers[n]) != 1) return 0;
    }
    for (n = 0; n < 4; ++n) shapes[count][n] = shape[n];
    list[count].name = names[count];
    list[count].data = numbers;
    list[count].rank = axes;
    list[count].shape = shapes[count];
    ++count;
  }
  fclose(file);
  return count > 0;
}

static double* numbers_of(const char* name) {
  int64_t n;
  for (n = 0; n < count; ++n) {
    if (strcmp(names[n], name) == 0) return (double*)list[n].data;
  }
  return NULL;
}

/* A calculation on cores with many tasks. The caller deletes it. */
static trifuse_calculation new_calculation(void) {
  trifuse_arrays arrays = {0};
  trifuse_amplitudes amplitudes;
  trifuse_calculation calculation;
  arrays.size = sizeof arrays;
  arrays.array_size = sizeof list[0];
  arrays.arrays = list;
  arrays.count = count;
  arrays.correlation_energy = arrays.scf_energy = NAN;
  amplitudes = trifuse_new_dense_amplitudes(&status, &arrays);
  expect(status.code == TRIFUSE_SUCCESS, "new amplitudes");
  calculation = trifuse_new_calculation(&status, amplitudes, NULL);
  trifuse_set_device(&status, calculation, TRIFUSE_DEVICE_CPU);
  trifuse_set_tile_size(&status, calculation, 1);
  trifuse_delete_amplitudes(&amplitudes);
  return calculation;
}

static trifuse_calculation shared_calculation(MPI_Comm communicator) {
  trifuse_calculation calculation = new_calculation();
  trifuse_set_communicator(&status, calculation, (int32_t)MPI_Comm_c2f(communicator));
  expect(status.code == TRIFUSE_SUCCESS, "set communicator");
  return calculation;
}

static double energy_of(trifuse_calculation calculation) {
  double energy = 0.0;
  trifuse_get_energy(&status, calculation, 0, NULL, NULL, &energy);
  expect(status.code == TRIFUSE_SUCCESS, "get energy");
  return energy;
}

static int report_has(trifuse_calculation calculation, const char* text) {
  const int64_t bytes = trifuse_get_report(&status, calculation, 0, NULL);
  char* report = (char*)malloc((size_t)bytes);
  int found;
  trifuse_get_report(&status, calculation, bytes, report);
  found = strstr(report, text) != NULL;
  free(report);
  return found;
}

static void expect_energies(double expected) {
  trifuse_calculation calculation = shared_calculation(MPI_COMM_WORLD);
  char last_rank[32];
  int run;
  /* A handle computes again. */
  for (run = 0; run < 2; ++run) {
    trifuse_run(&status, calculation);
    expect(status.code == TRIFUSE_SUCCESS, "a run of all ranks");
    expect(energy_of(calculation) == expected, "the bits of one process");
  }
  snprintf(last_rank, sizeof last_rank, "\"rank\": %d", size - 1);
  expect(report_has(calculation, last_rank), "the report lists all ranks");
  expect(report_has(calculation, "\"own_bytes\"") == (size > 1), "the ranks share the operands");
  trifuse_set_omega2(&status, calculation, 2, (const double[]){0.0, 0.1});
  trifuse_set_form(&status, calculation, TRIFUSE_FORM_SPIN_ORBITAL);
  trifuse_run(&status, calculation);
  expect(fabs(energy_of(calculation) - expected) < 1e-14, "the other form");
  trifuse_delete_calculation(&calculation);
}

/* The last rank computes alone; the others compute together. */
static void expect_parts(double expected) {
  MPI_Comm part;
  trifuse_calculation calculation;
  MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, 0, &part);
  calculation = shared_calculation(part);
  trifuse_run(&status, calculation);
  expect(status.code == TRIFUSE_SUCCESS, "a run of a part of the ranks");
  expect(energy_of(calculation) == expected, "the bits of one process in a part of the ranks");
  trifuse_delete_calculation(&calculation);
  MPI_Comm_free(&part);
}

/* Runs that fail on the last rank. */
static void expect_refusals(void) {
  const int wrong = rank == size - 1;
  double* const t2 = numbers_of("t2");
  const double before = t2[3];
  trifuse_calculation calculation = shared_calculation(MPI_COMM_WORLD);
  if (wrong) t2[3] = NAN;
  trifuse_run(&status, calculation);
  expect(status.code == TRIFUSE_BAD_INPUT && strstr(status.message, "'t2'") != NULL, "a wrong array of one rank");
  expect(trifuse_energy_count(&status, calculation) == 0, "no energies after a failure");
  t2[3] = before;
  trifuse_delete_calculation(&calculation);

  calculation = shared_calculation(MPI_COMM_WORLD);
  if (size > 1) {
    if (wrong) trifuse_set_tile_size(&status, calculation, 2);
    trifuse_run(&status, calculation);
    expect(status.code == TRIFUSE_BAD_USAGE && strstr(status.message, "the same tile_size") != NULL,
           "another setting on one rank");
    trifuse_set_tile_size(&status, calculation, 1);
  }
  trifuse_set_memory(&status, calculation, wrong ? 1 : INT64_C(1) << 30);
  trifuse_run(&status, calculation);
  expect(status.code == TRIFUSE_BAD_USAGE && strstr(status.message, "memory") != NULL, "no memory on one rank");
  trifuse_delete_calculation(&calculation);
}

/* The last rank has no calculation, first a null handle, then a deleted one. */
static void expect_no_calculation(void) {
  int deleted;
  for (deleted = 0; deleted < 2; ++deleted) {
    trifuse_calculation calculation = NULL, own = NULL;
    if (rank < size - 1) {
      calculation = own = shared_calculation(MPI_COMM_WORLD);
      trifuse_run(&status, calculation);
      expect(status.code == TRIFUSE_BAD_USAGE && strstr(status.message, "has no valid handle") != NULL,
             "no calculation on another rank");
    } else {
      if (deleted) calculation = own = new_calculation();
      trifuse_delete_calculation(&own);
      trifuse_set_communicator(&status, calculation, (int32_t)MPI_Comm_c2f(MPI_COMM_WORLD));
      expect(status.code == TRIFUSE_BAD_HANDLE, "a communicator for no calculation");
      trifuse_run(&status, calculation);
      expect(status.code == TRIFUSE_BAD_HANDLE, "no calculation on this rank");
      /* The other ranks wait no more. */
      trifuse_run(&status, calculation);
      expect(status.code == TRIFUSE_BAD_HANDLE, "no calculation on this rank, again");
    }
    trifuse_delete_calculation(&own);
  }
}

/* Sound arrays of another molecule on one rank. */
static void expect_other_arrays(void) {
  double* const eps_vir = numbers_of("eps_vir");
  trifuse_calculation calculation;
  if (rank == size - 1) eps_vir[1] += 1e-3;
  calculation = shared_calculation(MPI_COMM_WORLD);
  trifuse_set_check(&status, calculation, 0);
  trifuse_run(&status, calculation);
  expect(status.code == (size > 1 ? TRIFUSE_BAD_INPUT : TRIFUSE_SUCCESS), "other arrays on one rank");
  if (rank == size - 1) eps_vir[1] -= 1e-3;
  trifuse_delete_calculation(&calculation);
}

/* Copies a box of an array; fails if there is none. */
static int32_t read_box(void* context, const int64_t* offset, const int64_t* extent, double* box) {
  const trifuse_array* array = (const trifuse_array*)context;
  int64_t i, j, k, l;
  if (array == NULL) return 5;
  for (i = 0; i < extent[0]; ++i) {
    for (j = 0; j < extent[1]; ++j) {
      for (k = 0; k < extent[2]; ++k) {
        for (l = 0; l < extent[3]; ++l) {
          *box++ =
              ((const double*)array
                   ->data)[(((offset[0] + i) * array->shape[1] + offset[1] + j) * array->shape[2] + offset[2] + k) *
                               array->shape[3] +
                           offset[3] + l];
        }
      }
    }
  }
  return 0;
}

/* Integrals that a reader delivers, which fails on the last rank while the operands are read. */
static void expect_failed_reader(double expected) {
  static trifuse_array before;
  int64_t n = 0;
  int fails;
  while (strcmp(names[n], "ovvv") != 0) ++n;
  before = list[n];
  for (fails = 0; fails < 2; ++fails) {
    trifuse_calculation calculation;
    list[n].data = NULL;
    list[n].reader = read_box;
    list[n].context = fails && rank == size - 1 ? NULL : &before;
    calculation = shared_calculation(MPI_COMM_WORLD);
    list[n] = before;
    trifuse_set_check(&status, calculation, 0);
    trifuse_run(&status, calculation);
    if (fails) {
      expect(status.code == TRIFUSE_BAD_INPUT && strstr(status.message, "its reader returned 5") != NULL,
             "a reader that fails on one rank");
    } else {
      expect(energy_of(calculation) == expected, "integrals of a reader");
    }
    trifuse_delete_calculation(&calculation);
  }
}

static int32_t cancel(void* context, double done, double total) {
  (void)context;
  return done < total || total == 0.0;
}

static void expect_cancelled(void) {
  trifuse_calculation calculation = shared_calculation(MPI_COMM_WORLD);
  if (rank == 0) trifuse_set_progress(&status, calculation, cancel, NULL);
  trifuse_run(&status, calculation);
  expect(status.code == TRIFUSE_CANCELLED, "one rank cancels");
  trifuse_delete_calculation(&calculation);
}

static void count_lines(void* context, int32_t level, const char* line) {
  (void)level;
  (void)line;
  ++*(int*)context;
}

static void expect_one_voice(void) {
  int lines = 0;
  trifuse_calculation calculation = shared_calculation(MPI_COMM_WORLD);
  trifuse_set_log(&status, calculation, count_lines, &lines);
  trifuse_run(&status, calculation);
  expect((lines > 0) == (rank == 0), "rank 0 gets the messages");
  trifuse_delete_calculation(&calculation);
}

static void expect_impossible_communicators(void) {
  trifuse_calculation calculation = new_calculation();
  const int32_t impossible[] = {(int32_t)MPI_Comm_c2f(MPI_COMM_NULL), 123456789, -7};
  int n;
  for (n = 0; n < 3; ++n) {
    trifuse_set_communicator(&status, calculation, impossible[n]);
    expect(status.code == TRIFUSE_BAD_USAGE && strstr(status.message, "Fortran handle") != NULL,
           "an impossible handle");
  }
  trifuse_set_communicator(&status, NULL, (int32_t)MPI_Comm_c2f(MPI_COMM_WORLD));
  expect(status.code == TRIFUSE_BAD_HANDLE, "no calculation");
  trifuse_run(&status, calculation);
  expect(status.code == TRIFUSE_SUCCESS, "a refused communicator changes nothing");
  trifuse_delete_calculation(&calculation);
}

int main(int argc, char** argv) {
  trifuse_calculation alone;
  double expected;
  int provided, all = 0;
  int64_t n;
  if (argc != 2 || !read_arrays(argv[1])) return 2;
  alone = new_calculation();
  trifuse_set_communicator(&status, alone, 0);
  expect(status.code == TRIFUSE_BAD_USAGE && strstr(status.message, "not initialised") != NULL, "no MPI yet");
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  trifuse_run(&status, alone);
  expect(status.code == TRIFUSE_SUCCESS, "a run of one process");
  expected = energy_of(alone);
  expect(fabs(expected - -0.000067337722) < 1e-12, "NWChem's energy");
  trifuse_delete_calculation(&alone);

  expect_energies(expected);
  if (size > 1) expect_parts(expected);
  expect_refusals();
  expect_no_calculation();
  expect_other_arrays();
  expect_failed_reader(expected);
  expect_cancelled();
  expect_one_voice();
  expect_impossible_communicators();
  expect_energies(expected);

  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("%d ranks agree\n", size);
  MPI_Finalize();
  for (n = 0; n < count; ++n) free((void*)list[n].data);
  return all != 0;
}
