/* Trifuse: the triples correction of coupled cluster, for C and through ISO_C_BINDING for Fortran.
 *
 * Every function that can fail takes a status first, sets its code, and writes one sentence that says what is wrong and
 * what helps; it never ends the program. Handles are opaque numbers that are looked up in a table, and no number is
 * given twice: one that is null, deleted or of another type is TRIFUSE_BAD_HANDLE. Energies are in hartree. A handle
 * may be used by one thread at a time.
 *
 * Threads do not follow into a process that is forked. A child of a process that has computed, or opened amplitudes,
 * with this library gets TRIFUSE_BAD_SYSTEM from whatever computes; the parent goes on. Start it as a program of its
 * own (in Python multiprocessing with the start method "spawn"), or fork before. */
#ifndef TRIFUSE_H
#define TRIFUSE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum trifuse_code {
  TRIFUSE_SUCCESS = 0,
  TRIFUSE_BAD_INPUT = 1,  /* a file is absent, unreadable or unsound */
  TRIFUSE_BAD_USAGE = 2,  /* an argument or a combination of settings that cannot be honoured */
  TRIFUSE_BAD_SYSTEM = 3, /* no memory, no space, an unwritable file */
  TRIFUSE_FAILED = 4,     /* an internal error */
  TRIFUSE_BAD_HANDLE = 5  /* a handle that is null, deleted or of another type */
};

#define TRIFUSE_MESSAGE_LENGTH 1024

typedef struct trifuse_status {
  int32_t code;                         /* one of trifuse_code */
  char message[TRIFUSE_MESSAGE_LENGTH]; /* empty on success, always terminated */
} trifuse_status;

/* Converged amplitudes, as a rule with integrals. */
typedef struct trifuse_amplitudes_handle* trifuse_amplitudes;
/* A calculation: amplitudes on the right, perhaps others on the left, and settings. */
typedef struct trifuse_calculation_handle* trifuse_calculation;

enum trifuse_device { TRIFUSE_DEVICE_AUTO = 0, TRIFUSE_DEVICE_CPU = 1, TRIFUSE_DEVICE_CUDA = 2 };
enum trifuse_reference { TRIFUSE_RHF = 0, TRIFUSE_UHF = 1, TRIFUSE_ROHF = 2 };
enum trifuse_kind { TRIFUSE_CCSD = 0, TRIFUSE_REGULARIZED_CCSD = 1, TRIFUSE_LAMBDA = 2 };
/* The four classes of spin orbitals, in the order in which their tiles stand. */
enum trifuse_class {
  TRIFUSE_HOLE_ALPHA = 0,
  TRIFUSE_HOLE_BETA = 1,
  TRIFUSE_PARTICLE_ALPHA = 2,
  TRIFUSE_PARTICLE_BETA = 3
};
enum trifuse_tensor { TRIFUSE_FOCK = 0, TRIFUSE_T1 = 1, TRIFUSE_T2 = 2, TRIFUSE_V2 = 3 };

/* Spin orbitals of one class and one irrep. */
typedef struct trifuse_tile {
  int32_t orbital_class; /* one of trifuse_class */
  int32_t irrep;         /* 0 to 7; the product of two irreps is their bitwise exclusive or */
  int64_t size;          /* orbitals, at least 1 */
} trifuse_tile;

/* Amplitudes that the calling program holds. Everything is copied by the function that takes it. */
typedef struct trifuse_description {
  int64_t tile_count;
  const trifuse_tile* tiles;      /* [tile_count], classes ascending, irreps ascending inside a class; RHF: beta tiles
                                     as the alpha ones; 30000 orbitals in all at most */
  const double* orbital_energies; /* hartree, one for each orbital in the order of the tiles */
  int32_t reference;              /* one of trifuse_reference */
  int32_t kind;                   /* one of trifuse_kind; left-hand amplitudes may be any of them */
  double omega2;                  /* of regularised CCSD, hartree; else 0        */
  int32_t has_integrals;          /* 0: amplitudes for the left side, else 1 */
  int32_t has_fock;               /* 1: ROHF with TRIFUSE_ROHF_SEMICANONICAL needs the Fock matrix */
  double correlation_energy;      /* CCSD, hartree: what the blocks must give; 0: not known */
  int32_t fock_in_triples;        /* 1: f_ov t2 is among the disconnected triples of the program that made these, as in
                                     PySCF's ROHF-CCSD(T); needs has_fock. 0: it is not, as in NWChem's */
  int32_t has_exchange_integrals; /* 1: there are blocks {h p|h p} of V2, too, see trifuse_block_reader; needs
                                     has_integrals. Triples do not need them, but with them the check of the CCSD
                                     equation of the single excitations is sharp. 0: there are none */
} trifuse_description;

