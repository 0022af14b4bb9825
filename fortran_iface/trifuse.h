/* Trifuse: the triples correction of coupled cluster, for C and through ISO_C_BINDING for Fortran.
 *
 * Every function that can fail takes a status first, sets its code, and writes one sentence that says what is wrong and
 * what helps; it never ends the program. Handles are opaque, carry the type of what they stand for, and are checked.
 * Energies are in hartree. A handle may be used by one thread at a time. */
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

enum trifuse_form { TRIFUSE_FORM_AUTO = 0, TRIFUSE_FORM_SPIN_ORBITAL = 1, TRIFUSE_FORM_SPIN_ADAPTED = 2 };
enum trifuse_rohf { TRIFUSE_ROHF_NWCHEM = 0, TRIFUSE_ROHF_SEMICANONICAL = 1 };

/* Bits of trifuse_features(). */
#define TRIFUSE_FEATURE_CUDA INT64_C(1)
#define TRIFUSE_FEATURE_MPI INT64_C(2)
#define TRIFUSE_FEATURE_FORTRAN INT64_C(4)

/* "0.1.0"; the text lives as long as the program. */
const char* trifuse_version(void);
int64_t trifuse_features(void);

/* Opens a Trifuse dump (HDF5), or NWChem's files by their prefix or directory, and verifies them: all numbers finite,
 * of the symmetry they claim, and of the CCSD energy that their maker printed. Null on failure. */
trifuse_amplitudes trifuse_open_amplitudes(trifuse_status* status, const char* path);
/* Amplitudes without integrals, for the left side of a calculation over the integrals of `right`. */
trifuse_amplitudes trifuse_open_left_amplitudes(trifuse_status* status, const char* path, trifuse_amplitudes right);
/* The CCSD correlation energy of these amplitudes. */
double trifuse_correlation_energy(trifuse_status* status, trifuse_amplitudes amplitudes);
/* Sets the handle to null. The amplitudes of a calculation must not be deleted before it. */
void trifuse_delete_amplitudes(trifuse_amplitudes* amplitudes);

/* `left` may be null: then left and right are the same. Null on failure. */
trifuse_calculation trifuse_new_calculation(trifuse_status* status, trifuse_amplitudes right, trifuse_amplitudes left);
void trifuse_delete_calculation(trifuse_calculation* calculation);

/* Values of omega2[count], all computed in one pass. Default: that of regularised left amplitudes, or 0. */
void trifuse_set_omega2(trifuse_status* status, trifuse_calculation calculation, int64_t count, const double* omega2);
void trifuse_set_form(trifuse_status* status, trifuse_calculation calculation, int32_t form);
void trifuse_set_rohf(trifuse_status* status, trifuse_calculation calculation, int32_t rohf);
void trifuse_set_threads(trifuse_status* status, trifuse_calculation calculation, int64_t threads);
void trifuse_set_tile_size(trifuse_status* status, trifuse_calculation calculation, int64_t tile_size);
/* Scratch memory in bytes beyond amplitudes and integrals. */
void trifuse_set_memory(trifuse_status* status, trifuse_calculation calculation, int64_t bytes);
/* File of finished tasks, from which a run that was stopped goes on. */
void trifuse_set_journal(trifuse_status* status, trifuse_calculation calculation, const char* path);

/* Computes. Energies of an earlier run are replaced. */
void trifuse_run(trifuse_status* status, trifuse_calculation calculation);
/* Number of omega2 values that the last run computed; 0 before a run. */
int64_t trifuse_energy_count(trifuse_status* status, trifuse_calculation calculation);
/* The energies of value number `index` (from 0) of the last run. */
void trifuse_get_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* omega2,
                        double* bracket_energy, double* paren_energy);

#ifdef __cplusplus
}
#endif

#endif
