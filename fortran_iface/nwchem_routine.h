/* The whole (T) of a running NWChem: what its ccsd_t_gpu hands over, for Fortran through ISO_C_BINDING. Integers have 8
 * bytes, as NWChem's have, and numbers are doubles. nwchem/ccsd_t_gpu.F calls it. */
#ifndef TRIFUSE_NWCHEM_ROUTINE_H
#define TRIFUSE_NWCHEM_ROUTINE_H

#include "fortran_iface/trifuse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the library asks of the program, always on the thread that called it. `context` is what the program gave.
 *
 * read: values[count] of the vector that the program knows as `vector`, from double number `offset` (from 0) on. 0
 * where that went well. fetch_add: adds to a counter that all ranks share and that was 0 when they called, and returns
 * what it was before. Counters are numbered from 0; there are TRIFUSE_NWCHEM_COUNTERS. sum: adds values[count] up over
 * all ranks, in place and collectively. print: a line for the output, without an end; on rank 0 only. */
#define TRIFUSE_NWCHEM_COUNTERS 1
typedef int64_t (*trifuse_nwchem_read)(void* context, int64_t vector, int64_t offset, int64_t count, double* values);
typedef int64_t (*trifuse_nwchem_fetch_add)(void* context, int64_t counter, int64_t amount);
typedef void (*trifuse_nwchem_sum)(void* context, int64_t count, double* values);
typedef void (*trifuse_nwchem_print)(void* context, int64_t length, const char* line);

typedef struct trifuse_nwchem_job {
  int64_t noa, nob, nva, nvb;     /* tiles: occupied alpha, beta, virtual alpha, beta; in this order below */
  int64_t restricted;             /* 1: RHF */
  int64_t spatial_integrals;      /* 1: 2eorb, 0: 2espin */
  const int64_t* spin;            /* [tiles], 1 alpha, 2 beta */
  const int64_t* irrep;           /* [tiles], from 0 */
  const int64_t* size;            /* [tiles], orbitals */
  const int64_t* spatial_tile;    /* [tiles], b2am, from 1; read with 2eorb only */
  const double* orbital_energies; /* [orbitals], sorted as the tiles, hartree */
  int64_t t1, t2, v2;             /* vectors, as `read` knows them */
  int64_t t1_doubles, t2_doubles, v2_doubles;
  int64_t rank, ranks;   /* from 0; this process, and all of them */
  int64_t gpus_per_node; /* so many ranks of each node may use a GPU */
  void* context;
  trifuse_nwchem_read read;
  trifuse_nwchem_fetch_add fetch_add;
  trifuse_nwchem_sum sum;
  trifuse_nwchem_print print;
} trifuse_nwchem_job;

/* E[T] and E(T) in hartree, the same on all ranks: collective. `settings`: lines name=value, which the environment
 * overrules; see docs/nwchem.md. Where one rank fails all of them get a status that says why. */
void trifuse_nwchem_triples(trifuse_status* status, const trifuse_nwchem_job* job, const char* settings,
                            double* bracket_energy, double* paren_energy);

#ifdef __cplusplus
}
#endif

#endif
