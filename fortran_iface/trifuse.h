/* Trifuse: the triples correction of coupled cluster, for C and through ISO_C_BINDING for Fortran.
 *
 * Errors. The first parameter of every function that can fail is `status`. The function sets its code, and on failure
 * it writes one sentence that names the problem and a cure. No function ends the program. `status` may be null. On
 * failure a function that returns a handle returns null, a function that returns a number returns 0, and output
 * arguments have no meaning.
 *
 * Handles are opaque numbers that the library looks up in a table. No number is used twice. A handle that is null,
 * deleted or of another type gives TRIFUSE_BAD_HANDLE. Only one thread at a time may use a handle.
 *
 * Arrays have C order: the last index is the fastest. A shape such as tiles[tile_count] gives the number of elements.
 * Energies and integrals are in hartree. All indices start at 0.
 *
 * Speed on cores. An OpenBLAS that is older than the processor chooses slow kernels, often by a factor of two or more.
 * OpenBLAS chooses when it is loaded, so the library cannot correct the choice. Start the program with the environment
 * variable OPENBLAS_CORETYPE=SkylakeX (processors with AVX-512) or OPENBLAS_CORETYPE=Haswell (AVX2). A message of
 * trifuse_set_log and the entry `blas_advice` of trifuse_get_report name the value if it is needed.
 *
 * A forked process does not inherit threads. If a process has computed or opened amplitudes with this library and then
 * forks, every function that computes gives TRIFUSE_BAD_SYSTEM in the child. The parent is not affected. Start the
 * child as a program of its own (Python: multiprocessing with the start method "spawn"), or fork before the process
 * computes or opens anything. */
#ifndef TRIFUSE_H
#define TRIFUSE_H

#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum trifuse_code {
  TRIFUSE_SUCCESS = 0,
  TRIFUSE_BAD_INPUT = 1,  /* a file is absent or unreadable, or its contents are wrong */
  TRIFUSE_BAD_USAGE = 2,  /* an argument or a combination of settings is not possible */
  TRIFUSE_BAD_SYSTEM = 3, /* no memory, no disk space, an unwritable file */
  TRIFUSE_FAILED = 4,     /* an internal error */
  TRIFUSE_BAD_HANDLE = 5, /* a handle is null, deleted or of another type */
  TRIFUSE_CANCELLED = 6   /* a function of the caller cancelled the run, see trifuse_set_progress */
};

/* Size of the message of a status, with its null character. */
#define TRIFUSE_MESSAGE_LENGTH 1024

/* The result of a call. */
typedef struct trifuse_status {
  int32_t code;                         /* one of trifuse_code */
  char message[TRIFUSE_MESSAGE_LENGTH]; /* one sentence, null-terminated; empty on success */
} trifuse_status;

/* Converged amplitudes, usually with integrals. */
typedef struct trifuse_amplitudes_handle* trifuse_amplitudes;
/* A calculation: right amplitudes, optional left amplitudes, and settings. */
typedef struct trifuse_calculation_handle* trifuse_calculation;

enum trifuse_device { TRIFUSE_DEVICE_AUTO = 0, TRIFUSE_DEVICE_CPU = 1, TRIFUSE_DEVICE_CUDA = 2 };
enum trifuse_reference { TRIFUSE_RHF = 0, TRIFUSE_UHF = 1, TRIFUSE_ROHF = 2 };
enum trifuse_kind { TRIFUSE_CCSD = 0, TRIFUSE_REGULARIZED_CCSD = 1, TRIFUSE_LAMBDA = 2 };
/* The four classes of spin orbitals, in the order of their tiles. Holes are occupied, particles are virtual. */
enum trifuse_class {
  TRIFUSE_HOLE_ALPHA = 0,
  TRIFUSE_HOLE_BETA = 1,
  TRIFUSE_PARTICLE_ALPHA = 2,
  TRIFUSE_PARTICLE_BETA = 3
};
enum trifuse_tensor { TRIFUSE_FOCK = 0, TRIFUSE_T1 = 1, TRIFUSE_T2 = 2, TRIFUSE_V2 = 3 };

/* A tile: spin orbitals of one class and one irrep. */
typedef struct trifuse_tile {
  int32_t orbital_class; /* one of trifuse_class */
  int32_t irrep;         /* 0 to 7; the product of two irreps is their bitwise exclusive or */
  int64_t size;          /* number of orbitals, at least 1 */
} trifuse_tile;

