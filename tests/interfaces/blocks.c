/* Amplitudes that the calling program holds: those of water, handed over by a reader and block by block. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran_iface/trifuse.h"

static int failures = 0;

/* The amplitudes of the file, which this program holds, and their description. */
static trifuse_amplitudes held;
static trifuse_description description;
static trifuse_tile* tiles;
static double* energies;
static double expected; /* E(T) of `held`, hartree */

static void expect(int condition, const char* what) {
  if (condition) return;
  printf("FAILED: %s\n", what);
  ++failures;
}

static void expect_success(const trifuse_status* status, const char* what) {
  if (status->code != TRIFUSE_SUCCESS) printf("%s: %s\n", what, status->message);
  expect(status->code == TRIFUSE_SUCCESS, what);
}

static void expect_failure(const trifuse_status* status, int32_t code, const char* part, const char* what) {
  if (status->code != code || strstr(status->message, part) == NULL) printf("%d %s\n", status->code, status->message);
  expect(status->code == code && strstr(status->message, part) != NULL, what);
}

/* What the reader is handed: where the blocks are, and how it shall misbehave. */
struct program_data {
  trifuse_amplitudes held;
  int64_t calls;
  int32_t refuse_tensor, refusal; /* -1: none */
  int spoil;                      /* not a number in T2 */
  double add;                     /* to the numbers of V2 from now on */
};

static int32_t read_block(void* context, int32_t tensor, const int64_t* block_tiles, int64_t size, double* block) {
  struct program_data* data = (struct program_data*)context;
  trifuse_status status;
  ++data->calls;
  if (tensor == data->refuse_tensor) return data->refusal;
  trifuse_get_block(&status, data->held, tensor, block_tiles, size, block);
  if (data->spoil && tensor == TRIFUSE_T2) block[size / 2] = nan("");
  if (tensor == TRIFUSE_V2) block[0] += data->add;
  return status.code;
}

static double paren_energy(trifuse_status* status, trifuse_amplitudes amplitudes) {
  double energy = 0.0;
  trifuse_calculation calculation = trifuse_new_calculation(status, amplitudes, NULL);
  trifuse_set_threads(status, calculation, 2);
  trifuse_set_device(status, calculation, TRIFUSE_DEVICE_CPU);
  trifuse_run(status, calculation);
  if (status->code == TRIFUSE_SUCCESS) trifuse_get_energy(status, calculation, 0, NULL, NULL, &energy);
  trifuse_delete_calculation(&calculation);
  return energy;
}

/* Describes the amplitudes that are held. */
static void describe(void) {
  trifuse_status status;
  int64_t n, orbitals = 0;
  memset(&description, 0, sizeof description);
  description.tile_count = trifuse_tile_count(&status, held);
  tiles = (trifuse_tile*)malloc((size_t)description.tile_count * sizeof *tiles);
  for (n = 0; n < description.tile_count; ++n) {
    trifuse_get_tile(&status, held, n, &tiles[n]);
    expect_success(&status, "a tile");
    orbitals += tiles[n].size;
  }
  trifuse_get_tile(&status, held, n, &tiles[0]);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "no tile", "a tile too many");
  energies = (double*)malloc((size_t)orbitals * sizeof *energies);
  trifuse_get_orbital_energies(&status, held, orbitals - 1, energies);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "orbital energies", "too few orbital energies");
  trifuse_get_orbital_energies(&status, held, orbitals, energies);
  expect_success(&status, "orbital energies");
  description.tiles = tiles;
  description.orbital_energies = energies;
  description.reference = TRIFUSE_RHF;
  description.has_integrals = 1;
  description.correlation_energy = trifuse_correlation_energy(&status, held);
}

/* Amplitudes with a reader. */
static void test_reader(void) {
  trifuse_status status;
  trifuse_amplitudes read;
  struct program_data data = {NULL, 0, -1, 0, 0, 0.0};
  int64_t block_tiles[4] = {0, 0, 0, 0};
  data.held = held;
  read = trifuse_new_amplitudes(&status, &description, read_block, &data);
  expect_success(&status, "amplitudes with a reader");
  expect(fabs(trifuse_correlation_energy(&status, read) - description.correlation_energy) < 1e-12, "CCSD energy");
  expect(paren_energy(&status, read) == expected && data.calls > 0, "the same energy from a reader");
  trifuse_set_block(&status, read, TRIFUSE_T1, block_tiles, 1, energies);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "cannot be set", "a block of amplitudes with a reader");
  data.refuse_tensor = TRIFUSE_V2;
  data.refusal = 7;
  paren_energy(&status, read);
  expect_failure(&status, TRIFUSE_BAD_INPUT, "V2: its reader returned 7", "a reader that fails");
  trifuse_delete_amplitudes(&read);
  data.refuse_tensor = -1;
  data.spoil = 1;
  read = trifuse_new_amplitudes(&status, &description, read_block, &data);
  paren_energy(&status, read);
  expect_failure(&status, TRIFUSE_BAD_INPUT, "T2", "not a number");
  data.spoil = 0;
  expect(paren_energy(&status, read) == expected, "numbers that were refused and then corrected");
  data.add = 1e-12;
  paren_energy(&status, read);
  expect_failure(&status, TRIFUSE_BAD_INPUT, "the numbers of V2 block", "other numbers than those that were checked");
  data.add = 0.0;
  trifuse_delete_amplitudes(&read);
  description.correlation_energy += 1e-3;
  read = trifuse_new_amplitudes(&status, &description, read_block, &data);
  paren_energy(&status, read);
  expect_failure(&status, TRIFUSE_BAD_INPUT, "CCSD", "amplitudes of another run");
  trifuse_delete_amplitudes(&read);
  description.correlation_energy = 0.0;
}

