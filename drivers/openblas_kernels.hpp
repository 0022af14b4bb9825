#pragma once

namespace trifuse::cli {

/// OpenBLAS takes the kernels of 2004 on a processor that is younger than itself, though it has some that are several
/// times faster there. It chooses while a program is loaded: so this starts the program once more, with the choice made
/// (OPENBLAS_CORETYPE), which takes some milliseconds. Returns where OpenBLAS chose well, where somebody else has made
/// the choice, and where the program cannot be started. To be called before anything else.
///
/// The same where memory is limited (ulimit -v) and OpenBLAS has started threads of its own, which are not used here:
/// each of them asks for 128 MiB at once, and again and again where it does not get them, until the program is killed.
void restart_with_other_openblas(char** arguments);

}  // namespace trifuse::cli