/* Describes amplitudes that the calling program holds. A function that takes a description copies all of it. */
typedef struct trifuse_description {
  int64_t tile_count;             /* 1 to 30000 */
  const trifuse_tile* tiles;      /* tiles[tile_count]: classes ascend, irreps ascend inside a class; at most 30000
                                     orbitals in all; RHF: the beta tiles equal the alpha tiles */
  const double* orbital_energies; /* orbital_energies[orbitals] in the order of the tiles, hartree */
  int32_t reference;              /* one of trifuse_reference */
  int32_t kind;                   /* one of trifuse_kind; left amplitudes may have any kind */
  double omega2;                  /* parameter of regularised CCSD, hartree, 0 to 1e6; 0 for other kinds */
  int32_t has_integrals;          /* 0: left amplitudes, without integrals; 1: with integrals */
  int32_t has_fock;               /* 1: with the Fock matrix, which TRIFUSE_ROHF_SEMICANONICAL needs; 0: without */
  double correlation_energy;      /* CCSD correlation energy that the blocks must give, hartree; 0: not known */
  int32_t fock_in_triples;        /* 1: the (T) of the producing program has the disconnected term f_ov t2, as PySCF's;
                                     needs has_fock. -1: it does not, as NWChem's. 0: not stated; then the term enters
                                     for RHF and UHF if the blocks have an f_ov above 1e-8 hartree, and not for ROHF */
  int32_t has_exchange_integrals; /* 1: V2 also has the blocks {h p|h p}, see trifuse_block_reader; needs has_integrals.
                                     The triples do not use them. They make the check of the CCSD equation of the
                                     single excitations sharp. 0: V2 does not have them */
} trifuse_description;

/* A function of the calling program that delivers one block.
 *
 * context: pointer that was given to trifuse_new_amplitudes.
 * tensor: one of trifuse_tensor.
 * tiles: tiles[4], the numbers of the tiles of the block. They ascend in each pair: p1 <= p2, h3 <= h4, g3 <= g4,
 *     g1 <= g2. For TRIFUSE_FOCK and TRIFUSE_T1 the last two are 0.
 * size: number of elements of the block.
 * block: block[size], to be filled. Hartree for TRIFUSE_FOCK and TRIFUSE_V2.
 *
 *     tensor                         C order          Fortran order     tiles
 *     TRIFUSE_FOCK  f_g6,g5          f[g6,g5]         f(g5,g6)          g6, g5
 *     TRIFUSE_T1    t_h^p            t1[p,h]          t1(h,p)           p, h
 *     TRIFUSE_T2    t_h3h4^p1p2      t2[p1,p2,h3,h4]  t2(h4,h3,p2,p1)   p1, p2, h3, h4
 *     TRIFUSE_V2    <g3 g4||g1 g2>   v2[g3,g4,g1,g2]  v2(g2,g1,g4,g3)   g3, g4, g1, g2
 *
 * The blocks of V2 are {p p|h h}, {h p|h h} and {p p|h p}. With has_exchange_integrals there are also the blocks
 * {h p|h p}: <i a||j b> as v2[i,a,j,b], in Fortran order v2(b,j,a,i).
 *
 * In Mulliken notation <g3 g4||g1 g2> = (g3 g1|g4 g2) - (g3 g2|g4 g1). Each term is zero unless the two spins of each
 * of its pairs are equal. The blocks {h p|h p} are the blocks of four equal spins, (ij|ab) - (ib|aj); for RHF they are
 * the blocks of the spins alpha, beta, alpha, beta, that is (ij|ab).
 *
 * The library reads a block several times. Only one thread calls the reader at a time, but it may be another thread
 * than the one that called the library. The numbers of a block must be the same each time: if they differ from the
 * checked numbers, the calculation fails with TRIFUSE_BAD_INPUT.
 *
 * Must return 0. Any other number means failure; then the library's function fails with TRIFUSE_BAD_INPUT. */
typedef int32_t (*trifuse_block_reader)(void* context, int32_t tensor, const int64_t* tiles, int64_t size,
                                        double* block);