/* Amplitudes that get every block of `held` except one of T2, number `missing`. `*block`: room for the largest block.
 */
static trifuse_amplitudes fill(double** block, int64_t* missing) {
  trifuse_status status;
  trifuse_amplitudes filled;
  int64_t n, largest = 0, block_tiles[4], size;
  int32_t tensor;
  filled = trifuse_new_amplitudes(&status, &description, NULL, NULL);
  expect_success(&status, "amplitudes to be filled");
  for (tensor = TRIFUSE_T1; tensor <= TRIFUSE_V2; ++tensor) {
    for (n = 0; n < trifuse_block_count(&status, held, tensor); ++n) {
      trifuse_get_block_tiles(&status, held, tensor, n, block_tiles, &size);
      if (size > largest) largest = size;
    }
  }
  *block = (double*)malloc((size_t)largest * sizeof **block);
  for (tensor = TRIFUSE_T1; tensor <= TRIFUSE_V2; ++tensor) {
    expect(trifuse_block_count(&status, filled, tensor) == trifuse_block_count(&status, held, tensor),
           "the same blocks");
    for (n = 0; n < trifuse_block_count(&status, filled, tensor); ++n) {
      trifuse_get_block_tiles(&status, filled, tensor, n, block_tiles, &size);
      trifuse_get_block(&status, held, tensor, block_tiles, size, *block);
      if (tensor == TRIFUSE_T2 && n == 1) {
        *missing = n;
        continue;
      }
      trifuse_set_block(&status, filled, tensor, block_tiles, size, *block);
      expect_success(&status, "a block");
    }
  }
  return filled;
}

/* Amplitudes that are set block by block. */
static void test_blocks(void) {
  trifuse_status status;
  double* block = NULL;
  int64_t missing = -1, block_tiles[4], size;
  trifuse_amplitudes filled = fill(&block, &missing);
  paren_energy(&status, filled);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "1 of the", "a block that was not set");
  trifuse_get_block_tiles(&status, filled, TRIFUSE_T2, missing, block_tiles, &size);
  trifuse_get_block(&status, held, TRIFUSE_T2, block_tiles, size, block);
  trifuse_set_block(&status, filled, TRIFUSE_T2, block_tiles, size - 1, block);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "numbers", "a block of another size");
  trifuse_set_block(&status, filled, TRIFUSE_T2, block_tiles, size, NULL);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "numbers", "no block");
  trifuse_set_block(&status, filled, 4, block_tiles, size, block);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "trifuse_tensor", "a tensor that is none");
  trifuse_set_block(&status, filled, TRIFUSE_T1, block_tiles, size, block);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "no block", "tiles of another tensor");
  trifuse_set_block(&status, filled, TRIFUSE_T2, block_tiles, size, block);
  expect_success(&status, "the missing block");
  expect(paren_energy(&status, filled) == expected, "the same energy from blocks");
  trifuse_delete_amplitudes(&filled);
  free(block);
}

/* Descriptions that describe nothing. */
static void test_descriptions(void) {
  trifuse_status status;
  trifuse_amplitudes nothing;
  struct program_data data = {NULL, 0, -1, 0, 0, 0.0};
  nothing = trifuse_new_amplitudes(&status, NULL, NULL, NULL);
  expect(nothing == NULL && status.code == TRIFUSE_BAD_USAGE, "no description");
  tiles[0].orbital_class = 4;
  trifuse_new_amplitudes(&status, &description, NULL, NULL);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "Tile 1 of ", "a class that is none");
  tiles[0].orbital_class = TRIFUSE_PARTICLE_BETA;
  trifuse_new_amplitudes(&status, &description, NULL, NULL);
  expect(status.code == TRIFUSE_BAD_INPUT && strlen(status.message) > 20, "tiles out of order");
  tiles[0].orbital_class = TRIFUSE_HOLE_ALPHA;
  description.orbital_energies = NULL;
  trifuse_new_amplitudes(&status, &description, read_block, &data);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "Orbital energies", "no orbital energies");
  description.orbital_energies = energies;
  description.reference = 3;
  trifuse_new_amplitudes(&status, &description, read_block, &data);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "trifuse_reference", "a reference that is none");
}

static void test_devices(void) {
  trifuse_status status;
  trifuse_calculation calculation;
  int32_t gpu = 0;
  calculation = trifuse_new_calculation(&status, held, NULL);
  trifuse_set_device(&status, calculation, 3);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "trifuse_device", "a device that is none");
  trifuse_set_gpus(&status, calculation, 0, &gpu);
  expect_failure(&status, TRIFUSE_BAD_USAGE, "0 GPUs were given", "no GPU");
  gpu = 4000;
  trifuse_set_gpus(&status, calculation, 1, &gpu);
  expect(status.code == TRIFUSE_BAD_USAGE && strlen(status.message) > 20, "a GPU that is not there");
  trifuse_delete_calculation(&calculation);
}

int main(int argc, char** argv) {
  const double nwchem = -0.00306002229317;
  trifuse_status status;
  if (argc != 2) return 2;
  held = trifuse_open_amplitudes(&status, argv[1]);
  expect_success(&status, "open");
  expected = paren_energy(&status, held);
  expect_success(&status, "energy from the files");
  expect(fabs(expected - nwchem) < 1e-10, "NWChem's energy");

  describe();
  test_reader();
  test_blocks();
  test_descriptions();
  test_devices();

  trifuse_delete_amplitudes(&held);
  free(energies);
  free(tiles);
  return failures == 0 ? 0 : 1;
}
