/* A run by several processes of an MPI job, for C and through the module trifuse_mpi for Fortran.
 *
 * This function is in a library of its own, trifuse_mpi (CMake: trifuse::trifuse_mpi), so that the library trifuse
 * needs no MPI. It was built with the MPI library that the calling program must use, too. */
#ifndef TRIFUSE_MPI_H
#define TRIFUSE_MPI_H

#include "fortran_iface/trifuse.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Sets the processes that compute together. From now on trifuse_run of this calculation is collective: all ranks of the
 * communicator call it, each with a calculation of its own. This function itself is not collective.
 *
 * communicator: its Fortran handle: MPI_Comm_c2f(communicator) in C, the integer of `use mpi` in Fortran, its MPI_VAL
 * of `use mpi_f08`. It must be valid in each trifuse_run, which uses a duplicate of it. MPI_COMM_SELF: one process.
 *
 * Every rank makes its own handles from the same amplitudes and integrals, and sets the same settings. Only threads,
 * memory, devices and functions may differ. A rank may read arrays that other processes have written, e.g. in a shared
 * window. Each rank checks what it reads.
 *
 * All ranks get the same energies, with the bits of one process if tile size and kind of device are the same. They
 * share the operands in windows of MPI: each rank stores a part of them. trifuse_set_memory then limits all that a rank
 * on cores stores besides its amplitudes. Ranks of one host share its cores; each GPU belongs to one rank. The work
 * moves to the ranks that are free.
 *
 * If a rank fails or cancels in trifuse_run, the function fails on all ranks: with the sentence of that rank, or after
 * a cancellation each with its own number of finished tasks. A rank that could not make its calculation passes the null
 * handle to this function and then to trifuse_run on the same thread, both again for each run of the others: then
 * trifuse_run fails on all ranks. The other ranks wait for a rank that does not call trifuse_run, or calls it with a
 * handle that it has deleted: delete calculations on all ranks.
 *
 * trifuse_run calls MPI only on the thread that called it: usually the main thread, then MPI_THREAD_FUNNELED suffices.
 * Block readers, box readers and the functions of trifuse_set_progress and trifuse_set_log run on other threads, so
 * they may call MPI only with MPI_THREAD_MULTIPLE. The log function of rank 0 gets the messages of the run, those of
 * other ranks only the warnings about their own devices. The report lists all ranks.
 *
 * Fails with TRIFUSE_BAD_USAGE if the library was built without MPI, if MPI is not initialised, or if `communicator` is
 * not a communicator inside one group of processes. */
void trifuse_set_communicator(trifuse_status* status, trifuse_calculation calculation, int32_t communicator);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