enum trifuse_form { TRIFUSE_FORM_AUTO = 0, TRIFUSE_FORM_SPIN_ORBITAL = 1, TRIFUSE_FORM_SPIN_ADAPTED = 2 };
/* TRIFUSE_ROHF_NWCHEM is the older name of TRIFUSE_ROHF_GIVEN. */
enum trifuse_rohf { TRIFUSE_ROHF_GIVEN = 0, TRIFUSE_ROHF_SEMICANONICAL = 1, TRIFUSE_ROHF_NWCHEM = TRIFUSE_ROHF_GIVEN };
enum trifuse_precision { TRIFUSE_PRECISION_DOUBLE = 0, TRIFUSE_PRECISION_MIXED = 1 };

/* Bits of trifuse_features(): the library computes on GPUs; it was built with MPI; it has the Fortran modules. With MPI
 * the program `trifuse` runs under mpirun, and trifuse_set_communicator of trifuse_mpi.h accepts a communicator. One
 * process computes a calculation for which that function was not called. */
#define TRIFUSE_FEATURE_CUDA INT64_C(1)
#define TRIFUSE_FEATURE_MPI INT64_C(2)
#define TRIFUSE_FEATURE_FORTRAN INT64_C(4)

/* Returns the version, e.g. "0.3.0". The text is valid until the program ends. */
const char* trifuse_version(void);
/* Returns the compiled-in features, the sum of their bits. */
int64_t trifuse_features(void);
/* Returns the number of GPUs that can be used: supported ones that CUDA sees. 0 without CUDA. */
int64_t trifuse_gpu_count(trifuse_status* status);
/* Returns the memory that the process keeps for its next run on GPUs to the system: at most 2 GiB of each GPU and 512
 * MiB of the host. Does not disturb runs that compute. */
void trifuse_release_memory(trifuse_status* status);

/* Opens amplitudes with integrals in files, and verifies them: all numbers are finite and have the symmetry that they
 * should have, and no witness fails (see trifuse_witness). Returns their handle, or null on failure.
 *
 * path: a Trifuse dump (HDF5), or the prefix or the directory of NWChem's files; null-terminated. */
trifuse_amplitudes trifuse_open_amplitudes(trifuse_status* status, const char* path);
/* Opens left amplitudes, which need no integrals. They are verified with the integrals of `right`. Returns null on
 * failure.
 *
 * path: as in trifuse_open_amplitudes. right: right amplitudes with integrals. */
trifuse_amplitudes trifuse_open_left_amplitudes(trifuse_status* status, const char* path, trifuse_amplitudes right);
/* Opens amplitudes even if a witness fails, for a caller that wants to read which witness failed or to continue with
 * trifuse_set_trust_input. Otherwise it does the same as trifuse_open_amplitudes if `right` is null, and as
 * trifuse_open_left_amplitudes if it is not. */
trifuse_amplitudes trifuse_open_doubtful_amplitudes(trifuse_status* status, const char* path, trifuse_amplitudes right);
/* Opens amplitudes and leaves their verification to their first use. So trifuse_run verifies them with the threads of
 * the calculation, and the function of trifuse_set_progress can cancel it. Returns null on failure.
 *
 * path: as in trifuse_open_amplitudes. is_left: 1: left amplitudes, which need no integrals; 0: with integrals. */
trifuse_amplitudes trifuse_open_unverified_amplitudes(trifuse_status* status, const char* path, int32_t is_left);
/* Makes amplitudes from blocks of the calling program. They are verified before their first use, as files are. Returns
 * null on failure.
 *
 * description: not null. reader: delivers the blocks; null: the caller sets them with trifuse_set_block. context:
 * passed to `reader`; may be null. */
trifuse_amplitudes trifuse_new_amplitudes(trifuse_status* status, const trifuse_description* description,
                                          trifuse_block_reader reader, void* context);
/* Copies one block into amplitudes of trifuse_new_amplitudes without a reader. All blocks must be set before the first
 * use.
 *
 * tensor: one of trifuse_tensor. tiles: tiles[4] as in trifuse_block_reader; for TRIFUSE_FOCK and TRIFUSE_T1 the last
 * two have no meaning. size: number of elements, as trifuse_get_block_tiles returns it. block: block[size] with the
 * layout of trifuse_block_reader. */
void trifuse_set_block(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, const int64_t* tiles,
                       int64_t size, const double* block);
/* Copies one block of any amplitudes to block[size]. Parameters as in trifuse_set_block. */
void trifuse_get_block(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, const int64_t* tiles,
                       int64_t size, double* block);
/* Returns the number of blocks of a tensor that spin and symmetry allow and that the triples need. For TRIFUSE_V2 it
 * includes {h p|h p} if the amplitudes have a description with has_exchange_integrals. It does not include {h p|h p} of
 * files, which trifuse_get_block delivers if the files have them.
 *
 * tensor: one of trifuse_tensor. */
