#pragma once

namespace trifuse::cli {

/// OpenBLAS takes the kernels of 2004 on a processor that is younger than itself, though it has some that are several
/// times faster there. It chooses while a program is loaded: so this starts the program once more, with the choice made
/// (OPENBLAS_CORETYPE), which takes some milliseconds. Returns where OpenBLAS chose well, where somebody else has made
/// the choice, and where the program cannot be started. To be called before anything else.
void restart_with_kernels_of_this_processor(char** arguments);

}  // namespace trifuse::cli
