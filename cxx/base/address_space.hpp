#pragma once

namespace trifuse {

/// Returns true if a limit on address space or data (ulimit -v, ulimit -d) is set for this process.
bool address_space_is_limited();

/// If the address space is limited, makes all threads that start later use the malloc memory of the first thread. By
/// default, the first malloc of each thread maps 128 MiB for a moment and keeps 64 MiB of them. At that moment no other
/// thread could allocate a large array. Call this before the process starts threads.
void share_malloc_memory_if_limited();

/// Returns freed memory to the system. malloc keeps freed memory for later allocations: tens of megabytes after a check
/// of the input or of the arrays of a calling program. Takes milliseconds. Call this before a large allocation that
/// malloc does not serve.
void return_freed_memory();

}