int64_t trifuse_block_count(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor);
/* Describes block number `index` of a tensor.
 *
 * index: 0 to trifuse_block_count - 1. tiles: gets tiles[4] as in trifuse_block_reader; only two have a meaning for
 * TRIFUSE_FOCK and TRIFUSE_T1; may be null. size: gets the number of elements; may be null. */
void trifuse_get_block_tiles(trifuse_status* status, trifuse_amplitudes amplitudes, int32_t tensor, int64_t index,
                             int64_t* tiles, int64_t* size);
/* Returns the number of tiles of any amplitudes. */
int64_t trifuse_tile_count(trifuse_status* status, trifuse_amplitudes amplitudes);
/* Copies tile number `index`, 0 to trifuse_tile_count - 1, to `tile`, which may be null. */
void trifuse_get_tile(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t index, trifuse_tile* tile);
/* Copies the orbital energies, hartree, to energies[count] in the order of the tiles. `count` must be the number of
 * orbitals, the sum of the sizes of all tiles. */
void trifuse_get_orbital_energies(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t count,
                                  double* energies);
/* The result of a witness. A witness is a relation that correct amplitudes and integrals satisfy, and that wrong ones
 * almost never satisfy. */
enum trifuse_witness_result { TRIFUSE_WITNESS_PASSED = 0, TRIFUSE_WITNESS_UNKNOWN = 1, TRIFUSE_WITNESS_FAILED = 2 };

typedef struct trifuse_witness {
  char name[64];                     /* e.g. "singles equation"; null-terminated */
  int32_t result;                    /* one of trifuse_witness_result */
  double value, limit;               /* measured value and its limit; NaN if there is none */
  char note[TRIFUSE_MESSAGE_LENGTH]; /* failed: one sentence; unknown: the reason; passed: a second value, if there are
                                      * two; null-terminated */
} trifuse_witness;

/* Returns the number of witnesses of the last check of these amplitudes. Checks the amplitudes first if they have not
 * been checked. Left amplitudes of the calling program are checked in trifuse_run only; before, this function fails. */
int64_t trifuse_witness_count(trifuse_status* status, trifuse_amplitudes amplitudes);
/* Copies witness number `index`, 0 to trifuse_witness_count - 1, to `witness`, which may be null. */
void trifuse_get_witness(trifuse_status* status, trifuse_amplitudes amplitudes, int64_t index,
                         trifuse_witness* witness);
/* Returns the CCSD correlation energy of these amplitudes, hartree, recomputed from their numbers. Fails with
 * TRIFUSE_BAD_INPUT if a witness failed, and with TRIFUSE_BAD_USAGE if the amplitudes have no such energy. */
double trifuse_correlation_energy(trifuse_status* status, trifuse_amplitudes amplitudes);
/* Deletes a handle and sets it to null. A calculation keeps its amplitudes, so their handle may be deleted before the
 * calculation. The `context` of a reader must stay valid until both are deleted. Returns TRIFUSE_SUCCESS, also if
 * `amplitudes` or the handle is null. Returns TRIFUSE_BAD_HANDLE if the handle is not one of amplitudes or has been
 * deleted before. */
int32_t trifuse_delete_amplitudes(trifuse_amplitudes* amplitudes);

/* Makes a calculation. Returns null on failure.
 *
 * right: right amplitudes with integrals. left: left amplitudes; null: the right amplitudes. */
trifuse_calculation trifuse_new_calculation(trifuse_status* status, trifuse_amplitudes right, trifuse_amplitudes left);
/* Deletes a handle and sets it to null. Returns the same codes as trifuse_delete_amplitudes. */
int32_t trifuse_delete_calculation(trifuse_calculation* calculation);

/* Each function sets one option of a calculation. If it fails, the options do not change. */

/* Sets an option of the calculation by its name. It is the same as the function trifuse_set_NAME if there is one.
 *
 * name: as on the command line of `trifuse run`, but with '_': "tile_size" for --tile-size; "gpus" for --devices;
 * "check"; "derivatives" has the values of --derivatives-of, or "none". value: as on the command line: "0,0.1", "ct",
 * "20GiB"; "true" or "false" for "trust_input" and "check". Both are null-terminated. A name or a value that is not
 * possible gives TRIFUSE_BAD_USAGE, and the message says what is. */
