/* Amplitudes and integrals as dense arrays of the calling program, for C and through ISO_C_BINDING for Fortran.
 *
 * The names, shapes, index orders and units are those of the Trifuse dump, see tce_tiles/docs/dump-format.md:
 * `eps_occ`, `eps_vir`, `t1`, `t2`, `ovvv`, `ovoo`, `ovov`, and if the caller has them `oovv`, `fock`, `irrep_occ`,
 * `irrep_vir`, and the arrays for dressed moments `oooo`, `kvvv`, `ladder`, `vvvv_diag`, `vvvv_diag_semicanonical`; for
 * UHF and ROHF with the spins in the name, e.g. `t2_ab`, `ovvv_aabb`, `eps_occ_a`. In place of the integrals there may
 * be their factors, `factors_oo`, `factors_ov` and `factors_vv`. The caller leaves frozen orbitals out. Arrays `ovvv`
 * and `kvvv` that are not antisymmetrised may also be packed, with the shape [o,v,v(v+1)/2]: element [i,a,b(b+1)/2+c]
 * with b >= c is (ia|bc).
 *
 * The array `fragments`, projectors on occupied orbitals, asks for the energies of fragments, which the report of
 * trifuse_get_report has (drivers/docs/methods.md).
 *
 * The arrays get the checks of files (tce_tiles/docs/checks.md): shapes, finite numbers, symmetries, irreps and
 * witnesses. A message names the array. The numbers are checked before their first use; in a run on GPUs without a
 * journal, the cores check them while the GPUs compute. A run returns no energy of arrays that fail the check.
 *
 * Library and caller share the arrays. The library reads them in boxes and copies no array as a whole on the host,
 * except those of a GPU (see TRIFUSE_GPU) and the small ones (t1, fock, orbital energies, irreps). So the numbers must
 * stay valid and unchanged until the amplitudes and all calculations that use them have been deleted. Names, shapes,
 * strides and the description itself are copied. Several threads may read an array at the same time, also for several
 * handles. */
#ifndef TRIFUSE_ARRAYS_H
#define TRIFUSE_ARRAYS_H

#ifndef TRIFUSE_H /* <trifuse/trifuse_arrays.h> has included it, from a folder that the compiler need not know */
#include "fortran_iface/trifuse.h"
#endif

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The type of the numbers of an array. Irreps are integers, all other arrays are 64-bit floats. */
enum trifuse_type { TRIFUSE_FLOAT64 = 0, TRIFUSE_INT32 = 1, TRIFUSE_INT64 = 2 };

/* The place of the numbers of an array: the host's memory, or GPU number `number` as CUDA counts them. The library
 * waits for the work of this process on that GPU when the amplitudes are made. A run of a closed shell on that GPU
 * alone reads arrays of four indices in place. The library copies an array of a GPU to the host once, when it first
 * needs it there: for the check, for a run elsewhere, if `ovvv` is packed, and if panels and arrays do not fit into the
 * GPU together. A build without CUDA refuses arrays of a GPU. */
#define TRIFUSE_HOST 0
#define TRIFUSE_GPU(number) ((number) + 1)

/* A function of the calling program that delivers a part of an array that is not in memory, e.g. an HDF5 dataset.
 *
 * context: pointer from the trifuse_array. offset, count: offset[rank] and count[rank], the first index and the number
 * of elements along each axis; the box lies inside the array. box: gets the elements in C order.
 *
 * The library reads most elements a few times: for the check, for the journal if there is one, and for the run. It asks
 * for boxes that are as long as possible along the last axis. Only one thread calls the readers of one description at a
 * time, but it may be another thread than the one that called the library. The numbers must stay the same, except for
 * rounding, until the run has ended: the library compares weighted sums of rows, and a run ends with TRIFUSE_BAD_INPUT
 * if they have changed.
 *
 * For its own amplitudes it must not call functions that read or check them, or trifuse_run: these fail with
 * TRIFUSE_BAD_USAGE.
 *
 * Must return 0. Any other number means failure; then the library's function fails with TRIFUSE_BAD_INPUT. */
typedef int32_t (*trifuse_box_reader)(void* context, const int64_t* offset, const int64_t* count, double* box);

/* One dense array. Set all members to zero before you fill in yours (memset, or `= {0}`). */
typedef struct trifuse_array {
  const char* name;       /* as in the dump format, null-terminated */
  const void* data;       /* element [0,0,...]; null if `reader` delivers the elements or if there is none */
  int32_t type;           /* one of trifuse_type */
  int32_t location;       /* TRIFUSE_HOST or TRIFUSE_GPU(number) */
  int64_t rank;           /* number of axes, 1 to 4 */
  const int64_t* shape;   /* shape[rank], number of elements along each axis */
  const int64_t* strides; /* strides[rank], distance of neighbours along each axis in elements, may be negative; null:
                             C order. An array with the shape [o,o,v,v] in Fortran order has the strides
                             {1, o, o*o, o*o*v}. C order is the fastest. An array of a GPU must fill its memory
                             without gaps. With a reader, strides must be null */
  trifuse_box_reader reader; /* delivers boxes of 64-bit floats if `data` is null; else null */
  void* context;             /* passed to `reader` */
} trifuse_array;

/* Amplitudes as dense arrays. Set all members to zero before you fill in yours. */
typedef struct trifuse_arrays {
  int64_t size;                /* sizeof(trifuse_arrays): tells the library the version of this header */
  int64_t array_size;          /* sizeof(trifuse_array): the same */
  int64_t count;               /* number of arrays, 1 to 1000 */
  const trifuse_array* arrays; /* arrays[count] in any order; an unknown name is an error */
  int32_t reference;           /* one of trifuse_reference; RHF: arrays without spins in their names */
  int32_t kind;                /* one of trifuse_kind; left amplitudes may have any kind */
  double omega2;               /* parameter of regularised CCSD, hartree, 0 to 1e6; 0 for other kinds */
  int32_t fock_in_triples;     /* 1: the (T) of the producing program has the disconnected term f_ov t2, as PySCF's;
                                  needs the Fock matrix. -1: it does not, as NWChem's. 0: not stated; then the term
                                  enters for RHF and UHF if `fock` has an f_ov above 1e-8 hartree, and not for ROHF */
  double correlation_energy;   /* CCSD correlation energy that the arrays must give, hartree; NaN: not known */
  double scf_energy;           /* total energy of the reference, hartree; NaN: not known */
  const char* source;   /* stands in messages and reports where a file has its path; null: "the calling program" */
  const char* program;  /* provenance for the report, e.g. "PySCF 2.14"; may be null */
  const char* molecule; /* the same */
  const char* basis;    /* the same */
  double convergence;   /* threshold of the norm of the change of the amplitudes in the iteration in which the producing
                           program stopped: the check expects as much of the equations. 0: not known */
} trifuse_arrays;

/* Makes amplitudes from dense arrays of the calling program. Checks names, shapes, orbital energies and irreps now, and
 * all numbers before their first use. Left amplitudes are made without integrals; they are checked in trifuse_run with
 * the integrals of the right amplitudes. Returns null on failure. */
trifuse_amplitudes trifuse_new_dense_amplitudes(trifuse_status* status, const trifuse_arrays* arrays);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