/* Delivers one block. tiles[4] are numbers from 0 and ascend in each pair; the last two of a matrix are 0. The last
 * index is the fastest:
 *
 *     TRIFUSE_FOCK  f          [g6, g5]          tiles g6, g5
 *     TRIFUSE_T1    t_h^p      [p, h]            tiles p, h
 *     TRIFUSE_T2    t_h3h4^p1p2 [p1, p2, h3, h4] tiles p1, p2, h3, h4
 *     TRIFUSE_V2    <g3 g4||g1 g2> [g3, g4, g1, g2], of {p p|h h}, {h p|h h} and {p p|h p}, and with
 *                   has_exchange_integrals of {h p|h p}: <i a||j b> as [i, a, j, b]
 *
 * In Mulliken's notation <g3 g4||g1 g2> = (g3 g1|g4 g2) - (g3 g2|g4 g1), each term only where the spins of its pairs
 * agree. Blocks {h p|h p} are those of four equal spins, (ij|ab) - (ib|aj); of RHF those of the spins alpha, beta,
 * alpha, beta, that is (ij|ab).
 *
 * Blocks are asked for several times, by one thread at a time, which need not be the one that called, and must have the
 * same numbers each time: others than those that were checked end the calculation with TRIFUSE_BAD_INPUT. Returns 0;
 * any other number ends the calculation with an error. */
typedef int32_t (*trifuse_block_reader)(void* context, int32_t tensor, const int64_t* tiles, int64_t size,
                                        double* block);

enum trifuse_form { TRIFUSE_FORM_AUTO = 0, TRIFUSE_FORM_SPIN_ORBITAL = 1, TRIFUSE_FORM_SPIN_ADAPTED = 2 };
enum trifuse_rohf { TRIFUSE_ROHF_NWCHEM = 0, TRIFUSE_ROHF_SEMICANONICAL = 1 };

/* Bits of trifuse_features(). MPI: the program `trifuse` runs under mpirun; what is called here is one process. */
#define TRIFUSE_FEATURE_CUDA INT64_C(1)
#define TRIFUSE_FEATURE_MPI INT64_C(2)
#define TRIFUSE_FEATURE_FORTRAN INT64_C(4)

/* "0.1.0"; the text lives as long as the program. */
const char* trifuse_version(void);
int64_t trifuse_features(void);

/* Opens a Trifuse dump (HDF5), or NWChem's files by their prefix or directory, and verifies them: all numbers finite,
 * of the symmetry they claim, and as the witnesses want them (see trifuse_witness). Null on failure. */
trifuse_amplitudes trifuse_open_amplitudes(trifuse_status* status, const char* path);
/* Amplitudes without integrals, for the left side of a calculation over the integrals of `right`. */
trifuse_amplitudes trifuse_open_left_amplitudes(trifuse_status* status, const char* path, trifuse_amplitudes right);
/* As trifuse_open_amplitudes where `right` is null, else as trifuse_open_left_amplitudes, but a failed witness is no
 * error yet: to read which one failed, or to go on with trifuse_set_trust_input. Null on failure. */
trifuse_amplitudes trifuse_open_doubtful_amplitudes(trifuse_status* status, const char* path, trifuse_amplitudes right);
/* Amplitudes in the calling program, delivered by `reader`, to which `context` is handed; or, where `reader` is null,
 * set block by block with trifuse_set_block. They are verified like those in files before they are used. */
trifuse_amplitudes trifuse_new_amplitudes(trifuse_status* status, const trifuse_description* description,
                                          trifuse_block_reader reader, void* context);
/* Copies a block of amplitudes that have no reader; all must be set before they are used. */
void trifuse_set_block(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, const int64_t* tiles,
                       int64_t size, const double* block);
/* Copies a block out of any amplitudes. */
void trifuse_get_block(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, const int64_t* tiles,
                       int64_t size, double* block);
/* The blocks of a tensor that exist by spin and symmetry and that triples need, and the tiles[4] (two for matrices) and
 * size of number `index`, from 0. V2 of amplitudes with a description that has_exchange_integrals has {h p|h p}, too;
 * trifuse_get_block also finds those of files, where these hold them. */
int64_t trifuse_block_count(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor);
void trifuse_get_block_tiles(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, int64_t index,
                             int64_t* tiles, int64_t* size);
/* The tiles of any amplitudes, and the orbital energies in their order: `count` of them, as many as orbitals. */
int64_t trifuse_tile_count(trifuse_status* status, trifuse_amplitudes amplitudes);
void trifuse_get_tile(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t index, trifuse_tile* tile);
void trifuse_get_orbital_energies(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t count,
                                  double* energies);
/* What a witness said: a relation that right amplitudes and integrals satisfy, and wrong ones hardly ever. */
enum trifuse_witness_result { TRIFUSE_WITNESS_PASSED = 0, TRIFUSE_WITNESS_UNKNOWN = 1, TRIFUSE_WITNESS_FAILED = 2 };

