#pragma once

namespace trifuse::cli {

/// Restarts the program with other environment variables if OpenBLAS has made a bad choice. The program calls this
/// before anything else. `arguments`: argv of `main`. A restart takes some milliseconds.
///
/// OpenBLAS chooses its kernels when the program is loaded. On a processor that is newer than the library, OpenBLAS
/// chooses kernels of 2004, although some of its other kernels are several times faster there. The restart sets
/// OPENBLAS_CORETYPE.
///
/// If the address space is limited (ulimit -v) and OpenBLAS has started threads, the restart sets OPENBLAS_NUM_THREADS
/// to 1. Trifuse does not use these threads, but each of them requests 128 MiB at once. If a thread does not get the
/// memory, it asks again and again until the program is killed.
///
/// Returns if a restart is not needed or not possible. Keeps a value of OPENBLAS_CORETYPE that is already set.
void restart_with_other_openblas(char** arguments);

}
