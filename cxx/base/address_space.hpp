#pragma once

namespace trifuse {

/// True if a limit on address space or data (ulimit -v, ulimit -d) is set for this process.
bool address_space_is_limited();

/// If the address space is limited, makes malloc serve threads that start later from the memory of the first thread.
/// Otherwise malloc maps 128 MiB for a moment, and keeps 64 MiB of them, when a thread first calls it; at that moment
/// no other thread could allocate a large array. To be called before a process starts threads.
void share_malloc_memory_if_limited();

}  // namespace trifuse