void trifuse_set_option(trifuse_status* status, trifuse_calculation calculation, const char* name, const char* value);
/* Sets the values of omega2. One run computes all of them. Default: the omega2 of regularised left amplitudes, or 0.
 *
 * count: 1 to 10000. omega2: omega2[count], each 0 to 1e6, hartree. */
void trifuse_set_omega2(trifuse_status* status, trifuse_calculation calculation, int64_t count, const double* omega2);
/* Sets the spin formulation, one of trifuse_form. TRIFUSE_FORM_AUTO, the default: spin-adapted for RHF, else
 * spin-orbital. TRIFUSE_FORM_SPIN_ADAPTED needs an RHF reference. */
void trifuse_set_form(trifuse_status* status, trifuse_calculation calculation, int32_t form);
/* Sets the orbitals of an ROHF reference, one of trifuse_rohf. TRIFUSE_ROHF_GIVEN, the default: the orbitals of the
 * amplitudes. TRIFUSE_ROHF_SEMICANONICAL: the standard ROHF-CCSD(T); needs an ROHF reference and the Fock matrix. */
void trifuse_set_rohf(trifuse_status* status, trifuse_calculation calculation, int32_t rohf);
/* Sets the precision of the matrix products, one of trifuse_precision. TRIFUSE_PRECISION_DOUBLE, the default.
 * TRIFUSE_PRECISION_MIXED: GPUs compute faster, and the energies have error bars, see trifuse_get_error_bar. With
 * TRIFUSE_DEVICE_AUTO it needs a GPU; with TRIFUSE_DEVICE_CPU it is emulated slowly, for tests. */
void trifuse_set_precision(trifuse_status* status, trifuse_calculation calculation, int32_t precision);
/* Sets the error bar that mixed precision must reach, hartree: more than 0, at most 1. As many tasks as this requires
 * are computed in double precision. Default: 7e-9 of the energy, or 3e-10 hartree if this is more. Call
 * trifuse_set_precision with TRIFUSE_PRECISION_MIXED before; TRIFUSE_PRECISION_DOUBLE removes the target. */
void trifuse_set_target_error(trifuse_status* status, trifuse_calculation calculation, double target_error);
/* Sets the device, one of trifuse_device. TRIFUSE_DEVICE_AUTO, the default: GPUs if CUDA sees a supported one and the
 * tasks are large enough, else CPU cores. TRIFUSE_DEVICE_CUDA: all supported GPUs; fails if there is none. If
 * trifuse_set_gpus was called before, both take only these GPUs. TRIFUSE_DEVICE_CPU: forgets them.
 *
 * With TRIFUSE_DEVICE_CUDA, a GPU that fails before the first task is an error. With TRIFUSE_DEVICE_AUTO, and after the
 * first task, CPU cores take over the work of a failed GPU. */
void trifuse_set_device(trifuse_status* status, trifuse_calculation calculation, int32_t device);
/* Sets the GPUs and implies TRIFUSE_DEVICE_CUDA. Fails if a GPU does not exist, is not supported or is named twice.
 *
 * count: 1 to 4096. gpus: gpus[count], numbers of the GPUs as CUDA counts them. */
void trifuse_set_gpus(trifuse_status* status, trifuse_calculation calculation, int64_t count, const int32_t* gpus);
/* Sets the number of threads, 1 to 4096. Default: as many as the process may use. */
void trifuse_set_threads(trifuse_status* status, trifuse_calculation calculation, int64_t threads);
/* Sets the largest number of orbitals in a tile, 1 to 1048576. Default: chosen for the device. */
void trifuse_set_tile_size(trifuse_status* status, trifuse_calculation calculation, int64_t tile_size);
/* Sets the memory limit in bytes, 1 to 2^50 (1 PiB). CPU: limit of the scratch and of panels made from factors,
 * besides amplitudes and integrals; default 2 GiB. GPUs: limit on each GPU; default: its free memory. In a run on
 * several processes that share operands: limit of all that a process without a GPU stores. */
void trifuse_set_memory(trifuse_status* status, trifuse_calculation calculation, int64_t bytes);
/* Sets the path of the journal, a file of finished tasks. A run that was stopped resumes from its journal. The journal
 * may also be from several processes (`trifuse run --journal`) if their other files are beside it, or from another kind
 * of device; then the energies are equal to 1e-12. Default: no journal.
 *
 * path: null-terminated, not empty. */
