#pragma once

namespace trifuse {

/// The largest number of threads that may be asked for.
inline constexpr int most_threads = 4096;

/// Threads for what is shared among all that there are: as many as OpenMP would take (OMP_NUM_THREADS, else one for
/// each core that the process may use), but no more than 16 for each core, and than can be started.
int available_threads();

/// As many of `wanted` threads as this process can have at a time, 1 at least: limits of the user (ulimit -u), of a
/// container or of the address space (ulimit -v) may allow fewer, and OpenMP ends the program where it cannot start
/// one.
///
/// Both throw SystemError in a process that was forked from one which had asked before: threads do not follow into it,
/// and OpenMP would wait for them for ever.
int startable_threads(int wanted);

}  // namespace trifuse
