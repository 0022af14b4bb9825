/* The whole (T) of a running NWChem, for Fortran through ISO_C_BINDING. NWChem's ccsd_t_gpu calls it, see
 * nwchem/ccsd_t_gpu.F. Integers have 8 bytes, as in NWChem, and real numbers are doubles. */
#ifndef TRIFUSE_NWCHEM_ROUTINE_H
#define TRIFUSE_NWCHEM_ROUTINE_H

#include "fortran_iface/trifuse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of the calling program. The library calls them only on the thread that called the library. `context` is
 * `context` of the job.
 *
 * read: copies values[count] from a vector, beginning with double number `offset`, counted from 0. `vector`: t1, t2 or
 * v2 of the job. Returns 0 on success.
 *
 * fetch_add: adds `amount` to the shared counter number `counter`, 0 to TRIFUSE_NWCHEM_COUNTERS - 1, and returns its
 * previous value. All ranks share the counters. Each counter must be 0 when the ranks call the library.
 *
 * sum: replaces each element of values[count] by its sum over all ranks. Collective.
 *
 * print: prints line[length], a line without a line end or null character. Called on rank 0 only. */
#define TRIFUSE_NWCHEM_COUNTERS 1
typedef int64_t (*trifuse_nwchem_read)(void* context, int64_t vector, int64_t offset, int64_t count, double* values);
typedef int64_t (*trifuse_nwchem_fetch_add)(void* context, int64_t counter, int64_t amount);
typedef void (*trifuse_nwchem_sum)(void* context, int64_t count, double* values);
typedef void (*trifuse_nwchem_print)(void* context, int64_t length, const char* line);

/* A (T) calculation of NWChem. `tiles` in a shape is noa + nob + nva + nvb. */
typedef struct trifuse_nwchem_job {
  int64_t noa, nob, nva, nvb;     /* numbers of tiles: occupied alpha, occupied beta, virtual alpha, virtual beta; the
                                     arrays below have this order */
  int64_t restricted;             /* 1: RHF; 0: any other reference */
  int64_t spatial_integrals;      /* 1: 2eorb; 0: 2espin */
  const int64_t* spin;            /* spin[tiles]: 1 alpha, 2 beta */
  const int64_t* irrep;           /* irrep[tiles], 0 to 7 */
  const int64_t* size;            /* size[tiles]: number of orbitals */
  const int64_t* spatial_tile;    /* spatial_tile[tiles]: NWChem's b2am, from 1; may be null with 2espin */
  const double* orbital_energies; /* orbital_energies[orbitals] in the order of the tiles, hartree */
  int64_t t1, t2, v2;             /* the program's numbers of the vectors, for `read` */
  int64_t t1_doubles, t2_doubles, v2_doubles; /* lengths of the vectors */
  int64_t rank, ranks;                        /* number of this process, from 0; number of processes */
  int64_t gpus_per_node;                      /* largest number of ranks of a node that use a GPU */
  void* context;                              /* passed to the functions below; may be null */
  trifuse_nwchem_read read;
  trifuse_nwchem_fetch_add fetch_add;
  trifuse_nwchem_sum sum;
  trifuse_nwchem_print print;
} trifuse_nwchem_job;

/* Computes (T). Collective. If one rank fails, the status of every rank says why.
 *
 * status: see trifuse.h. job: not null. settings: null-terminated lines name=value, see docs/nwchem.md; environment
 * variables have precedence; may be null. bracket_energy, paren_energy: get E[T] and E(T), hartree, the same on all
 * ranks; not null. */
void trifuse_nwchem_triples(trifuse_status* status, const trifuse_nwchem_job* job, const char* settings,
                            double* bracket_energy, double* paren_energy);

/* Checks that NWChem's own CPU code may compute (T) in place of the library: it follows no settings. If the settings
 * ask for regularised energies, for mixed precision or for GPUs, the status says so. Every rank calls it.
 *
 * status, settings: as in trifuse_nwchem_triples. */
void trifuse_nwchem_expect_defaults(trifuse_status* status, const char* settings);

#ifdef __cplusplus
}
#endif

#endif