void trifuse_set_journal(trifuse_status* status, trifuse_calculation calculation, const char* path);
/* Sets what happens if a witness fails or if (T) contradicts the (T) that the producing program printed. trust = 0, the
 * default: the run fails with TRIFUSE_BAD_INPUT. trust = 1: the run continues with a warning. */
void trifuse_set_trust_input(trifuse_status* status, trifuse_calculation calculation, int32_t trust);
/* Sets whether trifuse_run checks the numbers of its amplitudes. check = 1, the default. check = 0: trifuse_run neither
 * reads the numbers for a check nor evaluates witnesses; a warning and the report say so. For callers that have just
 * computed the numbers and count milliseconds. Wrong numbers then give wrong energies. */
void trifuse_set_check(trifuse_status* status, trifuse_calculation calculation, int32_t check);

/* A function of the calling program that follows a run. `done` of `total` floating-point operations are finished; both
 * are 0 while the library checks and reads the amplitudes. Returns 0 to continue; any other number cancels the run,
 * usually within a second, and trifuse_run then fails with TRIFUSE_CANCELLED. Tasks that were finished stay in the
 * journal. */
typedef int32_t (*trifuse_progress)(void* context, double done, double total);
/* Sets the function that follows the runs of this calculation. trifuse_run calls it at the beginning, ten times in a
 * second and at the end, from the thread that called trifuse_run or from one other thread, never from two at a time.
 * The function must not use or delete this calculation; calls that use it fail with TRIFUSE_BAD_USAGE. progress: null
 * removes the function. context: passed to `progress`. */
void trifuse_set_progress(trifuse_status* status, trifuse_calculation calculation, trifuse_progress progress,
                          void* context);

enum trifuse_log_level { TRIFUSE_LOG_INFORMATION = 0, TRIFUSE_LOG_WARNING = 1 };
/* A function of the calling program that receives the messages of a run. level: one of trifuse_log_level. line: one
 * line without a line feed, null-terminated, valid during the call. */
typedef void (*trifuse_log)(void* context, int32_t level, const char* line);
/* Sets the function that receives the messages of the runs of this calculation: the checks, the plan, advice
 * about a slow BLAS, and each warning at once. One thread calls it at a time. It must not use this calculation. log:
 * null removes the function. context: passed to `log`. */
void trifuse_set_log(trifuse_status* status, trifuse_calculation calculation, trifuse_log log, void* context);

/* Verifies the amplitudes and computes the energies. Discards the energies, derivatives and warnings of an earlier run.
 * Collective after trifuse_set_communicator of trifuse_mpi.h. */
void trifuse_run(trifuse_status* status, trifuse_calculation calculation);
/* Returns the number of warnings of the last run. A warning is a sentence about a value that is possible but rare,
 * about trusted input, or about a failed GPU. */
int64_t trifuse_warning_count(trifuse_status* status, trifuse_calculation calculation);
/* Copies warning number `index`, 0 to trifuse_warning_count - 1, to warning[TRIFUSE_MESSAGE_LENGTH], null-terminated.
 * `warning` may be null. */
void trifuse_get_warning(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* warning);
/* Returns the number of energies of the last run, in the functions below called omega2 values: for each method the
 * values of omega2, see drivers/docs/methods.md. Returns 0 before a run. */
int64_t trifuse_energy_count(trifuse_status* status, trifuse_calculation calculation);
/* Copies omega2 and the energies of one omega2 value of the last run, all in hartree.
 *
 * index: 0 to trifuse_energy_count - 1. omega2, bracket_energy, paren_energy: get omega2, E[T] and E(T); each may be
 * null. */
void trifuse_get_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* omega2,
                        double* bracket_energy, double* paren_energy);
/* The spin cases of the triples: the spins of their three occupied orbitals. */
enum trifuse_spin_case { TRIFUSE_AAA = 0, TRIFUSE_AAB = 1, TRIFUSE_ABB = 2, TRIFUSE_BBB = 3 };
/* Copies the part of one spin case in the energies of one omega2 value, in hartree. The four parts add up to the
 * energies. index: as for trifuse_get_energy. spin_case: one of trifuse_spin_case. bracket_energy, paren_energy: may be
 * null. */
void trifuse_get_spin_case(trifuse_status* status, trifuse_calculation calculation, int64_t index, int32_t spin_case,
                           double* bracket_energy, double* paren_energy);
