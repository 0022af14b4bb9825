#!/usr/bin/env bash
# build.sh FOLDER CMAKE [OPTION ...]: builds the trifuse program with MPICH in FOLDER, with the options that the README names. Installs nothing.
set -euo pipefail
# shellcheck source=drivers/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../drivers/setup.sh"
folder=$1 cmake=$2
shift 2

packages=() purposes=()
trifuse_find_missing "${trifuse_mpich_needs[@]}"
if ((${#packages[@]})); then
  trifuse_say "The tests with MPICH need packages that are not installed. Please run this as root, and start again:"
  trifuse_say "  apt-get install -y --no-install-recommends ${packages[*]}"
  exit 1
fi

"$cmake" -S "$trifuse_root/tests/mpich/program" -B "$folder" "$@" "-DTRIFUSE_SOURCE=$trifuse_root" \
  -DMPI_C_COMPILER=mpicc.mpich -DMPI_CXX_COMPILER=mpicxx.mpich \
  -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich -DGlobalArrays_CONFIG="/usr/lib/$(uname -m)-linux-gnu/ga/mpich/bin/ga-config" \
  -DTRIFUSE_ENABLE_{MPI,GLOBAL_ARRAYS}=ON -DTRIFUSE_ENABLE_{CUDA,FORTRAN,TESTS,BENCHMARKS}=OFF
"$cmake" --build "$folder" --target trifuse_program communicator --parallel 2

# A mixture would be two libraries in one program.
libraries=$(ldd "$folder/drivers/trifuse")
if [[ $libraries != *libmpich.so* || $libraries == *libmpi.so* ]]; then
  printf 'This is not a program with MPICH alone:\n%s\n' "$libraries" >&2
  exit 1
fi