typedef struct trifuse_witness {
  char name[64];                     /* "singles equation", always terminated */
  int32_t result;                    /* one of trifuse_witness_result */
  double value, limit;               /* what was found, and what is allowed; not a number where there is none */
  char note[TRIFUSE_MESSAGE_LENGTH]; /* failed: one sentence; unknown: why; always terminated */
} trifuse_witness;

/* The witnesses of the last check of these amplitudes, which are checked now if they have not been, and number `index`
 * of them, from 0. Left-hand amplitudes of the calling program are not checked before trifuse_run. */
int64_t trifuse_witness_count(trifuse_status* status, trifuse_amplitudes amplitudes);
void trifuse_get_witness(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t index,
                         trifuse_witness* witness);
/* The CCSD correlation energy of these amplitudes; TRIFUSE_BAD_INPUT where a witness failed. */
double trifuse_correlation_energy(trifuse_status* status, trifuse_amplitudes amplitudes);
/* Sets the handle to null. A calculation keeps the amplitudes that it was made with, so their handle may be deleted
 * before it; `context` of a reader must stay until both have been deleted. Returns TRIFUSE_SUCCESS, also for a null
 * handle, or TRIFUSE_BAD_HANDLE for one that is no handle of amplitudes or has been deleted. */
int32_t trifuse_delete_amplitudes(trifuse_amplitudes* amplitudes);

/* `left` may be null: then left and right are the same. Null on failure. */
trifuse_calculation trifuse_new_calculation(trifuse_status* status, trifuse_amplitudes right, trifuse_amplitudes left);
/* As trifuse_delete_amplitudes. */
int32_t trifuse_delete_calculation(trifuse_calculation* calculation);

/* Values of omega2[count], all computed in one pass: at most 10000, each from 0 to 1e6 hartree. Default: that of
 * regularised left amplitudes, or 0. */
void trifuse_set_omega2(trifuse_status* status, trifuse_calculation calculation, int64_t count, const double* omega2);
void trifuse_set_form(trifuse_status* status, trifuse_calculation calculation, int32_t form);
void trifuse_set_rohf(trifuse_status* status, trifuse_calculation calculation, int32_t rohf);
/* One of trifuse_device. AUTO, the default: on the GPUs if CUDA sees any and the work is worth it, else on CPU cores.
   With CUDA a GPU that fails before the first task is an error; with AUTO, and later, cores do what it should have. */
void trifuse_set_device(trifuse_status* status, trifuse_calculation calculation, int32_t device);
/* Numbers of the GPUs to use, as CUDA counts them; implies TRIFUSE_DEVICE_CUDA, whose default is all of them. */
void trifuse_set_gpus(trifuse_status* status, trifuse_calculation calculation, int64_t count, const int32_t* gpus);
/* 1 to 4096. */
void trifuse_set_threads(trifuse_status* status, trifuse_calculation calculation, int64_t threads);
/* The largest tile: 1 to 1048576 orbitals. */
void trifuse_set_tile_size(trifuse_status* status, trifuse_calculation calculation, int64_t tile_size);
/* CPU: scratch memory in bytes beyond amplitudes and integrals. GPUs: memory of each. At most 1 PiB. */
void trifuse_set_memory(trifuse_status* status, trifuse_calculation calculation, int64_t bytes);
/* File of finished tasks, from which a run that was stopped goes on: also one of several processes (`trifuse run
   --journal`), whose other files stand beside it, and on another kind of device, then with energies equal to 1e-12. */
void trifuse_set_journal(trifuse_status* status, trifuse_calculation calculation, const char* path);
/* 1: go on after a failed witness, or with a (T) that contradicts the one that the maker of the amplitudes printed; a
   warning says so. 0, the default: TRIFUSE_BAD_INPUT. */
void trifuse_set_trust_input(trifuse_status* status, trifuse_calculation calculation, int32_t trust);

/* Computes. Energies of an earlier run are replaced. */
void trifuse_run(trifuse_status* status, trifuse_calculation calculation);
/* Sentences about what is possible but rare, or was trusted, in the last run; number `index` of them, from 0, is copied
 * to warning[TRIFUSE_MESSAGE_LENGTH] and always terminated. */
int64_t trifuse_warning_count(trifuse_status* status, trifuse_calculation calculation);
void trifuse_get_warning(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* warning);
/* Number of omega2 values that the last run computed; 0 before a run. */
int64_t trifuse_energy_count(trifuse_status* status, trifuse_calculation calculation);
/* The energies of value number `index` (from 0) of the last run. */
void trifuse_get_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* omega2,
                        double* bracket_energy, double* paren_energy);

#ifdef __cplusplus
}
#endif

#endif