/* Copies the error bars of the energies of one omega2 value of the last run, in hartree; 0 in double precision. Two
 * bars cover the error of mixed precision in at least 95 % of all cases. index: as for trifuse_get_energy. bracket_bar,
 * paren_bar: bars of E[T] and E(T); each may be null. */
void trifuse_get_error_bar(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* bracket_bar,
                           double* paren_bar);
/* Copies the energies of one omega2 value without the correction by the tasks in double precision, in hartree. In
 * double precision they are those of trifuse_get_energy. index, bracket_energy, paren_energy: as for
 * trifuse_get_energy. */
void trifuse_get_uncorrected_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index,
                                    double* bracket_energy, double* paren_energy);
/* Returns E(SCF) + E(CCSD correlation) + E(T) of one omega2 value of the last run, hartree. Returns NaN if one of these
 * energies is not known, or if the right amplitudes are not CCSD amplitudes. index: as for trifuse_get_energy. */
double trifuse_get_total_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index);
/* Copies the name of the method at one omega2 value of the last run, e.g. "CCSD(T)" or "CCSD(cT)", to
 * method[TRIFUSE_MESSAGE_LENGTH], null-terminated. index: as for trifuse_get_energy. `method` may be null. */
void trifuse_get_method(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* method);
/* Returns the number of arrays of derivatives of the last run; 0 if it failed, or without the option "derivatives". Its
 * values are "none", "t": by t1, t2, ovov, f_ov, the orbital energies and omega2, and "all": also by ovvv and ovoo.
 * With factors, "all" has factors_oo, factors_ov and factors_vv in place of the integrals, and "t" has none of them. */
int64_t trifuse_derivative_count(trifuse_status* status, trifuse_calculation calculation);
enum { TRIFUSE_NAME_LENGTH = 64 };
/* Copies the name and the shape of derivatives. They are those of the array: "t2", "ovvv_aabb"; "fock_ov", "fock_ov_a",
 * "fock_ov_b" [i,a] for f_ov; "omega2", one number. Names of left amplitudes begin with "left/". Arrays are not packed.
 *
 * index: 0 to trifuse_derivative_count - 1. name: name[TRIFUSE_NAME_LENGTH], null-terminated. rank: number of axes, at
 * most 4; omega2 has none. shape: shape[4], `rank` extents in C order, then zeros. Each pointer may be null. */
void trifuse_get_derivative(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* name,
                            int64_t* rank, int64_t* shape);
/* Copies the derivatives of E(T) with this name to values[count], C order, hartree per unit of the array. The sum over
 * all elements of derivative times change is the change of E(T), for each change with the symmetry of the array.
 * `count` must be the number of elements. The array is made in `values` from sums, which the calculation keeps until it
 * runs again or is deleted: after a run on GPUs in the memory of its first GPU, which must not be reset meanwhile. If
 * this GPU fails, or has no memory left for the copy, the call fails with TRIFUSE_BAD_SYSTEM.
 * drivers/docs/derivatives.md names the runs whose sums come to the host. `values` may be null if there are no
 * elements. */
void trifuse_copy_derivative(trifuse_status* status, trifuse_calculation calculation, const char* name, int64_t count,
                             double* values);
/* Copies `slices` elements of the first axis, from number `first` on (counted from 0), of the derivatives with this
 * name to values[count], C order: for arrays that are too large for the memory of a caller. [i,a,b,c] of ovvv for one i
 * are one slice; "omega2" is one slice. `slices` may be 0. `count` must be the number of elements of the slices.
 *
 * Several slices in one call take less time than one after the other. If the symmetry of an array exchanges its first
 * index with another one (t2, ovov and asym_ovov of a closed shell or of equal spins, asym_ovoo), its first slice makes
 * the whole array. The calculation keeps it until slices of another such array are copied, it runs again or is deleted.
 */
void trifuse_copy_derivative_slices(trifuse_status* status, trifuse_calculation calculation, const char* name,
                                    int64_t first, int64_t slices, int64_t count, double* values);
/* Copies the report of the last run to report[size], null-terminated and cut if it is longer. The report is a JSON text
 * (UTF-8) as drivers/docs/report.schema.json describes it: energies, method, checks, warnings, settings and times.
 * Returns the number of bytes of the whole text with its null character. `report` may be null if `size` is 0. Fails
 * with TRIFUSE_BAD_USAGE before a run. */
int64_t trifuse_get_report(trifuse_status* status, trifuse_calculation calculation, int64_t size, char* report);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
